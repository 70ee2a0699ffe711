//! Readers beside writers. Everything that will be written is known beforehand, so a reader can check any read at any
//! sequence that it knows to be visible.

use super::*;
use crate::sync::atomic::{AtomicU64, Ordering};
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
