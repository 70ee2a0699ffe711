//! What only databases of the engine have: their tables, and files of other kinds.

use std::ops::ControlFlow;

use fulgurite::Database;
use fulgurite_facts::{Error, Store};

use crate::support::{Directory, add, complete, id, predicate};

#[test]
fn missing_entries_are_errors() {
    let directory = Directory::new();
    for table in ["facts.records", "facts.places", "facts.hashes", "facts.index", "facts.meta"] {
        let store = directory.store(&format!("{table}.ful"));
        add(&store, &[(0, b"a", b""), (0, b"b", b"")]);
        complete(&store);
        let db = store.database().expect("a database of the engine");
        let damaged = db.open_table(table).expect("a table of the layout");
        db.update(|txn| txn.delete_range(&damaged, ..)).expect("a commit");
        let by_id = store.snapshot().and_then(|snapshot| snapshot.fact_by_id(id(1024)).map(|_| ()));
        let by_key = store.snapshot().and_then(|snapshot| snapshot.id_by_key(predicate(0), b"a").map(|_| ()));
        let by_prefix = store.snapshot().and_then(|snapshot| snapshot.seek(predicate(0), b"").map(|_| ()));
        let results = [by_id, by_key, by_prefix];
        let damaged = results.iter().filter(|result| matches!(result, Err(Error::Damaged { .. }))).count();
        assert_eq!(damaged, if table == "facts.records" || table == "facts.meta" { 3 } else { 1 }, "{table}");
    }
}

#[test]
fn a_file_that_claims_more_facts_than_there_can_be_is_damaged() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    add(&store, &[(0, b"a", b"")]);
    let db = store.database().expect("a database of the engine");
    let meta = db.open_table("facts.meta").expect("a table of the layout");
    for claimed in [u64::MAX, 1 << 62, 1024 + (1 << 40) + 1, 1023] {
        db.update(|txn| txn.put(&meta, "first free id", claimed.to_le_bytes())).expect("a commit");
        let damaged = store.snapshot().err();
        assert!(matches!(damaged, Some(Error::Damaged { what }) if what.contains("first free id")), "{claimed}");
    }
    db.update(|txn| txn.put(&meta, "first free id", 1025_u64.to_le_bytes())).expect("a commit");
    assert!(store.snapshot().expect("it is sound again").has(id(1024)));
}

#[test]
fn scan_that_is_broken_off_ends_before_later_damage() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    // Several pieces, of at most 65,536 bytes.
    let keys: Vec<Vec<u8>> = (0..200_u8).map(|number| [&[number][..], &[b'x'; 1000]].concat()).collect();
    let facts: Vec<(u64, &[u8], &[u8])> = keys.iter().map(|key| (0, &key[..], &b""[..])).collect();
    add(&store, &facts);
    complete(&store);
    let db = store.database().expect("a database of the engine");
    let records = db.open_table("facts.records").expect("a table of the layout");
    db.update(|txn| txn.put(&records, 1_u64.to_be_bytes(), b"damage")).expect("a commit");
    let snapshot = store.snapshot().expect("a snapshot");
    let mut scanned = 0;
    let whole = snapshot.scan(predicate(0), b"", |_, _, _| scanned += 1);
    assert!(matches!(whole, Err(Error::Damaged { .. })) && scanned > 1, "{scanned} facts before the damage");
    let mut scanned = 0;
    let begun = snapshot.scan_until(predicate(0), b"", |fact, _, _| {
        scanned += 1;
        if scanned == 2 { ControlFlow::Break(fact) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(begun.expect("it ends before the damage"), ControlFlow::Break(id(1025)));
}

#[test]
fn foreign_files_are_refused() {
    let directory = Directory::new();
    let (text, other, empty) = (directory.path("text"), directory.path("other.ful"), directory.path("empty.ful"));
    std::fs::write(&text, "no database").expect("a file");
    assert!(
        matches!(Store::open(&text), Err(Error::Engine(error)) if matches!(*error, fulgurite::Error::NotADatabase { .. }))
    );
    assert!(Store::open(directory.path("missing")).is_err());
    let db = Database::create(&other).expect("a database");
    db.create_table("t", Default::default()).expect("a table");
    db.close().expect("it closes");
    assert!(matches!(Store::open(&other), Err(Error::NotFacts { .. })));
    assert!(matches!(Store::create(&other), Err(Error::NotFacts { .. })));
    // A database without tables is what a crash leaves of creating a store.
    Database::create(&empty).expect("a database").close().expect("it closes");
    assert!(matches!(Store::open(&empty), Err(Error::NotFacts { .. })));
    assert!(Store::create(&empty).is_ok());
}
