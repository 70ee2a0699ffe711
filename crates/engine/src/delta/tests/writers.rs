//! Several writers at once. All that they will insert is known beforehand, so readers beside them can check any read at
//! any sequence that is visible, and afterwards everything is checked.

use super::*;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::ops::RangeBounds;
use std::thread;

/// Knows which commits have been inserted: reads may begin at `visible`, below which none is missing.
#[derive(Default)]
struct Tracker {
    visible: AtomicU64,
    /// Commits above that are inserted. Rank 1, nothing is locked under it.
    above: Mutex<BTreeSet<u64>>,
}

impl Tracker {
    fn finish(&self, sequence: u64) {
        let mut above = self.above.lock();
        above.insert(sequence);
        let mut visible = self.visible.load(Ordering::Relaxed);
        while above.remove(&(visible + 1)) {
            visible += 1;
        }
        // Release pairs with the Acquire in `visible`. What other threads inserted came here through the lock.
        self.visible.store(visible, Ordering::Release);
    }

    fn visible(&self) -> u64 {
        self.visible.load(Ordering::Acquire)
    }
}

/// Notes when a writer ends, by a panic too: readers would wait for ever for what it would have inserted.
struct Writing<'w>(&'w AtomicU64);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Commits of some keys each: commit `n` of the list has sequence `n + 1`.
type Commits = Vec<Vec<KeyAndChange>>;

fn workload(random: &mut Random, shape: Shape, commits: u64) -> Commits {
    let one_commit = |number| {
        let mut keys = BTreeMap::new();
        for key in 0..1 + random.below(4) {
            keys.insert(key_of(shape, random, number * 4 + key), change_of(random));
        }
        keys.into_iter().collect()
    };
    (0..commits).map(one_commit).collect()
}

fn model_of(commits: &Commits) -> Model {
    let mut model = Model::default();
    for (sequence, commit) in (1..).zip(commits) {
        commit.iter().for_each(|(key, change)| model.insert(key, sequence, change.clone()));
    }
    model
}

/// Takes some of the next sequences, and inserts their commits in any order, until there are no more.
fn write(delta: &Delta, commits: &Commits, next: &AtomicU64, tracker: &Tracker, mut random: Random) {
    loop {
        let count = 1 + random.below(4);
        let first = 1 + next.fetch_add(count, Ordering::Relaxed);
        let mut taken: Vec<u64> = (first..first + count).filter(|one| *one <= commits.len() as u64).collect();
        if taken.is_empty() {
            return;
        }
        while !taken.is_empty() {
            let sequence = taken.swap_remove(random.below(taken.len() as u64) as usize);
            let mut trail = Trail::default();
            for (key, change) in &commits[sequence as usize - 1] {
                match delta.approach(key, xxh3_64(key)).filter(|_| random.below(2) == 0) {
                    Some(mut approach) => {
                        if random.below(3) > 0 {
                            delta.prefetch_record(&mut approach, key);
                        }
                        delta.insert_near(&approach, key, Sequence(sequence), change.borrow());
                    }
                    None if random.below(2) == 0 => insert(delta, key, sequence, change),
                    None => {
                        delta.insert_along(&mut trail, key, xxh3_64(key), Sequence(sequence), change.borrow());
                    }
                }
                // The commit may be visible before another's insert of the same key returns, so it is found from now
                // on.
                let newest = delta.newest_sequence(key, xxh3_64(key));
                assert!(newest >= Some(Sequence(sequence)), "{newest:?}, and {sequence} was inserted");
                assert_eq!(get(delta, key, sequence).as_ref(), Some(change));
            }
            tracker.finish(sequence);
        }
    }
}

/// A range between two keys, or to an end. Not one that a map refuses.
fn range_of<'k>(random: &mut Random, one: &'k [u8], other: &'k [u8]) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    let (low, high) = if one < other { (one, other) } else { (other, one) };
    let low = [Bound::Included(low), Bound::Unbounded][random.below(4) as usize / 3];
    let high = [Bound::Included(high), Bound::Unbounded][random.below(4) as usize / 3];
    (low, high)
}

/// Whether the answers for validation include all that is visible, and nothing that is not inserted at all.
fn check_changed(delta: &Delta, model: &Model, random: &mut Random, keys: [&[u8]; 2], visible: u64) {
    let newest = delta.newest_sequence(keys[0], xxh3_64(keys[0])).map(|found| found.0);
    let versions = model.0.get(keys[0]);
    assert!(newest >= versions.and_then(|versions| Some(*versions.range(..=visible).next_back()?.0)));
    assert!(newest.is_none_or(|newest| versions.is_some_and(|versions| versions.contains_key(&newest))));

    let (low, high) = range_of(random, keys[0], keys[1]);
    let since = visible.saturating_sub(random.below(10));
    let changed = delta.first_changed_since(low, high, Sequence(since));
    let expected = model.first_changed(low, high, since, visible);
    match (changed, expected) {
        (None, expected) => assert_eq!(expected, None, "changed since {since}, at {visible}"),
        (Some(changed), expected) => {
            assert!(expected.is_none_or(|expected| changed <= expected));
            assert!(RangeBounds::<[u8]>::contains(&(low, high), changed));
            assert!(model.newest(changed) > Some(since));
        }
    }
}

/// Random reads at what is visible and at earlier sequences, until nobody writes.
fn read(delta: &Delta, model: &Model, shape: Shape, tracker: &Tracker, writing: &AtomicU64, mut random: Random) {
    loop {
        let is_last = writing.load(Ordering::Acquire) == 0;
        let visible = tracker.visible();
        let at = if random.below(2) == 0 { visible } else { random.below(visible + 1) };
        let number = visible * 4 + random.below(8);
        let (key, other) = (key_of(shape, &mut random, number), key_of(shape, &mut random, visible));
        assert_eq!(get(delta, &key, at), model.get(&key, at));
        let steps = if random.below(30) == 0 { usize::MAX } else { random.below(60) as usize };
        let above = model.range(Bound::Included(&key), Bound::Unbounded, at);
        check_up(delta, delta.seek(&key, Sequence(at)), above, steps);
        let below = model.range(Bound::Unbounded, Bound::Excluded(&key), at);
        check_down(delta, delta.seek_before(&key, Sequence(at)), below.rev(), steps);
        check_changed(delta, model, &mut random, [&key, &other], visible);
        if is_last {
            return;
        }
    }
}

/// Whether the delta holds what the model does, at every sequence.
fn check_all(delta: &Delta, model: &Model, last: u64, random: &mut Random) {
    let keys: Vec<&[u8]> = model.0.keys().map(|key| &key[..]).collect();
    for at in 0..=last + 1 {
        let all = || model.range(Bound::Unbounded, Bound::Unbounded, at);
        check_up(delta, delta.first(Sequence(at)), all(), usize::MAX);
        check_down(delta, delta.last(Sequence(at)), all().rev(), usize::MAX);
        for _ in 0..20 {
            let key = keys[random.below(keys.len() as u64) as usize];
            let other = keys[random.below(keys.len() as u64) as usize];
            assert_eq!(get(delta, key, at), model.get(key, at));
            let (low, high) = range_of(random, key, other);
            let changed = delta.first_changed_since(low, high, Sequence(at));
            assert_eq!(changed, model.first_changed(low, high, at, last));
        }
    }
    for (key, versions) in &model.0 {
        assert_eq!(delta.newest_sequence(key, xxh3_64(key)).map(|newest| newest.0), model.newest(key));
        for (sequence, change) in versions {
            assert_eq!(get(delta, key, *sequence).as_ref(), Some(change));
        }
    }
}

fn run(shape: Shape, seed: u64, commits: u64, writers: u64, readers: u64) {
    println!("seed {seed}, shape {shape:?}, {writers} writers");
    let commits = workload(&mut Random(seed), shape, commits);
    let (model, last) = (model_of(&commits), commits.len() as u64);
    let delta = Delta::new(ValueAlign::One);
    let (next, tracker, writing) = (AtomicU64::new(0), Tracker::default(), AtomicU64::new(writers));
    thread::scope(|scope| {
        for thread in 0..writers {
            let (delta, commits, next, tracker, writing) = (&delta, &commits, &next, &tracker, Writing(&writing));
            scope.spawn(move || {
                let _writing = writing;
                write(delta, commits, next, tracker, Random(seed + 2000 + thread));
            });
        }
        for thread in 0..readers {
            let (delta, model, tracker, writing) = (&delta, &model, &tracker, &writing);
            scope.spawn(move || read(delta, model, shape, tracker, writing, Random(seed + 1000 + thread)));
        }
    });
    assert_eq!(tracker.visible(), last);
    check_all(&delta, &model, last, &mut Random(seed + 3000));
    assert_eq!(delta.entries(), model.0.len());
    assert_eq!(delta.versions(), commits.iter().map(Vec::len).sum::<usize>());
    assert_eq!(delta.last_sequence(), Sequence(last));
}

#[test]
fn commits_that_several_threads_insert_at_once_are_right_at_every_sequence() {
    let (commits, readers) = if cfg!(miri) { (6, 1) } else { (400, 2) };
    for (number, shape) in (0..).zip(SHAPES) {
        let writers = if cfg!(miri) { 2 } else { 2 + number };
        run(shape, 600 + number, commits, writers, readers);
    }
}

#[test]
fn eight_writers_of_a_few_hot_keys_order_all_versions() {
    let (writers, commits) = if cfg!(miri) { (2, 30) } else { (8, 1500) };
    let commits: Commits = (1..=commits as u64)
        .map(|sequence| vec![(vec![b'h', (sequence % 3) as u8], Owned::Put(sequence.to_le_bytes().to_vec()))])
        .collect();
    let delta = Delta::new(ValueAlign::Eight);
    let (next, tracker) = (AtomicU64::new(0), Tracker::default());
    thread::scope(|scope| {
        for thread in 0..writers {
            let (delta, commits, next, tracker) = (&delta, &commits, &next, &tracker);
            scope.spawn(move || write(delta, commits, next, tracker, Random(700 + thread)));
        }
    });
    let model = model_of(&commits);
    for (key, versions) in &model.0 {
        for (sequence, change) in versions {
            assert_eq!(get(&delta, key, *sequence).as_ref(), Some(change));
        }
    }
    assert_eq!((delta.entries(), delta.versions()), (3, commits.len()));
}

#[test]
fn several_writers_lose_and_double_nothing() {
    let (writers, keys) = if cfg!(miri) { (2_u64, 120_u64) } else { (4, 20_000) };
    let delta = Delta::new(ValueAlign::One);
    let hash_of = |key: &[u8]| xxh3_64(key);
    thread::scope(|scope| {
        for writer in 0..writers {
            let delta = &delta;
            scope.spawn(move || {
                for number in 0..keys {
                    // Half of the keys are this writer's own, neighbours of the others'; half are everyone's.
                    let own = number % 2 * (writer + 1);
                    let key = (number * 8 + own).wrapping_mul(0x1234_5678_9ABC_DEF1).to_be_bytes();
                    delta.insert(&key, hash_of(&key), Sequence(1 + number), Change::Put(&key));
                }
            });
        }
    });
    let distinct = keys / 2 + keys / 2 * writers;
    assert_eq!((delta.entries() as u64, delta.versions() as u64), (distinct, keys * writers));
    assert_eq!(delta.last_sequence(), Sequence(keys));
    let mut position = delta.first(Sequence(u64::MAX));
    let mut previous: Option<&[u8]> = None;
    for _ in 0..distinct {
        let (key, change) = delta.entry(&position).expect("the delta has lost keys");
        assert!(previous.is_none_or(|previous| previous < key));
        assert_eq!(change, Change::Put(key));
        assert_eq!(delta.get(key, hash_of(key), Sequence(u64::MAX)), Some(Change::Put(key)));
        previous = Some(key);
        delta.next(&mut position);
    }
    assert_eq!(delta.entry(&position), None);
}
