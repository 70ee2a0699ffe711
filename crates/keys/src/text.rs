//! The text form of keys and values: what a command line reads and prints. The crate's documentation describes it.

use std::fmt::{self, Write};
use std::str::FromStr;

use crate::datum::Datum;
use crate::error::{Error, Result};
use crate::scanner::Scanner;
use crate::types::Type;

impl Type {
    /// The key that `text` stands for, as a table stores it.
    ///
    /// # Errors
    /// [`Error::BadText`] if it stands for none.
    pub fn parse_key(&self, text: &str) -> Result<Vec<u8>> {
        self.encode_key(&self.parse_text(text)?)
    }

    /// A stored key as text, from which [`Type::parse_key`] makes the same bytes.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an encoding of this type.
    pub fn format_key(&self, bytes: &[u8]) -> Result<String> {
        self.decode_key(bytes).map(|datum| datum.to_string())
    }

    /// The value that `text` stands for, as a table stores it.
    ///
    /// # Errors
    /// [`Error::BadText`] if it stands for none.
    pub fn parse_value(&self, text: &str) -> Result<Vec<u8>> {
        self.encode_value(&self.parse_text(text)?)
    }

    /// A stored value as text, from which [`Type::parse_value`] makes the same bytes.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an encoding of this type.
    pub fn format_value(&self, bytes: &[u8]) -> Result<String> {
        self.decode_value(bytes).map(|datum| datum.to_string())
    }

    /// The value of this type that `text` stands for.
    ///
    /// # Errors
    /// [`Error::BadText`] if it stands for none.
    pub fn parse_text(&self, text: &str) -> Result<Datum> {
        self.parse_whole(text).map_err(|reason| Error::BadText { type_name: self.to_string(), reason })
    }

    fn parse_whole(&self, text: &str) -> Result<Datum, String> {
        match self {
            Self::String => Ok(Datum::String(text.to_owned())),
            Self::Char => one_character(text).map(Datum::Char),
            _ => {
                let mut scanner = Scanner::new(text);
                let datum = self.parse_element(&mut scanner)?;
                scanner.expect_end()?;
                Ok(datum)
            }
        }
    }

    fn parse_element(&self, scanner: &mut Scanner<'_>) -> Result<Datum, String> {
        scanner.skip_spaces();
        let datum = match self {
            Self::Tuple(kinds) => {
                scanner.expect('(')?;
                let mut elements = Vec::with_capacity(kinds.len());
                for (index, kind) in kinds.iter().enumerate() {
                    if index > 0 {
                        scanner.expect(',')?;
                    }
                    elements.push(kind.parse_element(scanner)?);
                }
                scanner.expect(')')?;
                Datum::Tuple(elements)
            }
            Self::Option(kind) => match scanner.take_while(|character| character.is_ascii_alphabetic()) {
                "none" => Datum::Option(None),
                "some" => {
                    scanner.expect('(')?;
                    let inner = kind.parse_element(scanner)?;
                    scanner.expect(')')?;
                    Datum::Option(Some(Box::new(inner)))
                }
                _ => return Err(format!("expected `none` or `some(…)` {}", scanner.place())),
            },
            Self::String => Datum::String(quoted_or_bare(scanner)?),
            Self::Char => Datum::Char(one_character(&quoted_or_bare(scanner)?)?),
            _ => self.parse_scalar(bare(scanner))?,
        };
        scanner.skip_spaces();
        Ok(datum)
    }

    fn parse_scalar(&self, text: &str) -> Result<Datum, String> {
        Ok(match self {
            Self::Bool => Datum::Bool(parse_as(text)?),
            Self::U8 => Datum::Unsigned(integer(text, u8::MIN, u8::MAX)?.into()),
            Self::U16 => Datum::Unsigned(integer(text, u16::MIN, u16::MAX)?.into()),
            Self::U32 => Datum::Unsigned(integer(text, u32::MIN, u32::MAX)?.into()),
            Self::U64 => Datum::Unsigned(integer(text, u64::MIN, u64::MAX)?.into()),
            Self::U128 => Datum::Unsigned(integer(text, u128::MIN, u128::MAX)?),
            Self::I8 => Datum::Signed(integer(text, i8::MIN, i8::MAX)?.into()),
            Self::I16 => Datum::Signed(integer(text, i16::MIN, i16::MAX)?.into()),
            Self::I32 => Datum::Signed(integer(text, i32::MIN, i32::MAX)?.into()),
            Self::I64 => Datum::Signed(integer(text, i64::MIN, i64::MAX)?.into()),
            Self::I128 => Datum::Signed(integer(text, i128::MIN, i128::MAX)?),
            Self::F32 => Datum::F32(
                match nan_bits(text)? {
                    Some(bits) => u32::try_from(bits).ok().map(f32::from_bits).filter(|value| value.is_nan()),
                    None => Some(parse_as(text)?),
                }
                .ok_or_else(|| not_a_nan(text))?,
            ),
            Self::F64 => Datum::F64(
                match nan_bits(text)? {
                    Some(bits) => Some(f64::from_bits(bits)).filter(|value| value.is_nan()),
                    None => Some(parse_as(text)?),
                }
                .ok_or_else(|| not_a_nan(text))?,
            ),
            Self::ByteArray(length) => {
                let bytes = hexadecimal(text)?;
                if bytes.len() != *length {
                    return Err(format!("expected {length} bytes, found {}", bytes.len()));
                }
                Datum::Bytes(bytes)
            }
            _ => Datum::Bytes(hexadecimal(text)?),
        })
    }
}

/// The text form; the crate's documentation describes it.
impl fmt::Display for Datum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(value) => out.write_str(value),
            Self::Char(value) => out.write_char(*value),
            _ => self.format_element(out),
        }
    }
}

impl Datum {
    fn format_element(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(out, "{value}"),
            Self::Unsigned(value) => write!(out, "{value}"),
            Self::Signed(value) => write!(out, "{value}"),
            Self::F32(value) if value.is_nan() && value.to_bits() != f32::NAN.to_bits() => {
                write!(out, "NaN:{:08x}", value.to_bits())
            }
            Self::F64(value) if value.is_nan() && value.to_bits() != f64::NAN.to_bits() => {
                write!(out, "NaN:{:016x}", value.to_bits())
            }
            Self::F32(value) => write!(out, "{value:?}"),
            Self::F64(value) => write!(out, "{value:?}"),
            Self::Char(value) => format_quoted(value.encode_utf8(&mut [0; 4]), out),
            Self::String(value) => format_quoted(value, out),
            Self::Bytes(value) => value.iter().try_for_each(|byte| write!(out, "{byte:02x}")),
            Self::Option(None) => out.write_str("none"),
            Self::Option(Some(value)) => {
                out.write_str("some(")?;
                value.format_element(out)?;
                out.write_str(")")
            }
            Self::Tuple(values) => {
                for (index, value) in values.iter().enumerate() {
                    out.write_str(if index == 0 { "(" } else { ", " })?;
                    value.format_element(out)?;
                }
                out.write_str(")")
            }
        }
    }
}

fn format_quoted(text: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            control if control.is_control() => write!(out, "\\u{{{:x}}}", u32::from(control))?,
            plain => out.write_char(plain)?,
        }
    }
    out.write_char('"')
}

/// The text up to the next `,` or `)` outside of quotes, without spaces at its end.
fn bare<'a>(scanner: &mut Scanner<'a>) -> &'a str {
    scanner.take_while(|character| character != ',' && character != ')').trim_end_matches(' ')
}

fn quoted_or_bare(scanner: &mut Scanner<'_>) -> Result<String, String> {
    if !scanner.eat('"') {
        return Ok(bare(scanner).to_owned());
    }
    let mut text = String::new();
    loop {
        match scanner.next_char() {
            Some('"') => return Ok(text),
            Some('\\') => text.push(escaped_character(scanner)?),
            Some(plain) => text.push(plain),
            None => return Err("expected a `\"` at the end".to_owned()),
        }
    }
}

fn escaped_character(scanner: &mut Scanner<'_>) -> Result<char, String> {
    match scanner.next_char() {
        Some(same @ ('"' | '\\')) => Ok(same),
        Some('n') => Ok('\n'),
        Some('r') => Ok('\r'),
        Some('t') => Ok('\t'),
        Some('u') => {
            scanner.expect('{')?;
            let digits = scanner.take_while(|character| character.is_ascii_hexdigit());
            scanner.expect('}')?;
            let number = u32::from_str_radix(digits, 16).ok();
            number.and_then(char::from_u32).ok_or_else(|| format!("`\\u{{{digits}}}` is not a character"))
        }
        _ => Err("after `\\` comes one of `\"`, `\\`, `n`, `r`, `t`, `u{…}`".to_owned()),
    }
}

fn one_character(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err("expected exactly one character".to_owned()),
    }
}

fn parse_as<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("`{text}`: {error}"))
}

/// A whole number of a type with these limits.
fn integer<T: FromStr + fmt::Display>(text: &str, least: T, greatest: T) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}`: expected a whole number from {least} to {greatest}"))
}

/// The bits of a NaN that is written with them.
fn nan_bits(text: &str) -> Result<Option<u64>, String> {
    let Some(digits) = text.strip_prefix("NaN:") else { return Ok(None) };
    u64::from_str_radix(digits, 16).map(Some).map_err(|error| format!("`{text}`: {error}"))
}

fn not_a_nan(text: &str) -> String {
    format!("`{text}`: these are no bits of a NaN")
}

fn hexadecimal(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    if digits.len() % 2 == 1 {
        return Err("expected an even number of hexadecimal digits".to_owned());
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    digits
        .chunks_exact(2)
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect::<Option<_>>()
        .ok_or_else(|| "expected hexadecimal digits".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(name: &str, text: &str) -> String {
        let kind: Type = name.parse().unwrap();
        let key = kind.parse_key(text).unwrap();
        let printed = kind.format_key(&key).unwrap();
        assert_eq!(kind.parse_key(&printed).unwrap(), key, "{name} {text}");
        let value = kind.parse_value(text).unwrap();
        assert_eq!(kind.format_value(&value).unwrap(), printed, "{name} {text}");
        printed
    }

    #[test]
    fn canonical_text_is_printed_as_it_was_read() {
        for (name, text) in [
            ("u8", "255"),
            ("i128", "-170141183460469231731687303715884105728"),
            ("bool", "true"),
            ("char", "\""),
            ("f64", "-0.0"),
            ("f64", "1e300"),
            ("f64", "-inf"),
            ("f64", "NaN"),
            ("f64", "NaN:fff8000000000001"),
            ("f32", "NaN:7fa00000"),
            ("f32", "0.1"),
            ("string", " (\"raw\", text) "),
            ("string", ""),
            ("bytes", ""),
            ("bytes[3]", "00ff10"),
            ("option<string>", "none"),
            ("option<string>", "some(\"\")"),
            ("option<option<u8>>", "some(none)"),
            ("(u32,string)", "(7, \"a, \\\"b\\\" (c)\\n\\u{0}\\\\\")"),
            ("(bytes,char,(bool,option<bytes>))", "(, \"é\", (false, some(ff)))"),
        ] {
            assert_eq!(round_trip(name, text), text, "{name}");
        }
    }

    #[test]
    fn loose_text_is_read_and_printed_in_canonical_form() {
        assert_eq!(round_trip("(u32,string,char)", " ( 7 , seven days,x)"), "(7, \"seven days\", \"x\")");
        assert_eq!(round_trip("bytes", "0xABcd"), "abcd");
        assert_eq!(round_trip("u64", " 7 "), "7");
    }

    #[test]
    fn text_of_another_type_is_an_error_that_says_why() {
        for (name, text, expected) in [
            ("u8", "256", "not a u8: `256`: expected a whole number from 0 to 255"),
            ("u8", "", "not a u8: ``: expected a whole number from 0 to 255"),
            ("char", "ab", "not a char: expected exactly one character"),
            ("bytes", "abc", "not a bytes: expected an even number of hexadecimal digits"),
            ("bytes", "é", "not a bytes: expected hexadecimal digits"),
            ("bytes[2]", "00", "not a bytes[2]: expected 2 bytes, found 1"),
            ("f64", "NaN:7ff0000000000000", "not a f64: `NaN:7ff0000000000000`: these are no bits of a NaN"),
            ("f32", "NaN:fff8000000000001", "not a f32: `NaN:fff8000000000001`: these are no bits of a NaN"),
            ("(u8,u8)", "(1)", "not a (u8,u8): expected `,` before `)` (byte 2)"),
            ("(u8)", "(1) 2", "not a (u8): expected the end before `2` (byte 4)"),
            ("(string)", "(\"a", "not a (string): expected a `\"` at the end"),
            ("(string)", "(\"\\u{d800}\")", "not a (string): `\\u{d800}` is not a character"),
            ("option<u8>", "7", "not a option<u8>: expected `none` or `some(…)` before `7` (byte 0)"),
        ] {
            let kind: Type = name.parse().unwrap();
            assert_eq!(kind.parse_key(text).unwrap_err().to_string(), expected);
        }
    }
}
