//! The language server, asked as an editor asks.

use std::thread::JoinHandle;

use fulgurite_code::{Columns, convert, open_index, serve};
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
        let (connection, ours) = Connection::memory();
        let database = open_index(&project.database()).unwrap();
        let server = std::thread::spawn(move || serve(&ours, &database, None));
        let root = format!("file://{}", project.root().display());
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
