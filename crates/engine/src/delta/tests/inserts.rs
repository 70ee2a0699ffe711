//! Commits of many rising keys, against the model.

use super::{Model, Owned, Random, check_up, get, insert};
use crate::delta::{Delta, Inserts};
use crate::format::ValueAlign;
use crate::ids::Sequence;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::thread;
use xxhash_rust::xxh3::xxh3_64;

fn bytes_of(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Rising keys: some far from each other, some side by side, and some that other commits have too.
fn commit(random: &mut Random, keys: u64) -> BTreeMap<Vec<u8>, Owned> {
    let mut commit = BTreeMap::new();
    while (commit.len() as u64) < keys {
        let (first, run) = match random.below(3) {
            0 => (random.next(), 1),
            1 => (random.below(64) << 58, 1 + random.below(40)),
            _ => (random.next() & !0xFFF, 1 + random.below(4)),
        };
        for number in first..first.saturating_add(run) {
            let change =
                if random.below(8) == 0 { Owned::Delete } else { Owned::Put(random.next().to_le_bytes().to_vec()) };
            commit.insert(bytes_of(number), change);
        }
    }
    commit
}

#[test]
fn commits_of_rising_keys_beside_each_other_agree_with_a_model() {
    let (threads, commits, keys) = if cfg!(miri) { (2, 2, 24) } else { (3, 20, 400) };
    let delta = Delta::new(ValueAlign::One);
    let mut model = Model::default();
    let all: Vec<Vec<_>> = (0..threads)
        .map(|thread| {
            let mut random = Random(810 + thread);
            let of_thread = |number| (1 + number * threads + thread, commit(&mut random, keys));
            (0..commits).map(of_thread).collect()
        })
        .collect();
    for (at, commit) in all.iter().flatten() {
        commit.iter().for_each(|(key, change)| model.insert(key, *at, change.clone()));
    }
    thread::scope(|scope| {
        let delta = &delta;
        for commits in &all {
            scope.spawn(move || {
                for (at, commit) in commits {
                    let mut inserts = Inserts::new(delta, Sequence(*at));
                    commit.iter().for_each(|(key, change)| inserts.insert(key, xxh3_64(key), change.borrow()));
                    inserts.finish();
                    for (key, change) in commit {
                        assert_eq!(get(delta, key, *at).as_ref(), Some(change), "found once its commit has finished");
                    }
                }
            });
        }
    });
    assert_eq!(delta.entries(), model.0.len());
    for at in (0..=threads * commits).step_by(7) {
        let expected = model.range(Bound::Unbounded, Bound::Unbounded, at);
        check_up(&delta, delta.first(Sequence(at)), expected, usize::MAX);
    }
}

#[test]
fn inserts_are_begun_ahead_while_keys_are_far_from_each_other() {
    let delta = Delta::new(ValueAlign::One);
    let keys = if cfg!(miri) { 400 } else { 4000 };
    for number in 0..keys {
        insert(&delta, &bytes_of(number << 20), 1, &Owned::Delete);
    }
    let step = keys / 16;
    let far: Vec<_> = (0..16).map(|number| bytes_of((number * step) << 20 | 1)).collect();
    let near: Vec<_> = (0..40).map(|number| bytes_of(((15 * step) << 20) + 2 + number)).collect();
    let mut inserts = Inserts::new(&delta, Sequence(2));
    far.iter().for_each(|key| inserts.insert(key, xxh3_64(key), Owned::Delete.borrow()));
    assert!(inserts.is_ahead);
    assert!(delta.entries() < keys as usize + far.len(), "some have only begun");
    near.iter().for_each(|key| inserts.insert(key, xxh3_64(key), Owned::Delete.borrow()));
    assert!(!inserts.is_ahead);
    assert_eq!(delta.entries(), keys as usize + far.len() + near.len(), "none is left behind");
    inserts.finish();
    assert_eq!(delta.entries(), keys as usize + far.len() + near.len());
}
