//! Tests that need indexers, updates and readers together.

#![cfg(unix)]

use protobuf::{Message as _, MessageField};
use scip::types;

use crate::browse::reader::CodeReader;
use crate::indexers::choose::Plan;
use crate::indexers::languages::Indexer;
use crate::stack::{IndexLock, open_index};

/// What an indexer of SCIP writes if it finds files without symbols.
fn scip_of(paths: &[&str]) -> Vec<u8> {
    let mut index = types::Index { metadata: MessageField::some(Default::default()), ..Default::default() };
    for path in paths {
        index.documents.push(types::Document { relative_path: (*path).to_owned(), ..Default::default() });
    }
    index.write_to_bytes().expect("it is small")
}

/// Copies an index that is prepared.
static PREPARED: Indexer = Indexer {
    name: "sh",
    language: "",
    marks: &[],
    arguments: &["-c", "cp prepared.scip \"$0\"", "{output}"],
    install: "",
    for_ctags: "",
};

/// Ctags read its own output, which was then reported as a file that had changed, in each run.
#[test]
fn the_outputs_of_indexers_are_not_indexed() {
    let directory = tempfile::tempdir().expect("a directory");
    let prepared = scip_of(&["a.rs", "code.ful-sh.scip"]);
    std::fs::write(directory.path().join("prepared.scip"), prepared).expect("a file");
    let plan = Plan::of_one(directory.path(), &PREPARED);
    let lock = IndexLock::take(&directory.path().join("code.ful")).expect("a lock");
    let indexed = plan.run(&lock, &mut |_, _| {}).expect("it runs");
    let updated = lock.update(&indexed, false, &mut |_| {}).expect("it is written");
    assert_eq!((updated.files, updated.left_out), (1, Vec::new()));
    let reader = CodeReader::new(&open_index(lock.path()).expect("it is there")).expect("it is an index");
    assert_eq!(reader.files().expect("it is sound"), ["a.rs"]);
}

#[test]
fn an_indexer_that_writes_a_wrong_index_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("prepared.scip"), [0xff; 100]).expect("a file");
    let plan = Plan::of_one(directory.path(), &PREPARED);
    let lock = IndexLock::take(&directory.path().join("code.ful")).expect("a lock");
    let indexed = plan.run(&lock, &mut |_, _| {}).expect("it runs");
    let error = lock.update(&indexed, false, &mut |_| {}).expect_err("it is no index").to_string();
    assert!(error.starts_with("sh failed: its index is wrong: byte 0: "), "{error}");
    assert!(error.ends_with("; the index was not changed"), "{error}");
}

#[test]
fn a_file_that_is_saved_while_an_indexer_runs_is_left_out_until_the_next_run() {
    // Copies an index that is prepared, and does meanwhile what a user does.
    static COPYING: Indexer = Indexer {
        name: "sh",
        language: "",
        marks: &[],
        arguments: &["-c", "cp prepared.scip \"$0\"; if [ -f edits ]; then . ./edits; fi", "{output}"],
        install: "",
        for_ctags: "",
    };
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let prepared = scip_of(&["saved.rs", "removed.rs", "new.rs", "same.rs", "generated.rs"]);
    std::fs::write(path("prepared.scip"), prepared).expect("a file");
    for name in ["saved.rs", "removed.rs", "same.rs"] {
        std::fs::write(path(name), "fn a() {}\n").expect("a file");
    }
    std::fs::write(path("edits"), "echo >> saved.rs; rm removed.rs; echo > new.rs\n").expect("a file");
    let plan = Plan::of_one(directory.path(), &COPYING);
    let lock = IndexLock::take(&path("code.ful")).expect("a lock");
    let update = || {
        let indexed = plan.run(&lock, &mut |_, _| {}).expect("it runs");
        lock.update(&indexed, false, &mut |_| {}).expect("it is written")
    };
    let files = || {
        let database = open_index(lock.path()).expect("it is there");
        CodeReader::new(&database).expect("it is an index").files().expect("it is sound")
    };
    let updated = update();
    assert_eq!(updated.left_out, ["new.rs", "removed.rs", "saved.rs"]);
    assert_eq!((updated.files, updated.added), (2, 2));
    assert_eq!(files(), ["generated.rs", "same.rs"]);
    // A file of the index that is saved leaves it.
    std::fs::write(path("edits"), "echo >> same.rs\n").expect("a file");
    let updated = update();
    assert_eq!((updated.left_out.as_slice(), updated.removed), (&["same.rs".to_owned()][..], 1));
    assert_eq!(files(), ["generated.rs", "new.rs", "removed.rs", "saved.rs"]);
    std::fs::remove_file(path("edits")).expect("it is there");
    assert!(update().left_out.is_empty());
    assert_eq!(files(), ["generated.rs", "new.rs", "removed.rs", "same.rs", "saved.rs"]);
}
