//! Units, slices and incremental databases.

use std::sync::Arc;
use std::time::Duration;

use fulgurite_facts::{
    Compiler, Error, Fact, FactId, QueryLimits, Result, Schema, Slice, Snapshot, Store, Type, Value, encode,
};

use crate::support::{Directory, add, id, keys, options, predicate};

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

#[test]
fn hidden_facts_end_a_page_whose_time_is_up_and_the_next_page_goes_on() {
    let directory = Directory::new();
    let base = directory.store("base.ful");
    let string = |text: &str| encode(&Type::String, &Value::String(text.to_owned())).expect("a string");
    let mut batch = base.batch().expect("incomplete");
    for number in 0..1000 {
        let fact = batch.define(predicate(0), &string(&format!("a{number}")), b"").expect("new");
        batch.own("one.rs", [fact]);
    }
    batch.commit(None).expect("a commit");
    base.complete(|_, _| Ok(())).expect("it is completed");
    let top = options().backend(crate::backend_of(1)).base(&base).hide_units(["one.rs"]);
    let top = top.create(directory.path("top.ful")).expect("a stacked store");
    add(&top, &[(0, &string("b"), b"")]);
    let schema = Schema::parse("a.angle", "schema a.1 { predicate P : string }").expect("it is right");
    let compiler = Compiler::new(Arc::new(schema)).expect("nothing is derived");
    let snapshot = top.snapshot().expect("a snapshot");
    let query = compiler.query("X where a.P X", &snapshot).expect("it is right");
    let limits = QueryLimits { time_max: Some(Duration::ZERO), ..QueryLimits::default() };
    let mut page = query.run(&snapshot, &limits).expect("it runs");
    let mut pages = 1;
    while page.results.is_empty() {
        assert!(page.timed_out && pages < 100, "page {pages}");
        page = query.continue_from(&snapshot, &limits, &page.continuation.expect("there is more")).expect("it runs");
        pages += 1;
    }
    assert!(pages > 2, "{pages}");
    assert_eq!(page.results[0].bytes, string("b"));
    assert_eq!(page.searched, [(predicate(0), 1)]);
}
