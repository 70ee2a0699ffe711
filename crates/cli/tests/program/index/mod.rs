//! `fulgurite facts index` and the verbs for indexes of code, from a SCIP file that is made here.

mod editor;
mod mistakes;

use std::io::{BufRead, BufReader, Write};

use protobuf::{EnumOrUnknown, Message, MessageField};
use scip::types::symbol_information::Kind;
use scip::types::{
    Diagnostic, Document, Index, Metadata, Occurrence, PositionEncoding, Severity, SymbolInformation, SymbolRole,
};

use crate::fixture::{Run, TestDirectory};

const AREA: &str = "demo . shapes . shape/area().";

/// A document with uses of `area` at lines and columns; the first is the definition if `defines`.
fn document(path: &str, places: &[(i32, i32)], defines: bool) -> Document {
    let occurrence = |(number, (line, column)): (usize, &(i32, i32))| Occurrence {
        range: vec![*line, *column, *column + 4],
        symbol: AREA.to_owned(),
        symbol_roles: if defines && number == 0 { SymbolRole::Definition as i32 } else { 0 },
        ..Default::default()
    };
    let info = SymbolInformation {
        symbol: AREA.to_owned(),
        kind: EnumOrUnknown::new(Kind::Function),
        display_name: "area".to_owned(),
        documentation: vec!["The area of a shape.".to_owned()],
        ..Default::default()
    };
    Document {
        relative_path: path.to_owned(),
        language: "rust".to_owned(),
        position_encoding: EnumOrUnknown::new(PositionEncoding::UTF8CodeUnitOffsetFromLineStart),
        occurrences: places.iter().enumerate().map(occurrence).collect(),
        symbols: if defines { vec![info] } else { Vec::new() },
        ..Default::default()
    }
}

/// An index with a definition, and `uses` in nine other files.
fn scip(uses: i32) -> Vec<u8> {
    let metadata = MessageField::some(Metadata::new());
    let mut index =
        Index { metadata, documents: vec![document("src/shape.rs", &[(0, 3)], true)], ..Default::default() };
    for file in 0..9 {
        let last = if file == 8 { uses } else { 1 };
        let places: Vec<(i32, i32)> = (0..last).map(|line| (line, 4)).collect();
        index.documents.push(document(&format!("src/use{file}.rs"), &places, false));
    }
    index.write_to_bytes().unwrap()
}

fn indexed() -> TestDirectory {
    let directory = TestDirectory::new();
    std::fs::create_dir_all(directory.path("src")).unwrap();
    std::fs::write(directory.path("src/use8.rs"), "é = area(1);\n").unwrap();
    directory.file("index.scip", scip(1));
    let run = directory.run(&["facts", "index", "--scip", "index.scip"]);
    assert!(run.messages.contains("10 files: 10 added"), "{}", run.messages);
    assert_eq!(run.code, 0);
    directory
}

fn lines(run: &Run) -> Vec<&str> {
    assert_eq!(run.code, 0, "{}", run.messages);
    run.text().lines().collect()
}

#[test]
fn an_index_answers_about_files_and_symbols() {
    let directory = indexed();
    let run = |arguments: &[&str]| directory.run(&[&["facts"], arguments].concat());
    let found = run(&["symbols", "code.ful", "src/shape.rs", "--format", "csv"]);
    assert_eq!(
        lines(&found),
        ["name,kind,file,line,column,symbol", "area,function,src/shape.rs,1,4,demo . shapes . shape/area()."]
    );
    for symbol in ["area", "shape::area", AREA, "src/use3.rs:1:6", "src/use3.rs:1"] {
        let found = run(&["definition", "code.ful", symbol, "--format", "ndjson"]);
        assert!(
            lines(&found)[0].contains(r#""file":"src/shape.rs","line":1,"column":4"#),
            "{symbol}: {}",
            found.text()
        );
    }
    let found = run(&["references", "code.ful", "area", "--limit", "2", "--format", "csv"]);
    assert_eq!(lines(&found), ["file,line,column,role", "src/use0.rs,1,5,reference", "src/use1.rs,1,5,reference"]);
    let found = run(&["describe", "code.ful", "area"]);
    assert!(lines(&found).contains(&"  The area of a shape.") && lines(&found).contains(&"  9 references in 9 files"));
    assert_eq!(lines(&run(&["search", "code.ful", "REA"])).len(), 2);
    assert!(lines(&run(&["hierarchy", "code.ful", "area"]))[1].starts_with("container"));
    for (arguments, message) in [
        (["symbols", "code.ful", "shape.rs"], "did you mean `src/shape.rs`?"),
        (["definition", "code.ful", "aera"], "did you mean `area`?"),
        (["definition", "code.ful", "src/use3.rs:1:1"], "did you mean `src/use3.rs:1:5`?"),
        (["symbols", "none.ful", "a"], "no such index"),
    ] {
        let failed = run(&arguments).fails(1);
        assert!(failed.contains(message), "{failed}");
    }
}

#[test]
fn diagnostics_are_printed_with_their_places() {
    let directory = indexed();
    let diagnostics =
        |source: &[&str]| directory.run(&[&["facts", "diagnostics", "code.ful", "--format", "csv"], source].concat());
    let header = "file,line,column,severity,code,source,tags,message";
    assert_eq!(lines(&diagnostics(&[])), [header]);
    let mut index = Index::parse_from_bytes(&scip(1)).unwrap();
    index.documents[1].occurrences[0].diagnostics.push(Diagnostic {
        severity: EnumOrUnknown::new(Severity::Warning),
        code: "W1".to_owned(),
        message: "use `side`".to_owned(),
        source: "lint".to_owned(),
        ..Default::default()
    });
    directory.file("index.scip", index.write_to_bytes().unwrap());
    directory.run(&["facts", "index", "--scip", "index.scip"]).ok();
    let row = "src/use0.rs,1,5,warning,W1,lint,,use `side`";
    assert_eq!(lines(&diagnostics(&[])), [header, row]);
    assert_eq!(lines(&diagnostics(&["src/use0.rs"])), [header, row]);
    assert_eq!(lines(&diagnostics(&["src/use1.rs"])), [header]);
    assert!(diagnostics(&["use1.rs"]).fails(1).contains("did you mean `src/use1.rs`"));
}

#[test]
fn a_changed_file_is_indexed_again_and_all_verbs_see_it() {
    let directory = indexed();
    let index = |scip: &[u8]| {
        directory.file("index.scip", scip);
        directory.run(&["facts", "index", "--scip", "index.scip"])
    };
    assert!(index(&scip(1)).messages.contains("nothing has changed in 10 files"));
    let changed = index(&scip(3));
    assert!(changed.messages.contains("0 added, 1 changed, 0 removed"), "{}", changed.messages);
    assert!(directory.path("code.ful-increment.1").exists());
    let found = directory.run(&["facts", "references", "code.ful", "area", "--format", "ndjson"]);
    assert_eq!(lines(&found).len(), 11);
    let query = "R where code.Reference { symbol = \"demo . shapes . shape/area().\", range = R }";
    assert_eq!(lines(&directory.run(&["facts", "query", "code.ful", query])).len(), 3);
    directory.run(&["facts", "validate", "code.ful"]).ok();
    directory.run(&["facts", "backup", "code.ful", "copy.ful"]).ok();
    assert_eq!(lines(&directory.run(&["facts", "references", "copy.ful", "area", "--format", "ndjson"])).len(), 11);
    directory.run(&["facts", "restore", "copy.ful", "again.ful"]).ok();
    assert!(directory.run(&["facts", "restore", "copy.ful", "again.ful"]).fails(1).contains("is there already"));
    directory.file("copy.ful-index-lock", "");
    directory.run(&["facts", "delete", "copy.ful", "--yes"]).ok();
    assert!(!directory.names().iter().any(|name| name.starts_with("copy")), "{:?}", directory.names());
    let cut = scip(3);
    let failed = index(&cut[..cut.len() - 3]).fails(1);
    assert!(failed.contains("index.scip: byte ") && failed.contains("cut off"), "{failed}");
    directory.file("index.scip", scip(1));
    directory.run(&["facts", "index", "--scip", "index.scip", "--whole"]).ok();
    assert!(!directory.path("code.ful-increment.1").exists());
    // It ends between two documents, as if it had been cut off.
    let mut fewer = Index::parse_from_bytes(&scip(1)).unwrap();
    fewer.documents.pop();
    let removed = index(&fewer.write_to_bytes().unwrap());
    let said = "1 file has left the index; if a SCIP file was cut off, write it again\n";
    assert!(removed.messages.contains(said), "{}", removed.messages);
}

#[test]
fn a_file_that_only_has_a_name_like_an_increment_is_left_alone() {
    let directory = TestDirectory::new();
    directory.file("index.scip", scip(1));
    let schema = "schema d.1 {\npredicate E : string\n}\n";
    directory.file("d.angle", schema);
    for name in ["code.ful.1", "other.ful", "code.ful-increment.1"] {
        directory.run(&["facts", "create", name, "--schema", "d.angle"]).ok();
        directory
            .run_with_input(&["facts", "write", name, "-"], br#"[{"predicate":"d.E.1","facts":[{"key":"x"}]}]"#)
            .ok();
    }
    directory.file("other.ful.1", "a text");
    directory.file("other.ful-increment.1", "a text");
    assert_eq!(directory.run(&["facts", "query", "other.ful", "d.E _"]).ok().lines().count(), 1);
    directory.run(&["facts", "delete", "other.ful", "--yes"]).ok();
    assert!(directory.path("other.ful-increment.1").exists() && directory.path("other.ful.1").exists());

    let index = |arguments: &[&str]| directory.run(&[&["facts", "index", "--scip", "index.scip"], arguments].concat());
    index(&[]).ok();
    directory.file("index.scip", scip(3));
    let failed = index(&[]).fails(1);
    assert!(failed.contains("code.ful-increment.1: the file is not an index of code"), "{failed}");
    index(&["--whole"]).ok();
    for name in ["code.ful.1", "code.ful-increment.1"] {
        assert_eq!(directory.run(&["facts", "query", name, "d.E _"]).ok().lines().count(), 1);
    }
    let references = directory.run(&["facts", "references", "code.ful", "area", "--format", "ndjson"]);
    assert_eq!(lines(&references).len(), 11);
}

#[test]
fn a_locked_index_is_not_backed_up_deleted_or_indexed() {
    let directory = indexed();
    let held = std::fs::File::create(directory.path("code.ful-index-lock")).unwrap();
    held.lock().unwrap();
    std::fs::create_dir(directory.path("empty")).unwrap();
    for arguments in [
        &["facts", "backup", "code.ful", "copy.ful"][..],
        &["facts", "delete", "code.ful", "--yes"],
        // Before an indexer is looked for.
        &["facts", "index", "empty"],
    ] {
        let failed = directory.run(arguments).fails(1);
        assert!(failed.contains("another process is indexing"), "{failed}");
    }
    drop(held);
    directory.run(&["facts", "backup", "code.ful", "copy.ful"]).ok();
    // `facts restore` refuses a target beside which an increment lies: it would become a part of the restored index.
    directory.file("index.scip", scip(3));
    directory.run(&["facts", "index", "--scip", "index.scip"]).ok();
    std::fs::rename(directory.path("code.ful-increment.1"), directory.path("again.ful-increment.1")).unwrap();
    let failed = directory.run(&["facts", "restore", "copy.ful", "again.ful"]).fails(1);
    assert!(failed.contains("again.ful-increment.1: exists without again.ful; "), "{failed}");
    // A copy that is cut off may leave it, and a directory.
    std::fs::create_dir(directory.path("again.ful-unfinished.7.0")).unwrap();
    directory.file("again.ful-unfinished.7.0/1", "half");
    directory.run(&["facts", "delete", "again.ful", "--yes"]).ok();
    assert!(!directory.names().iter().any(|name| name.starts_with("again")), "{:?}", directory.names());
    assert!(directory.run(&["facts", "delete", "again.ful", "--yes"]).fails(1).contains("no such database"));
    directory.run(&["facts", "restore", "copy.ful", "again.ful"]).ok();
}

/// Deleting the name of a copy that was being written removed its unfinished files.
#[test]
fn a_name_to_which_a_copy_is_written_is_locked_until_it_is_complete() {
    let directory = indexed();
    let held = std::fs::File::create(directory.path("copy.ful-index-lock")).unwrap();
    held.lock().unwrap();
    std::fs::create_dir(directory.path("copy.ful-unfinished.7.0")).unwrap();
    for arguments in [
        &["facts", "delete", "copy.ful", "--yes"][..],
        &["facts", "backup", "code.ful", "copy.ful"],
        &["facts", "image", "code.ful", "copy.ful", "--squashfs"],
    ] {
        let failed = directory.run(arguments).fails(1);
        assert!(failed.contains("copy.ful: cannot be "), "{failed}");
        assert!(failed.contains("another process is indexing or copying it"), "{failed}");
    }
    assert!(directory.path("copy.ful-unfinished.7.0").exists());
    drop(held);
    directory.run(&["facts", "backup", "code.ful", "copy.ful"]).ok();
    // They would stay beside each copy: deleting what a killed process has left by this name deletes the copy too.
    assert!(!directory.path("copy.ful-index-lock").exists() && !directory.path("copy.ful-unfinished.7.0").exists());
    directory.file("code.sqfs", "hsqs, and more");
    let refused = directory.run(&["facts", "delete", "code.sqfs", "--yes"]).fails(3);
    assert!(refused.ends_with("remove it with `rm`"), "{refused}");
}

#[test]
fn validating_an_index_reads_all_of_its_files() {
    let directory = indexed();
    let count = |text: String| text.trim_end_matches(" facts\n").trim_start_matches("valid: ").parse::<u64>().unwrap();
    let before = count(directory.run(&["facts", "validate", "code.ful"]).ok());
    directory.file("index.scip", scip(3));
    directory.run(&["facts", "index", "--scip", "index.scip"]).ok();
    let after = count(directory.run(&["facts", "validate", "code.ful"]).ok());
    assert!(before > 10 && after > before, "{before} and {after} facts");
}

#[test]
fn ctags_finds_definitions_where_nothing_better_is_there() {
    let directory = TestDirectory::new();
    std::fs::create_dir(directory.path("source")).unwrap();
    std::fs::write(directory.path("source/shape.c"), "int area(int side) {\n  return side * side;\n}\n").unwrap();
    let run = directory.run(&["facts", "index", "source"]);
    if run.code == 1 && run.messages.contains("universal-ctags") {
        // This machine has no ctags, and the message says how to get it.
        return;
    }
    assert_eq!(run.code, 0, "{}", run.messages);
    let found = directory.run(&["facts", "definition", "code.ful", "area", "--format", "csv"]);
    assert!(lines(&found)[1].starts_with("area,function,shape.c,1,5,"), "{}", found.text());
    assert_eq!(directory.names(), ["code.ful", "code.ful-index-lock", "source"]);
}

#[test]
fn an_index_in_lmdb_needs_a_program_with_lmdb_and_stays_there() {
    let directory = TestDirectory::new();
    directory.file("index.scip", scip(1));
    let index = |more: &[&str]| directory.run(&[&["facts", "index", "--scip", "index.scip"], more].concat());
    let first = index(&["--backend", "lmdb"]);
    if !fulgurite_facts::Backend::Lmdb.is_built() {
        let message = first.fails(1);
        assert!(message.contains("build it with the feature `lmdb`"), "{message}");
        assert!(!directory.path("code.ful").exists());
        return;
    }
    first.ok();
    directory.file("index.scip", scip(3));
    for again in [&[][..], &["--whole"]] {
        index(again).ok();
        assert_eq!(fulgurite_facts::Backend::of(directory.path("code.ful")), fulgurite_facts::Backend::Lmdb);
        let references = directory.run(&["facts", "references", "code.ful", "area", "--format", "ndjson"]);
        assert_eq!(lines(&references).len(), 11);
    }
}

/// A directory `project` in Go and Python, and stand-ins for indexers in `programs`: each logs its arguments in
/// `NAME.log`, and copies `NAME.scip` to where it is to write. If there is a pipe `NAME.fifo`, it holds that open for a
/// minute instead. Other programs are not found.
#[cfg(unix)]
struct StandIns {
    directory: TestDirectory,
}

#[cfg(unix)]
impl StandIns {
    fn new(indexers: &[&str]) -> Self {
        let directory = TestDirectory::new();
        for name in ["programs", "project"] {
            std::fs::create_dir(directory.path(name)).unwrap();
        }
        for name in ["project/go.mod", "project/main.py"] {
            directory.file(name, "");
        }
        for name in indexers {
            directory.file(&format!("{name}.scip"), "");
            let files = directory.path(name).display().to_string();
            let script = format!(
                "#!/bin/sh\nPATH=/usr/bin:/bin\n[ \"$1\" = --version ] && exit 0\necho \"$@\" > '{files}.log'\n\
                 while [ $# -gt 0 ]; do [ \"$1\" = --output ] && output=$2; shift; done\n\
                 [ -f '{files}.fails' ] && echo half | tee \"$output\" && exit 3\n\
                 [ -p '{files}.fifo' ] && exec sleep 60 > '{files}.fifo'\n\
                 [ -f '{files}.silent' ] && exit 0\ncp '{files}.scip' \"$output\"\n"
            );
            // Another process writes the program: one that this process has open for writing cannot be run.
            let path = directory.path(&format!("programs/{name}"));
            let mut writer = directory.command("/bin/sh");
            writer.args(["-c", "printf %s \"$2\" > \"$1\" && chmod 755 \"$1\"", "sh"]).arg(path).arg(script);
            assert!(writer.status().unwrap().success());
        }
        Self { directory }
    }

    /// What an indexer finds: files with uses of `area`, the first with its definition if it is Go.
    fn finds(&self, indexer: &str, files: &[(&str, i32)]) {
        let metadata = MessageField::some(Metadata::new());
        let mut index = Index { metadata, ..Default::default() };
        for (number, (path, uses)) in files.iter().enumerate() {
            let places: Vec<(i32, i32)> = (0..*uses).map(|line| (line, 4)).collect();
            index.documents.push(document(path, &places, indexer == "scip-go" && number == 0));
        }
        self.directory.file(&format!("{indexer}.scip"), index.write_to_bytes().unwrap());
    }

    fn index(&self, arguments: &[&str]) -> Run {
        let mut program = self.directory.command(crate::fixture::PROGRAM);
        program.env("PATH", self.directory.path("programs")).args(["facts", "index", "project"]).args(arguments);
        Run::of(program.output().unwrap())
    }

    /// Runs the command that the message of a failure has for the outputs that are kept.
    fn follow(&self, message: &str) -> Run {
        let (_, command) = message.split_once(" alone with `fulgurite ").unwrap();
        let (command, _) = command.split_once('`').unwrap();
        let mut shell = self.directory.command("/bin/sh");
        Run::of(shell.args(["-c", &format!("'{}' {command}", crate::fixture::PROGRAM)]).output().unwrap())
    }

    /// The paths and lines where `area` is used.
    fn uses(&self) -> Vec<String> {
        let run = self.directory.run(&["facts", "references", "code.ful", "area", "--format", "csv"]);
        let places = lines(&run).into_iter().skip(1);
        places.map(|place| place.split(',').take(2).collect::<Vec<_>>().join(":")).collect()
    }
}

#[cfg(unix)]
#[test]
fn two_languages_of_a_directory_are_in_one_index_and_follow_its_changes() {
    let project = StandIns::new(&["scip-go", "scip-python"]);
    let others = [("a.go", 1), ("b.go", 1), ("c.go", 1)];
    project.finds("scip-go", &[&[("main.go", 2)][..], &others].concat());
    project.finds("scip-python", &[("main.py", 1), ("other.py", 1)]);
    let run = project.index(&[]);
    assert!(run.messages.contains("project: indexing with scip-python, scip-go"), "{}", run.messages);
    assert!(run.messages.contains("6 files: 6 added"), "{}", run.messages);
    let before_output = |name: &str| {
        let log = String::from_utf8(project.directory.read(name)).unwrap();
        log.split_once("--output ").map(|(before, _)| before.to_owned()).unwrap()
    };
    assert_eq!(before_output("scip-python.log"), "index . --project-name project --project-version . ");
    assert_eq!(before_output("scip-go.log"), "");
    let of_others = ["a.go:1", "b.go:1", "c.go:1"];
    let uses = |more: &[&'static str]| [&of_others[..], more].concat();
    assert_eq!(project.uses(), uses(&["main.go:2", "main.py:1", "other.py:1"]));
    // One file has changed, and one is gone.
    project.finds("scip-python", &[("main.py", 2)]);
    let run = project.index(&[]);
    assert!(run.messages.contains("5 files: 0 added, 1 changed, 1 removed"), "{}", run.messages);
    assert_eq!(project.uses(), uses(&["main.go:2", "main.py:1", "main.py:2"]));
    // What the indexers wrote is not left.
    let names = project.directory.names();
    assert!(!names.iter().any(|name| name.starts_with("code.ful-scip") || name.ends_with("indexer.log")), "{names:?}");
}

#[cfg(unix)]
#[test]
fn an_indexer_that_fails_leaves_the_index_as_it_was_and_can_be_skipped() {
    let project = StandIns::new(&["scip-go", "scip-python"]);
    project.finds("scip-go", &[("main.go", 2), ("other.go", 1)]);
    project.finds("scip-python", &[("main.py", 1)]);
    project.index(&[]).ok();
    let before = (project.uses(), project.directory.names());
    project.finds("scip-python", &[("main.py", 2)]);
    // The second one fails halfway.
    project.directory.file("scip-go.fails", "");
    let failed = project.index(&[]);
    assert_eq!(failed.code, 1, "{failed:?}");
    let expected = "fulgurite: scip-go failed: exit status: 3: half; the index was not changed; `--skip scip-go`";
    assert!(failed.messages.contains(expected), "{}", failed.messages);
    let kept = "; finished outputs are kept until indexers run again; index them alone with `fulgurite facts index \
                project --database code.ful --scip /";
    assert!(failed.messages.contains(kept), "{}", failed.messages);
    std::fs::remove_file(project.directory.path("scip-go.fails")).unwrap();
    // The output of the other one is kept.
    std::fs::remove_file(project.directory.path("code.ful-scip-python.scip")).unwrap();
    let log_names = |names: Vec<String>| names.into_iter().filter(|name| !name.ends_with(".log")).collect::<Vec<_>>();
    assert_eq!((project.uses(), log_names(project.directory.names())), (before.0, log_names(before.1)));
    // One that writes nothing has failed too.
    project.directory.file("scip-go.silent", "");
    let silent = project.index(&[]);
    assert!(silent.code == 1 && silent.messages.contains("ended without an error, and wrote no index"), "{silent:?}");
    let run = project.index(&["--skip", "scip-go"]);
    assert!(run.messages.contains("indexing with scip-python\n"), "{}", run.messages);
    assert!(run.messages.contains("1 file: 0 added, 1 changed, 2 removed"), "{}", run.messages);
    let unknown = project.index(&["--skip", "scip-rust"]);
    assert!(unknown.code == 2 && unknown.messages.contains("scip-rust"), "{unknown:?}");
}

#[cfg(unix)]
#[test]
fn an_indexer_that_is_missing_is_named_with_how_to_install_it() {
    let project = StandIns::new(&["scip-go"]);
    project.finds("scip-go", &[("main.go", 1)]);
    let run = project.index(&[]);
    assert_eq!(run.code, 0, "{run:?}");
    for part in ["missing: Python (main.py) needs scip-python: npm install", "missing: Universal Ctags with JSON"] {
        assert!(run.messages.contains(part), "{}", run.messages);
    }
    let none = StandIns::new(&[]);
    let failed = none.index(&[]).fails(1);
    for part in ["project: no indexer reads this directory", "Go (go.mod) needs scip-go: go install", "apt install"] {
        assert!(failed.contains(part), "{failed}");
    }
    assert!(!none.directory.path("code.ful").exists());
}

/// A message of the protocol, with its length before it.
fn send(pipe: &mut impl Write, message: &str) {
    write!(pipe, "Content-Length: {}\r\n\r\n{message}", message.len()).unwrap();
    pipe.flush().unwrap();
}

fn receive(pipe: &mut impl BufRead) -> String {
    let mut length = 0;
    loop {
        let mut line = String::new();
        pipe.read_line(&mut line).unwrap();
        match line.trim().split_once(": ") {
            Some(("Content-Length", number)) => length = number.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut message = vec![0; length];
    pipe.read_exact(&mut message).unwrap();
    String::from_utf8(message).unwrap()
}

#[test]
fn the_language_server_speaks_on_its_pipes_and_ends_when_it_is_told() {
    let directory = indexed();
    let mut server = directory.spawn(&["facts", "lsp", "code.ful", "--root", "."]);
    let (mut to, mut from) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
    send(&mut to, r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#);
    assert!(receive(&mut from).contains("definitionProvider"));
    send(&mut to, r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#);
    let root = directory.root().canonicalize().unwrap();
    // The letter before the word has two bytes, and is one unit of UTF-16: the column is 3, not 4.
    let place = format!(
        r#""textDocument":{{"uri":"file://{}/src/use8.rs"}},"position":{{"line":0,"character":3}}"#,
        root.display()
    );
    send(&mut to, &format!(r#"{{"jsonrpc":"2.0","id":2,"method":"textDocument/definition","params":{{{place}}}}}"#));
    let answer = receive(&mut from);
    assert!(answer.contains("/src/shape.rs") && answer.contains(r#""character":3"#), "{answer}");
    // An increment, and then the whole index again: each answer is from what is there.
    for (uses, whole) in [(3, false), (5, true)] {
        directory.file("index.scip", scip(uses));
        let options: &[&str] = if whole { &["--whole"] } else { &[] };
        directory.run(&[&["facts", "index", "--scip", "index.scip"], options].concat()).ok();
        let place = format!(r#"{place},"context":{{"includeDeclaration":false}}"#);
        send(
            &mut to,
            &format!(r#"{{"jsonrpc":"2.0","id":2,"method":"textDocument/references","params":{{{place}}}}}"#),
        );
        let answer = receive(&mut from);
        assert_eq!(answer.matches("/src/use8.rs").count(), uses as usize, "{answer}");
    }
    send(&mut to, r#"{"jsonrpc":"2.0","id":3,"method":"shutdown"}"#);
    receive(&mut from);
    send(&mut to, r#"{"jsonrpc":"2.0","method":"exit"}"#);
    drop(to);
    assert!(server.wait().unwrap().success());
}

#[test]
fn the_language_server_ends_after_a_wrong_handshake_though_its_input_is_open() {
    let directory = indexed();
    let mut server = directory.spawn(&["facts", "lsp", "code.ful"]);
    let (mut to, mut from) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
    send(&mut to, r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":3}}"#);
    let answer = receive(&mut from);
    assert!(answer.contains("-32602"), "{answer}");
    assert!(!server.wait().unwrap().success());
    drop(to);
}

#[test]
fn the_language_server_fails_if_it_is_to_exit_without_a_shutdown() {
    let directory = indexed();
    let mut server = directory.spawn(&["facts", "lsp", "code.ful"]);
    let (mut to, mut from) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
    send(&mut to, r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#);
    receive(&mut from);
    send(&mut to, r#"{"jsonrpc":"2.0","method":"exit"}"#);
    // Its input stays open.
    assert_eq!(server.wait().unwrap().code(), Some(1));
    drop(to);
}

#[test]
fn the_language_server_says_what_is_malformed_in_its_input() {
    let directory = indexed();
    for (input, expected) in [
        ("Content-Length: 99999999999\r\n\r\n", "Content-Length is 99999999999, which is too large"),
        ("Content-Length: 3\r\n\r\n{}", "the input ended within a message, after 2 of 3 bytes"),
        ("hello\r\n", "a header line has no `:`: `hello`"),
        ("", "the input ended before a message `initialize`"),
    ] {
        let error = directory.run_with_input(&["facts", "lsp", "code.ful"], input.as_bytes()).fails(1);
        assert!(error.contains(expected), "{input:?}: {error}");
    }
}

#[test]
fn a_shell_answers_lines_and_goes_on_where_a_page_ended() {
    let directory = indexed();
    let input = b":limit 4\ncode.File F\n:more\n:profile on\n:more\n:stats\n:schema Digest\n:quit\nno more\n";
    let run = directory.run_with_input(&["facts", "shell", "code.ful"], b"F where code.File F\n");
    assert_eq!(lines(&run).len(), 10);
    let mistaken = directory.run_with_input(&["facts", "shell", "code.ful"], input);
    assert_eq!(mistaken.code, 1, "{}", mistaken.messages);
    let input = String::from_utf8(input.to_vec()).unwrap().replace("code.File F", "F where code.File F");
    let run = directory.run_with_input(&["facts", "shell", "code.ful"], input.as_bytes());
    let printed = lines(&run);
    assert_eq!(printed.iter().filter(|line| line.starts_with('"')).count(), 10);
    assert!(printed.contains(&"code.Digest.1 : string -> string") && printed.contains(&"code.File.1: 10 facts"));
    assert!(run.messages.contains(":more for the next") && run.messages.contains("searched"), "{}", run.messages);
    let wrong = b"code.Fil _\n:more\n:nothing\n:limit 0\n:bytes x\n:timeout x\n";
    let run = directory.run_with_input(&["facts", "shell", "code.ful"], wrong);
    assert!(run.code == 1 && run.messages.contains("6 lines failed"), "{}", run.messages);
    // A page ends with the result that brings it to the limit of 1 MiB: the ninth one.
    let long = "x".repeat(120_000);
    let input = format!(":bytes 1\n{{ F, \"{long}\" }} where code.File F\n:bytes off\n:timeout 60\n:more\n");
    let run = directory.run_with_input(&["facts", "shell", "code.ful"], input.as_bytes());
    assert_eq!(lines(&run).len(), 10);
    assert!(run.messages.contains("9 results in ") && run.messages.contains("1 result in "), "{}", run.messages);
}

#[test]
fn facts_are_derived_dumped_and_written_again() {
    let directory = TestDirectory::new();
    let schema = "schema d.1 {\npredicate E : { a : string, b : maybe string }\npredicate N : { of : E } stored { of = S } where S = E { b = nothing }\npredicate R : nat stored X where (N _; X = 0) | (R Y; X = Y + 1; X < 1)\npredicate O : E X where N { of = X }\n}\n";
    directory.file("d.angle", schema);
    for name in ["a.ful", "b.ful"] {
        directory.run(&["facts", "create", name, "--schema", "d.angle"]).ok();
    }
    let facts = r#"[{"predicate":"d.E.1","facts":[{"key":{"a":"x"}},{"key":{"a":"y","b":"z"}}]}]"#;
    directory.run_with_input(&["facts", "write", "a.ful", "-"], facts.as_bytes()).ok();
    let hint = "d.N.1 was not derived since facts were written; run `fulgurite facts derive ";
    let says = || directory.run(&["facts", "query", "a.ful", "d.O _"]).messages.contains(hint);
    assert!(says());
    let derived = directory.run(&["facts", "derive", "a.ful", "--predicate", "d.R"]).ok();
    assert!(!says());
    let rows: Vec<Vec<&str>> = derived.lines().skip(1).map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows, [["d.N.1", "1", "1"], ["d.R.1", "1", "2"]]);
    let refused = directory.run(&["facts", "derive", "a.ful", "--predicate", "d.O"]).fails(1);
    assert!(refused.contains("d.O.1 is derived on demand"), "{refused}");
    assert!(directory.run(&["facts", "derive", "a.ful", "--predicate", "d.X"]).fails(1).contains("no predicate d.X"));
    let dumped = directory.run(&["facts", "dump", "a.ful"]).ok();
    directory.run_with_input(&["facts", "write", "b.ful", "-"], dumped.as_bytes()).ok();
    assert_eq!(directory.run(&["facts", "dump", "b.ful"]).ok(), dumped);
    assert_eq!(directory.run(&["facts", "validate", "b.ful"]).ok(), "valid: 4 facts\n");
    let listed = directory.run(&["facts", "list", "--format", "csv"]).ok();
    assert!(listed.lines().nth(2).unwrap().starts_with("b.ful,incomplete,4,"), "{listed}");
    assert!(directory.run(&["facts", "delete", "d.angle", "--yes"]).code != 0);
    assert_eq!(directory.run(&["facts", "delete", "a.ful"]).code, 2);
    directory.run(&["facts", "delete", "a.ful", "--yes"]).ok();
    assert_eq!(directory.run(&["facts", "list"]).ok().lines().count(), 2);
}

/// An index with an increment, and how many lines `references` then has.
fn increased() -> (TestDirectory, usize) {
    let directory = indexed();
    directory.file("index.scip", scip(3));
    directory.run(&["facts", "index", "--scip", "index.scip"]).ok();
    assert!(directory.path("code.ful-increment.1").exists());
    let found = references(&directory, "code.ful");
    (directory, found)
}

fn references(directory: &TestDirectory, database: &str) -> usize {
    lines(&directory.run(&["facts", "references", database, "area", "--format", "ndjson"])).len()
}

#[test]
fn an_image_of_an_index_has_all_of_its_increments() {
    let (directory, found) = increased();
    directory.run(&["facts", "image", "code.ful", "code.img"]).ok();
    assert!(directory.path("code.img-increment.1").exists());
    assert_eq!(references(&directory, "code.img"), found);
    directory.run(&["facts", "restore", "code.img", "again.ful"]).ok();
    assert_eq!(references(&directory, "again.ful"), found);
    let refused = directory.run(&["facts", "image", "code.ful", "code.img"]).fails(1);
    assert!(refused.contains("code.img: a file is there already"), "{refused}");
    for verb in ["image", "backup"] {
        let refused = directory.run(&[verb, "code.ful", "other"]).fails(1);
        assert!(refused.contains(&format!("use `fulgurite facts {verb}`")), "{refused}");
        assert!(!directory.path("other").exists());
    }
    assert!(directory.run(&["facts", "image", "code.ful", "other", "--block", "5"]).fails(1).contains("power of two"));
}

#[test]
fn a_squashfs_image_leaves_a_directory_that_looks_unfinished() {
    let (directory, _) = increased();
    let kept = directory.path("code.sqfs-unfinished");
    std::fs::create_dir(&kept).unwrap();
    std::fs::write(kept.join("file"), "kept").unwrap();
    let before = directory.names().len();
    // It fails without mksquashfs, after the copies.
    let run = directory.run(&["facts", "image", "code.ful", "code.sqfs", "--squashfs"]);
    assert_eq!(std::fs::read_to_string(kept.join("file")).unwrap(), "kept", "{run:?}");
    let images = usize::from(directory.path("code.sqfs").exists());
    assert_eq!(directory.names().len(), before + images, "{:?}", directory.names());
}

#[cfg(target_os = "linux")]
#[test]
fn a_squashfs_image_has_the_whole_index_and_opens_where_it_is_mounted() {
    let runs = |program: &str| std::process::Command::new(program).arg("-version").output().is_ok();
    if !runs("mksquashfs") || !runs("unsquashfs") {
        eprintln!("SKIPPED: mksquashfs and unsquashfs are not installed (apt install squashfs-tools)");
        return;
    }
    let (directory, found) = increased();
    directory.run(&["facts", "image", "code.ful", "code.sqfs", "--squashfs"]).ok();
    assert!(!directory.names().iter().any(|name| name.contains("unfinished")), "{:?}", directory.names());
    assert!(
        directory.run(&["facts", "image", "code.ful", "code.sqfs", "--squashfs"]).fails(1).contains("is there already")
    );
    let run = |program: &str, arguments: &[&str]| directory.command(program).args(arguments).output().unwrap();
    assert!(run("unsquashfs", &["-no-progress", "-dest", "unpacked", "code.sqfs"]).status.success());
    let mut names: Vec<_> =
        std::fs::read_dir(directory.path("unpacked")).unwrap().map(|entry| entry.unwrap()).collect();
    names.sort_by_key(std::fs::DirEntry::file_name);
    let names: Vec<_> = names.iter().map(std::fs::DirEntry::file_name).collect();
    assert_eq!(names, ["code.ful", "code.ful-increment.1"]);
    assert_eq!(references(&directory, "unpacked/code.ful"), found);
    let mode = std::os::unix::fs::PermissionsExt::mode(&directory.path("code.sqfs").metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    std::fs::create_dir(directory.path("mounted")).unwrap();
    let mounted = run("mount", &["-t", "squashfs", "-o", "loop,ro", "code.sqfs", "mounted"]);
    if !mounted.status.success() {
        let said = String::from_utf8_lossy(&mounted.stderr).into_owned();
        eprintln!("SKIPPED: opening a mounted image, which needs the right to mount: {said}");
        return;
    }
    let there = directory.run(&["facts", "references", "mounted/code.ful", "area", "--format", "ndjson"]);
    let valid = directory.run(&["facts", "validate", "mounted/code.ful"]);
    directory.run(&["facts", "restore", "mounted/code.ful", "again.ful"]).ok();
    // First, so that nothing stays mounted if the test fails.
    assert!(run("umount", &["mounted"]).status.success());
    assert_eq!(lines(&there).len(), found);
    valid.ok();
    assert_eq!(references(&directory, "again.ful"), found);
}

#[test]
fn a_damaged_increment_is_replaced_by_the_next_index_run() {
    let (directory, found) = increased();
    let bytes = directory.read("code.ful-increment.1");
    directory.file("code.ful-increment.1", &bytes[..bytes.len() / 2]);
    let failed = directory.run(&["facts", "references", "code.ful", "area"]);
    assert_ne!(failed.code, 0);
    assert!(failed.messages.contains("`fulgurite facts index` replaces it"), "{}", failed.messages);
    let replaced = directory.run(&["facts", "index", "--scip", "index.scip"]);
    assert!(replaced.messages.contains("code.ful-increment.1: was damaged, and was replaced"), "{}", replaced.messages);
    replaced.ok();
    assert_eq!(references(&directory, "code.ful"), found);
    directory.file("code.ful-increment.1", &bytes[..100]);
    directory.run(&["facts", "delete", "code.ful", "--yes"]).ok();
    assert!(!directory.names().iter().any(|name| name.starts_with("code.ful")), "{:?}", directory.names());
}
