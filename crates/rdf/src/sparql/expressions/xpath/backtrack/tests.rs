//! Unit tests of the backtracking matcher: what patterns match, and where a search ends at its bound.

use super::super::pattern::parse;
use super::*;

fn program(pattern: &str, flags: &str) -> Program {
    let flags = Flags::parse(flags).expect("flags");
    let parsed = parse(pattern, flags).expect(pattern);
    Program::new(&parsed.node, parsed.groups, flags).expect("not too large")
}

fn found<'t>(pattern: &str, flags: &str, text: &'t str) -> Option<&'t str> {
    let slots = program(pattern, flags).find(text, 0, &mut Steps::for_text(text)).expect("not exhausted")?;
    Some(&text[slots[0].expect("a place")..slots[1].expect("a place")])
}

#[test]
fn back_references_match_what_their_group_has_matched() {
    for (pattern, flags, text, expected) in [
        ("(.)\\1", "", "abccd", Some("cc")),
        ("(.)\\1", "", "abcd", None),
        ("([md])[aeiou]\\1", "i", "a DUD", Some("DUD")),
        ("([md])[aeiou]\\1", "", "a DUd", None),
        ("(a)|b\\1", "", "b", Some("b")),
        ("(a*)*\\1", "", "aaa", Some("aaa")),
        ("(?:(a)|b)*\\1", "", "abaa", Some("abaa")),
        ("(a+?)\\1$", "", "aaaa", Some("aaaa")),
        ("'([^']*)'.*\\1", "s", "'x'\n x", Some("'x'\n x")),
        ("(é|e)x\\1", "i", "ÉxÉ", Some("ÉxÉ")),
        ("(()|a)+\\2b", "", "aab", Some("aab")),
    ] {
        assert_eq!(found(pattern, flags, text), expected, "{pattern} in {text:?}");
    }
}

#[test]
fn a_line_begins_behind_each_newline_but_the_last_of_the_text() {
    for (pattern, text, places) in [
        ("^", "a\nb\n", vec![0, 2]),
        ("$", "a\nb\n", vec![1, 3]),
        ("^", "\n", vec![0]),
        ("$", "\n", vec![0]),
        ("^", "", vec![0]),
        ("$", "a\n\nb", vec![1, 2, 4]),
    ] {
        let program = program(pattern, "m");
        let mut found = Vec::new();
        let (mut from, mut steps) = (0, Steps::for_text(text));
        while let Some(slots) =
            (from <= text.len()).then(|| program.find(text, from, &mut steps).expect("steps")).flatten()
        {
            let place = slots[0].expect("a place");
            found.push(place);
            from = place + 1;
        }
        assert_eq!(found, places, "{pattern} in {text:?}");
    }
}

#[test]
fn a_search_that_goes_back_too_often_ends_with_an_error() {
    for (pattern, text) in [("(a*)*(a*)*\\1\\2b", "a".repeat(200)), ("(x).*\\1y", "x".repeat(3_000_000))] {
        assert!(program(pattern, "s").find(&text, 0, &mut Steps::for_text(&text)).is_err(), "{pattern}");
    }
}

#[test]
fn a_pattern_that_repeats_too_much_is_not_written_out() {
    for pattern in ["((a{1000}){1000}){1000}", "(){1000000}", "((){1000}){1000}", "(a?){0,1000000}"] {
        let parsed = parse(pattern, Flags::default()).expect(pattern);
        assert!(Program::new(&parsed.node, parsed.groups, Flags::default()).is_err(), "{pattern}");
    }
}
