//! The tokens of a SPARQL text: SPARQL 1.1, 19.8, with those of 1.2.
//!
//! Unlike the parser this takes any text. What begins no token is a token of its kind, too, so that an error can name
//! it. Called by `words`, `xpath`, `star` and `text`.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A keyword, the name of a function, `a`, `true`, `false`, or another word.
    Word,
    /// `?name` or `$name`.
    Variable,
    /// `<…>`.
    Iri,
    /// `prefix:name` or `prefix:`.
    PrefixedName,
    /// `_:name`.
    BlankNode,
    /// A string in any of the four kinds of quotes.
    String,
    /// `@en`.
    Language,
    Integer,
    /// A number with a point or an exponent.
    Number,
    /// An operator or a bracket.
    Symbol,
    /// A string that does not end: a short one not on its line.
    UnclosedString,
    /// A character that begins no token.
    Stray,
}

/// A token: its kind, and where it is in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: Kind,
    pub range: Range<usize>,
}

impl Token {
    pub(crate) fn text<'t>(&self, text: &'t str) -> &'t str {
        &text[self.range.clone()]
    }

    /// The name of a variable; `None` for another token.
    pub(crate) fn variable<'t>(&self, text: &'t str) -> Option<&'t str> {
        (self.kind == Kind::Variable).then(|| &self.text(text)[1..])
    }

    /// Whether it is this keyword, in any case.
    pub(crate) fn is_word(&self, text: &str, word: &str) -> bool {
        self.kind == Kind::Word && self.text(text).eq_ignore_ascii_case(word)
    }

    pub(crate) fn is_symbol(&self, text: &str, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text(text) == symbol
    }
}

/// Symbols, the longer before those that they begin with.
pub(crate) const SYMBOLS: [&str; 33] = [
    "<<(", ")>>", "<<", ">>", "{|", "|}", "||", "&&", "!=", "<=", ">=", "^^", "{", "}", "(", ")", "[", "]", ".", ";",
    ",", "*", "/", "|", "!", "=", "<", ">", "+", "-", "^", "?", "~",
];

/// Whether `text` may have one of `words` (ASCII letters and `_`) as a token, in any case: false only if it has none.
///
/// This takes a small part of the time of [`tokens`].
pub(crate) fn may_have_word(text: &str, words: &[&str]) -> bool {
    let first_letters = words.iter().fold(0, |letters, word| letters | letter_bit(word.as_bytes()[0]));
    let bytes = text.as_bytes();
    let mut is_within_word = false;
    for (at, &byte) in bytes.iter().enumerate() {
        let letter = letter_bit(byte);
        if letter & first_letters != 0 && !is_within_word && words.iter().any(|word| begins_with(&bytes[at..], word)) {
            return true;
        }
        is_within_word = letter != 0;
    }
    false
}

fn begins_with(bytes: &[u8], word: &str) -> bool {
    bytes.get(..word.len()).is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
}

/// One bit for each ASCII letter, the same in either case; zero for another byte.
const fn letter_bit(byte: u8) -> u32 {
    if byte.is_ascii_alphabetic() { 1 << ((byte | 0x20) - b'a') } else { 0 }
}

/// All tokens of the text, without white space and comments.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if matches!(first, ' ' | '\t' | '\n' | '\r') {
            at += 1;
            continue;
        }
        if first == '#' {
            at += rest.find(['\n', '\r']).unwrap_or(rest.len());
            continue;
        }
        let (kind, length) = token(rest, first);
        tokens.push(Token { kind, range: at..at + length });
        at += length;
    }
    tokens
}

/// Line and column of a byte, both from 1; columns are counted in characters.
pub(crate) fn place(text: &str, byte: usize) -> (u64, u64) {
    let before = &text[..byte];
    let line = before.matches('\n').count() as u64 + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
    (line, column)
}

/// The token that a text begins with.
fn token(rest: &str, first: char) -> (Kind, usize) {
    match first {
        '"' | '\'' => return string(rest, first),
        '<' if iri(rest) > 0 => return (Kind::Iri, iri(rest)),
        '?' | '$' => {
            let name = name(&rest[1..], |character, _| is_variable_character(character));
            if name > 0 {
                return (Kind::Variable, 1 + name);
            }
        }
        '@' => {
            let tag = rest[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len() - 1);
            if tag > 0 {
                return (Kind::Language, 1 + tag);
            }
        }
        '_' if rest.starts_with("_:") => {
            let label = without_dots(&rest[2..], name(&rest[2..], |c, _| is_name_character(c) || c == '.'));
            if label > 0 {
                return (Kind::BlankNode, 2 + label);
            }
        }
        _ => {}
    }
    if let Some(found) = number(rest) {
        return found;
    }
    if first == ':' || is_name_start(first) || rest.starts_with("\\u") || rest.starts_with("\\U") {
        let prefix = without_dots(rest, name(rest, |c, _| is_name_character(c) || c == '.'));
        if rest[prefix..].starts_with(':') {
            return (Kind::PrefixedName, prefix + 1 + local_name(&rest[prefix + 1..]));
        }
    }
    let word = name(rest, |character, _| character == '_' || character.is_alphanumeric());
    if word > 0 {
        return (Kind::Word, word);
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => (Kind::Symbol, symbol.len()),
        None => (Kind::Stray, if rest.starts_with('&') { 1 } else { first.len_utf8() }),
    }
}

/// The bytes at the beginning whose characters belong to a name, by character and place. A character may be given by
/// its number.
fn name(rest: &str, belongs: impl Fn(char, usize) -> bool) -> usize {
    let mut at = 0;
    while let Some(first) = rest[at..].chars().next() {
        let (character, length) = match numbered(&rest[at..]) {
            Some(numbered) => numbered,
            None => (first, first.len_utf8()),
        };
        if !belongs(character, at) {
            break;
        }
        at += length;
    }
    at
}

/// `\u` and the number of a character.
fn numbered(rest: &str) -> Option<(char, usize)> {
    let length = match rest.get(..2)? {
        "\\u" => 6,
        "\\U" => 10,
        _ => return None,
    };
    let digits = rest.get(2..length)?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number
        .then(|| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32))?
        .map(|character| (character, length))
}

/// The length without the dots at the end: these end a statement.
fn without_dots(rest: &str, length: usize) -> usize {
    rest[..length].trim_end_matches('.').len()
}

fn local_name(rest: &str) -> usize {
    let mut at = 0;
    loop {
        let here = &rest[at..];
        at += match here.chars().next() {
            Some('%') if here.get(1..3).is_some_and(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit())) => 3,
            Some('\\') if numbered(here).is_none() && here.len() > 1 && here.as_bytes()[1].is_ascii_punctuation() => 2,
            Some(_) => match name(here, |c, _| is_name_character(c) || matches!(c, ':' | '.')) {
                0 => break,
                length => length,
            },
            None => break,
        };
    }
    let length = without_dots(rest, at);
    // A dot that is escaped belongs to the name.
    if rest[..length].ends_with('\\') { length + 1 } else { length }
}

fn number(rest: &str) -> Option<(Kind, usize)> {
    let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(0);
    let mut length = whole;
    let fraction = if rest[whole..].starts_with('.') { digits(whole + 1) } else { 0 };
    if fraction > 0 {
        length += 1 + fraction;
    }
    if length == 0 {
        return None;
    }
    let exponent_at = |at: usize| {
        let after = rest[at..].strip_prefix(['e', 'E'])?;
        let unsigned = after.strip_prefix(['+', '-']).unwrap_or(after);
        let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0).then_some(rest.len() - unsigned.len() + digits)
    };
    let point = usize::from(fraction == 0 && rest[length..].starts_with('.'));
    match exponent_at(length).or_else(|| exponent_at(length + point)) {
        Some(end) => Some((Kind::Number, end)),
        None => Some((if length == whole { Kind::Integer } else { Kind::Number }, length)),
    }
}

/// The length of the IRI at the beginning; 0 if there is none.
fn iri(rest: &str) -> usize {
    let end = rest[1..].find(|c| matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`' | '\0'..=' '));
    match end {
        Some(end) if rest[1 + end..].starts_with('>') => end + 2,
        _ => 0,
    }
}

fn string(rest: &str, quote: char) -> (Kind, usize) {
    let long = quote.to_string().repeat(3);
    let (mut at, end) = if rest.starts_with(&long) { (3, long.as_str()) } else { (1, &long[..1]) };
    while let Some(character) = rest[at..].chars().next() {
        if rest[at..].starts_with(end) {
            return (Kind::String, at + end.len());
        }
        if end.len() == 1 && matches!(character, '\n' | '\r') {
            break;
        }
        at += character.len_utf8();
        if character == '\\' {
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    (Kind::UnclosedString, at)
}

/// The value of a token that is a string, with its escapes resolved.
pub(crate) fn string_value(token: &str) -> String {
    let quote = &token[..1];
    let quotes = if token.len() >= 6 && token.starts_with(&quote.repeat(3)) { 3 } else { 1 };
    let mut rest = &token[quotes..token.len() - quotes];
    let mut value = String::with_capacity(rest.len());
    while let Some(at) = rest.find('\\') {
        value.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((character, length)) = numbered(rest) {
            value.push(character);
            rest = &rest[length..];
            continue;
        }
        let escaped = rest[1..].chars().next().unwrap_or('\\');
        value.push(match escaped {
            't' => '\t',
            'b' => '\u{8}',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{c}',
            other => other,
        });
        rest = rest.get(1 + escaped.len_utf8()..).unwrap_or_default();
    }
    value.push_str(rest);
    value
}

/// `PN_CHARS_BASE`.
fn is_name_start(character: char) -> bool {
    matches!(
        character,
        'A'..='Z'
            | 'a'..='z'
            | '\u{C0}'..='\u{D6}'
            | '\u{D8}'..='\u{F6}'
            | '\u{F8}'..='\u{2FF}'
            | '\u{370}'..='\u{37D}'
            | '\u{37F}'..='\u{1FFF}'
            | '\u{200C}'..='\u{200D}'
            | '\u{2070}'..='\u{218F}'
            | '\u{2C00}'..='\u{2FEF}'
            | '\u{3001}'..='\u{D7FF}'
            | '\u{F900}'..='\u{FDCF}'
            | '\u{FDF0}'..='\u{FFFD}'
            | '\u{10000}'..='\u{EFFFF}'
    )
}

fn is_variable_character(character: char) -> bool {
    let more = matches!(character, '0'..='9' | '_' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}');
    more || is_name_start(character)
}

/// `PN_CHARS`.
fn is_name_character(character: char) -> bool {
    character == '-' || is_variable_character(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(Kind, &str)> {
        tokens(text).iter().map(|token| (token.kind, token.text(text))).collect()
    }

    #[test]
    fn a_word_that_is_a_token_is_not_missed() {
        let words = ["COUNT", "GROUP_CONCAT", "MIN"];
        for text in
            ["count(?x)", "(Min (?x))", "1MIN(?x)", "'a'group_concat(", "a:b MIN", "}MIN#\n(", "?x*COUNT", "éMIN("]
        {
            assert!(may_have_word(text, &words), "{text}");
        }
        for text in ["", "SELECT ?amin { ?s <x#admin> 'discount' }", "MI", "GROUP BY", "account"] {
            assert!(!may_have_word(text, &words), "{text}");
        }
    }

    #[test]
    fn the_longest_token_counts() {
        use Kind as K;
        assert_eq!(
            texts("SELECT ?a,$b{ex:c.d.:e%20f\\.g_:h.i.<x>\"a\\\"b\"@en-GB--ltr'''it's'''^^:t 1.5e3 1.e2 .5 7. }#x"),
            [
                (K::Word, "SELECT"),
                (K::Variable, "?a"),
                (K::Symbol, ","),
                (K::Variable, "$b"),
                (K::Symbol, "{"),
                (K::PrefixedName, "ex:c.d.:e%20f\\.g_:h.i"),
                (K::Symbol, "."),
                (K::Iri, "<x>"),
                (K::String, "\"a\\\"b\""),
                (K::Language, "@en-GB--ltr"),
                (K::String, "'''it's'''"),
                (K::Symbol, "^^"),
                (K::PrefixedName, ":t"),
                (K::Number, "1.5e3"),
                (K::Number, "1.e2"),
                (K::Number, ".5"),
                (K::Integer, "7"),
                (K::Symbol, "."),
                (K::Symbol, "}"),
            ]
        );
        assert_eq!(
            texts("?a< 1&&?b<=?c <<( <<?x>> :p? _:b1. ex:\\u0070 é"),
            [
                (K::Variable, "?a"),
                (K::Symbol, "<"),
                (K::Integer, "1"),
                (K::Symbol, "&&"),
                (K::Variable, "?b"),
                (K::Symbol, "<="),
                (K::Variable, "?c"),
                (K::Symbol, "<<("),
                (K::Symbol, "<<"),
                (K::Variable, "?x"),
                (K::Symbol, ">>"),
                (K::PrefixedName, ":p"),
                (K::Symbol, "?"),
                (K::BlankNode, "_:b1"),
                (K::Symbol, "."),
                (K::PrefixedName, "ex:\\u0070"),
                (K::Word, "é"),
            ]
        );
    }

    #[test]
    fn what_begins_no_token_is_one_of_its_kind() {
        use Kind as K;
        assert_eq!(
            texts("\"a\nb 'c \u{201C}x\u{201D} &\u{A0}`"),
            [(K::UnclosedString, "\"a"), (K::Word, "b"), (K::UnclosedString, "'c \u{201C}x\u{201D} &\u{A0}`"),]
        );
        assert_eq!(texts("\u{201C}&`\\")[..2], [(K::Stray, "\u{201C}"), (K::Stray, "&")]);
    }

    #[test]
    fn strings_are_read_as_the_parser_does() {
        for (token, value) in [
            ("\"a\\tb\"", "a\tb"),
            ("'\\u0041\\\\'", "A\\"),
            ("\"\"\"a\"b\"\"\"", "a\"b"),
            ("\"\"", ""),
            ("''''''", ""),
        ] {
            assert_eq!(string_value(token), value);
        }
    }

    #[test]
    fn columns_are_counted_in_characters() {
        assert_eq!(place("é\nüx", 5), (2, 2));
        assert_eq!(place("", 0), (1, 1));
    }
}
