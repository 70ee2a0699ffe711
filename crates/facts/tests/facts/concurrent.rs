//! Batches that are filled and committed at the same time.

use std::collections::BTreeSet;
use std::sync::Barrier;

use fulgurite_facts::{Error, FactId, PredicateId, Result};

use crate::support::{Directory, add, id, plain, predicate};

/// Writers at once.
const WRITERS: u64 = 8;
/// Facts that each defines: two thirds of them are those of its neighbour too.
const FACTS: u64 = 300;

/// A key that refers to a fact: its id, then the text.
fn referring(target: FactId, text: &str) -> Vec<u8> {
    [&target.get().to_be_bytes()[..], text.as_bytes()].concat()
}

/// Replaces the id that a fact of the predicate 1 begins with.
fn substitute(
    of: PredicateId,
    key: &[u8],
    value: &[u8],
    rename: &dyn Fn(FactId) -> FactId,
    key_out: &mut Vec<u8>,
    value_out: &mut Vec<u8>,
) -> Result<()> {
    value_out.extend_from_slice(value);
    match key.split_first_chunk() {
        Some((target, text)) if of == predicate(1) => {
            let target = rename(id(u64::from_be_bytes(*target)));
            key_out.extend_from_slice(&target.get().to_be_bytes());
            key_out.extend_from_slice(text);
        }
        _ => key_out.extend_from_slice(key),
    }
    Ok(())
}

#[test]
fn writers_at_once_leave_dense_ids_and_each_fact_once() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    let barrier = Barrier::new(WRITERS as usize);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, barrier) = (&store, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for round in 0..5 {
                    let mut batch = store.batch().expect("incomplete");
                    for number in 0..FACTS / 5 {
                        let name = format!("f{}", writer * FACTS / 3 + round * FACTS / 5 + number);
                        let fact = batch.define(predicate(0), name.as_bytes(), b"v").expect("no contradiction");
                        batch.define(predicate(1), &referring(fact, "use"), b"").expect("no contradiction");
                    }
                    batch.commit(Some(&mut substitute)).expect("a commit");
                }
            });
        }
    });
    let snapshot = store.snapshot().expect("a snapshot");
    let names = (WRITERS - 1) * FACTS / 3 + FACTS;
    assert_eq!(snapshot.first_free_id().get(), 1024 + 2 * names);
    assert_eq!((snapshot.count(predicate(0)), snapshot.count(predicate(1))).0.expect("sound"), names);
    let mut found = BTreeSet::new();
    for (expected, fact) in (1024..).zip(snapshot.enumerate(snapshot.starting_id(), snapshot.first_free_id())) {
        let fact = fact.expect("sound");
        assert_eq!(fact.id().get(), expected);
        assert!(found.insert((fact.predicate(), fact.key().to_vec())), "{fact:?} is there twice");
        if fact.predicate() == predicate(1) {
            let target = id(u64::from_be_bytes(*fact.key().first_chunk().expect("an id")));
            assert!(target < fact.id());
            let target = snapshot.fact_by_id(target).expect("sound").expect("it exists");
            assert_eq!(target.predicate(), predicate(0));
        }
    }
    let expected: BTreeSet<Vec<u8>> = (0..names).map(|number| format!("f{number}").into_bytes()).collect();
    let by_key = snapshot.seek(predicate(0), b"f").expect("a seek");
    assert_eq!(by_key.map(|fact| plain(fact).1).collect::<BTreeSet<_>>(), expected);
}

#[test]
fn later_batch_gets_the_ids_of_the_earlier_one_and_says_so() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    let (mut first, mut second) = (store.batch().expect("a batch"), store.batch().expect("a batch"));
    let shared = first.define(predicate(0), b"shared", b"").expect("new");
    first.define(predicate(0), b"first", b"").expect("new");
    let own = second.define(predicate(0), b"second", b"").expect("new");
    let same = second.define(predicate(0), b"shared", b"").expect("new");
    let using = second.define(predicate(1), &referring(same, "x"), b"").expect("new");
    assert_eq!((shared, own), (id(1024), id(1024)));
    first.commit(None).expect("a commit");
    let committed = second.commit(Some(&mut substitute)).expect("a commit");
    assert_eq!([own, same, using].map(|fact| committed.id(fact)), [id(1026), id(1024), id(1027)]);
    assert_eq!(committed.new_facts(), 2);
    let snapshot = store.snapshot().expect("a snapshot");
    let key = referring(id(1024), "x");
    assert_eq!(snapshot.id_by_key(predicate(1), &key).expect("sound"), Some(id(1027)));
}

#[test]
fn failed_commit_uses_no_ids() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    let mut contradicting = store.batch().expect("a batch");
    contradicting.define(predicate(0), b"new", b"").expect("new");
    contradicting.define(predicate(0), b"key", b"mine").expect("new");
    let mut unknown = store.batch().expect("a batch");
    unknown.define(predicate(0), b"x", b"").expect("new");
    unknown.own("unit", [id(5000)]);
    add(&store, &[(0, b"key", b"theirs")]);
    assert!(matches!(contradicting.commit(None), Err(Error::KeyHasOtherValue(_))));
    assert!(matches!(unknown.commit(None), Err(Error::NoSuchFact { .. })));
    assert_eq!(add(&store, &[(0, b"next", b"")]), [id(1025)]);
    assert_eq!(store.snapshot().expect("a snapshot").id_by_key(predicate(0), b"new").expect("sound"), None);
}
