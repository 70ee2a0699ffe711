//! Merges whose results are large, so that computing them takes long: what others commit meanwhile costs as little as
//! can be.
//!
//! A large result is written and synced before the log's lock is taken. Whatever is to happen meanwhile happens in
//! that.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Durability, MergeOperator, Table, TableOptions};

use crate::disks::hooked_disk::{HookedDisk, SyncHook};

struct Fixture {
    db: Database,
    lists: Table,
    disk: HookedDisk,
}

/// A list that is too large for the log.
const LARGE: usize = 9 << 20;
/// A list that is not, until something is appended.
const NEARLY_LARGE: usize = (8 << 20) - 3;

fn fixture() -> Fixture {
    let disk = HookedDisk::default();
    let options = Database::options().create(true).durability(Durability::Log).background(false);
    let db = options.disk(Arc::new(disk.clone())).open("a.ful").unwrap();
    let lists = db.create_table("lists", TableOptions::new().merge(MergeOperator::Append)).unwrap();
    db.update(|txn| txn.put(&lists, b"k", &vec![7; LARGE])).unwrap();
    Fixture { db, lists, disk }
}

impl Fixture {
    fn put(&self, key: &[u8], value: &[u8]) {
        self.db.update(|txn| txn.put(&self.lists, key, value)).unwrap();
    }

    fn get(&self, key: &[u8]) -> Vec<u8> {
        self.db.read().unwrap().get(&self.lists, key).unwrap().unwrap().to_vec()
    }

    /// Appends `end` to all of `keys` in one transaction, in whose syncs `hook` runs. Returns how many syncs there
    /// were.
    fn append_beside(self: &Arc<Self>, keys: &[&[u8]], hook: impl Fn(&Self, usize) + Send + Sync + 'static) -> usize {
        let mut txn = self.db.write().unwrap();
        for key in keys {
            txn.merge(&self.lists, key, b"end").unwrap();
        }
        self.disk.hooks.syncs.store(0, Ordering::SeqCst);
        let fixture = Arc::clone(self);
        let hook: SyncHook = Arc::new(move |count| hook(&fixture, count));
        *self.disk.hooks.in_syncs.lock().unwrap() = Some(hook);
        txn.commit().unwrap();
        *self.disk.hooks.in_syncs.lock().unwrap() = None;
        self.disk.hooks.syncs.load(Ordering::SeqCst)
    }
}

fn list(length: usize, by: u8) -> Vec<u8> {
    let mut list = vec![by; length];
    list.extend_from_slice(b"end");
    list
}

/// More commits than are remembered one by one, some of them of more keys than are.
fn many_others(fixture: &Fixture) {
    for number in 0..70_u8 {
        let others = |txn: &mut fulgurite::WriteTxn| {
            (0..=number % 10).try_for_each(|key| txn.put(&fixture.lists, &[b'o', key], &[number]))
        };
        fixture.db.update(others).unwrap();
    }
}

#[test]
fn a_large_result_is_written_once_however_many_commits_leave_its_key_alone() {
    let fixture = Arc::new(fixture());
    assert_eq!(fixture.append_beside(&[b"k"], |fixture, _| many_others(fixture)), 1);
    assert!(fixture.get(b"k") == list(LARGE, 7));
}

#[test]
fn a_large_result_is_written_once_though_checkpoints_exchange_the_trees() {
    let fixture = Arc::new(fixture());
    many_others(&fixture);
    let mut txn = fixture.db.write().unwrap();
    txn.merge(&fixture.lists, b"k", b"end").unwrap();
    let hooks = &fixture.disk.hooks;
    hooks.written_bytes.store(0, Ordering::SeqCst);
    let beside = Arc::clone(&fixture);
    let hook = move || {
        for _ in 0..3 {
            many_others(&beside);
            beside.db.checkpoint().unwrap();
        }
    };
    *hooks.in_next_write.lock().unwrap() = Some(Box::new(hook));
    txn.commit().unwrap();
    let written = hooks.written_bytes.load(Ordering::SeqCst);
    assert!((LARGE..LARGE + LARGE / 2).contains(&written), "{written} bytes");
    assert!(fixture.get(b"k") == list(LARGE, 7));
}

#[test]
fn a_large_result_that_was_overtaken_is_written_again_without_the_logs_lock() {
    let fixture = Arc::new(fixture());
    let syncs = fixture.append_beside(&[b"k"], |fixture, count| match count {
        // Not large as well: no two syncs of a file are made at once.
        1 => fixture.put(b"k", &vec![8; NEARLY_LARGE]),
        _ => fixture.put(b"beside", b"1"),
    });
    assert_eq!(syncs, 2);
    assert_eq!(fixture.get(b"beside"), b"1");
    assert!(fixture.get(b"k") == list(NEARLY_LARGE, 8));
}

#[test]
fn who_is_overtaken_each_time_commits_at_last_with_the_lock_held() {
    let fixture = Arc::new(fixture());
    // Once ahead of the lock, four times without it again, and once with it, where nobody can come in between.
    let syncs = fixture.append_beside(&[b"k"], |fixture, count| {
        if count <= 5 {
            fixture.put(b"k", &vec![count as u8; NEARLY_LARGE]);
        }
    });
    assert_eq!(syncs, 6);
    assert!(fixture.get(b"k") == list(NEARLY_LARGE, 5));
}

#[test]
fn of_many_results_only_those_are_computed_again_whose_keys_have_changed() {
    let fixture = Arc::new(fixture());
    let keys: Vec<[u8; 2]> = (0..20).map(|number| [b'm', number]).collect();
    let merged: Vec<&[u8]> = keys.iter().map(|key| &key[..]).chain([&b"k"[..]]).collect();
    let syncs = fixture.append_beside(&merged, |fixture, _| {
        many_others(fixture);
        fixture.put(b"m\x03", b"of another and ");
        fixture.db.update(|txn| txn.delete(&fixture.lists, b"m\x04")).unwrap();
    });
    assert_eq!(syncs, 1, "the large one is not among them");
    assert!(fixture.get(b"k") == list(LARGE, 7));
    for key in &keys {
        let expected: &[u8] = if key[1] == 3 { b"of another and end" } else { b"end" };
        assert_eq!(fixture.get(key), expected, "{key:?}");
    }
}

#[test]
fn what_was_written_and_not_used_is_given_back() {
    let fixture = Arc::new(fixture());
    fixture.append_beside(&[b"k"], |fixture, count| {
        if count <= 3 {
            fixture.put(b"k", &vec![count as u8; NEARLY_LARGE]);
        }
    });
    fixture.db.update(|txn| txn.delete(&fixture.lists, b"k")).unwrap();
    fixture.db.checkpoint().unwrap();
    fixture.db.checkpoint().unwrap();
    let stats = fixture.db.stats().unwrap();
    assert_eq!((stats.value_bytes, stats.placed_bytes), (0, 0), "nothing stays taken");
    assert!(fixture.db.check().unwrap().is_sound());
}

/// All of them were in memory at once, however many there were.
#[test]
fn results_that_take_more_memory_than_a_transaction_may_use_are_spilled() {
    const KEYS: u8 = 20;
    const VALUE_BYTES: usize = 1 << 20;
    let options = Database::options().create(true).durability(Durability::Log).background(false);
    let db = options.write_set_bytes(4 << 20).disk(Arc::new(MemoryDisk::new())).open("a.ful").unwrap();
    let lists = db.create_table("lists", TableOptions::new().merge(MergeOperator::Append)).unwrap();
    for key in 0..KEYS {
        db.update(|txn| txn.put(&lists, [key], vec![key; VALUE_BYTES])).unwrap();
    }
    let spilled_bytes = || db.stats().unwrap().spilled_bytes;
    db.update(|txn| (0..3_u8).try_for_each(|key| txn.merge(&lists, [key], b"few "))).unwrap();
    assert_eq!(spilled_bytes(), 0, "their results are within the bound");

    let mut txn = db.write().unwrap();
    (0..KEYS).for_each(|key| txn.merge(&lists, [key], b"end").unwrap());
    let plain: [(&[u8], Vec<u8>); 2] = [(b"plain", b"1".to_vec()), (b"too large for the log", vec![1; LARGE])];
    plain.iter().for_each(|(key, value)| txn.put(&lists, key, value).unwrap());
    assert_eq!((txn.spilled_bytes(), spilled_bytes()), (0, 0));
    db.update(|txn| txn.merge(&lists, [3_u8], b"other ")).unwrap();
    let sequence = txn.commit().unwrap();
    assert!(spilled_bytes() > 0);

    let read = db.read().unwrap();
    assert_eq!(read.sequence(), sequence);
    for key in 0..KEYS {
        let added: &[u8] = match key {
            0..3 => b"few end",
            3 => b"other end",
            _ => b"end",
        };
        let value = read.get(&lists, [key]).unwrap().unwrap();
        assert!(value[..VALUE_BYTES] == vec![key; VALUE_BYTES] && &value[VALUE_BYTES..] == added, "key {key}");
    }
    for (key, value) in plain {
        assert!(read.get(&lists, key).unwrap().as_deref() == Some(&*value));
    }
    drop(read);
    db.checkpoint().unwrap();
    assert_eq!(db.stats().unwrap().placed_bytes, 0);
    assert!(db.check().unwrap().is_sound());
}
