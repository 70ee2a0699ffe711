//! Keys and values in JSON.
//!
//! | stored | JSON |
//! |---|---|
//! | plain bytes | a string if they are UTF-8, else `{"hex": "00ff"}` |
//! | `u8` … `i128` | a number with all its digits |
//! | `f32`, `f64` | a number; `"NaN"`, `"inf"`, `"-inf"` |
//! | `bool`, `string`, `char` | `true`, `"text"`, `"c"` |
//! | `bytes`, `bytes[N]` | `{"hex": "00ff"}` |
//! | `option<T>` | `null`, or what is inside; an option inside of an option is `{"some": …}` |
//! | tuples | an array |
//!
//! Read are also: for each type but `string` and `char`, a string with the type's text form; for plain bytes, any JSON,
//! which is stored as its text.

use std::fmt;

use fulgurite_keys::{Datum, Type};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::notation::{bytes_of_hex, excerpt, push_hex};

/// The members of a JSON object, in their order, unread.
#[derive(Debug)]
pub struct Members<'a>(pub Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// The value of the only member, if it has this name.
    fn only(&self, name: &str) -> Option<&'a RawValue> {
        match &self.0[..] {
            [(only, value)] if only == name => Some(value),
            _ => None,
        }
    }

    /// The value of a member; none if there is no such.
    ///
    /// # Errors
    /// If there are several.
    pub fn find(&self, name: &str) -> Result<Option<&'a RawValue>, String> {
        let mut found = self.0.iter().filter(|(member, _)| member == name);
        let first = found.next().map(|(_, value)| *value);
        if found.next().is_some() {
            return Err(format!("duplicate member `{name}`"));
        }
        Ok(first)
    }
}

/// What the parser has found wrong with a line, without the place: it says line 1 always.
pub fn fault(error: &serde_json::Error) -> String {
    let whole = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match whole.strip_suffix(&place).unwrap_or(&whole) {
        // "expected ident" is the fault of a word that begins like `true`, `false` or `null`.
        "expected ident" | "expected value" => "expected a value, or a text in double quotes".to_owned(),
        "trailing characters" => "expected the end after the value".to_owned(),
        cut if cut.starts_with("EOF while parsing") => "the text ends before the value is complete".to_owned(),
        other => match other.strip_prefix("invalid type: ").and_then(|types| types.split_once(", expected ")) {
            Some(("sequence", expected)) => format!("expected {expected}, found an array"),
            Some(("map", expected)) => format!("expected {expected}, found an object"),
            Some((found, expected)) => format!("expected {expected}, found {found}"),
            None => other.to_owned(),
        },
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;

        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::with_capacity(2);
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Each)
    }
}

/// The plain bytes that a JSON value stands for.
///
/// # Errors
/// What is wrong with it.
pub fn bytes_of_json(value: &RawValue) -> Result<Vec<u8>, String> {
    match Shape::of(value) {
        Shape::String => string(value).map(String::into_bytes),
        Shape::Object => match hex_member(value)? {
            Some(bytes) => Ok(bytes),
            None => Ok(value.get().as_bytes().to_vec()),
        },
        _ => Ok(value.get().as_bytes().to_vec()),
    }
}

/// The bytes of a string of hexadecimal digits, or of `{"hex": …}`.
///
/// # Errors
/// What is wrong with it.
pub fn bytes_of_json_hex(value: &RawValue) -> Result<Vec<u8>, String> {
    match Shape::of(value) {
        Shape::String => bytes_of_hex(&string(value)?),
        _ => hex_member(value)?.ok_or_else(|| wanted("a string of hexadecimal digits", value)),
    }
}

/// The value of a type that a JSON value stands for.
///
/// # Errors
/// What is wrong with it.
pub fn datum_of_json(kind: &Type, value: &RawValue) -> Result<Datum, String> {
    let parse = |text: &str| kind.parse_text(text).map_err(|error| error.to_string());
    match (kind, Shape::of(value)) {
        (Type::Option(_), Shape::Null) => Ok(Datum::Option(None)),
        (Type::Option(inner), shape) => {
            let inside = if !matches!(**inner, Type::Option(_)) {
                Some(value)
            } else if shape == Shape::Object {
                members(value)?.only("some")
            } else {
                None
            };
            let inside = inside.ok_or_else(|| wanted("null or {\"some\": …}", value))?;
            Ok(Datum::Option(Some(Box::new(datum_of_json(inner, inside)?))))
        }
        (Type::Tuple(kinds), Shape::Array) => {
            let elements: Vec<&RawValue> = serde_json::from_str(value.get()).map_err(|error| error.to_string())?;
            if elements.len() != kinds.len() {
                return Err(format!(
                    "expected an array of {} elements for {kind}, found {}",
                    kinds.len(),
                    elements.len()
                ));
            }
            let elements = kinds.iter().zip(elements).map(|(kind, element)| datum_of_json(kind, element));
            elements.collect::<Result<_, _>>().map(Datum::Tuple)
        }
        (Type::Bytes | Type::ByteArray(_), Shape::Object) => {
            let bytes = hex_member(value)?.ok_or_else(|| wanted("{\"hex\": …}", value))?;
            let mut digits = String::new();
            push_hex(&bytes, &mut digits);
            parse(&digits)
        }
        (_, Shape::String) => parse(&string(value)?),
        (Type::Bool, Shape::Bool) => parse(value.get()),
        (Type::Bool | Type::Char | Type::String | Type::Bytes | Type::ByteArray(_) | Type::Tuple(_), _) => {
            Err(wanted(&format!("a {kind}"), value))
        }
        (_, Shape::Number) => parse(value.get()),
        _ => Err(wanted(&format!("a {kind}"), value)),
    }
}

/// Appends plain bytes as JSON.
pub fn push_bytes(bytes: &[u8], out: &mut String) {
    match str::from_utf8(bytes) {
        Ok(text) => push_string(text, out),
        Err(_) => push_hex_object(bytes, out),
    }
}

/// Appends bytes as `{"hex": "…"}`.
pub fn push_hex_object(bytes: &[u8], out: &mut String) {
    out.push_str("{\"hex\":\"");
    push_hex(bytes, out);
    out.push_str("\"}");
}

/// Appends a value of a type as JSON.
pub fn push_datum(datum: &Datum, out: &mut String) {
    match datum {
        Datum::Bool(_) | Datum::Unsigned(_) | Datum::Signed(_) => out.push_str(&datum.to_string()),
        Datum::F32(value) if value.is_finite() => out.push_str(&datum.to_string()),
        Datum::F64(value) if value.is_finite() => out.push_str(&datum.to_string()),
        Datum::Bytes(bytes) => push_hex_object(bytes, out),
        Datum::Option(None) => out.push_str("null"),
        Datum::Option(Some(inside)) if matches!(**inside, Datum::Option(_)) => {
            out.push_str("{\"some\":");
            push_datum(inside, out);
            out.push('}');
        }
        Datum::Option(Some(inside)) => push_datum(inside, out),
        Datum::Tuple(elements) => {
            for (index, element) in elements.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                push_datum(element, out);
            }
            out.push(']');
        }
        // Strings and characters as they are; floats that no JSON number stands for.
        _ => push_string(&datum.to_string(), out),
    }
}

/// Appends text as a JSON string.
pub fn push_string(text: &str, out: &mut String) {
    out.push('"');
    let mut plain_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' && byte != 0x7f {
            continue;
        }
        out.push_str(&text[plain_from..at]);
        plain_from = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
    }
    out.push_str(&text[plain_from..]);
    out.push('"');
}

/// What kind of JSON a value is, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Shape {
    /// The shape of a value.
    pub fn of(value: &RawValue) -> Self {
        match value.get().as_bytes().first() {
            Some(b'"') => Self::String,
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b't' | b'f') => Self::Bool,
            Some(b'n') | None => Self::Null,
            Some(_) => Self::Number,
        }
    }
}

/// The message about a value where something else is expected.
pub fn wanted(what: &str, value: &RawValue) -> String {
    format!("expected {what}, found {}", excerpt(value.get()))
}

fn string(value: &RawValue) -> Result<String, String> {
    serde_json::from_str(value.get()).map_err(|error| format!("{}: {error}", excerpt(value.get())))
}

fn members(value: &RawValue) -> Result<Members<'_>, String> {
    serde_json::from_str(value.get()).map_err(|error| error.to_string())
}

/// The bytes of `{"hex": "…"}`; none if the value is something else.
fn hex_member(value: &RawValue) -> Result<Option<Vec<u8>>, String> {
    if Shape::of(value) != Shape::Object {
        return Ok(None);
    }
    match members(value)?.only("hex") {
        Some(digits) if Shape::of(digits) == Shape::String => bytes_of_hex(&string(digits)?).map(Some),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn every_type_comes_back_from_its_json() {
        for (name, text, expected) in [
            ("u64", "18446744073709551615", "18446744073709551615"),
            ("i128", "-170141183460469231731687303715884105728", "-170141183460469231731687303715884105728"),
            ("f64", "1e300", "1e300"),
            ("f64", "-0.0", "-0.0"),
            ("f32", "inf", "\"inf\""),
            ("f64", "NaN:fff8000000000001", "\"NaN:fff8000000000001\""),
            ("bool", "true", "true"),
            ("char", "\"", "\"\\\"\""),
            ("string", "a\u{1}\n\\é", "\"a\\u0001\\n\\\\é\""),
            ("bytes", "00ff", "{\"hex\":\"00ff\"}"),
            ("bytes[2]", "00ff", "{\"hex\":\"00ff\"}"),
            ("option<u8>", "none", "null"),
            ("option<string>", "some(\"null\")", "\"null\""),
            ("option<option<u8>>", "none", "null"),
            ("option<option<u8>>", "some(none)", "{\"some\":null}"),
            ("option<option<u8>>", "some(some(7))", "{\"some\":7}"),
            ("(u32,(string,option<bytes>))", "(7, (\"x\", some(ff)))", "[7,[\"x\",{\"hex\":\"ff\"}]]"),
        ] {
            let kind: Type = name.parse().unwrap();
            let datum = kind.parse_text(text).unwrap();
            let mut printed = String::new();
            push_datum(&datum, &mut printed);
            assert_eq!(printed, expected);
            let again = datum_of_json(&kind, raw(&printed)).unwrap();
            assert_eq!(kind.encode_key(&again).unwrap(), kind.encode_key(&datum).unwrap(), "{name} {text}");
        }
    }

    #[test]
    fn a_string_with_the_text_form_is_read_as_any_type() {
        let number: Type = "u64".parse().unwrap();
        assert_eq!(datum_of_json(&number, raw("\"7\"")).unwrap(), Datum::Unsigned(7));
        let pair: Type = "(u8,string)".parse().unwrap();
        let expected = Datum::Tuple(vec![Datum::Unsigned(7), Datum::String("x".into())]);
        assert_eq!(datum_of_json(&pair, raw("\"(7, x)\"")).unwrap(), expected);
    }

    #[test]
    fn json_of_another_type_is_an_error_that_says_what_is_wanted() {
        for (name, text, expected) in [
            ("u64", "1.5", "not a u64: `1.5`: expected a whole number from 0 to 18446744073709551615"),
            ("u64", "null", "expected a u64, found null"),
            ("string", "7", "expected a string, found 7"),
            ("bool", "1", "expected a bool, found 1"),
            ("bytes", "[1]", "expected a bytes, found [1]"),
            ("bytes", "{\"hex\":\"0\"}", "expected an even number of hexadecimal digits, found 1"),
            ("bytes", "{\"hex\":1}", "expected {\"hex\": …}, found {\"hex\":1}"),
            ("(u8,u8)", "[1]", "expected an array of 2 elements for (u8,u8), found 1"),
            ("option<option<u8>>", "7", "expected null or {\"some\": …}, found 7"),
        ] {
            let kind: Type = name.parse().unwrap();
            assert_eq!(datum_of_json(&kind, raw(text)).unwrap_err(), expected);
        }
    }

    #[test]
    fn plain_bytes_come_back_and_other_json_is_kept_as_its_text() {
        for bytes in [&b""[..], b"text", b"\xFF", "é\"\u{7f}".as_bytes()] {
            let mut printed = String::new();
            push_bytes(bytes, &mut printed);
            assert_eq!(bytes_of_json(raw(&printed)).unwrap(), bytes, "{printed}");
        }
        for text in ["1.50", "{\"a\": [1,  2]}", "null", "{\"hex\":7}", "{\"hex\":\"00\",\"b\":1}"] {
            assert_eq!(bytes_of_json(raw(text)).unwrap(), text.as_bytes());
        }
        assert!(bytes_of_json(raw("{\"hex\":\"0\"}")).is_err());
        assert!(bytes_of_json(raw("\"\\ud800\"")).is_err());
    }

    #[test]
    fn members_are_found_once() {
        let members: Members<'_> = serde_json::from_str("{\"a\":1,\"b\":{\"a\":2},\"b\":3}").unwrap();
        assert_eq!(members.find("a").unwrap().unwrap().get(), "1");
        assert!(members.find("c").unwrap().is_none());
        assert_eq!(members.find("b").unwrap_err(), "duplicate member `b`");
    }
}
