//! The language server, asked as an editor asks.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use fulgurite_code::{Columns, LiveIndex, convert, serve};
use lsp_server::{Connection, Message, Notification, Request};
use scip::types::symbol_information::Kind;
use serde_json::{Value as Json, json};

use crate::support::{Project, info};

const MAIN: &str = "fn «main().»main() {\n    let «local 1»ä = \"🦀\"; ‹shape/area().›area(‹local 1›ä);\n}\n";

fn project() -> Project {
    let project = Project::new();
    let shape =
        "// é\npub fn «shape/area().»area(x: i32) {}\nstruct «shape/Circle#»Circle;\nfn «shape/Circle#new().»new() {}";
    let symbols = vec![
        info("shape/area().", Kind::Function, "area"),
        info("shape/Circle#", Kind::Struct, "Circle"),
        info("shape/Circle#new().", Kind::Method, "new"),
    ];
    project.write(&[
        ("src/a b/shape.rs", shape, symbols),
        ("src/main.rs", MAIN, vec![info("main().", Kind::Function, "main")]),
    ]);
    project.update();
    project
}

/// An editor that counts columns as it offers to.
struct Editor {
    connection: Connection,
    server: JoinHandle<Result<(), fulgurite_code::Error>>,
    root: String,
    next: i32,
    offered: Json,
}

impl Editor {
    fn new(project: &Project, encodings: &[&str]) -> Self {
        Self::at_root(project, encodings, None, &project.root())
    }

    /// An editor that names files below `opened`, and a server that was given a root.
    fn at_root(project: &Project, encodings: &[&str], given: Option<PathBuf>, opened: &Path) -> Self {
        let (connection, ours) = Connection::memory();
        let index = LiveIndex::open(project.database()).unwrap();
        let server = std::thread::spawn(move || serve(&ours, &index, given.as_deref()));
        let root = format!("file://{}", opened.display());
        let mut editor = Self { connection, server, root: root.clone(), next: 1, offered: Json::Null };
        let capabilities = json!({ "general": { "positionEncodings": encodings } });
        let folders = json!([{ "uri": root, "name": "project" }]);
        let parameters = json!({ "processId": null, "capabilities": capabilities, "workspaceFolders": folders });
        editor.offered = editor.ask("initialize", parameters).unwrap()["capabilities"].clone();
        let initialized = Notification::new("initialized".to_owned(), json!({}));
        editor.connection.sender.send(initialized.into()).unwrap();
        editor
    }

    fn ask(&mut self, method: &str, parameters: Json) -> Result<Json, i32> {
        self.next += 1;
        let request = Request::new(self.next.into(), method.to_owned(), parameters);
        self.connection.sender.send(request.into()).unwrap();
        match self.connection.receiver.recv().unwrap() {
            Message::Response(response) => response.response_result.map_err(|error| error.code),
            other => panic!("{other:?}"),
        }
    }

    fn at(&self, path: &str, line: u32, character: u32) -> Json {
        json!({
            "textDocument": { "uri": format!("{}/{path}", self.root) },
            "position": { "line": line, "character": character },
            "context": { "includeDeclaration": true },
        })
    }

    fn quit(mut self) {
        assert_eq!(self.ask("shutdown", Json::Null), Ok(Json::Null));
        self.connection.sender.send(Notification::new("exit".to_owned(), Json::Null).into()).unwrap();
        self.server.join().unwrap().unwrap();
    }
}

#[test]
fn an_editor_finds_definitions_references_and_symbols() {
    let project = project();
    for (encodings, columns) in
        [(&["utf-16"][..], Columns::Utf16), (&["utf-8", "utf-16"], Columns::Utf8), (&[], Columns::Utf16)]
    {
        let mut editor = Editor::new(&project, encodings);
        let name = if columns == Columns::Utf8 { "utf-8" } else { "utf-16" };
        assert_eq!(editor.offered["positionEncoding"], name);
        let line = "    let ä = \"🦀\"; area(ä);";
        let column = |word: &str| convert(line, line.rfind(word).unwrap() as u32, Columns::Utf8, columns);

        let position = editor.at("src/main.rs", 1, column("area") + 1);
        let found = editor.ask("textDocument/definition", position.clone()).unwrap();
        assert_eq!(found[0]["uri"], format!("{}/src/a%20b/shape.rs", editor.root));
        assert_eq!(
            found[0]["range"],
            json!({ "start": { "line": 1, "character": 7 }, "end": { "line": 1, "character": 11 } })
        );

        let position_of_local = editor.at("src/main.rs", 1, column("ä"));
        let found = editor.ask("textDocument/references", position_of_local).unwrap();
        let starts: Vec<_> =
            found.as_array().unwrap().iter().map(|place| place["range"]["start"]["character"].clone()).collect();
        assert_eq!(starts, [json!(8), json!(column("ä"))]);

        let hover = editor.ask("textDocument/hover", position).unwrap();
        let text = hover["contents"]["value"].as_str().unwrap();
        assert!(text.contains("function area") && text.contains("What `area` does."), "{text}");
        assert_eq!(hover["range"]["start"]["character"], column("area"));
        editor.quit();
    }
}

#[test]
fn an_editor_sees_the_symbols_of_a_file_and_of_the_index() {
    let project = project();
    let mut editor = Editor::new(&project, &[]);
    let of_shape = json!({ "textDocument": { "uri": format!("{}/src/a%20b/shape.rs", editor.root) } });
    let symbols = editor.ask("textDocument/documentSymbol", of_shape).unwrap();
    assert_eq!((symbols[0]["name"].as_str(), symbols[1]["name"].as_str()), (Some("area"), Some("Circle")));
    assert_eq!(symbols[1]["children"][0]["name"], "new");
    let found = editor.ask("workspace/symbol", json!({ "query": "CIRC" })).unwrap();
    assert_eq!((found.as_array().unwrap().len(), found[0]["name"].as_str()), (1, Some("Circle")));
    editor.quit();
}

#[test]
fn what_the_index_does_not_have_is_no_error_and_what_is_not_served_is_one() {
    let project = project();
    let mut editor = Editor::new(&project, &[]);
    let nowhere = editor.at("src/main.rs", 0, 40);
    assert_eq!(editor.ask("textDocument/hover", nowhere), Ok(Json::Null));
    let other = editor.at("none.rs", 0, 0);
    assert_eq!(editor.ask("textDocument/definition", other.clone()), Ok(json!([])));
    assert_eq!(editor.ask("textDocument/references", other), Ok(json!([])));
    let outside = json!({ "textDocument": { "uri": "file:///elsewhere.rs" } });
    assert_eq!(editor.ask("textDocument/documentSymbol", outside), Ok(json!([])));
    assert_eq!(editor.ask("textDocument/rename", json!({})), Err(-32601));
    assert_eq!(editor.ask("textDocument/hover", json!({})), Err(-32602));
    editor.quit();
}

#[cfg(unix)]
#[test]
fn a_root_through_a_link_or_a_parent_is_the_same_directory() {
    let project = project();
    let real = project.root().canonicalize().unwrap();
    let link = project.directory.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let parent = real.join("src/..");
    for (given, opened) in [
        (Some(parent), &real),
        (Some(link.clone()), &real),
        (Some(link.clone()), &link),
        (Some(real.clone()), &link),
        (None, &link),
    ] {
        let mut editor = Editor::at_root(&project, &["utf-8"], given.clone(), opened);
        let position = editor.at("src/main.rs", 0, 3);
        let found = editor.ask("textDocument/definition", position).unwrap();
        assert_eq!(found.as_array().map(Vec::len), Some(1), "{given:?} {opened:?}");
        assert!(!found[0]["uri"].as_str().unwrap().contains(".."));
        editor.quit();
    }
}

#[test]
fn a_long_chain_of_members_is_nested_to_a_limit() {
    const LENGTH: usize = 1000;
    let project = Project::new();
    let text: String = (0..LENGTH).map(|at| format!("«m/s{at}().»s{at}\n")).collect();
    let symbols = (0..LENGTH).map(|at| {
        let mut symbol = info(&format!("m/s{at}()."), Kind::Function, &format!("s{at}"));
        if at > 0 {
            symbol.enclosing_symbol = crate::support::symbol(&format!("m/s{}().", at - 1));
        }
        symbol
    });
    project.write(&[("a.rs", &text, symbols.collect())]);
    project.update();
    let mut editor = Editor::new(&project, &[]);
    let of_file = json!({ "textDocument": { "uri": format!("{}/a.rs", editor.root) } });
    let symbols = editor.ask("textDocument/documentSymbol", of_file).unwrap();
    let (mut depth, mut at) = (1, &symbols[0]);
    while let Some(child) = at["children"].get(0) {
        (depth, at) = (depth + 1, child);
    }
    assert_eq!((depth, symbols.as_array().unwrap().len()), (100, LENGTH - 99));
    assert_eq!((at["name"].as_str(), symbols[1]["name"].as_str()), (Some("s99"), Some("s100")));
    editor.quit();
}

#[test]
fn a_handshake_that_is_wrong_is_answered_with_an_error() {
    let project = project();
    let (connection, ours) = Connection::memory();
    let index = LiveIndex::open(project.database()).unwrap();
    let server = std::thread::spawn(move || serve(&ours, &index, None));
    let request = Request::new(1.into(), "initialize".to_owned(), json!({ "capabilities": 3 }));
    connection.sender.send(request.into()).unwrap();
    let Message::Response(response) = connection.receiver.recv().unwrap() else { panic!("a response") };
    assert_eq!(response.response_result.unwrap_err().code, -32602);
    assert!(server.join().unwrap().is_err());
}
