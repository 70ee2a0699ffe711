//! How deep an answer nests, told before it is parsed: the parsers, and all that goes down a term, take stack for each
//! level.
//!
//! Invariant: the depth found is at least the depth that a parser meets.

use sparesults::QueryResultsFormat;

/// Whether the body nests no deeper than triple terms in triple terms may.
pub(crate) fn is_within_bounds(format: QueryResultsFormat, body: &[u8]) -> bool {
    match format {
        QueryResultsFormat::Json => brackets(body) <= OUTER_LEVELS + 2 * DEPTH_MAX,
        QueryResultsFormat::Xml => elements(body).is_some_and(|deepest| deepest <= OUTER_LEVELS + 2 * DEPTH_MAX),
        _ => body.split(|&byte| byte == b'\n').all(|line| openings(line) <= DEPTH_MAX),
    }
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

/// The deepest nesting of elements; `None` if the document has a type of its own or is cut off in a tag.
fn elements(body: &[u8]) -> Option<usize> {
    let (mut depth, mut deepest, mut rest) = (0_usize, 0, body);
    while let Some(start) = rest.iter().position(|&byte| byte == b'<') {
        rest = &rest[start..];
        if let Some((_, end)) = SKIPPED.iter().find(|(begin, _)| rest.starts_with(begin)) {
            let length = rest.windows(end.len()).position(|window| window == *end)?;
            rest = &rest[length + end.len()..];
            continue;
        }
        if rest.starts_with(b"<!") {
            return None;
        }
        let length = tag_bytes(rest)?;
        if rest.starts_with(b"</") {
            depth = depth.saturating_sub(1);
        } else if rest[length - 2] != b'/' {
            depth += 1;
            deepest = deepest.max(depth);
        }
        rest = &rest[length..];
    }
    Some(deepest)
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
            Some(3)
        );
        assert_eq!(elements(b"<!DOCTYPE a><a/>"), None);
        assert_eq!(elements(b"<a"), None);
    }
}
