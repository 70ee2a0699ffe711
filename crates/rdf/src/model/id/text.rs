//! Payloads that are short texts: strings, language strings, booleans, blank nodes.

use crate::model::id::short_text::{PAYLOAD_MAX, ShortText};

/// Bytes from the most significant of 56 bits on, followed by zeros: so they order as texts do, and a text with a zero
/// byte in it has none.
fn pack(bytes: &[u8]) -> Option<u64> {
    if bytes.len() > 7 || bytes.contains(&0) {
        return None;
    }
    let mut packed = [0; 8];
    packed[1..=bytes.len()].copy_from_slice(bytes);
    Some(u64::from_be_bytes(packed))
}

fn unpack(payload: u64, from: usize) -> Option<ShortText> {
    let mut bytes = [0; 7];
    bytes[..7 - from].copy_from_slice(&payload.to_be_bytes()[1 + from..]);
    let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(7);
    if bytes[length..].iter().any(|&byte| byte != 0) {
        return None;
    }
    std::str::from_utf8(&bytes[..length]).ok()?;
    Some(ShortText { bytes, length: length as u8 })
}

pub fn parse_string(value: &str) -> Option<u64> {
    pack(value.as_bytes())
}

pub fn format_string(payload: u64) -> Option<ShortText> {
    unpack(payload, 0)
}

/// A language of two small letters, then at most five bytes of text.
pub fn parse_lang_string(value: &str, language: &str) -> Option<u64> {
    let &[first, second] = language.as_bytes() else { return None };
    if !first.is_ascii_lowercase() || !second.is_ascii_lowercase() || value.len() > 5 {
        return None;
    }
    Some((first as u64) << 48 | (second as u64) << 40 | pack(value.as_bytes())? >> 16)
}

pub fn format_lang_string(payload: u64) -> Option<(ShortText, ShortText)> {
    let language = unpack(payload & !((1 << 40) - 1), 0)?;
    let letters = language.as_str().bytes().all(|byte| byte.is_ascii_lowercase());
    (language.length == 2 && letters).then_some((language, unpack(payload, 2)?))
}

pub fn parse_boolean(value: &str) -> Option<u64> {
    match value {
        "false" => Some(0),
        "true" => Some(1),
        _ => None,
    }
}

pub fn format_boolean(payload: u64) -> Option<&'static str> {
    match payload {
        0 => Some("false"),
        1 => Some("true"),
        _ => None,
    }
}

/// The label of a blank node that was made here: `f` and fourteen hexadecimal digits.
pub fn parse_blank(label: &str) -> Option<u64> {
    let digits = label.strip_prefix('f')?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.len() != 14 || !digits.bytes().all(is_digit) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

pub fn format_blank(payload: u64, out: &mut String) {
    debug_assert!(payload <= PAYLOAD_MAX);
    out.push('f');
    for digit in (0..14).rev() {
        let digit = (payload >> (4 * digit)) as u32 & 15;
        out.push(char::from_digit(digit, 16).expect("fifteen at most"));
    }
}
