//! The language server, asked as an editor asks.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use fulgurite_code::{Columns, LiveIndex, convert, serve};
use lsp_server::{Connection, Message, Notification, Request, RequestId};
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
    server: Served,
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
        let symbols = json!({ "hierarchicalDocumentSymbolSupport": true });
        let capabilities = json!({
            "general": { "positionEncodings": encodings },
            "textDocument": { "documentSymbol": symbols },
        });
        Self::that_can(project, &capabilities, given, opened)
    }

    fn that_can(project: &Project, capabilities: &Json, given: Option<PathBuf>, opened: &Path) -> Self {
        let (connection, server) = started(project, given);
        let root = format!("file://{}", opened.display());
        let mut editor = Self { connection, server, root: root.clone(), next: 1, offered: Json::Null };
        let folders = json!([{ "uri": root, "name": "project" }]);
        let parameters = json!({ "processId": null, "capabilities": capabilities, "workspaceFolders": folders });
        editor.offered = editor.ask("initialize", parameters).unwrap()["capabilities"].clone();
        editor.tell("initialized", json!({}));
        editor
    }

    /// Sends a notification.
    fn tell(&self, method: &str, parameters: Json) {
        self.connection.sender.send(Notification::new(method.to_owned(), parameters).into()).unwrap();
    }

    /// Opens a file with a text, which may not be saved.
    fn open(&self, path: &str, text: &str) {
        let uri = format!("{}/{path}", self.root);
        let document = json!({ "uri": uri, "languageId": "rust", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Changes the text of an open file.
    fn edit(&self, path: &str, text: &str) {
        let document = json!({ "uri": format!("{}/{path}", self.root), "version": 2 });
        let changes = json!([{ "text": text }]);
        self.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    fn close(&self, path: &str) {
        let document = json!({ "uri": format!("{}/{path}", self.root) });
        self.tell("textDocument/didClose", json!({ "textDocument": document }));
    }

    /// The ranges of an answer in the file at `path`: line, first and last column.
    fn ranges(&mut self, method: &str, parameters: Json, path: &str) -> Vec<[u64; 3]> {
        let found = self.ask(method, parameters).unwrap();
        let uri = format!("{}/{path}", self.root);
        let places = found.as_array().unwrap().iter().filter(|place| place["uri"] == uri.as_str());
        let number = |place: &Json, at: &str| place.pointer(at).and_then(Json::as_u64).unwrap();
        let range = |place: &Json| {
            ["/range/start/line", "/range/start/character", "/range/end/character"].map(|at| number(place, at))
        };
        places.map(range).collect()
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
        self.tell("exit", Json::Null);
        self.server.join().unwrap().unwrap();
    }
}

type Served = JoinHandle<Result<(), fulgurite_code::Error>>;

/// A server of the index of a project, and an editor's side of its connection.
fn started(project: &Project, root: Option<PathBuf>) -> (Connection, Served) {
    let (connection, ours) = Connection::memory();
    let index = LiveIndex::open(project.database()).unwrap();
    (connection, std::thread::spawn(move || serve(&ours, &index, root.as_deref())))
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
    let (connection, server) = started(&project, None);
    let request = Request::new(1.into(), "initialize".to_owned(), json!({ "capabilities": 3 }));
    connection.sender.send(request.into()).unwrap();
    let Message::Response(response) = connection.receiver.recv().unwrap() else { panic!("a response") };
    assert_eq!(response.response_result.unwrap_err().code, -32602);
    assert!(server.join().unwrap().is_err());
}

/// The text of `src/main.rs`, as it is on the disk.
const MAIN_TEXT: &str = "fn main() {\n    let ä = \"🦀\"; area(ä);\n}\n";

#[test]
fn places_follow_what_the_editor_changes_in_open_files() {
    let project = project();
    let shape = std::fs::read_to_string(project.root().join("src/a b/shape.rs")).unwrap();
    // Where `area` is used in its line.
    for (encodings, first, end) in [(&["utf-16"][..], 18, 22), (&["utf-8", "utf-16"], 21, 25)] {
        let mut editor = Editor::new(&project, encodings);
        assert_eq!(editor.offered["textDocumentSync"], json!({ "openClose": true, "change": 1 }));
        let at = |editor: &Editor, line: u32, column: u64| editor.at("src/main.rs", line, column as u32);
        editor.open("src/main.rs", MAIN_TEXT);
        editor.open("src/a%20b/shape.rs", &shape);
        // Two lines before the use, and a word in its line.
        editor.edit("src/main.rs", &format!("//\n//\n{}", MAIN_TEXT.replace("area(", "/**/area(")));
        editor.edit("src/a%20b/shape.rs", &format!("\n{}", shape.replace("pub fn", "pub const fn")));
        let position = at(&editor, 3, first + 5);
        let found = editor.ranges("textDocument/definition", position.clone(), "src/a%20b/shape.rs");
        assert_eq!(found, [[2, 13, 17]]);
        let found = editor.ranges("textDocument/references", position.clone(), "src/main.rs");
        assert_eq!(found, [[3, first + 4, end + 4]]);
        // What is new is not in the index.
        let new = at(&editor, 1, 1);
        assert_eq!(editor.ask("textDocument/definition", new), Ok(json!([])));
        let hover = editor.ask("textDocument/hover", position).unwrap();
        assert_eq!(hover["range"]["start"], json!({ "line": 3, "character": first + 4 }));
        // A closed file is as it is on the disk.
        editor.close("src/main.rs");
        let position = at(&editor, 1, first + 1);
        let found = editor.ranges("textDocument/references", position, "src/main.rs");
        assert_eq!(found, [[1, first, end]]);
        editor.quit();
    }
}

#[test]
fn an_editor_that_sends_parts_of_a_text_is_warned_once() {
    let project = project();
    let editor = Editor::new(&project, &[]);
    editor.open("src/main.rs", MAIN_TEXT);
    let document = json!({ "uri": format!("{}/src/main.rs", editor.root), "version": 2 });
    let place = json!({ "line": 0, "character": 0 });
    let changes = json!([{ "range": { "start": place, "end": place }, "text": "x" }]);
    for _ in 0..2 {
        editor.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }
    let Message::Notification(warning) = editor.connection.receiver.recv().unwrap() else { panic!("no notification") };
    assert_eq!((warning.method.as_str(), &warning.params["type"]), ("window/logMessage", &json!(2)));
    editor.quit();
}

#[test]
fn text_that_replaced_other_text_has_no_answers_and_text_that_is_gone_is_in_none() {
    let project = project();
    let shape = std::fs::read_to_string(project.root().join("src/a b/shape.rs")).unwrap();
    let mut editor = Editor::new(&project, &[]);
    editor.open("src/main.rs", MAIN_TEXT);
    editor.open("src/a%20b/shape.rs", &shape);
    let used = |editor: &mut Editor| {
        let position = editor.at("src/a%20b/shape.rs", 1, 8);
        editor.ranges("textDocument/references", position, "src/main.rs")
    };
    assert_eq!(used(&mut editor), [[1, 18, 22]]);
    for other in ["volume(", "areas(", "a(", "xarea("] {
        editor.edit("src/main.rs", &MAIN_TEXT.replace("area(", other));
        // At its first letter, and behind the last.
        for column in [18, 17 + other.len() as u32] {
            let position = editor.at("src/main.rs", 1, column);
            assert_eq!(editor.ask("textDocument/definition", position.clone()), Ok(json!([])), "{other} {column}");
            assert_eq!(editor.ask("textDocument/hover", position), Ok(Json::Null), "{other} {column}");
        }
        assert!(used(&mut editor).is_empty(), "{other}");
    }
    editor.edit("src/main.rs", "fn main() {\n}\n");
    assert!(used(&mut editor).is_empty());
    editor.edit("src/main.rs", MAIN_TEXT);
    assert_eq!(used(&mut editor), [[1, 18, 22]]);
    let symbols = |editor: &mut Editor| {
        let document = json!({ "textDocument": { "uri": format!("{}/src/a%20b/shape.rs", editor.root) } });
        let symbols = editor.ask("textDocument/documentSymbol", document).unwrap();
        symbols.as_array().unwrap().iter().map(|symbol| symbol["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(symbols(&mut editor), ["area", "Circle"]);
    editor.edit("src/a%20b/shape.rs", &shape.replace("struct Circle;\n", ""));
    // Its member is there still.
    assert_eq!(symbols(&mut editor), ["area", "new"]);
    editor.quit();
}

#[test]
fn an_open_file_that_the_index_has_later_has_places_from_then_on() {
    let project = Project::new();
    let symbols = |name: &str| vec![info(&format!("m/{name}()."), Kind::Function, name)];
    project.write(&[("a.rs", "fn «m/f().»f() {}\n", symbols("f"))]);
    project.update();
    let mut editor = Editor::new(&project, &["utf-8"]);
    editor.open("b.rs", "fn g() {}\n");
    let position = editor.at("b.rs", 0, 3);
    assert_eq!(editor.ask("textDocument/definition", position), Ok(json!([])));
    project.write(&[("a.rs", "fn «m/f().»f() {}\n", symbols("f")), ("b.rs", "fn «m/g().»g() {}\n", symbols("g"))]);
    project.update();
    editor.edit("b.rs", "\nfn g() {}\n");
    let position = editor.at("b.rs", 1, 3);
    assert_eq!(editor.ranges("textDocument/definition", position, "b.rs"), [[1, 3, 4]]);
    editor.quit();
}

#[test]
fn requests_before_the_end_of_the_input_are_answered() {
    const REQUESTS: i32 = 100;
    let project = project();
    let Editor { connection: Connection { sender, receiver }, server, .. } = Editor::new(&project, &[]);
    for id in 1000..1000 + REQUESTS {
        let request = Request::new(id.into(), "workspace/symbol".to_owned(), json!({ "query": "" }));
        sender.send(request.into()).unwrap();
    }
    drop(sender);
    server.join().unwrap().unwrap();
    let answers: Vec<Message> = receiver.iter().collect();
    assert_eq!(answers.len(), REQUESTS as usize);
    for answer in answers {
        let Message::Response(response) = answer else { panic!("a response") };
        assert!(response.response_result.is_ok(), "{response:?}");
    }
}

#[test]
fn a_file_that_is_opened_with_unsaved_changes_has_the_places_of_its_text() {
    let project = project();
    let mut editor = Editor::new(&project, &[]);
    editor.open("src/main.rs", &format!("// unsaved\n{MAIN_TEXT}"));
    let position = editor.at("src/main.rs", 2, 20);
    assert_eq!(editor.ranges("textDocument/references", position.clone(), "src/main.rs"), [[2, 18, 22]]);
    // It is saved and closed, and opened again: the index has not changed.
    std::fs::write(project.root().join("src/main.rs"), format!("// unsaved\n{MAIN_TEXT}")).unwrap();
    editor.close("src/main.rs");
    editor.open("src/main.rs", &format!("// unsaved\n{MAIN_TEXT}"));
    assert_eq!(editor.ranges("textDocument/references", position, "src/main.rs"), [[2, 18, 22]]);
    editor.quit();
}

#[test]
fn places_are_those_of_the_saved_text_when_the_index_is_written_again() {
    let project = Project::new();
    let symbols = || vec![info("m/f().", Kind::Function, "f")];
    project.write(&[("a.rs", "fn «m/f().»f() {}\n", symbols())]);
    project.update();
    let mut editor = Editor::new(&project, &["utf-8"]);
    editor.open("a.rs", "fn f() {}\n");
    editor.edit("a.rs", "\nfn f() {}\n");
    let at = |editor: &Editor, line: u32| editor.at("a.rs", line, 3);
    let position = at(&editor, 1);
    assert_eq!(editor.ranges("textDocument/definition", position.clone(), "a.rs"), [[1, 3, 4]]);
    project.write(&[("a.rs", "\nfn «m/f().»f() {}\n", symbols())]);
    project.update();
    assert_eq!(editor.ranges("textDocument/definition", position, "a.rs"), [[1, 3, 4]]);
    editor.edit("a.rs", "\n\nfn f() {}\n");
    let position = at(&editor, 2);
    assert_eq!(editor.ranges("textDocument/definition", position, "a.rs"), [[2, 3, 4]]);
    editor.quit();
}

#[test]
fn an_editor_that_shows_no_markdown_and_no_nested_symbols_gets_plain_texts_and_lists() {
    let project = project();
    let capabilities = json!({ "textDocument": { "hover": { "contentFormat": ["plaintext"] } } });
    let mut editor = Editor::that_can(&project, &capabilities, None, &project.root());
    let position = editor.at("src/main.rs", 0, 3);
    let hover = editor.ask("textDocument/hover", position).unwrap();
    assert_eq!(hover["contents"], json!({ "kind": "plaintext", "value": "function main\n\nWhat `main` does." }));
    let uri = format!("{}/src/a%20b/shape.rs", editor.root);
    let symbols = editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": uri } })).unwrap();
    let symbols = symbols.as_array().unwrap();
    let found: Vec<_> = symbols.iter().map(|symbol| (&symbol["name"], &symbol["containerName"])).collect();
    let none = Json::Null;
    assert_eq!(found, [(&json!("area"), &none), (&json!("Circle"), &none), (&json!("new"), &json!("Circle"))]);
    assert_eq!(symbols[2]["location"]["uri"], uri);
    editor.quit();
}

#[test]
fn requests_before_and_after_the_session_are_refused_and_exit_needs_shutdown() {
    let project = project();
    let (connection, server) = started(&project, None);
    let ask = |id: i32, method: &str, parameters: Json| {
        connection.sender.send(Request::new(id.into(), method.to_owned(), parameters).into()).unwrap();
        match connection.receiver.recv().unwrap() {
            Message::Response(response) => response.response_result.map_err(|error| error.code),
            other => panic!("{other:?}"),
        }
    };
    let tell = |method: &str| connection.sender.send(Notification::new(method.to_owned(), json!({})).into()).unwrap();
    assert_eq!(ask(1, "workspace/symbol", json!({ "query": "a" })), Err(-32002));
    tell("$/setTrace");
    assert!(ask(2, "initialize", json!({ "capabilities": {} })).is_ok());
    // Some editors send others before `initialized`.
    tell("workspace/didChangeConfiguration");
    assert!(ask(3, "workspace/symbol", json!({ "query": "a" })).is_ok());
    assert_eq!(ask(4, "initialize", json!({ "capabilities": {} })), Err(-32600));
    let others = ["initialized", "$/unknown", "textDocument/didOpen", "textDocument/didSave", "$/cancelRequest"];
    others.into_iter().for_each(tell);
    assert_eq!(ask(5, "$/unknown", json!({})), Err(-32601));
    assert_eq!(ask(6, "shutdown", Json::Null), Ok(Json::Null));
    assert_eq!(ask(7, "workspace/symbol", json!({ "query": "a" })), Err(-32600));
    tell("exit");
    server.join().unwrap().unwrap();

    let cases = [(Vec::new(), "before a message `initialize`"), (vec!["initialize"], "without `shutdown`")];
    for (before, expected) in cases {
        let (connection, server) = started(&project, None);
        for method in before {
            let request = Request::new(1.into(), method.to_owned(), json!({ "capabilities": {} }));
            connection.sender.send(request.into()).unwrap();
        }
        connection.sender.send(Notification::new("exit".to_owned(), Json::Null).into()).unwrap();
        let error = server.join().unwrap().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_request_that_is_cancelled_gets_one_answer_and_the_others_get_theirs() {
    const REQUESTS: i32 = 200;
    let project = project();
    let editor = Editor::new(&project, &[]);
    for id in 1000..1000 + REQUESTS {
        let parameters = json!({ "query": "", "partialResultToken": "a" });
        let request = Request::new(id.into(), "workspace/symbol".to_owned(), parameters);
        editor.connection.sender.send(request.into()).unwrap();
        if id % 2 == 1 {
            editor.tell("$/cancelRequest", json!({ "id": id }));
        }
    }
    for id in 1000..1000 + REQUESTS {
        let Message::Response(response) = editor.connection.receiver.recv().unwrap() else { panic!("a response") };
        assert_eq!(response.id, RequestId::from(id));
        match response.response_result {
            Ok(symbols) => assert_eq!(symbols.as_array().unwrap().len(), 4),
            Err(error) => assert!(error.code == -32800 && id % 2 == 1, "{error:?}"),
        }
    }
    editor.quit();
}
