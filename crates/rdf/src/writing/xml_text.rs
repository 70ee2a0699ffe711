//! What XML 1.0 cannot have, and attributes and labels in it.

use std::borrow::Cow;

use crate::xml::{is_character, is_nc_name, push_escaped};

/// The first character of a text that XML cannot have, raw or by reference.
pub fn illegal_character(text: &str) -> Option<char> {
    // All such characters have bytes that few texts have.
    let is_suspect = |byte: u8| byte < 0x20 || byte == 0xef;
    if !text.bytes().any(is_suspect) {
        return None;
    }
    text.chars().find(|&character| !is_character(character))
}

/// Appends the value of an attribute, with its quotation marks: white space would be spaces.
pub fn push_value(value: &str, out: &mut String) {
    out.push('"');
    push_escaped(value, out, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'"' => Some("&quot;"),
        b'\t' => Some("&#x9;"),
        b'\n' => Some("&#xA;"),
        b'\r' => Some("&#xD;"),
        _ => None,
    });
    out.push('"');
}

/// The label of a blank node as an `NCName`: others get a beginning that no label keeps, so that different ones stay
/// different.
pub fn node_label(label: &str) -> Cow<'_, str> {
    if is_nc_name(label) && !label.starts_with(ESCAPED) {
        return Cow::Borrowed(label);
    }
    let mut out = ESCAPED.to_owned();
    for character in label.chars() {
        let mut buffer = [0; 4];
        match character {
            '.' => out.push_str(".."),
            _ if is_nc_name(&format!("a{}", character.encode_utf8(&mut buffer))) => out.push(character),
            _ => out.push_str(&format!(".{:x}.", u32::from(character))),
        }
    }
    Cow::Owned(out)
}

const ESCAPED: &str = "b.";
