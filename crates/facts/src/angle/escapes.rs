//! String literals: those of JSON, which may also hold control characters as they are.

/// The offset of the quote that ends a literal. `text` begins after the opening quote.
pub fn end_of_literal(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// The string that a literal's inside stands for, or the offset of the escape that is wrong.
pub fn unescape_literal(inside: &str) -> Result<String, usize> {
    let mut string = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        string.push_str(&rest[..at]);
        let offset = inside.len() - rest.len() + at;
        let escape = &rest[at + 1..];
        let (character, length) = escaped_character(escape).ok_or(offset)?;
        string.push(character);
        rest = &escape[length..];
    }
    string.push_str(rest);
    Ok(string)
}

/// A character after a backslash, and how many bytes of the literal it takes.
fn escaped_character(escape: &str) -> Option<(char, usize)> {
    let character = match escape.as_bytes().first()? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode_character(&escape[1..]).map(|(character, length)| (character, length + 1)),
        _ => return None,
    };
    Some((character, 1))
}

/// Four hexadecimal digits, or two times four with `\u` between them for the characters beyond 16 bits.
fn unicode_character(digits: &str) -> Option<(char, usize)> {
    let unit = |digits: &str| {
        let digits = digits.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(digits)?;
    if !(0xD800..0xDC00).contains(&first) {
        return Some((char::from_u32(first)?, 4));
    }
    let second = unit(digits[4..].strip_prefix("\\u")?).filter(|second| (0xDC00..0xE000).contains(second))?;
    Some((char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))?, 10))
}

#[cfg(test)]
mod tests {
    use super::unescape_literal;

    #[test]
    fn escapes_are_those_of_json() {
        assert_eq!(unescape_literal(r#"a\"\\\/\b\f\n\r\t"#).as_deref(), Ok("a\"\\/\u{8}\u{c}\n\r\t"));
        assert_eq!(unescape_literal(r"\u0000\u00e9\ud83d\ude00!").as_deref(), Ok("\0é😀!"));
        for (wrong, offset) in [(r"ab\x", 2), (r"\u12", 0), (r"é\ud83d", 2), (r"\ud83d\u0041", 0), (r"\udc00", 0)] {
            assert_eq!(unescape_literal(wrong), Err(offset), "{wrong}");
        }
    }
}
