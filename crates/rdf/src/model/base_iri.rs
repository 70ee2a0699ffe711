//! Bases without dots in their paths.
//!
//! The parsers resolve references against a base without removing the dots that its own path has, as RFC 3986, 5.2.4
//! asks: so `a` on `http://e/./b/` would be `http://e/./b/a`. A base may be normalized before (5.2.1), and is: here.

use std::borrow::Cow;

/// The IRI with `.` and `..` removed from the directories of its path (RFC 3986, 5.2.4). The last segment is left as it
/// is, since references do not keep it, and so is an IRI without an authority.
pub fn without_dots(iri: &str) -> Cow<'_, str> {
    let Some(authority) = iri.find("://").map(|at| at + 3) else { return Cow::Borrowed(iri) };
    let path_end = iri.find(['?', '#']).unwrap_or(iri.len());
    let Some(rest) = iri.get(authority..path_end) else { return Cow::Borrowed(iri) };
    let (Some(first), Some(last)) = (rest.find('/'), rest.rfind('/')) else { return Cow::Borrowed(iri) };
    let (start, end) = (authority + first, authority + last);
    let is_dots = |segment: &str| matches!(segment, "." | "..");
    if !iri[start..end].split('/').any(is_dots) {
        return Cow::Borrowed(iri);
    }
    let mut kept = String::new();
    for segment in iri[start..end].split('/').skip(1) {
        match segment {
            "." => {}
            ".." => kept.truncate(kept.rfind('/').unwrap_or_default()),
            _ => {
                kept.push('/');
                kept.push_str(segment);
            }
        }
    }
    Cow::Owned(format!("{}{kept}{}", &iri[..start], &iri[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_removed_from_the_path_and_from_nothing_else() {
        for (iri, expected) in [
            ("http://e/./b/", "http://e/b/"),
            ("http://e/a/../../b?x/../y#z/./", "http://e/b?x/../y#z/./"),
            ("http://e/a/./..", "http://e/a/.."),
            ("http://e/../../.", "http://e/."),
            ("http://e/..", "http://e/.."),
            ("file:///a/./b", "file:///a/b"),
            ("http://e/a//../b", "http://e/a/b"),
            ("http://e/a.b/..c/", "http://e/a.b/..c/"),
            ("http://e", "http://e"),
            ("http://e?a/../b", "http://e?a/../b"),
            ("urn:a/../b", "urn:a/../b"),
        ] {
            assert_eq!(without_dots(iri), expected, "{iri}");
        }
    }
}
