//! Readers beside writers. Everything that will be written is known beforehand, so a reader can check any read at any
//! sequence that it knows to be visible.

use super::*;
use crate::delta::index::Index;
use crate::delta::tree::{Entry, Inserted, Tree};
use std::thread;

/// Commits of some keys each, in order: commit `n` of the list has sequence `n + 1`.
fn workload(random: &mut Random, shape: Shape, commits: u64) -> Vec<Vec<KeyAndChange>> {
    let mut all = Vec::new();
    for number in 0..commits {
        let keys = 1 + random.below(5);
        let one = |number| {
            let key = key_of(shape, random, number);
            let change =
                if random.below(5) == 0 { Owned::Delete } else { Owned::Put(random.next().to_le_bytes().to_vec()) };
            (key, change)
        };
        all.push((number * 5..number * 5 + keys).map(one).collect());
    }
    all
}

/// Random reads at `at` and at earlier sequences, until `done` says so.
fn read(delta: &Delta, model: &Model, shape: Shape, visible: &AtomicU64, last: u64, seed: u64) {
    let mut random = Random(seed);
    loop {
        // Acquire pairs with the writer's Release.
        let newest = visible.load(Ordering::Acquire);
        let at = if random.below(2) == 0 { newest } else { random.below(newest + 1) };
        let key = key_of(shape, &mut random, newest * 5);
        assert_eq!(get(delta, &key, at), model.get(&key, at));
        let steps = if random.below(30) == 0 { usize::MAX } else { random.below(100) as usize };
        let above = model.range(Bound::Included(&key), Bound::Unbounded, at);
        check_up(delta, delta.seek(&key, Sequence(at)), above, steps);
        let below = model.range(Bound::Unbounded, Bound::Excluded(&key), at);
        check_down(delta, delta.seek_before(&key, Sequence(at)), below.rev(), steps);
        if newest == last {
            return;
        }
    }
}

fn run(shape: Shape, seed: u64, commits: u64, readers: u64) {
    println!("seed {seed}, shape {shape:?}");
    let commits = workload(&mut Random(seed), shape, commits);
    let mut model = Model::default();
    for (sequence, commit) in (1..).zip(&commits) {
        commit.iter().for_each(|(key, change)| model.insert(key, sequence, change.clone()));
    }
    let delta = Delta::new(ValueAlign::One);
    let visible = AtomicU64::new(0);
    let last = commits.len() as u64;
    thread::scope(|scope| {
        for reader in 0..readers {
            let (delta, model, visible) = (&delta, &model, &visible);
            scope.spawn(move || read(delta, model, shape, visible, last, seed + 1000 + reader));
        }
        for (sequence, commit) in (1..).zip(&commits) {
            commit.iter().for_each(|(key, change)| insert(&delta, key, sequence, change));
            // Release pairs with the readers' Acquire.
            visible.store(sequence, Ordering::Release);
        }
    });
}

#[test]
fn readers_see_exactly_their_snapshot_while_commits_go_on() {
    let (commits, readers) = if cfg!(miri) { (16, 2) } else { (2500, 3) };
    for (number, shape) in SHAPES.into_iter().enumerate() {
        run(shape, 90 + number as u64, commits, readers);
    }
}

/// The tree and the index as several writers will use them: the one-writer rule is the delta's, not theirs.
#[test]
fn several_writers_lose_and_double_nothing() {
    let (writers, keys) = if cfg!(miri) { (2_u64, 120_u64) } else { (4, 20_000) };
    let (tree, index, entries) = (Tree::new(ValueAlign::One), Index::new(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for writer in 0..writers {
            let (tree, index, entries) = (&tree, &index, &entries);
            scope.spawn(move || {
                for number in 0..keys {
                    // Half of the keys are this writer's own, neighbours of the others'; half are everyone's.
                    let own = number % 2 * (writer + 1);
                    let key = (number * 8 + own).wrapping_mul(0x1234_5678_9ABC_DEF1).to_be_bytes();
                    let (hash, at) = (xxh3_64(&key), Sequence(1 + number));
                    let entry = Entry { key: &key, hash, at, change: Change::Put(&key) };
                    if let Inserted::Key(record) = tree.insert(&entry, None) {
                        index.add(hash, entries.fetch_add(1, Ordering::Relaxed), record);
                    }
                }
            });
        }
    });
    let distinct = keys / 2 + keys / 2 * writers;
    assert_eq!(entries.load(Ordering::Relaxed) as u64, distinct);
    let mut position = Position::seek(&tree, 0, Start::First, Sequence(u64::MAX));
    let mut previous: Option<Vec<u8>> = None;
    for _ in 0..distinct {
        let Place::On(record, version) = position.place else { panic!("the tree has lost keys") };
        let record = tree.record(record);
        let key = record.key().to_vec();
        assert!(previous.is_none_or(|previous| previous < key));
        assert_eq!(record.change(version), Change::Put(&key));
        let found = index.find(xxh3_64(&key), |candidate| tree.key(candidate) == key);
        assert!(found.is_some());
        previous = Some(key);
        position.next(&tree);
    }
    assert_eq!(position.place, Place::AfterLast);
}
