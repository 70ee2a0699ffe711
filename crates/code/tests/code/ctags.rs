//! Definitions by ctags, from its output as it is written.

use fulgurite_code::{CtagsFile, Definition, Error, update_index};

use crate::support::{Project, reader};

const TAGS: &str = r#"{"_type": "ptag", "name": "JSON_OUTPUT_VERSION", "path": "0.0"}
{"_type": "tag", "name": "Circle", "path": "./src/shape.rs", "language": "Rust", "line": 1, "kind": "struct", "end": 1}
{"_type": "tag", "name": "area", "path": "./src/shape.rs", "language": "Rust", "line": 3, "kind": "method", "scope": "Circle", "scopeKind": "implementation", "signature": "(&self) -> f64", "end": 5}
{"_type": "tag", "name": "area", "path": "./src/shape.rs", "language": "Rust", "line": 6, "kind": "method", "scope": "Circle", "scopeKind": "implementation", "end": 6}
"#;
const SOURCE: &str =
    "struct Circle;\nimpl Circle {\n    /* é area_ */ fn area(&self) -> f64 {\n    0.0\n    }\n    fn area() {}\n}\n";

fn indexed(tags: &str) -> (Project, Result<fulgurite_code::Updated, Error>) {
    let project = Project::new();
    std::fs::create_dir(project.root().join("src")).unwrap();
    std::fs::write(project.root().join("src/shape.rs"), SOURCE).unwrap();
    std::fs::write(project.scip(), tags).unwrap();
    let source = CtagsFile::new(project.scip(), project.root());
    let updated = update_index(&project.database(), &source, false, &mut |_| {});
    (project, updated)
}

#[test]
fn tags_become_definitions_at_their_names() {
    let (project, updated) = indexed(TAGS);
    assert_eq!(updated.unwrap().files, 1);
    let reader = reader(&project.database());
    let file = reader.file("src/shape.rs").unwrap();
    let outline: Vec<_> = reader.outline(&file).unwrap().map(Result::unwrap).collect();
    let place_of = |found: &Definition| (found.what.name.clone(), found.place.span.line, found.place.span.column);
    let places: Vec<_> = outline.iter().map(place_of).collect();
    let expected = [("Circle", 0, 7), ("area", 2, 22), ("area", 5, 7)];
    assert_eq!(places, expected.map(|(name, line, column)| (name.to_owned(), line, column)));
    let method = &outline[1];
    assert_eq!((method.what.kind.as_str(), method.what.signature.as_str()), ("method", "(&self) -> f64"));
    let both = reader.resolve("Circle::area").unwrap();
    assert_eq!(both.len(), 2);
    assert_eq!(method.place.extent.unwrap().end_line, 4);
    assert_eq!(reader.definitions(method.symbol).unwrap(), std::slice::from_ref(&method.place));
    assert_eq!(reader.describe(method.what.enclosing.unwrap()).unwrap().name, "Circle");
}

#[test]
fn a_damaged_line_is_named_and_nothing_is_left() {
    for (tags, message) in [
        (&TAGS[..TAGS.len() - 20], "line 4: column"),
        ("!_TAG_FILE_FORMAT\t2\n", "line 1: column 1"),
        (&TAGS.replace("./src", "../src"), "line 2: the path"),
        (&TAGS.replace("\"line\": 3", "\"line\": 0"), "line 3: the tag has no line"),
    ] {
        let (project, updated) = indexed(tags);
        let error = updated.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert_eq!(project.names(), ["index.scip", "project"]);
    }
}
