//! The classes of characters of XML 1.0 and of Namespaces in XML 1.0.

/// Production 2, `Char`: what a document may contain, raw or by reference.
pub fn is_character(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Production 3, `S`.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Production 13, `PubidChar`.
pub fn is_of_public_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" \r\n-'()+,./:=?;!*#@$_%".contains(&byte)
}

/// Production 4, `NameStartChar`, without the colon.
fn begins_name(character: char) -> bool {
    matches!(character,
        'A'..='Z' | '_' | 'a'..='z'
        | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}'
        | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}'
        | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

/// Production 4a, `NameChar`, without the colon.
fn continues_name(character: char) -> bool {
    begins_name(character)
        || matches!(character, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// Whether a text is an `NCName`: a name without a colon.
pub fn is_nc_name(text: &str) -> bool {
    text.chars().next().is_some_and(begins_name) && text.chars().all(continues_name)
}

/// Whether a text is an `NCName` in the fourth edition of XML 1.0 too, which many readers follow. Scripts that few
/// names are in are left out.
pub fn is_nc_name_of_all_editions(text: &str) -> bool {
    text.chars().next().is_some_and(begins_older_name) && text.chars().all(continues_older_name)
}

/// `Letter` of the fourth edition (its appendix B), in part, and `_`.
fn begins_older_name(character: char) -> bool {
    matches!(character,
        'A'..='Z' | '_' | 'a'..='z'
        // Latin
        | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{131}' | '\u{134}'..='\u{13e}'
        | '\u{141}'..='\u{148}' | '\u{14a}'..='\u{17e}' | '\u{180}'..='\u{1c3}' | '\u{1cd}'..='\u{1f0}'
        | '\u{1e00}'..='\u{1e9b}' | '\u{1ea0}'..='\u{1ef9}'
        // Greek, Cyrillic
        | '\u{386}' | '\u{388}'..='\u{38a}' | '\u{38c}' | '\u{38e}'..='\u{3a1}' | '\u{3a3}'..='\u{3ce}'
        | '\u{401}'..='\u{40c}' | '\u{40e}'..='\u{44f}' | '\u{451}'..='\u{45c}' | '\u{45e}'..='\u{481}'
        // Armenian, Georgian, Hebrew, Arabic
        | '\u{531}'..='\u{556}' | '\u{561}'..='\u{586}' | '\u{10d0}'..='\u{10f6}'
        | '\u{5d0}'..='\u{5ea}' | '\u{621}'..='\u{63a}' | '\u{641}'..='\u{64a}' | '\u{671}'..='\u{6b7}'
        // Devanagari, Thai
        | '\u{905}'..='\u{939}' | '\u{958}'..='\u{961}'
        | '\u{e01}'..='\u{e2e}' | '\u{e30}' | '\u{e32}'..='\u{e33}' | '\u{e40}'..='\u{e45}'
        // Hiragana, Katakana, Bopomofo, Han, Hangul
        | '\u{3041}'..='\u{3094}' | '\u{30a1}'..='\u{30fa}' | '\u{3105}'..='\u{312c}'
        | '\u{4e00}'..='\u{9fa5}' | '\u{ac00}'..='\u{d7a3}')
}

/// With the digits, and the combining characters of these scripts.
fn continues_older_name(character: char) -> bool {
    begins_older_name(character)
        || matches!(character,
            '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{345}'
            | '\u{901}'..='\u{903}' | '\u{93c}' | '\u{93e}'..='\u{94d}'
            | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
            | '\u{3005}' | '\u{30fc}'..='\u{30fe}')
}

/// Appends a text, with those bytes replaced for which `escaped` gives a reference.
pub fn push_escaped(text: &str, out: &mut String, escaped: impl Fn(u8) -> Option<&'static str>) {
    let mut begin = 0;
    for (at, byte) in text.bytes().enumerate() {
        if let Some(escaped) = escaped(byte) {
            out.push_str(&text[begin..at]);
            out.push_str(escaped);
            begin = at + 1;
        }
    }
    out.push_str(&text[begin..]);
}

/// Appends the text of an element so that every reader has the same: carriage returns would be line feeds.
pub fn push_text(text: &str, out: &mut String) {
    push_escaped(text, out, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'\r' => Some("&#xD;"),
        _ => None,
    });
}

/// The length of the name (production 5) that a text begins with, colons included; 0 if it begins with none.
pub fn name_length(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    if begins_name(first) || first == ':' { token_length(text) } else { 0 }
}

/// The length of the name token (production 7) that a text begins with.
pub fn token_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] < 0x80 {
            if !PLAIN_NAME[usize::from(bytes[at])] {
                break;
            }
            at += 1;
            continue;
        }
        match text[at..].chars().next() {
            Some(character) if continues_name(character) => at += character.len_utf8(),
            _ => break,
        }
    }
    at
}

/// Where the local part of a name begins: behind its colon, or at 0. `None` if it is no `QName`.
pub fn local_begin(name: &str) -> Option<usize> {
    match name.find(':') {
        None => Some(0),
        Some(colon) => {
            let local = &name[colon + 1..];
            (colon > 0 && local.chars().next().is_some_and(begins_name) && !local.contains(':')).then_some(colon + 1)
        }
    }
}

/// The ASCII characters of names.
const PLAIN_NAME: [bool; 128] = {
    let mut allowed = [false; 128];
    let mut byte = 0;
    while byte < 128 {
        allowed[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b':' | b'_' | b'-' | b'.');
        byte += 1;
    }
    allowed
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_boundaries_of_the_fifth_edition() {
        for (text, length) in
            [("a-1.b c", 5), ("1a", 0), ("-a", 0), (":a", 2), ("é·x=", 5), ("\u{d7}", 0), ("a\u{d7}", 1)]
        {
            assert_eq!(name_length(text), length, "{text}");
        }
        assert!(is_nc_name("_a\u{300}") && !is_nc_name("a:b") && !is_nc_name("") && !is_nc_name("\u{300}a"));
        assert_eq!(
            [local_begin("a"), local_begin("a:b"), local_begin("a:"), local_begin(":a")],
            [Some(0), Some(2), None, None]
        );
        assert_eq!([local_begin("a:b:c"), local_begin("a:1")], [None, None]);
    }

    #[test]
    fn names_of_all_editions_are_names_of_this_one() {
        for character in ('\0'..=char::MAX).filter(|&character| continues_older_name(character)) {
            assert!(continues_name(character), "{character:?}");
            assert!(begins_name(character) || !begins_older_name(character), "{character:?}");
        }
        for text in ["a-1.b", "été", "имя", "名前", "ラーメン", "नमस्ते", "ชื่อ", "이름", "שם"]
        {
            assert!(is_nc_name_of_all_editions(text), "{text}");
        }
        for text in ["", "1", "a:b", "\u{10000}x", "\u{2c00}x", "x\u{2c00}", "\u{132}", "a\u{203f}"] {
            assert!(!is_nc_name_of_all_editions(text), "{text}");
        }
    }

    #[test]
    fn surrogates_and_controls_are_no_characters() {
        assert!(['\t', '\n', '\r', ' ', '\u{7f}', '\u{85}', '\u{fffd}', '\u{1fffe}'].into_iter().all(is_character));
        assert!(!['\0', '\u{b}', '\u{1f}', '\u{fffe}', '\u{ffff}'].into_iter().any(is_character));
    }
}
