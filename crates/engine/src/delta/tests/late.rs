//! Versions that come late: a commit inserts after others whose sequences are later.

use super::*;
use crate::delta::btree::{Entry, Inserted};

/// All orders of the numbers below `count`.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in orders(count - 1) {
        for place in 0..count {
            let mut order = shorter.clone();
            order.insert(place, count - 1);
            all.push(order);
        }
    }
    all
}

/// Changes of all kinds, each different from the others.
fn changes() -> [Owned; 5] {
    let large = OverflowRef { extent: ExtentId(77), slot: 3, length: 5 << 20, checksum: 0xC0FFEE };
    [
        Owned::Put(b"short".to_vec()),
        Owned::Put(vec![b'b'; 33_000]),
        Owned::Large(large),
        Owned::Delete,
        Owned::Put(Vec::new()),
    ]
}

/// Whether reads of all kinds agree with the model at every sequence up to `last`.
fn check(delta: &Delta, model: &Model, last: u64) {
    for at in 0..=last {
        let all = || model.range(Bound::Unbounded, Bound::Unbounded, at);
        check_up(delta, delta.first(Sequence(at)), all(), usize::MAX);
        check_down(delta, delta.last(Sequence(at)), all().rev(), usize::MAX);
        let changed = delta.first_changed_since(Bound::Unbounded, Bound::Unbounded, Sequence(at));
        assert_eq!(changed, model.first_changed(Bound::Unbounded, Bound::Unbounded, at, last));
    }
    for key in model.0.keys() {
        for at in 0..=last {
            assert_eq!(get(delta, key, at), model.get(key, at));
        }
        assert_eq!(delta.newest_sequence(key, xxh3_64(key)), model.newest(key).map(Sequence));
    }
}

#[test]
fn four_versions_in_any_order_make_one_history() {
    // A second list has the same sequence twice: what comes second counts.
    for (list, sequences) in [[2, 4, 6, 8], [3, 5, 5, 7]].into_iter().enumerate() {
        for (turn, order) in orders(4).into_iter().enumerate() {
            if cfg!(miri) && turn % 12 != list {
                continue;
            }
            let delta = Delta::new([ValueAlign::One, ValueAlign::Sixteen][turn % 2]);
            let mut model = Model::default();
            let both = |model: &mut Model, key: &[u8], at, change: &Owned| {
                insert(&delta, key, at, change);
                model.insert(key, at, change.clone());
            };
            let neighbours = if cfg!(miri) { 3 } else { 30_u8 };
            for (step, &which) in order.iter().enumerate() {
                // The key's leaf is split between its versions.
                for number in 0..neighbours {
                    let key = [b'k', number, step as u8];
                    both(&mut model, &key, 1 + u64::from(number) % 9, &Owned::Put(vec![number]));
                }
                let change = &changes()[(which + turn) % 5];
                both(&mut model, b"k\x0f\xff", sequences[which], change);
            }
            check(&delta, &model, 10);
        }
    }
}

#[test]
fn bytes_that_were_read_before_a_late_version_came_stay_and_so_do_positions() {
    let delta = Delta::new(ValueAlign::One);
    let key = b"key";
    for (at, change) in [4, 8, 12, 16, 20].into_iter().zip(&changes()) {
        insert(&delta, key, at, change);
    }
    let ages = [4, 8, 12, 16, 20];
    let before = ages.map(|at| delta.get(key, xxh3_64(key), Sequence(at)).expect("it was inserted"));
    let positions = ages.map(|at| delta.first(Sequence(at)));
    for at in [18, 2, 10, 6] {
        insert(&delta, key, at, &Owned::Put(vec![at as u8; 9]));
    }
    for (index, at) in ages.into_iter().enumerate() {
        let expected = &changes()[index];
        assert_eq!(Owned::of(before[index]), *expected);
        assert_eq!(get(&delta, key, at).as_ref(), Some(expected));
        assert_eq!(entry(&delta, &positions[index]), Some((key.to_vec(), expected.clone())));
        let hash_and_sequence = delta.hash_and_sequence(&positions[index]);
        assert_eq!(hash_and_sequence, Some((xxh3_64(key), Sequence(at))));
    }
    for at in [18, 2, 10, 6] {
        assert_eq!(get(&delta, key, at), Some(Owned::Put(vec![at as u8; 9])));
    }
}

#[test]
fn copies_of_long_values_share_their_bytes() {
    let length = if cfg!(miri) { 40_000 } else { 1 << 20 };
    let delta = Delta::new(ValueAlign::One);
    let address = |at| match delta.get(b"k", xxh3_64(b"k"), Sequence(at)) {
        Some(Change::Put(value)) => value.as_ptr().addr(),
        found => panic!("a value is {found:?}"),
    };
    for at in [10, 20, 30] {
        insert(&delta, b"k", at, &Owned::Put(vec![at as u8; length]));
    }
    let (addresses, bytes) = ([10, 20, 30].map(address), delta.memory_bytes());
    insert(&delta, b"k", 5, &Owned::Delete);
    assert_eq!([10, 20, 30].map(address), addresses);
    assert!(delta.memory_bytes() < bytes + 1000);
}

#[test]
fn a_long_chain_takes_late_versions_at_any_depth() {
    let count = if cfg!(miri) { 40 } else { 1000 };
    let delta = Delta::new(ValueAlign::One);
    let value = |at: u64| Owned::Put(at.to_le_bytes().to_vec());
    let mut model = Model::default();
    let mut both = |at: u64| {
        insert(&delta, b"hot", at, &value(at));
        model.insert(b"hot", at, value(at));
    };
    (1..=count).for_each(|number| both(number * 4));
    let late = [count * 4 - 1, count * 2 + 1, 1, 2, count * 2 + 3, count * 4 - 2, 3, count * 3 + 1];
    late.into_iter().for_each(&mut both);
    (count + 1..=count + 9).for_each(|number| both(number * 4));
    for at in 0..=(count + 10) * 4 {
        assert_eq!(get(&delta, b"hot", at), model.get(b"hot", at));
    }
    assert_eq!((delta.entries(), delta.versions() as u64), (1, count + 17));
}

/// The thread that inserted a key has not reached the index yet when another inserts a version of it, and returns.
#[test]
fn a_key_is_found_as_soon_as_one_of_its_inserts_returns() {
    let delta = Delta::new(ValueAlign::One);
    let key = b"key";
    let entry = Entry { key, hash: xxh3_64(key), at: Sequence(2), change: Change::Put(b"first") };
    let first = delta.tree.insert(&entry, None);
    assert!(matches!(first, Inserted::Key(_)));
    assert_eq!(get(&delta, key, 9), None, "this test inserts by steps");

    insert(&delta, key, 1, &Owned::Put(b"second".to_vec()));
    assert_eq!(get(&delta, key, 1), Some(Owned::Put(b"second".to_vec())));
    assert_eq!(get(&delta, key, 2), Some(Owned::Put(b"first".to_vec())));
    assert_eq!(delta.newest_sequence(key, entry.hash), Some(Sequence(2)));

    delta.add_to_index(first, &entry);
    assert_eq!(get(&delta, key, 2), Some(Owned::Put(b"first".to_vec())));
    assert_eq!((delta.entries(), delta.versions(), delta.last_sequence()), (1, 2, Sequence(2)));
    let indexed = delta.counts.next_ordinal();
    insert(&delta, key, 3, &Owned::Delete);
    assert_eq!(delta.counts.next_ordinal(), indexed, "the index knows it, and is left alone");
}

/// A generation of the index that got more entries than it was made for would be searched for ever.
#[test]
fn keys_that_are_indexed_twice_do_not_overfill_the_index() {
    let count = if cfg!(miri) { 200 } else { 5000_u32 };
    let delta = Delta::new(ValueAlign::One);
    for number in 0..count {
        let key = number.to_be_bytes();
        let hash = xxh3_64(&key);
        let entry = Entry { key: &key, hash, at: Sequence(2), change: Change::Put(&key) };
        let first = delta.tree.insert(&entry, None);
        insert(&delta, &key, 1, &Owned::Delete);
        delta.add_to_index(first, &entry);
        assert_eq!(delta.get(&key, hash, Sequence(2)), Some(Change::Put(&key)));
        assert_eq!(delta.counts.next_ordinal(), 2 * (number as usize + 1));
    }
    assert_eq!((delta.entries(), delta.versions()), (count as usize, 2 * count as usize));
    for number in 0..2 * count {
        let found = get(&delta, &number.to_be_bytes(), 1);
        assert_eq!(found, (number < count).then_some(Owned::Delete));
    }
}
