//! What is checked of an answer before it is parsed: how deep it nests, because the parsers, and all that goes down a
//! term, take stack for each level; and that it is whole, because the parsers take the end of the bytes for the end of
//! the rows.
//!
//! Invariants: (1) the depth found is at least the depth that a parser meets. (2) JSON that breaks off is left to its
//! parser, which refuses it.

use std::fmt;

use sparesults::QueryResultsFormat;

/// Why an answer is not parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    CutOff,
    Deep,
    DocumentType,
}

impl fmt::Display for Flaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutOff => out.write_str("the answer breaks off before its end; ask the endpoint by itself"),
            Self::Deep => write!(out, "the answer has parts that are nested deeper than {DEPTH_MAX}; do without them"),
            Self::DocumentType => out.write_str("the answer has a document type, which is not read; check the URL"),
        }
    }
}

/// Checks that the body is whole, and nests no deeper than triple terms in triple terms may.
pub(crate) fn check(format: QueryResultsFormat, body: &[u8]) -> Result<(), Flaw> {
    let levels = match format {
        QueryResultsFormat::Json => brackets(body),
        QueryResultsFormat::Xml => elements(body)?,
        QueryResultsFormat::Tsv => return check_lines(body),
        _ => return Ok(()),
    };
    if levels <= OUTER_LEVELS + 2 * DEPTH_MAX { Ok(()) } else { Err(Flaw::Deep) }
}

fn check_lines(body: &[u8]) -> Result<(), Flaw> {
    if !body.split(|&byte| byte == b'\n').all(|line| openings(line) <= DEPTH_MAX) {
        return Err(Flaw::Deep);
    }
    // The last row ends with its line too: without that, `12` may be the beginning of `123`.
    if body.ends_with(b"\n") { Ok(()) } else { Err(Flaw::CutOff) }
}

/// The deepest nesting of objects and arrays outside of strings.
fn brackets(body: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut is_escaped) = (0_usize, 0, false, false);
    for &byte in body {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The deepest nesting of elements.
///
/// # Errors
/// If the document has a type of its own, or is cut off within a tag or an element.
fn elements(body: &[u8]) -> Result<usize, Flaw> {
    let (mut depth, mut deepest, mut rest) = (0_usize, 0, body);
    while let Some(start) = rest.iter().position(|&byte| byte == b'<') {
        rest = &rest[start..];
        if let Some((_, end)) = SKIPPED.iter().find(|(begin, _)| rest.starts_with(begin)) {
            let length = rest.windows(end.len()).position(|window| window == *end).ok_or(Flaw::CutOff)?;
            rest = &rest[length + end.len()..];
            continue;
        }
        if rest.starts_with(b"<!") {
            // What is shorter may be the beginning of a comment.
            return Err(if rest.len() < SKIPPED_BYTES_MAX { Flaw::CutOff } else { Flaw::DocumentType });
        }
        let length = tag_bytes(rest).ok_or(Flaw::CutOff)?;
        if rest.starts_with(b"</") {
            depth = depth.saturating_sub(1);
        } else if rest[length - 2] != b'/' {
            depth += 1;
            deepest = deepest.max(depth);
        }
        rest = &rest[length..];
    }
    if depth == 0 { Ok(deepest) } else { Err(Flaw::CutOff) }
}

/// The length of the tag that these bytes begin with, at least 2.
fn tag_bytes(bytes: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (place, &byte) in bytes.iter().enumerate().skip(1) {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return Some(place + 1),
            _ => {}
        }
    }
    None
}

fn openings(line: &[u8]) -> usize {
    line.windows(2).filter(|window| window == b"<<").count()
}

/// What is not an element, by its beginning and its end.
const SKIPPED: [(&[u8], &[u8]); 3] = [(b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>")];

/// The length of the longest beginning of what is skipped.
const SKIPPED_BYTES_MAX: usize = 9;

/// Triple terms within each other.
pub(crate) const DEPTH_MAX: usize = 128;
/// Levels around a term, with some to spare.
const OUTER_LEVELS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_do_not_nest() {
        assert_eq!(brackets(br#"{"a":["{[\"{[","x\\"],"b":{}}"#), 2);
        assert_eq!(brackets(b"[[[]]][]"), 3);
    }

    #[test]
    fn elements_nest_and_comments_do_not() {
        assert_eq!(
            elements(b"<?xml version='1.0'?><a><b x='>'/><c><!-- </c> --><![CDATA[</c>]]><d></d></c></a>"),
            Ok(3)
        );
        assert_eq!(elements(b"<!DOCTYPE a><a/>"), Err(Flaw::DocumentType));
        for cut in ["<a", "<a>", "<a><b/>text", "<a><!", "<a><!-- ", "<a></a"] {
            assert_eq!(elements(cut.as_bytes()), Err(Flaw::CutOff), "{cut}");
        }
    }
}
