//! Databases on others.

use fulgurite_facts::{Error, Store};

use crate::support::{Directory, add, complete, id, keys, options, predicate};

#[test]
fn stacked_database_adds_to_its_base() {
    let directory = Directory::new();
    let base = directory.store("base.ful");
    add(&base, &[(0, b"a", b"1"), (0, b"c", b"")]);
    let on = |base: &Store, name: &str| options().base(base).create(directory.path(name));
    assert!(matches!(on(&base, "early.ful"), Err(Error::WrongState { .. })));
    complete(&base);
    let middle = on(&base, "middle.ful").expect("a stacked store");
    assert_eq!(add(&middle, &[(0, b"b", b""), (0, b"a", b"1"), (1, b"a", b"")]), [id(1026), id(1024), id(1027)]);
    let mut batch = middle.batch().expect("incomplete");
    assert!(matches!(batch.define(predicate(0), b"a", b"2"), Err(Error::KeyHasOtherValue(_))));
    drop(batch);
    complete(&middle);
    let top = on(&middle, "top.ful").expect("a stacked store");
    assert_eq!(add(&top, &[(0, b"0", b""), (0, b"b", b"")]), [id(1028), id(1026)]);

    let snapshot = top.snapshot().expect("a snapshot");
    assert_eq!(keys(&snapshot, 0, ""), ["a", "c", "b", "0"]);
    assert_eq!(snapshot.count(predicate(0)).expect("sound"), 4);
    assert_eq!(snapshot.statistics().expect("sound").len(), 2);
    assert_eq!((snapshot.own_starting_id(), snapshot.first_free_id()), (id(1028), id(1029)));
    let section = snapshot.seek_within_section(predicate(0), b"", id(1025), id(1028)).expect("a seek");
    assert_eq!(section.map(|fact| fact.expect("sound").id().get()).collect::<Vec<_>>(), [1025, 1026]);
    let restarted = snapshot.seek_after(predicate(0), b"", id(1025)).expect("a seek");
    assert_eq!(restarted.map(|fact| fact.expect("sound").id().get()).collect::<Vec<_>>(), [1026, 1028]);
    assert!(matches!(snapshot.seek_after(predicate(1), b"", id(1025)), Err(Error::NoSuchFact { .. })));
    // The base is as it was.
    assert_eq!(keys(&base.snapshot().expect("a snapshot"), 0, ""), ["a", "c"]);
}

#[test]
fn stacked_database_opens_with_its_own_base_only() {
    let directory = Directory::new();
    let [base, other] = ["base.ful", "other.ful"].map(|name| {
        let store = directory.store(name);
        add(&store, &[(0, b"a", b"")]);
        complete(&store);
        store
    });
    let path = directory.path("top.ful");
    let top = options().base(&base).create(&path).expect("a stacked store");
    add(&top, &[(0, b"b", b"")]);
    drop(top);
    assert!(matches!(Store::open(&path), Err(Error::WrongBase { .. })));
    assert!(matches!(options().base(&other).open(&path), Err(Error::WrongBase { .. })));
    assert!(matches!(options().base(&base).open(other.path()), Err(Error::WrongBase { .. })));
    let top = options().base(&base).open(&path).expect("its own base");
    assert_eq!(keys(&top.snapshot().expect("a snapshot"), 0, ""), ["a", "b"]);
}
