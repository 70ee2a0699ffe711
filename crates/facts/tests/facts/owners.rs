//! Units, slices and incremental databases.

use std::sync::Arc;

use fulgurite_facts::{Error, Fact, FactId, Result, Slice, Snapshot, Store};

use crate::support::{Directory, id, keys, options, predicate};

/// Facts of predicate 1 refer to the fact whose id their keys begin with.
fn references(fact: &Fact<'_>, found: &mut Vec<FactId>) -> Result<()> {
    if fact.predicate() == predicate(1) {
        found.push(id(u64::from_be_bytes(*fact.key().first_chunk().expect("an id"))));
    }
    Ok(())
}

/// Adds a name, and a use of it, which the unit owns. Returns the use.
fn add_use(store: &Store, unit: &str, name: &str) -> FactId {
    let mut batch = store.batch().expect("incomplete");
    let named = batch.define(predicate(0), name.as_bytes(), b"").expect("no contradiction");
    let key = [&named.get().to_be_bytes()[..], unit.as_bytes()].concat();
    let using = batch.define(predicate(1), &key, b"").expect("no contradiction");
    batch.own(unit, [using]);
    batch.commit(None).expect("a commit").id(using)
}

fn names(snapshot: Snapshot, slice: Slice) -> Vec<String> {
    keys(&snapshot.sliced(Arc::new(slice)), 0, "")
}

fn base(directory: &Directory) -> Store {
    let store = directory.store("base.ful");
    add_use(&store, "one.rs", "a");
    let in_one = add_use(&store, "one.rs", "b");
    let in_two = add_use(&store, "two.rs", "b");
    add_use(&store, "two.rs", "c");
    let mut batch = store.batch().expect("incomplete");
    batch.define(predicate(0), b"unowned", b"").expect("new");
    let derived = batch.define(predicate(0), b"derived", b"").expect("new");
    batch.derive(derived, [in_one, in_two]);
    batch.commit(None).expect("a commit");
    store.complete(references).expect("it is completed");
    store
}

#[test]
fn slice_has_what_its_units_own_and_what_that_refers_to() {
    let directory = Directory::new();
    let store = base(&directory);
    let snapshot = || store.snapshot().expect("a snapshot");
    assert_eq!(snapshot().units().expect("sound"), ["one.rs", "two.rs"]);
    assert_eq!(names(snapshot(), snapshot().slice_of(&["one.rs"]).expect("a slice")), ["a", "b", "unowned"]);
    assert_eq!(names(snapshot(), snapshot().slice_without(&["one.rs"]).expect("a slice")), ["b", "c", "unowned"]);
    let both = snapshot().slice_of(&["one.rs", "two.rs"]).expect("a slice");
    assert_eq!(names(snapshot(), both), ["a", "b", "c", "derived", "unowned"]);
    assert!(matches!(snapshot().slice_of(&["three.rs"]), Err(Error::NoSuchUnit { .. })));
    let sliced = snapshot().sliced(Arc::new(snapshot().slice_of(&["one.rs"]).expect("a slice")));
    let c = snapshot().id_by_key(predicate(0), b"c").expect("sound").expect("it exists");
    assert_eq!(sliced.id_by_key(predicate(0), b"c").expect("sound"), None);
    assert!(sliced.fact_by_id(c).expect("sound").is_none());
    assert!(sliced.enumerate(c, c.plus(1)).next().is_none());
}

#[test]
fn incremental_database_replaces_the_facts_of_units() {
    let directory = Directory::new();
    let base = base(&directory);
    let path = directory.path("next.ful");
    let options = || options().base(&base);
    assert!(matches!(options().hide_units(["none"]).create(&path), Err(Error::NoSuchUnit { .. })));
    let next = options().hide_units(["two.rs"]).create(&path).expect("an incremental store");
    let snapshot = next.snapshot().expect("a snapshot");
    assert_eq!(keys(&snapshot, 0, ""), ["a", "b", "unowned"]);
    assert_eq!(snapshot.count(predicate(0)).expect("sound"), 3);
    assert_eq!(snapshot.count(predicate(1)).expect("sound"), 2);
    drop(snapshot);
    // The new two.rs uses `a`, which one.rs owned alone, and a new `c`, as the base's is hidden.
    add_use(&next, "two.rs", "a");
    add_use(&next, "two.rs", "c");
    next.complete(references).expect("it is completed");
    next.close().expect("it closes");

    let next = options().open(&path).expect("it opens again");
    let snapshot = || next.snapshot().expect("a snapshot");
    assert_eq!(keys(&snapshot(), 0, ""), ["a", "b", "unowned", "c"]);
    assert_eq!(snapshot().count(predicate(0)).expect("sound"), 4);
    assert_eq!(names(snapshot(), snapshot().slice_of(&["two.rs"]).expect("a slice")), ["a", "unowned", "c"]);
    assert_eq!(names(snapshot(), snapshot().slice_without(&["two.rs"]).expect("a slice")), ["a", "b", "unowned"]);
    // A third on top, without one.rs: `a` is there still, as two.rs uses it.
    let third = options().base(&next).hide_units(["one.rs"]).create(directory.path("third.ful"));
    let third = third.expect("an incremental store");
    assert_eq!(keys(&third.snapshot().expect("a snapshot"), 0, ""), ["a", "unowned", "c"]);
}
