//! Tests that need indexers, updates and readers together.

#![cfg(unix)]

use protobuf::{Message as _, MessageField};
use scip::types;

use crate::browse::reader::CodeReader;
use crate::ctags::CtagsFile;
use crate::error::Error;
use crate::indexers::choose::Plan;
use crate::indexers::languages::Indexer;
use crate::scip::reader::ScipFile;
use crate::source::Without;
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
    endings: &[".ts"],
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
fn what_an_indexer_finds_in_directories_below_has_their_paths() {
    let directory = tempfile::tempdir().expect("a directory");
    for (root, prepared) in [("web", scip_of(&["a.ts", "../shared/b.ts", "../../c.ts"])), ("api", scip_of(&["a.ts"]))] {
        std::fs::create_dir(directory.path().join(root)).expect("a directory");
        std::fs::write(directory.path().join(root).join("prepared.scip"), prepared).expect("a file");
    }
    let plan = Plan::in_roots(directory.path(), &PREPARED, &["web", "api"]);
    let lock = IndexLock::take(&directory.path().join("code.ful")).expect("a lock");
    let indexed = plan.run(&lock, &mut |_, _| {}).expect("it runs");
    let updated = lock.update(&indexed, false, &mut |_| {}).expect("it is written");
    assert_eq!(updated.outside, ["../../c.ts"]);
    let reader = CodeReader::new(&open_index(lock.path()).expect("it is there")).expect("it is an index");
    assert_eq!(reader.files().expect("it is sound"), ["api/a.ts", "shared/b.ts", "web/a.ts"]);
    drop(indexed);
    std::fs::write(directory.path().join("api/prepared.scip"), [0xff; 100]).expect("a file");
    let indexed = plan.run(&lock, &mut |_, _| {}).expect("it runs");
    let error = lock.update(&indexed, false, &mut |_| {}).expect_err("it is no index").to_string();
    let [of_web, of_api] = ["code.ful-sh.scip", "code.ful-sh-1.scip"].map(|name| directory.path().join(name));
    let expected = format!("sh failed: in api: its index is wrong: {}: byte 0: ", of_api.display());
    assert!(error.starts_with(&expected), "{error}");
    drop(indexed);
    // The other one can be indexed alone.
    let source = ScipFile::of_root(of_web, directory.path(), "web");
    let updated = lock.update(&source, false, &mut |_| {}).expect("it is written");
    assert_eq!((updated.files, updated.removed), (2, 1));
}

/// The index had files of other directories, such as `../a.ts`.
#[test]
fn a_file_of_a_directory_that_is_not_below_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("prepared.scip");
    std::fs::write(&path, scip_of(&["a.ts"])).expect("a file");
    let lock = IndexLock::take(&directory.path().join("code.ful")).expect("a lock");
    let update = |below: &str| {
        let source = ScipFile::of_root(&path, directory.path(), below);
        lock.update(&source, true, &mut |_| {}).map(|_| {
            let reader = CodeReader::new(&open_index(lock.path()).expect("it is there")).expect("it is an index");
            reader.files().expect("it is sound")
        })
    };
    for below in ["..", "../web", "web/../../api", "/web"] {
        let error = update(below).expect_err("it is outside").to_string();
        assert!(error.contains("all documents are outside of the indexed directory"), "{below}: {error}");
    }
    for below in ["web", "./web//", "api/../web"] {
        assert_eq!(update(below).expect("it is inside"), ["web/a.ts"]);
    }
}

/// One broken project among many left all without an index.
#[test]
fn an_indexer_that_fails_in_a_directory_below_is_left_out_if_the_index_loses_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    ["web", "api"].iter().for_each(|root| std::fs::create_dir(path(root)).expect("a directory"));
    let plan = Plan::in_roots(directory.path(), &PREPARED, &["web", "api"]);
    let lock = IndexLock::take(&path("code.ful")).expect("a lock");
    let update = || {
        let indexed = plan.run(&lock, &mut |_, _| {})?;
        let updated = lock.update(&indexed, false, &mut |_| {})?;
        Ok::<_, Error>((indexed.failures(), updated.files))
    };
    let refused = || update().expect_err("web has failed").to_string();
    // Nothing was run.
    assert!(refused().starts_with("sh failed: in web: exit status: 1: "), "{}", refused());
    // What ctags found there is no loss.
    let tag = r#"{"_type": "tag", "name": "f", "path": "web/a.ts", "line": 1, "kind": "function"}"#;
    std::fs::write(path("tags"), tag).expect("a file");
    lock.update(&CtagsFile::new(path("tags"), directory.path()), false, &mut |_| {}).expect("it is written");
    std::fs::write(path("api/prepared.scip"), scip_of(&["a.ts"])).expect("a file");
    let (failures, files) = update().expect("api is left");
    assert_eq!((failures.len(), files), (1, 1));
    assert!(failures[0].starts_with("sh failed: in web: exit status: 1: "), "{failures:?}");
    std::fs::write(path("web/prepared.scip"), scip_of(&["a.ts"])).expect("a file");
    assert_eq!(update().expect("both run"), (Vec::new(), 2));
    std::fs::remove_file(path("web/prepared.scip")).expect("it is there");
    assert!(refused().ends_with("; the index was not changed"), "{}", refused());
}

#[test]
fn an_indexer_that_writes_a_wrong_index_is_named_and_the_index_stays_for_a_report() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("prepared.scip"), [0xff; 100]).expect("a file");
    let plan = Plan::of_one(directory.path(), &PREPARED);
    let lock = IndexLock::take(&directory.path().join("code.ful")).expect("a lock");
    let indexed = plan.run(&lock, &mut |_, _| {}).expect("it runs");
    let error = lock.update(&indexed, false, &mut |_| {}).expect_err("it is no index");
    drop(indexed);
    let path = directory.path().join("code.ful-sh.scip");
    let expected = format!("sh failed: its index is wrong: {}: byte 0: ", path.display());
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert!(error.to_string().contains("; the index was not changed; finished outputs are kept"), "{error}");
    let Error::OutputsKept { outputs, .. } = error else { panic!("{error}") };
    assert!(matches!(&outputs[..], [output] if output.path == path && !output.is_readable), "{outputs:?}");
    assert_eq!(std::fs::read(path).expect("it stays"), [0xff; 100]);
}

/// The output of hours was removed because the disk was full.
#[test]
fn outputs_of_indexers_stay_if_the_index_cannot_be_written() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("prepared.scip"), scip_of(&["a.rs"])).expect("a file");
    let plan = Plan::of_one(directory.path(), &PREPARED);
    let lock = IndexLock::take(&directory.path().join("code.ful")).expect("a lock");
    let path = directory.path().join("code.ful-sh.scip");
    let indexed = plan.run(&lock, &mut |_, _| {}).expect("it runs");
    // Something else is where an increment would be.
    let increment = directory.path().join("code.ful-increment.1");
    std::fs::create_dir(&increment).expect("a directory");
    let source = Without::new(&indexed, &[]);
    let error = lock.update(&source, false, &mut |_| {}).expect_err("it is refused");
    drop(indexed);
    let Error::OutputsKept { error, outputs } = error else { panic!("{error}") };
    assert!(matches!(*error, Error::NotAnIncrement { .. }), "{error}");
    assert!(matches!(&outputs[..], [output] if output.path == path && output.is_readable), "{outputs:?}");
    std::fs::remove_dir(increment).expect("it is there");
    let kept = ScipFile::new(&path, directory.path());
    assert_eq!(lock.update(&kept, false, &mut |_| {}).expect("it is written").files, 1);
    // Nothing stays if nothing fails.
    let indexed = plan.run(&lock, &mut |_, _| {}).expect("it runs");
    lock.update(&indexed, false, &mut |_| {}).expect("it is written");
    drop(indexed);
    assert!(!path.exists());
}

#[test]
fn a_file_that_is_saved_while_an_indexer_runs_is_left_out_until_the_next_run() {
    // Copies an index that is prepared, and does meanwhile what a user does.
    static COPYING: Indexer = Indexer {
        name: "sh",
        language: "",
        marks: &[],
        endings: &[],
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
