//! How deltas come into trees and runs, and runs into trees.

use crate::txn::reads::read_methods::Read;
use std::collections::BTreeMap;

use crate::db::checkpoint::merge_runs::RunsToMerge;
use crate::db::handle::database::Database;
use crate::error::Result;
use crate::io::MemoryDisk;
use crate::options::{Durability, Options, TableOptions};
use crate::sync::Arc;
use crate::txn::snapshot::state::Trees;
use crate::txn::snapshot::table::Table;

/// A database with one table, and what it holds.
struct Loaded {
    disk: MemoryDisk,
    delta_bytes: u64,
    db: Database,
    table: Table,
    model: BTreeMap<Vec<u8>, Vec<u8>>,
}

fn key(number: u64) -> Vec<u8> {
    format!("key {number:08}").into_bytes()
}

impl Loaded {
    /// A tree of so many numbered keys, two apart.
    fn new(keys: u64, delta_bytes: u64, options: TableOptions) -> Self {
        let disk = MemoryDisk::new();
        let db = Self::options(&disk, delta_bytes).create(true).open("a.ful").expect("a memory disk");
        let table = db.create_table("t", options).expect("it is not there");
        let model: BTreeMap<_, _> = (0..keys).map(|number| (key(2 * number), vec![1; 40])).collect();
        db.bulk_load(&table, model.iter()).expect("they rise");
        Self { disk, delta_bytes, db, table, model }
    }

    fn options(disk: &MemoryDisk, delta_bytes: u64) -> Options {
        let options = Database::options().disk(Arc::new(disk.clone())).durability(Durability::Log);
        options.background(false).delta_bytes(delta_bytes)
    }

    /// One commit that puts or deletes these.
    fn commit(&mut self, numbers: impl Iterator<Item = u64>, value: Option<&[u8]>) {
        let mut txn = self.db.write().expect("nothing else writes");
        for key in numbers.map(key) {
            match value {
                Some(value) => {
                    txn.put(&self.table, &key, value).expect("it fits");
                    self.model.insert(key, value.to_vec());
                }
                None => {
                    txn.delete(&self.table, &key).expect("it can be read");
                    self.model.remove(&key);
                }
            }
        }
        txn.commit().expect("nothing else writes");
    }

    /// Flushes, and merges no more than it must. Returns how many runs there are now.
    fn flush(&self) -> usize {
        self.db.inner.checkpointer.as_ref().expect("it is open for writing").lock().run().expect("a memory disk");
        self.compare();
        self.trees().stack.map_or(0, |stack| stack.runs().count())
    }

    fn trees(&self) -> Trees {
        let state = self.db.inner.core.published.state();
        let mut views = state.tables.iter().flatten();
        views.next().expect("there is one table").trees.clone()
    }

    /// Bounds and depths of the ranges.
    fn ranges(&self) -> Vec<(Box<[u8]>, usize)> {
        let stack = self.trees().stack.expect("there are runs");
        stack.ranges().iter().map(|range| (range.low.clone(), range.runs.len())).collect()
    }

    /// Merges the runs of the range that has the most.
    fn merge(&self) -> bool {
        let mut checkpointer = self.db.inner.checkpointer.as_ref().expect("it is open for writing").lock();
        checkpointer.merge_runs(RunsToMerge::Everything).expect("a memory disk")
    }

    /// As after a crash of the process.
    fn recovered(self) -> Self {
        let Self { disk, delta_bytes, db, model, .. } = self;
        drop(db);
        let db = Self::options(&disk, delta_bytes).open("a.ful").expect("its log is whole");
        let table = db.open_table("t").expect("it is there");
        Self { disk, delta_bytes, db, table, model }
    }

    /// Counts of parts of the table, beside all of it.
    fn compare_counts(&self) {
        self.compare();
        let txn = self.db.read().expect("it is open");
        for part in 0..40 {
            let (low, high) = (key(part * 1_013), key(part * 1_517 + 1_000));
            if low < high {
                let counted = txn.count(&self.table, &*low..&*high).expect("it is sound");
                assert_eq!(counted, self.model.range(low..high).count() as u64, "part {part}");
            }
        }
        assert_eq!(txn.len(&self.table).expect("it is sound"), self.model.len() as u64);
    }

    fn compare(&self) {
        let txn = self.db.read().expect("it is open");
        let entries = txn.range(&self.table, ..).expect("it is sound");
        let found = entries.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())));
        let found: BTreeMap<_, _> = found.collect::<Result<_>>().expect("it is sound");
        assert!(found == self.model, "{} entries, not {}", found.len(), self.model.len());
        let report = self.db.check().expect("it can be read");
        assert!(report.is_sound(), "{:?}", report.damages);
    }
}

/// So many numbers of keys that are there, spread over the first so many.
fn spread(count: u64, keys: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |number| 2 * (number * keys / count))
}

const KEYS: u64 = 20_000;
const DELTA_BYTES: u64 = 1 << 20;

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn changes_all_over_a_tree_many_times_their_size_become_runs() {
    let mut loaded = Loaded::new(KEYS, DELTA_BYTES, TableOptions::new());
    let root = loaded.trees().base;
    loaded.commit(spread(1_000, KEYS), Some(&[2; 40]));
    let runs = loaded.flush();
    assert!(runs > 0);
    assert_eq!(loaded.trees().base, root, "the tree is as it was");
    loaded.commit(spread(900, KEYS), None);
    assert!(loaded.flush() > runs);
    while loaded.merge() {
        loaded.compare();
    }
    assert!(loaded.trees().stack.is_none());
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn keys_that_rise_leave_no_run() {
    let mut loaded = Loaded::new(KEYS, DELTA_BYTES, TableOptions::new());
    for part in 0..6 {
        let from = 2 * KEYS + part * 2_000;
        loaded.commit(from..from + 2_000, Some(&[3; 40]));
        assert_eq!(loaded.flush(), 0, "part {part}");
    }
    // Nor do changes in one place of the tree.
    loaded.commit(7_000..8_000, Some(&[4; 40]));
    assert_eq!(loaded.flush(), 0);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn a_tree_that_was_empty_or_is_small_beside_a_delta_is_merged_whole() {
    let mut loaded = Loaded::new(0, DELTA_BYTES, TableOptions::new());
    loaded.commit(0..1_000, Some(&[2; 40]));
    assert_eq!(loaded.flush(), 0);
    loaded.commit((0..1_000).step_by(2), Some(&[3; 40]));
    assert_eq!(loaded.flush(), 0);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn a_few_changes_of_a_large_tree_are_merged_at_once() {
    let mut loaded = Loaded::new(KEYS, 64 << 20, TableOptions::new());
    loaded.commit(spread(12, KEYS), Some(&[2; 40]));
    assert_eq!(loaded.flush(), 0);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn runs_of_a_table_that_is_counted_count() {
    let mut loaded = Loaded::new(KEYS, DELTA_BYTES, TableOptions::new().counted(true));
    // Keys that are there, new ones, deletes of both, and of what was deleted before.
    loaded.commit(spread(1_000, KEYS).chain(spread(300, KEYS).map(|number| number + 1)), Some(&[2; 40]));
    assert!(loaded.flush() > 0);
    loaded.commit(spread(900, KEYS).chain(spread(100, KEYS).map(|number| number + 1)), None);
    assert!(loaded.flush() > 0);
    loaded.commit(spread(450, KEYS), None);
    loaded.commit(spread(400, KEYS), Some(&[3; 40]));
    let runs = loaded.flush();
    assert!(runs > 0);
    loaded.compare_counts();
    // Beside what is in the delta, too, and read back from a log into further runs.
    loaded.commit(spread(700, KEYS).map(|number| number + 1), Some(&[4; 40]));
    loaded.commit(spread(350, KEYS).map(|number| number + 1), None);
    loaded.compare_counts();
    let mut loaded = loaded.recovered();
    loaded.compare_counts();
    assert!(loaded.trees().stack.is_some_and(|stack| stack.runs().count() > runs));
    while loaded.merge() {
        loaded.compare_counts();
    }
    loaded.commit(spread(20, KEYS), None);
    loaded.compare_counts();
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn ranges_without_runs_are_cut_again_when_they_have_grown() {
    let mut loaded = Loaded::new(KEYS, DELTA_BYTES, TableOptions::new());
    loaded.commit(spread(1_000, KEYS / 2), Some(&[2; 40]));
    assert!(loaded.flush() > 0);
    let before = loaded.ranges();
    let with_runs: Vec<_> = before.iter().filter(|(_, runs)| *runs > 0).cloned().collect();
    let last = before.last().expect("there are ranges");
    assert_eq!(last.1, 0, "{before:?}");
    for part in 0..20 {
        let from = 2 * KEYS + part * 4_000;
        loaded.commit(from..from + 4_000, Some(&[3; 40]));
        loaded.flush();
    }
    let after = loaded.ranges();
    let grown = after.iter().filter(|(low, _)| low > &last.0).count();
    assert!(grown > 3, "from {before:?} to {after:?}");
    assert!(with_runs.iter().all(|range| after.contains(range)), "from {before:?} to {after:?}");
}

#[test]
#[cfg_attr(miri, ignore = "thousands of checksums of pages")]
fn runs_above_a_tree_from_which_all_was_deleted_stay() {
    let mut loaded = Loaded::new(KEYS, DELTA_BYTES, TableOptions::new());
    for quarter in 0..4 {
        loaded.commit((0..KEYS).skip(quarter).step_by(4).map(|number| 2 * number), None);
        assert!(loaded.flush() > 0);
    }
    let ranges = loaded.ranges().len();
    assert!(ranges > 1, "{:?}", loaded.ranges());
    // All ranges but the last: the tree has only what is deleted there.
    while loaded.ranges().iter().filter(|(_, runs)| *runs > 0).count() > 1 {
        assert!(loaded.merge());
    }
    assert_eq!(loaded.ranges().iter().position(|(_, runs)| *runs > 0), Some(ranges - 1));
    // Changes from a log become a run in any range, once there are runs.
    loaded.commit([3, 5].into_iter(), Some(&[5; 40]));
    let mut loaded = loaded.recovered();
    assert_eq!(loaded.ranges()[0].1, 1);
    assert!(loaded.merge(), "the last range has the most runs");
    assert!(loaded.trees().base.is_none() && loaded.trees().stack.is_some());
    loaded.compare();
    loaded.commit([7, 2 * KEYS].into_iter(), Some(&[6; 40]));
    loaded.flush();
    assert_eq!(loaded.db.read().expect("it is open").len(&loaded.table).expect("sound"), 4);
    let loaded = loaded.recovered();
    loaded.compare();
    while loaded.merge() {}
    loaded.compare();
}
