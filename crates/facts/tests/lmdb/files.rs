//! Files of LMDB: names and units of any length, damage, queries.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fulgurite::Database;
use fulgurite_facts::{Error, Expansion, FactDatabase, QueryLimits, Schema, State, Store};

use crate::support::{Directory, add, complete, id, options, predicate};

#[test]
fn units_and_properties_have_names_of_any_length() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    let names: Vec<String> = [509, 510, 511, 4096].iter().map(|length| "n".repeat(*length)).collect();
    for name in &names {
        let mut batch = store.batch().expect("incomplete");
        let fact = batch.define(predicate(0), name.as_bytes(), b"").expect("new");
        batch.own(name, [fact]);
        batch.commit(None).expect("a commit");
        store.set_property(name, name.as_bytes()).expect("incomplete");
    }
    complete(&store);
    let snapshot = store.snapshot().expect("a snapshot");
    let mut units = snapshot.units().expect("sound");
    units.sort();
    assert_eq!(units, names);
    for name in &names {
        assert_eq!(store.property(name).expect("sound").as_deref(), Some(name.as_bytes()));
        let slice = snapshot.slice_of(&[name]).expect("a slice");
        let shown = names.iter().zip(1024..).filter(|(_, number)| slice.has(id(*number)));
        assert_eq!(shown.map(|(name, _)| name).collect::<Vec<_>>(), [name]);
    }
    assert_eq!(store.property(&"n".repeat(600)).expect("sound"), None);
    assert_eq!(store.properties().expect("sound").len(), names.len());
}

#[test]
fn files_that_are_none_of_facts_are_refused_and_kept() {
    let directory = Directory::new();
    let (text, other) = (directory.path("text"), directory.path("other.ful"));
    std::fs::write(&text, "no database").expect("a file");
    assert!(matches!(options().create(&text), Err(Error::Exists { .. })));
    assert_eq!(std::fs::read(&text).expect("a file"), b"no database");
    Database::create(&other).expect("a database").close().expect("it closes");
    assert!(matches!(options().create(&other), Err(Error::Exists { .. })));
    // The engine does not take a file of LMDB for its own.
    let store = directory.store("a.ful");
    add(&store, &[(0, b"a", b"")]);
    store.close().expect("it closes");
    assert!(Database::options().open(directory.path("a.ful")).is_err());
    assert!(Store::options().create(directory.path("a.ful")).is_err());
    // A file that is cut off after LMDB's number is an error, and no panic.
    let whole = std::fs::read(directory.path("a.ful")).expect("a file");
    std::fs::write(directory.path("cut.ful"), &whole[..100]).expect("a file");
    assert!(matches!(Store::open(directory.path("cut.ful")), Err(Error::Lmdb(_) | Error::NotFacts { .. })));
}

#[test]
fn database_is_written_queried_and_opened_for_reading() {
    let directory = Directory::new();
    let path = directory.path("code.ful");
    let schema = "schema src.1 { predicate File : string  predicate Line : { file : File, number : nat } }";
    let schema = Schema::parse("src.angle", schema).expect("a schema");
    let database = FactDatabase::create_with(options(), &path, schema).expect("a new database");
    let lines: Vec<String> = (1..=700)
        .map(|n| format!(r#"{{ "key": {{ "file": {{ "key": "{}.rs" }}, "number": {n} }} }}"#, n % 7))
        .collect();
    let batch = format!(r#"[{{ "predicate": "src.Line.1", "facts": [{}] }}]"#, lines.join(","));
    assert_eq!(database.write_json(batch.as_bytes(), None).expect("facts").new, 707);
    database.complete().expect("it is completed");
    assert_eq!(database.validate().expect("sound").facts, 707);
    database.close().expect("it closes");

    assert!(FactDatabase::schema_at(&path).expect("a schema").find("src.Line").is_some());
    let read_only = Store::options().engine(Database::options().read_only(true));
    let database = FactDatabase::open_with(read_only, &path).expect("it opens");
    let reader = database.reader().expect("a reader");
    let query = r#"N where src.Line { file = "3.rs", number = N }"#;
    let limits = QueryLimits { results_max: Some(9), ..QueryLimits::default() };
    let mut page = reader.query(query, &limits).expect("a page");
    let mut found = Vec::new();
    loop {
        found.extend(reader.print(&page, Expansion::FLAT).expect("it prints").iter().map(|json| json.as_u64()));
        let Some(continuation) = page.continuation.take() else { break };
        page = reader.continue_query(query, &limits, &continuation).expect("a page");
    }
    assert_eq!(found, (0..100).map(|n| Some(7 * n + 3)).collect::<Vec<_>>());
    assert!(matches!(database.store().set_property("a", b""), Err(Error::WrongState { .. })));
}

/// The files of a directory: their names, and numbers that differ if one was replaced.
fn files(directory: &Path) -> Vec<(String, u64)> {
    #[cfg(unix)]
    let identity = |metadata: std::fs::Metadata| std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let identity = |metadata: std::fs::Metadata| metadata.len();
    let entries = std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry"));
    let name = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut files: Vec<_> = entries.map(|entry| (name(&entry), identity(entry.metadata().expect("a file")))).collect();
    files.sort();
    files
}

/// Opens a file of LMDB by the engine, in all ways.
fn try_by_the_engine(path: &Path) {
    let options = Database::options;
    let waiting = options().wait_for_lock(Duration::from_millis(1));
    for options in [options(), waiting, options().create(true), options().read_only(true), options().image(true)] {
        let opened = options.open(path);
        assert!(matches!(opened, Err(fulgurite::Error::NotADatabase { .. })), "{opened:?}");
    }
    assert!(matches!(Store::create(path), Err(Error::Exists { .. })));
}

#[test]
fn the_engine_leaves_an_open_file_and_its_locks_alone() {
    let directory = Directory::new();
    let path = directory.path("a.ful");
    let store = directory.store("a.ful");
    add(&store, &[(0, b"a", b"")]);
    let snapshot = store.snapshot().expect("a snapshot");
    let before = files(path.parent().expect("a directory"));
    assert_eq!(before.len(), 2, "the file and that of locks: {before:?}");
    try_by_the_engine(&path);
    let mut other = Command::new(std::env::current_exe().expect("this program"));
    other.args(["--exact", "files::in_another_process"]).env(FILE, &path);
    let output = other.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(files(path.parent().expect("a directory")), before);
    assert_eq!(snapshot.count(predicate(0)).expect("sound"), 1);
    assert_eq!(store.snapshot().expect("a snapshot").count(predicate(0)).expect("sound"), 2);
}

/// The part of the test above that runs in another process.
#[test]
fn in_another_process() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let path = Path::new(&path);
    try_by_the_engine(path);
    let store = Store::open(path).expect("it opens");
    try_by_the_engine(path);
    add(&store, &[(0, b"b", b"")]);
}

/// The environment variable with the file of another process.
const FILE: &str = "FULGURITE_TEST_FILE";

#[test]
fn databases_and_backups_are_made_once_of_many_at_once() {
    let directory = Directory::new();
    let count = |outcomes: Vec<Result<(), Error>>| {
        let failed = outcomes.iter().filter(|outcome| matches!(outcome, Err(Error::Exists { .. })));
        (outcomes.iter().filter(|outcome| outcome.is_ok()).count(), failed.count())
    };
    let at_once = |make: &(dyn Fn() -> Result<(), Error> + Sync)| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    };
    let path = directory.path("a.ful");
    assert_eq!(count(at_once(&|| options().create(&path).map(drop))), (1, 3));
    let store = Store::open(&path).expect("it opens");
    assert!(matches!(options().create(&path), Err(Error::Exists { .. })));
    add(&store, &[(0, b"a", b"")]);
    // A file that looks like an unfinished copy may be the user's.
    let (to, kept) = (directory.path("b.ful"), directory.path("b.ful-unfinished"));
    std::fs::write(&kept, "kept").expect("a file");
    assert_eq!(count(at_once(&|| store.back_up(&to))), (1, 3));
    assert_eq!(std::fs::read(&kept).expect("a file"), b"kept");
    let names: Vec<_> = files(&directory.path("")).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a.ful", "a.ful-lock", "b.ful", "b.ful-unfinished"]);
    let copy = Store::open(&to).expect("it opens");
    assert_eq!(copy.snapshot().expect("a snapshot").count(predicate(0)).expect("sound"), 1);
}

#[test]
fn a_database_that_is_given_up_meanwhile_is_not_completed() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    let mut batch = store.batch().expect("incomplete");
    let fact = batch.define(predicate(0), b"a", b"").expect("new");
    batch.own("unit", [fact]);
    batch.commit(None).expect("a commit");
    let other = Store::open(directory.path("a.ful")).expect("it opens");
    let completed = store.complete(|_, _| other.mark_broken("no more"));
    assert!(matches!(completed, Err(Error::WrongState { state: State::Broken, .. })), "{completed:?}");
    assert_eq!(store.state().expect("sound"), State::Broken);
    assert!(store.complete(|_, _| Ok(())).is_err());
}
