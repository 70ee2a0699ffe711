//! Statements of JSON-LD that are dropped because they are not valid are counted, and the first few are named.

use super::*;

/// Loads a text. Returns how many statements were added, skipped, and dropped because the text has no base, and the
/// message of the first skipped statement.
fn loaded(text: &str) -> (u64, u64, u64, String) {
    let place = TestStore::new();
    let report = place.load(text, JSON_LD).unwrap_or_else(|error| panic!("{text}: {error}"));
    let first = report.skipped_first.first().map(|bad| bad.message.clone()).unwrap_or_default();
    assert_eq!(report.read, place.texts().len() as u64, "{text}");
    (report.read, report.skipped, report.without_base, first)
}

#[test]
fn each_invalid_term_is_counted_and_named() {
    for (text, expected, named) in [
        (r#"{"@id":"http://a/s","http://a/p":"v"}"#, (1, 0, 0), ""),
        // Keys that no context maps are no statements.
        (r#"{"@id":"http://a/s","http://a/p":"v","note":"x"}"#, (1, 0, 0), ""),
        (r#"{"@id":"http://a/s","note":{"@id":"http://a/o","http://a/p":"v"}}"#, (0, 0, 0), ""),
        (r#"{"@id":"http://a/a b","http://a/p":"v","http://a/q":1}"#, (0, 2, 0), "`http://a/a b` is not a valid IRI"),
        (r#"{"@id":"http://a/s","http://a/p q":"v","http://a/q":1}"#, (1, 1, 0), "`http://a/p q` is not a valid IRI"),
        (r#"{"@id":"http://a/s","http://a/p":{"@id":"http://a/<o>"}}"#, (0, 1, 0), "`http://a/<o>` is not a valid IRI"),
        (r#"{"@id":"http://a/s","@type":"http://a/{t}"}"#, (0, 1, 0), "`http://a/{t}` is not a valid IRI"),
        (
            r#"{"@id":"http://a/s","http://a/p":{"@value":"x","@language":"not a tag"}}"#,
            (0, 1, 0),
            "`not a tag` is not a valid language tag",
        ),
        (r#"{"@id":"http://a/s","_:p":"v"}"#, (0, 1, 0), "`_:p` is a blank node"),
        (r#"{"@id":"_:b c","http://a/p":"v"}"#, (0, 1, 0), "`_:b c` is not a valid label of a blank node"),
        (
            r#"{"@id":"http://a/g h","@graph":[{"@id":"http://a/s","http://a/p":"v"}]}"#,
            (0, 1, 0),
            "`http://a/g h` is not a valid IRI",
        ),
        // What is nested in a dropped property goes with it, uncounted.
        (
            r#"{"@id":"http://a/s","http://a/p q":{"@id":"http://a/o","http://a/r":1}}"#,
            (0, 1, 0),
            "`http://a/p q` is not a valid IRI",
        ),
        // Relative, and not valid either.
        (r#"{"@id":"http://a/s","http://a/p":[{"@id":"o"},{"@id":"o o"}]}"#, (0, 1, 1), "`o o` is not a valid IRI"),
        (r#"{"@id":"s","http://a/p":"v"}"#, (0, 0, 1), ""),
        (r#"[]"#, (0, 0, 0), ""),
    ] {
        let (read, skipped, without_base, first) = loaded(text);
        assert_eq!((read, skipped, without_base), expected, "{text}: {first}");
        assert!(first.contains(named), "{text}: {first}");
    }
}

#[test]
fn a_long_document_is_counted_whole_and_names_a_few() {
    let nodes: Vec<String> = (0..5_000)
        .map(|number| {
            let gap = if number % 3 == 0 { " " } else { "" };
            format!(r#"{{"@id":"http://a/{number}{gap}x","http://a/p":"{number}"}}"#)
        })
        .collect();
    let place = TestStore::new();
    let report = place.load(&format!("[{}]", nodes.join(",\n")), JSON_LD).expect("it is loaded");
    assert_eq!((report.read, report.skipped), (3_333, 1_667));
    assert!(!report.skipped_first.is_empty() && report.skipped_first.len() <= 10);
    assert!(report.skipped_first.iter().all(|bad| bad.input == "text" && bad.line == 0), "{report:?}");
}

#[test]
fn after_an_error_nothing_waits_for_the_count() {
    let place = TestStore::new();
    let text = r#"[{"@id":"http://a/a b","http://a/p":"v"},{"@id":"http://a/s","http://a/p":"v"},{"#;
    assert!(matches!(place.load(text, JSON_LD), Err(Error::Syntax { .. })));
    let lenient = LoadOptions::new().lenient(true);
    let report = place.store.load(vec![input(text, JSON_LD)], &lenient).expect("it is loaded");
    assert_eq!((report.read, report.skipped), (1, 1), "the error alone is known");
}
