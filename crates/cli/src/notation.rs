//! The ways in which bytes are written as text.
//!
//! Plain bytes have a text form that always leads back: they stand as they are if they are UTF-8 and do not begin with
//! `hex:`; all others are `hex:` and hexadecimal digits.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::str::FromStr;

use fulgurite_keys::Type;

/// How keys or values are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Plain bytes, in the text form that the module describes.
    Text,
    /// Plain bytes, always as hexadecimal digits.
    Hex,
    /// Values of a type, in its text form.
    Typed(Type),
}

impl FromStr for Notation {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "text" => Ok(Self::Text),
            "hex" => Ok(Self::Hex),
            _ => name
                .parse()
                .map(Self::Typed)
                .map_err(|error| format!("{error}; the types are {}; or `text`, or `hex`", Type::NAMES)),
        }
    }
}

impl fmt::Display for Notation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => out.write_str("text"),
            Self::Hex => out.write_str("hex"),
            Self::Typed(kind) => write!(out, "{kind}"),
        }
    }
}

/// The bytes that the text form of plain bytes stands for.
///
/// # Errors
/// What is wrong with the digits after `hex:`.
pub fn bytes_of_text(text: &str) -> Result<Vec<u8>, String> {
    match text.strip_prefix(HEX_PREFIX) {
        None => Ok(text.as_bytes().to_vec()),
        Some(digits) => bytes_of_hex(digits).map_err(|error| {
            format!("{error} after `{HEX_PREFIX}`; text that begins so is itself written as `{HEX_PREFIX}` and digits")
        }),
    }
}

/// Appends the text form of plain bytes.
pub fn push_text(bytes: &[u8], out: &mut String) {
    match str::from_utf8(bytes) {
        Ok(text) if !text.starts_with(HEX_PREFIX) => out.push_str(text),
        _ => {
            out.push_str(HEX_PREFIX);
            push_hex(bytes, out);
        }
    }
}

/// The bytes that hexadecimal digits stand for.
///
/// # Errors
/// An odd number of digits, or something else than a digit.
pub fn bytes_of_hex(digits: &str) -> Result<Vec<u8>, String> {
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    if let Some(other) = digits.chars().find(|character| !character.is_ascii_hexdigit()) {
        return Err(format!("`{}` is not a hexadecimal digit", other.escape_debug()));
    }
    if digits.len() % 2 == 1 {
        return Err(format!("expected an even number of hexadecimal digits, found {}", digits.len()));
    }
    let digit = |byte: u8| if byte.is_ascii_digit() { byte - b'0' } else { (byte | 0x20) - b'a' + 10 };
    Ok(digits.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect())
}

/// Appends bytes as hexadecimal digits.
pub fn push_hex(bytes: &[u8], out: &mut String) {
    out.reserve(2 * bytes.len());
    for byte in bytes {
        let _ = write!(out, "{byte:02x}"); // Writing to a string cannot fail.
    }
}

/// Text on one line, with nothing in it that moves a terminal's cursor.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// The beginning of a text, for messages.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(EXCERPT_CHARACTERS) {
        None => printable(text),
        Some((end, _)) => Cow::Owned(format!("{}…", printable(&text[..end]))),
    }
}

/// What stands before digits in text that is otherwise taken as it is.
const HEX_PREFIX: &str = "hex:";
/// How much of a text a message repeats.
const EXCERPT_CHARACTERS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_string_comes_back_from_its_text() {
        for bytes in [&b""[..], b"plain", "é\n".as_bytes(), b"\xFF\x00", b"hex:", b"hex:00", b"hex:zz", b"0x00"] {
            let mut text = String::new();
            push_text(bytes, &mut text);
            assert_eq!(bytes_of_text(&text).unwrap(), bytes, "{text}");
        }
        let mut text = String::new();
        push_text(b"\xFFa", &mut text);
        assert_eq!(text, "hex:ff61");
    }

    #[test]
    fn odd_and_other_digits_are_errors() {
        assert_eq!(bytes_of_hex("0xABcd").unwrap(), [0xab, 0xcd]);
        assert_eq!(bytes_of_hex("abc").unwrap_err(), "expected an even number of hexadecimal digits, found 3");
        assert_eq!(bytes_of_hex("é0").unwrap_err(), "`é` is not a hexadecimal digit");
        assert!(bytes_of_text("hex:abc").unwrap_err().contains("after `hex:`"));
    }

    #[test]
    fn names_are_read_and_printed() {
        for name in ["text", "hex", "u64", "(u32,string)"] {
            assert_eq!(name.parse::<Notation>().unwrap().to_string(), name);
        }
        let error = "number".parse::<Notation>().unwrap_err();
        assert!(
            error.starts_with("`number` names no type: ")
                && error.contains("; the types are u8 to ")
                && error.ends_with("; or `text`, or `hex`"),
            "{error}"
        );
    }

    #[test]
    fn messages_repeat_the_beginning_of_a_text_without_control_characters() {
        assert_eq!(excerpt("a\u{1b}[2J\n"), "a\\u{1b}[2J\\n");
        assert_eq!(excerpt(&"é".repeat(41)), format!("{}…", "é".repeat(40)));
    }
}
