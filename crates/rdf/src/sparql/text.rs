//! From text to algebra, on a stack that suits the text.
//!
//! The parser recurses as deep as the text nests, and what it returns is as deep as its longest chain of operators. So the text is looked
//! over first: what nests too deep is refused, and what is not plainly harmless is parsed on a thread with a stack of its own, on which
//! chains are [balanced](super::shape), too, before anybody else sees them. Called by `query` and `update` alone.

use std::borrow::Cow;
use std::thread;

use spargebra::{Query, SparqlParser, SparqlSyntaxError, Update};

use super::shape;
use crate::error::{Error, Result};

/// Brackets within brackets that a text may have.
pub(crate) const NESTING_MAX: usize = 500;

/// Levels of operators that the algebra of a text may have.
pub(crate) const DEPTH_MAX: usize = 1_000;

/// Operators and braces that a text may have: each may be a level of a chain until it is balanced.
const LINKS_MAX: usize = 500_000;

/// Up to here a text is parsed on the caller's stack.
const SHORT_BYTES: usize = 2_000;
const SHALLOW: usize = 6;

/// Stack for one bracket and for one operator, without optimisation: several times what was measured.
const BRACKET_BYTES: usize = 192 << 10;
const LINK_BYTES: usize = 1 << 10;
const STACK_BYTES: usize = 8 << 20;

/// What a text is parsed with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prologue<'t> {
    /// For relative IRIs before the text's own `BASE`.
    pub base: Option<&'t str>,
    /// For prefixed names before the text's own `PREFIX`.
    pub prefixes: &'t [(String, String)],
}

pub(crate) fn parse_query(text: &str, prologue: &Prologue<'_>) -> Result<Query> {
    let text = &*unescaped(text);
    let parser = parser(prologue)?;
    let query = on_a_fitting_stack(text, move || {
        let query = parser.parse_query(text).map_err(|error| syntax(text, &error))?;
        shape::balance_query(query)
    })?;
    Ok(query)
}

pub(crate) fn parse_update(text: &str, prologue: &Prologue<'_>) -> Result<Update> {
    let text = &*unescaped(text);
    let parser = parser(prologue)?;
    on_a_fitting_stack(text, move || {
        let update = parser.parse_update(text).map_err(|error| syntax(text, &error))?;
        shape::balance_update(update)
    })
}

fn parser(prologue: &Prologue<'_>) -> Result<SparqlParser> {
    let invalid = |iri: &str, error: &dyn std::fmt::Display| Error::Invalid {
        message: format!("<{iri}>: {error}; give an absolute IRI"),
    };
    let mut parser = SparqlParser::new();
    if let Some(base) = prologue.base {
        parser = parser.with_base_iri(base).map_err(|error| invalid(base, &error))?;
    }
    for (prefix, iri) in prologue.prefixes {
        parser = parser.with_prefix(prefix, iri).map_err(|error| invalid(iri, &error))?;
    }
    Ok(parser)
}

fn on_a_fitting_stack<T: Send>(text: &str, parse: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let outline = Outline::of(text);
    if outline.nesting > NESTING_MAX {
        return Err(Error::QueryTooDeep { limit: NESTING_MAX });
    }
    if outline.links > LINKS_MAX {
        return Err(Error::QueryTooDeep { limit: LINKS_MAX });
    }
    if text.len() <= SHORT_BYTES && outline.nesting <= SHALLOW {
        return parse();
    }
    let stack_bytes = STACK_BYTES + outline.nesting * BRACKET_BYTES + outline.links * LINK_BYTES;
    on_stack(stack_bytes, parse)
}

/// Runs `work` on a thread with a stack of `stack_bytes`, and waits for it.
pub(crate) fn on_stack<T: Send>(stack_bytes: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("sparql".to_owned())
            .stack_size(stack_bytes)
            .spawn_scoped(scope, work)
            .map_err(|source| Error::Thread { source })?;
        // A panic of `work` is the caller's panic.
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The place stands at the head of the parser's message: `error at 2:14: expected …`.
fn syntax(text: &str, error: &SparqlSyntaxError) -> Error {
    let message = error.to_string();
    let parts = message.strip_prefix("error at ").and_then(|rest| rest.split_once(": "));
    let place = parts.and_then(|(place, rest)| {
        let (line, column) = place.split_once(':')?;
        Some((line.parse().ok()?, column.parse().ok()?, rest.to_owned()))
    });
    let (line, column, message) = place.unwrap_or((0, 0, message));
    let near = near(text, line, column);
    Error::SparqlSyntax { line, column, near, message }
}

/// The text at a place, to the end of its line, at most 40 characters.
fn near(text: &str, line: u64, column: u64) -> String {
    let lines = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let columns = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
    text.lines().nth(lines).unwrap_or_default().chars().skip(columns).take(40).collect()
}

/// How a text nests, as far as that can be told without parsing it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outline {
    /// Brackets within brackets.
    nesting: usize,
    /// Operators, braces and the like: no chain is longer.
    links: usize,
}

impl Outline {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut outline = Self::default();
        let mut open = 0_usize;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let rest = &bytes[at..];
            at += token_bytes(rest);
            match byte {
                b'(' | b'[' | b'{' => {
                    open += 1;
                    outline.links += 1;
                    outline.nesting = outline.nesting.max(open);
                }
                b')' | b']' | b'}' => open = open.saturating_sub(1),
                b'<' if rest.starts_with(b"<<") => {
                    open += 1;
                    outline.nesting = outline.nesting.max(open);
                }
                b'>' if rest.starts_with(b">>") => open = open.saturating_sub(1),
                b'+' | b'-' | b'*' | b'/' | b'|' | b'&' | b'!' | b'^' | b'=' | b'?' => outline.links += 1,
                _ => {}
            }
        }
        outline
    }
}

/// The text with the characters that it gives by their numbers in names (`:\u0070`), where the parser does not take them; in strings and
/// IRIs it does (SPARQL 1.1, 19.2).
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u") && !text.contains("\\U") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((character, bytes)) = escaped_name_character(rest) {
            out.push(character);
            rest = &rest[bytes..];
            continue;
        }
        let mut end = token_bytes(rest.as_bytes()).min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        out.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    Cow::Owned(out)
}

/// The character of a name that the text begins with the number of, and the bytes that it takes there.
fn escaped_name_character(text: &str) -> Option<(char, usize)> {
    let (digits, bytes) = match text.get(..2)? {
        "\\u" => (text.get(2..6)?, 6),
        "\\U" => (text.get(2..10)?, 10),
        _ => return None,
    };
    let number = digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16))?;
    let character = char::from_u32(number.ok()?)?;
    (character.is_alphanumeric() || character == '_' || !character.is_ascii()).then_some((character, bytes))
}

/// The length of what these bytes begin with: a comment, an IRI, a string, an escape, or else one byte.
fn token_bytes(bytes: &[u8]) -> usize {
    match bytes[0] {
        b'#' => bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(bytes.len()),
        b'<' if iri_bytes(bytes) > 0 => iri_bytes(bytes),
        b'"' | b'\'' => string_bytes(bytes),
        b'\\' => 2,
        _ => 1,
    }
}

/// The length of the IRI that these bytes begin with; 0 if they begin with none.
fn iri_bytes(bytes: &[u8]) -> usize {
    let end = bytes
        .iter()
        .skip(1)
        .position(|byte| matches!(byte, b'<' | b'>' | b'"' | b'{' | b'}' | b'|' | b'^' | b'`' | 0..=b' '));
    match end {
        Some(end) if bytes[end + 1] == b'>' => end + 2,
        _ => 0,
    }
}

/// The length of the string that these bytes begin with, be it closed or not.
fn string_bytes(bytes: &[u8]) -> usize {
    let quote = bytes[0];
    let long = [quote; 3];
    let (mut at, end): (usize, &[u8]) = if bytes.starts_with(&long) { (3, &long) } else { (1, &long[..1]) };
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(end) {
            return at + end.len();
        } else {
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_within_strings_iris_and_comments_do_not_nest() {
        let outline = Outline::of("SELECT * { ?s <http://e/((((> \"((((\" , '''(((' (''' . # ((((\n FILTER(?a<?b) }");
        assert_eq!(outline.nesting, 2);
    }

    #[test]
    fn numbers_of_characters_are_replaced_in_names_alone() {
        assert_eq!(
            unescaped("{ <\\u0078> :\\u0070 ?xx\\u0078 \"\\u0022\" # \\u0070\n}"),
            "{ <\\u0078> :p ?xxx \"\\u0022\" # \\u0070\n}"
        );
        assert_eq!(unescaped("?\\U000000e9 \\u007B \\u12"), "?é \\u007B \\u12");
        assert!(matches!(unescaped("SELECT"), Cow::Borrowed(_)));
    }

    #[test]
    fn nesting_counts_every_kind_of_bracket() {
        assert_eq!(Outline::of("{ ( [ << >> ] ) }").nesting, 4);
        assert_eq!(Outline::of("(){}[]").nesting, 1);
    }

    #[test]
    fn a_syntax_error_says_line_column_and_what_stands_there() {
        let error = parse_query("SELECT *\nWHERE ( ?s ?p ?o }", &Prologue::default()).expect_err("no query");
        let Error::SparqlSyntax { line, column, near, .. } = error else { panic!("{error}") };
        assert_eq!((line, column, near.as_str()), (2, 7, "( ?s ?p ?o }"));
    }
}
