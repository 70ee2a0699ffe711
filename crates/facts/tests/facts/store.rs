//! One database: definitions, searches, its life.

use fulgurite_facts::{Error, FactId, State, Store};

use crate::support::{Directory, add, complete, id, keys, options, plain, predicate};

#[test]
fn fact_that_exists_is_defined_as_itself() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    assert_eq!(add(&store, &[(0, b"a", b"1"), (0, b"b", b""), (0, b"a", b"1")]), [id(1024), id(1025), id(1024)]);
    assert_eq!(add(&store, &[(0, b"b", b""), (1, b"b", b""), (0, b"", b"")]), [id(1025), id(1026), id(1027)]);
    let snapshot = store.snapshot().expect("a snapshot");
    assert_eq!((snapshot.starting_id(), snapshot.first_free_id()), (FactId::FIRST, id(1028)));
    assert_eq!(snapshot.id_by_key(predicate(0), b"a").expect("sound"), Some(id(1024)));
    assert_eq!(snapshot.id_by_key(predicate(1), b"a").expect("sound"), None);
    assert!(snapshot.fact_by_id(id(1028)).expect("sound").is_none());
    assert!(snapshot.fact_by_id(id(1)).expect("sound").is_none());
    let fact = snapshot.fact_by_id(id(1024)).expect("sound").expect("it was defined");
    assert_eq!((fact.predicate(), fact.key(), fact.value()), (predicate(0), &b"a"[..], &b"1"[..]));
    assert_eq!((snapshot.count(predicate(0)).expect("sound"), snapshot.count(predicate(7)).expect("sound")), (3, 0));
    assert_eq!(snapshot.statistics_of(predicate(0)).expect("sound").bytes, 3);
}

#[test]
fn key_with_another_value_is_an_error_that_names_both() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    add(&store, &[(0, b"a", b"old")]);
    let mut batch = store.batch().expect("incomplete");
    let error = batch.define(predicate(0), b"a", b"new").expect_err("the key has a value");
    assert!(error.to_string().contains("old") && error.to_string().contains("new"), "{error}");
    batch.define(predicate(0), b"b", b"old").expect("a new fact");
    assert!(matches!(batch.define(predicate(0), b"b", b"new"), Err(Error::KeyHasOtherValue(_))));
    assert_eq!(batch.commit(None).expect("a commit").new_facts(), 1);
}

#[test]
fn keys_of_any_length_are_found_by_prefixes_of_any_length() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    // One prefix of 3 KB before all differences; keys of 10 KB and of 1 MB too.
    let long = |tail: &str, length: usize| [&[b'p'; 3000][..], tail.as_bytes(), &vec![b'x'; length]].concat();
    let mut all: Vec<Vec<u8>> = (0..200).map(|number| long(&format!("{number:04}"), 1000)).collect();
    all.push(long("A", 10 << 10));
    all.push(long("B", 1 << 20));
    all.push(long("C", 1 << 20));
    for chunk in all.chunks(50) {
        let facts: Vec<(u64, &[u8], &[u8])> = chunk.iter().map(|key| (0, &key[..], &b"v"[..])).collect();
        add(&store, &facts);
    }
    for completed in [false, true] {
        if completed {
            complete(&store);
        }
        let snapshot = store.snapshot().expect("a snapshot");
        for (index, key) in all.iter().enumerate() {
            let expected = id(1024 + index as u64);
            assert_eq!(snapshot.id_by_key(predicate(0), key).expect("sound"), Some(expected));
            let fact = snapshot.fact_by_id(expected).expect("sound").expect("it exists");
            assert!(fact.key() == key && fact.value() == b"v", "{index}");
            let mut found = snapshot.seek(predicate(0), &key[..3004.min(key.len())]).expect("a seek");
            assert_eq!(found.next().map(|fact| plain(fact).0), Some(expected.get()));
            assert!(found.next().is_none());
        }
        let found = snapshot.seek(predicate(0), &[b'p'; 2999]).expect("a seek");
        assert_eq!(found.count(), all.len());
    }
}

#[test]
fn prefix_ends_at_the_next_byte_string() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    let end = [0xff, 0xff];
    add(&store, &[(0, b"a", b""), (0, b"ab", b""), (0, b"b", b""), (0, &end, b""), (0, b"", b""), (1, b"a", b"")]);
    for completed in [false, true] {
        if completed {
            complete(&store);
        }
        let snapshot = store.snapshot().expect("a snapshot");
        assert_eq!(keys(&snapshot, 0, "a"), ["a", "ab"]);
        assert_eq!(keys(&snapshot, 0, "abc"), [""; 0]);
        assert_eq!(keys(&snapshot, 1, ""), ["a"]);
        assert_eq!(snapshot.seek(predicate(0), b"").expect("a seek").count(), 5);
        assert_eq!(snapshot.seek(predicate(0), &end[..1]).expect("a seek").count(), 1);
        assert_eq!(snapshot.seek(predicate(0), &[&end[..], &[0]].concat()).expect("a seek").count(), 0);
        assert_eq!(snapshot.seek(predicate(9), b"").expect("a seek").count(), 0);
    }
}

#[test]
fn half_written_database_is_resumed_and_a_complete_one_is_not_written() {
    let directory = Directory::new();
    let path = directory.path("a.ful");
    let store = options().create(&path).expect("a new store");
    assert!(matches!(options().create(&path), Err(Error::Exists { .. })));
    add(&store, &[(0, b"a", b"")]);
    store.set_property("source", b"r1").expect("incomplete");
    let waiting = store.batch().expect("incomplete");
    drop(store);
    drop(waiting);

    let store = Store::open(&path).expect("it opens again");
    assert_eq!(store.state().expect("sound"), State::Incomplete);
    assert_eq!(add(&store, &[(0, b"b", b""), (0, b"a", b"")]), [id(1025), id(1024)]);
    let mut late = store.batch().expect("incomplete");
    late.define(predicate(0), b"late", b"").expect("new");
    let before = store.snapshot().expect("a snapshot");
    complete(&store);
    assert!(matches!(late.commit(None), Err(Error::WrongState { state: State::Complete, .. })));
    assert!(matches!(store.batch(), Err(Error::WrongState { .. })));
    assert!(matches!(store.complete(|_, _| Ok(())), Err(Error::WrongState { .. })));
    assert!(store.set_property("source", b"r2").is_err());
    assert!(store.mark_broken("no").is_err());
    assert_eq!(keys(&before, 0, ""), ["a", "b"]);
    drop(before);
    let copy = directory.path("copy.ful");
    store.back_up(&copy).expect("a copy");
    assert!(matches!(store.back_up(&copy), Err(Error::Exists { .. })));
    store.close().expect("it closes");
    assert_eq!(keys(&Store::open(&copy).expect("a database").snapshot().expect("a snapshot"), 0, ""), ["a", "b"]);

    let store = Store::open(&path).expect("it opens again");
    assert_eq!(store.backend(), crate::BACKEND);
    assert_eq!(store.state().expect("sound"), State::Complete);
    assert_eq!(store.property("source").expect("sound").as_deref(), Some(&b"r1"[..]));
    assert_eq!(store.properties().expect("sound").len(), 1);
    assert_eq!(keys(&store.snapshot().expect("a snapshot"), 0, ""), ["a", "b"]);
}

#[test]
fn broken_database_is_read_and_not_written() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    add(&store, &[(0, b"a", b"")]);
    store.mark_broken("the indexer failed").expect("incomplete");
    assert_eq!(store.state().expect("sound"), State::Broken);
    assert_eq!(store.broken_reason().expect("sound").as_deref(), Some("the indexer failed"));
    assert!(store.batch().is_err() && store.complete(|_, _| Ok(())).is_err());
    assert_eq!(keys(&store.snapshot().expect("a snapshot"), 0, ""), ["a"]);
}

#[test]
fn completion_that_failed_is_done_again() {
    let directory = Directory::new();
    let path = directory.path("a.ful");
    let store = options().create(&path).expect("a new store");
    let mut batch = store.batch().expect("incomplete");
    let fact = batch.define(predicate(0), b"a", b"v").expect("new");
    batch.own("file", [fact]);
    batch.commit(None).expect("a commit");
    let failed = store.complete(|_, _| Err(Error::Program("no types".into())));
    assert!(matches!(failed, Err(Error::Program(_))));
    assert_eq!(store.state().expect("sound"), State::Finalising);
    assert!(matches!(store.batch(), Err(Error::WrongState { state: State::Finalising, .. })));
    drop(store);
    assert_eq!(Store::state_at(&path).expect("sound"), State::Finalising);
    let store = Store::open(&path).expect("it opens again");
    complete(&store);
    assert_eq!(store.state().expect("sound"), State::Complete);
    assert_eq!(keys(&store.snapshot().expect("a snapshot"), 0, ""), ["a"]);
}
