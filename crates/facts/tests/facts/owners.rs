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
    // Statistics are of all facts, and those of the slice are counted one by one.
    let counts = |statistics: std::collections::BTreeMap<_, fulgurite_facts::Statistics>| {
        statistics.into_values().map(|of_predicate| (of_predicate.count, of_predicate.bytes)).collect::<Vec<_>>()
    };
    let all = snapshot().statistics().expect("sound");
    assert_eq!(snapshot().statistics_shown().expect("sound"), all);
    assert_eq!(sliced.statistics().expect("sound"), all);
    // `a`, `b`, `unowned`, and two uses: ids and the name of the unit.
    assert_eq!(counts(sliced.statistics_shown().expect("sound")), [(3, 9), (2, 28)]);
}

/// Each fact that is shown, with the units that own it themselves.
fn claimed(snapshot: &Snapshot) -> Vec<(u64, Vec<String>)> {
    let mut claims = snapshot.claims().expect("sound");
    let names = claims.names().to_vec();
    let mut all = Vec::new();
    for fact in snapshot.enumerate(snapshot.starting_id(), snapshot.first_free_id()) {
        let id = fact.expect("sound").id();
        let units: Vec<String> = claims.of(id).into_iter().map(|unit| names[unit].clone()).collect();
        if !units.is_empty() {
            all.push((id.get(), units));
        }
    }
    all
}

fn derivations(snapshot: &Snapshot) -> Vec<(FactId, Vec<FactId>)> {
    let mut all = Vec::new();
    let each = |fact, sources: &[FactId]| {
        all.push((fact, sources.to_vec()));
        Ok(())
    };
    snapshot.each_derivation(each).expect("sound");
    all
}

#[test]
fn claims_and_derivations_are_what_was_written() {
    let directory = Directory::new();
    let base = base(&directory);
    let units = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let (one, two) = (units(&["one.rs"]), units(&["two.rs"]));
    // `a` is 1024, its use 1025; `b` is 1026, its uses are 1027 and 1028; `c` is 1029, its use 1030.
    let uses = [(1025, one.clone()), (1027, one.clone()), (1028, two.clone()), (1030, two.clone())];
    let snapshot = base.snapshot().expect("a snapshot");
    assert_eq!(claimed(&snapshot), uses);
    assert_eq!(derivations(&snapshot), [(id(1032), vec![id(1027), id(1028)])]);
    drop(snapshot);

    let options = options().base(&base).hide_units(["two.rs"]);
    let next = options.create(directory.path("next.ful")).expect("an incremental store");
    let mut batch = next.batch().expect("incomplete");
    let unowned = batch.define(predicate(0), b"unowned", b"").expect("no contradiction");
    let a = batch.define(predicate(0), b"a", b"").expect("no contradiction");
    // A fact of the base without owners stays in every slice, whatever a unit claims.
    batch.own("three.rs", [a, unowned]);
    batch.own("two.rs", [a]);
    batch.commit(None).expect("a commit");
    let snapshot = next.snapshot().expect("a snapshot");
    let left = [(1024, units(&["three.rs", "two.rs"])), (1025, one.clone()), (1027, one)];
    assert_eq!(claimed(&snapshot), left);
    // A source of the derived fact is hidden, and so is the fact.
    assert!(derivations(&snapshot).is_empty());
    assert_eq!([1023, 1024, 1028, 1032, 2000].map(|fact| snapshot.has(id(fact))), [false, true, false, false, false]);
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

/// What is said of units is what slices of single units have, and what slices without them lack.
fn assert_as_slices(store: &Store) {
    let snapshot = store.snapshot().expect("a snapshot");
    let all: Vec<FactId> = snapshot
        .enumerate(snapshot.starting_id(), snapshot.first_free_id())
        .map(|fact| fact.expect("a sound fact").id())
        .collect();
    let owners = snapshot.owners_of(&all).expect("sound");
    let units = snapshot.unit_facts().expect("sound");
    assert!(!units.is_empty());
    for unit in units {
        let alone = snapshot.slice_of(&[&unit.name]).expect("a slice");
        let without = snapshot.slice_without(&[&unit.name]).expect("a slice");
        let owned = all.iter().zip(&owners).filter(|(id, owner)| owner.is_some() && alone.has(**id)).count();
        let needed = all.iter().filter(|id| !without.has(**id)).count();
        assert_eq!((unit.owned, unit.needed), (owned as u64, needed as u64), "{}", unit.name);
    }
}

#[test]
fn units_are_counted_and_owners_are_named() {
    let directory = Directory::new();
    let store = base(&directory);
    let snapshot = store.snapshot().expect("a snapshot");
    let counted = snapshot.unit_facts().expect("sound").into_iter();
    let counted: Vec<_> = counted.map(|unit| (unit.name, unit.owned, unit.needed)).collect();
    assert_eq!(counted, [("one.rs".to_owned(), 4, 4), ("two.rs".to_owned(), 4, 4)]);
    let find = |key: &str| snapshot.id_by_key(predicate(0), key.as_bytes()).expect("sound").expect("it exists");
    let facts = ["a", "b", "c", "derived", "unowned"].map(find);
    let owners = snapshot.owners_of(&facts).expect("sound").into_iter();
    let owners: Vec<_> = owners.map(|owner| owner.map_or("none".to_owned(), |owner| owner.to_string())).collect();
    assert_eq!(owners, ["one.rs", "one.rs | two.rs", "two.rs", "one.rs & two.rs", "none"]);
    assert_eq!(snapshot.owners_of(&[id(1), id(1 << 40)]).expect("sound"), [None, None]);
    drop(snapshot);
    assert_as_slices(&store);
}

#[test]
fn owners_of_an_incremental_database_are_without_the_units_that_it_hides() {
    let directory = Directory::new();
    let base = base(&directory);
    let next = options().base(&base).hide_units(["two.rs"]).create(directory.path("next.ful"));
    let next = next.expect("an incremental store");
    add_use(&next, "two.rs", "a");
    add_use(&next, "two.rs", "d");
    next.complete(references).expect("it is completed");
    let snapshot = next.snapshot().expect("a snapshot");
    let owner = |key: &str| {
        let fact = snapshot.id_by_key(predicate(0), key.as_bytes()).expect("sound").expect("it exists");
        snapshot.owners_of(&[fact]).expect("sound").remove(0).map(|owner| owner.to_string())
    };
    assert_eq!(
        ["a", "b", "d", "unowned"].map(owner),
        [Some("one.rs | two.rs".to_owned()), Some("one.rs".to_owned()), Some("two.rs".to_owned()), None]
    );
    let hidden = base.snapshot().expect("a snapshot").id_by_key(predicate(0), b"c").expect("sound").expect("it exists");
    assert_eq!(snapshot.owners_of(&[hidden]).expect("sound"), [None]);
    assert_as_slices(&next);
}
