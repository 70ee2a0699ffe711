//! What is asked about an index of code: the verbs of the command line over HTTP.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::thread::JoinHandle;

use fulgurite_code::{
    Columns, Details, Diagnostic, DiagnosticTag, Document, Occurrence, Part, RelationKind, Role, Severity, Source,
    Span, SymbolInfo, Visit, open_index, update_index,
};
use fulgurite_server::{FactServer, FactServerOptions, ServedFacts, ServerHandle};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::client::{Answer, post};
use crate::fixture::{Fixture, json_of};

/// Two files: `shape.rs` defines a trait, a type that implements it, and a method with a parameter; `main.rs` uses the
/// method three times, and a linter says something of each line of it.
struct Program;

pub fn symbol(name: &str) -> String {
    format!("test . demo . {name}")
}

pub fn occurrence(line: u32, name: &str, role: Role) -> Occurrence {
    // A method has a body.
    let extent = (role == Role::Definition && name.ends_with("().")).then(|| Span { end_line: line + 1, ..span(line) });
    Occurrence { span: span(line), symbol: symbol(name), role, extent }
}

fn span(line: u32) -> Span {
    Span { line, column: 4, end_line: line, end_column: 8 }
}

/// What a linter says of the first lines of a file.
fn diagnostics(path: &str, severities: &[Severity]) -> Part {
    let of_line = |(line, severity): (u32, &Severity)| Diagnostic {
        span: span(line),
        severity: *severity,
        code: format!("L{line}"),
        message: format!("line {line} of {path}"),
        source: "lint".to_owned(),
        symbol: None,
        tags: vec![DiagnosticTag::Deprecated],
    };
    let diagnostics = (0..).zip(severities).map(of_line).collect();
    Part::Details(Box::new(Details { path: Some(path.to_owned()), diagnostics, ..Details::default() }))
}

pub fn document(path: &str, occurrences: Vec<Occurrence>, symbols: Vec<SymbolInfo>) -> Part {
    Part::Document(Document {
        path: path.to_owned(),
        language: "rust".to_owned(),
        columns: Columns::Utf8,
        wide_lines: BTreeMap::new(),
        occurrences,
        symbols,
    })
}

pub fn info(name: &str, display: &str, kind: &str, enclosing: Option<&str>) -> SymbolInfo {
    SymbolInfo {
        symbol: symbol(name),
        name: display.to_owned(),
        kind: kind.to_owned(),
        signature: format!("{kind} {display}"),
        documentation: vec![format!("What {display} does.")],
        enclosing: enclosing.map(symbol),
        ..SymbolInfo::default()
    }
}

impl Source for Program {
    fn each(&self, visit: &mut Visit<'_>) -> fulgurite_code::Result<()> {
        let names = ["Shape#", "Circle#", "Circle#area().", "Circle#area().(x)"];
        let mut circle = info("Circle#", "Circle", "struct", None);
        circle.relations.push((RelationKind::Implementation, symbol("Shape#")));
        let symbols = vec![
            info("Shape#", "Shape", "trait", None),
            circle,
            info("Circle#area().", "area", "method", Some("Circle#")),
            info("Circle#area().(x)", "x", "parameter", Some("Circle#area().")),
        ];
        let defined = (0..).zip(names).map(|(line, name)| occurrence(line, name, Role::Definition));
        visit(document("shape.rs", defined.collect(), symbols))?;
        let used = (0..3).map(|line| occurrence(line, "Circle#area().", Role::Reference));
        visit(document("main.rs", used.collect(), Vec::new()))?;
        visit(diagnostics("shape.rs", &[Severity::Error]))?;
        visit(diagnostics("main.rs", &[Severity::Warning, Severity::Hint]))
    }
}

/// A server of an index, on a port of its own, for one test.
pub struct Indexed {
    pub address: SocketAddr,
    handle: ServerHandle,
    thread: Option<JoinHandle<fulgurite_server::Result<()>>>,
    _directory: TempDir,
}

impl Indexed {
    fn new() -> Self {
        Self::with(FactServerOptions::new())
    }

    fn with(options: FactServerOptions) -> Self {
        Self::of(&Program, options)
    }

    pub fn of(source: &dyn Source, options: FactServerOptions) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("index.ful");
        update_index(&path, source, false, &mut |_| {}).expect("the index is written");
        let served = vec![ServedFacts::new("index", open_index(&path).expect("it is there"))];
        let server = FactServer::bind(served, "127.0.0.1:0", options).expect("a port is free");
        let (address, handle) = (server.address(), server.handle());
        let thread = Some(std::thread::spawn(move || server.run()));
        Self { address, handle, thread, _directory: directory }
    }

    pub fn ask(&self, verb: &str, body: &Json) -> Answer {
        post(&format!("/code/{verb}"), "application/json", body.to_string()).ask(self.address)
    }

    pub fn answer(&self, verb: &str, body: &Json) -> Json {
        json_of(&self.ask(verb, body).expect(200))
    }

    /// One member of each entry of a list.
    fn listed(&self, verb: &str, body: &Json, list: &str, member: &str) -> Vec<Json> {
        let answer = self.answer(verb, body);
        let entries = answer[list].as_array().expect("a list");
        entries.iter().map(|entry| entry[member].clone()).collect()
    }
}

impl Drop for Indexed {
    fn drop(&mut self) {
        self.handle.shut_down();
        if let Some(thread) = self.thread.take()
            && !std::thread::panicking()
        {
            thread.join().expect("the server does not panic").expect("it ends in order");
        }
    }
}

#[test]
fn the_symbols_of_a_file_are_listed_with_their_places() {
    let indexed = Indexed::new();
    let answer = indexed.answer("symbols", &json!({ "file": "shape.rs" }));
    let place = json!({
        "file": "shape.rs", "line": 3, "column": 5, "endLine": 3, "endColumn": 9, "role": "definition",
        "extent": { "line": 3, "column": 5, "endLine": 4, "endColumn": 9 }, "columns": "utf8"
    });
    let area = json!({
        "symbol": symbol("Circle#area()."), "name": "area", "kind": "method", "isLocal": false, "place": place
    });
    assert_eq!((&answer["symbols"][2], &answer["truncated"]), (&area, &json!(false)));
    let names = |body: Json| indexed.listed("symbols", &body, "symbols", "name");
    assert_eq!(names(json!({ "file": "shape.rs" })), ["Shape", "Circle", "area"]);
    assert_eq!(names(json!({ "file": "shape.rs", "all": true })), ["Shape", "Circle", "area", "x"]);
    assert_eq!(names(json!({ "file": "main.rs" })), [] as [&str; 0]);
}

#[test]
fn a_symbol_is_asked_about_by_its_place_and_by_its_name() {
    let indexed = Indexed::new();
    for asked in ["main.rs:1:6", "main.rs:1", "area", "Circle::area", &symbol("Circle#area().")] {
        let answer = indexed.answer("definition", &json!({ "symbol": asked }));
        let defined = &answer["definitions"][0];
        assert_eq!((&defined["name"], &defined["place"]["line"]), (&json!("area"), &json!(3)), "{asked}");
    }
    let described = indexed.answer("describe", &json!({ "symbol": "area" }));
    let area = &described["symbols"][0];
    assert_eq!((&area["signature"], &area["documentation"]), (&json!("method area"), &json!(["What area does."])));
    assert_eq!(area["enclosing"], json!(symbol("Circle#")));
    assert_eq!((&area["references"], &area["files"], &area["package"]), (&json!(3), &json!(1), &json!("demo")));
    assert_eq!(area["definitions"][0]["file"], "shape.rs");
    assert_eq!((&area["total"], &area["truncated"]), (&json!(1), &json!(false)));
    let hierarchy = indexed.answer("hierarchy", &json!({ "symbol": "Circle" }));
    let related: Vec<(&Json, &Json)> = hierarchy["symbols"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| (&entry["relation"], &entry["name"]))
        .collect();
    assert!(related.contains(&(&json!("member"), &json!("area"))), "{hierarchy}");
    assert!(related.contains(&(&json!("implements"), &json!("Shape"))), "{hierarchy}");
}

#[test]
fn diagnostics_are_listed_of_all_files_or_of_one() {
    let indexed = Indexed::new();
    let listed = |body: Json| indexed.listed("diagnostics", &body, "diagnostics", "message");
    // Files are in the order of their paths.
    assert_eq!(listed(json!({})), ["line 0 of main.rs", "line 1 of main.rs", "line 0 of shape.rs"]);
    assert_eq!(listed(json!({ "file": "shape.rs" })), ["line 0 of shape.rs"]);
    assert_eq!(listed(json!({ "limit": 2, "offset": 1 })), ["line 1 of main.rs", "line 0 of shape.rs"]);
    let answer = indexed.answer("diagnostics", &json!({ "limit": 1 }));
    let first = json!({
        "file": "main.rs", "line": 1, "column": 5, "endLine": 1, "endColumn": 9, "severity": "warning", "code": "L0",
        "message": "line 0 of main.rs", "source": "lint", "tags": ["deprecated"],
        "columns": "utf8"
    });
    assert_eq!((&answer["diagnostics"], &answer["truncated"]), (&json!([first]), &json!(true)));
    let refused = indexed.ask("diagnostics", &json!({ "file": "shapes.rs" })).expect(404);
    assert!(refused.body.contains("did you mean `shape.rs`"), "{refused:?}");
}

#[test]
fn a_list_that_needs_too_much_memory_is_refused() {
    let small = Indexed::with(FactServerOptions::new().memory_bytes_max(100));
    assert_eq!(small.listed("search", &json!({ "text": "area", "limit": 1 }), "symbols", "name"), ["area"]);
    let refused = small.ask("references", &json!({ "symbol": "area" })).expect(400);
    assert!(refused.body.contains("more than 100 bytes of memory"), "{refused:?}");
}

#[test]
fn names_are_searched_by_their_parts() {
    let indexed = Indexed::new();
    assert_eq!(indexed.listed("search", &json!({ "text": "IRC" }), "symbols", "name"), ["Circle"]);
    let answer = indexed.answer("search", &json!({ "text": "", "limit": 2 }));
    assert_eq!((answer["symbols"].as_array().expect("a list").len(), &answer["truncated"]), (2, &json!(true)));
}

#[test]
fn a_list_ends_at_its_limit_and_goes_on_from_an_offset() {
    let indexed = Indexed::new();
    let ask = |more: Json| {
        let mut body = json!({ "symbol": "area" });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        indexed.answer("references", &body)
    };
    let lines = |answer: &Json| {
        let places = answer["references"].as_array().expect("a list");
        places.iter().map(|place| place["line"].as_u64().expect("a number")).collect::<Vec<_>>()
    };
    let first = ask(json!({ "limit": 2 }));
    assert_eq!((lines(&first), &first["total"], &first["truncated"]), (vec![1, 2], &json!(3), &json!(true)));
    let rest = ask(json!({ "limit": 2, "offset": 2 }));
    assert_eq!((lines(&rest), &rest["truncated"]), (vec![3], &json!(false)));
    assert!(lines(&ask(json!({ "offset": 1_000_000 }))).is_empty());
    // A client gets no more than the server allows, and at least one entry.
    let few = Indexed::with(FactServerOptions::new().results_max(1));
    let answer = few.answer("references", &json!({ "symbol": "area", "limit": 100 }));
    assert_eq!((lines(&answer), &answer["truncated"]), (vec![1], &json!(true)));
    let short = Indexed::with(FactServerOptions::new().bytes_max(10));
    assert_eq!(lines(&short.answer("references", &json!({ "symbol": "area" }))), [1]);
}

#[test]
fn what_the_index_does_not_have_is_not_found_and_similar_names_are_proposed() {
    let indexed = Indexed::new();
    for (verb, body, expected) in [
        ("symbols", json!({ "file": "shapes.rs" }), "did you mean `shape.rs`"),
        ("definition", json!({ "symbol": "aera" }), "did you mean `area`"),
        ("references", json!({ "symbol": "main.rs:1:1" }), "did you mean `main.rs:1:5`"),
    ] {
        let refused = indexed.ask(verb, &body).expect(404);
        assert!(refused.body.contains(expected), "{refused:?}");
    }
    for (verb, body, expected) in [
        ("symbols", json!({}), "file is missing"),
        ("describe", json!({ "symbol": 7 }), "symbol must be a string"),
        ("describe", json!({ "symbol": "" }), "symbol is empty"),
        ("search", json!({ "text": "a", "limit": 0 }), "limit must be at least 1"),
        ("hierarchy", json!({ "symbol": "area", "limits": 1 }), "unknown field `limits`"),
    ] {
        let refused = indexed.ask(verb, &body).expect(400);
        assert!(refused.body.contains(expected), "{refused:?}");
    }
    indexed.ask("nothing", &json!({})).expect(404);
    crate::client::get("/code/search").ask(indexed.address).expect(405);
}

#[test]
fn other_databases_are_refused_and_the_time_of_a_request_is_limited() {
    let fixture = Fixture::new();
    let refused = fixture.post("/code/search?repo=code", &json!({ "text": "a" })).expect(400);
    assert!(refused.body.contains("not an index of code"), "{refused:?}");
    let hurried = Indexed::with(FactServerOptions::new().timeout(std::time::Duration::ZERO));
    let refused = hurried.ask("search", &json!({ "text": "a" })).expect(503);
    assert!(refused.body.contains("the time to read the index is up"), "{refused:?}");
}
