//! What only databases of the engine have: their tables, and files of other kinds.

use std::ops::ControlFlow;
use std::sync::Arc;

use fulgurite::{Database, Read};
use fulgurite_facts::{Error, Store};

use crate::support::{Directory, add, complete, id, keys, options, predicate};

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

/// The keys of the facts of predicate 0 in the slice of a unit.
fn slice(store: &Store, unit: &str) -> Vec<String> {
    let snapshot = store.snapshot().expect("a snapshot");
    let slice = snapshot.slice_of(&[unit]).expect("a slice");
    keys(&snapshot.sliced(Arc::new(slice)), 0, "")
}

#[test]
fn sets_of_owners_are_stored_only_if_facts_have_them() {
    let directory = Directory::new();
    // A unit has a use of a fact that all units use. A use refers to it.
    let write = |store: &Store, unit: &str| {
        let mut batch = store.batch().expect("incomplete");
        batch.define(predicate(0), b"popular", b"").expect("no contradiction");
        let used = batch.define(predicate(1), unit.as_bytes(), b"").expect("no contradiction");
        batch.own(unit, [used]);
        batch.commit(None).expect("a commit");
    };
    let complete = |store: &Store| {
        let completed = store.complete(|fact, found| {
            found.extend((fact.predicate() == predicate(1)).then_some(id(1024)));
            Ok(())
        });
        completed.expect("it is completed");
    };
    let stored = |store: &Store| {
        let db = store.database().expect("a database of the engine");
        let sets = db.open_table("facts.sets").expect("a table of the layout");
        let txn = db.read().expect("a snapshot");
        txn.range(&sets, ..).expect("a range").count()
    };
    let base = directory.store("base.ful");
    (0..40).for_each(|unit| write(&base, &format!("unit{unit}")));
    complete(&base);
    // One for each unit, and one for what all of them use.
    assert_eq!(stored(&base), 41);
    let next = options().base(&base).hide_units(["unit7"]).create(directory.path("next.ful"));
    let next = next.expect("an incremental store");
    write(&next, "unit7");
    complete(&next);
    assert_eq!(stored(&next), 0);
    assert_eq!([slice(&next, "unit7"), slice(&next, "unit8")], [["popular"], ["popular"]]);
}

#[test]
fn databases_of_earlier_formats_are_read_and_newer_ones_refused() {
    let directory = Directory::new();
    let table = |store: &Store, name: &str| {
        let db = store.database().expect("a database of the engine");
        db.open_table(name).expect("a table of the layout")
    };
    let format = |store: &Store| {
        let db = store.database().expect("a database of the engine");
        let txn = db.read().expect("a snapshot");
        let format = txn.get(&table(store, "facts.meta"), "format").expect("sound").expect("it has one");
        String::from_utf8(format.to_vec()).expect("text")
    };
    let unowned = directory.store("unowned.ful");
    add(&unowned, &[(0, b"a", b"")]);
    complete(&unowned);
    assert_eq!(format(&unowned), "fulgurite facts 1");
    let path = directory.path("owned.ful");
    let owned = directory.store("owned.ful");
    let mut batch = owned.batch().expect("incomplete");
    for unit in ["a", "b"] {
        let fact = batch.define(predicate(0), unit.as_bytes(), b"").expect("new");
        batch.own(unit, [fact]);
    }
    batch.commit(None).expect("a commit");
    complete(&owned);
    assert_eq!(format(&owned), "fulgurite facts 2");
    let (meta, sets) = (table(&owned, "facts.meta"), table(&owned, "facts.sets"));
    let db = owned.database().expect("a database of the engine");
    // In format 1, a set of a unit has its number in four bytes.
    let written = db.update(|txn| {
        txn.put(&meta, "format", "fulgurite facts 1")?;
        let set = |unit: u32| [&[0][..], &unit.to_le_bytes()].concat();
        (0..2_u32).try_for_each(|unit| txn.put(&sets, unit.to_be_bytes(), set(unit)))
    });
    written.expect("a commit");
    drop(owned);
    let owned = Store::open(&path).expect("it opens");
    assert_eq!([slice(&owned, "a"), slice(&owned, "b")], [["a"], ["b"]]);
    let (meta, db) = (table(&owned, "facts.meta"), owned.database().expect("a database of the engine"));
    db.update(|txn| txn.put(&meta, "format", "fulgurite facts 3")).expect("a commit");
    drop(owned);
    assert!(matches!(Store::open(&path), Err(Error::NewerFormat { .. })));
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
