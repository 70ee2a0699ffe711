//! Checkpoints, compactions and closing that are followed, ended before their time, or fail: nothing is lost, and the
//! next one does it.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use fulgurite::io::Disk;
use fulgurite::{CloseOutcome, Database, Durability, Error, Monitor, Phase, Read, Table, TableOptions};

use crate::disks::hooked_disk::HookedDisk;

const PATH: &str = "a.ful";
const ENTRIES: u64 = 20_000;
/// So that all values together are several extents.
const VALUE_BYTES: usize = 400;

struct Fixture {
    disk: HookedDisk,
    db: Database,
    table: Table,
}

impl Fixture {
    /// A database with many commits that no checkpoint has seen.
    fn new() -> Self {
        let disk = HookedDisk::default();
        let db = open(&disk, true);
        let table = db.create_table("t", TableOptions::new()).unwrap();
        let fixture = Self { disk, db, table };
        fixture.put(1);
        fixture
    }

    fn put(&self, step: usize) {
        for first in (0..ENTRIES).step_by(1000) {
            let mut txn = self.db.write().unwrap();
            for number in (first..first + 1000).step_by(step) {
                txn.put(&self.table, &number.to_be_bytes(), &[number as u8; VALUE_BYTES]).unwrap();
            }
            txn.commit_with(Durability::Memory).unwrap();
        }
    }

    /// Has the monitor stopped amid the next write to the data file.
    fn stop_in_next_write(&self, monitor: &Monitor) {
        let monitor = monitor.clone();
        *self.disk.hooks.in_next_write.lock().unwrap() = Some(Box::new(move || monitor.stop()));
    }

    /// Opens the database again, which nobody has open any more, and looks that all is there.
    fn assert_whole_after_opening(self) {
        let Self { disk, db, .. } = self;
        drop(db);
        assert_whole(&open(&disk, false));
    }

    fn has_log(&self) -> bool {
        let names = self.disk.list(std::path::Path::new("")).unwrap();
        names.iter().any(|name| name.to_string_lossy().contains("-log"))
    }
}

fn open(disk: &HookedDisk, create: bool) -> Database {
    Database::options().create(create).background(false).disk(Arc::new(disk.clone())).open(PATH).unwrap()
}

fn assert_whole(db: &Database) {
    let txn = db.read().unwrap();
    let table = txn.open_table("t").unwrap();
    for (number, entry) in (0..ENTRIES).zip(txn.range(&table, ..).unwrap()) {
        let (key, value) = entry.unwrap();
        assert_eq!((&*key, &*value), (&number.to_be_bytes()[..], &[number as u8; VALUE_BYTES][..]));
    }
    assert_eq!(txn.count(&table, ..).unwrap(), ENTRIES);
    assert_eq!(db.check().unwrap().damages, []);
}

#[test]
fn closing_without_time_keeps_the_log() {
    let fixture = Fixture::new();
    let outcome = fixture.db.clone().close_with(&Monitor::with_timeout(Duration::ZERO)).unwrap();
    assert_eq!(outcome, CloseOutcome::LogKept);
    assert!(fixture.has_log());
    assert!(matches!(fixture.db.read(), Err(Error::Closed { .. })));
    assert_eq!(fixture.db.clone().close_with(&Monitor::new()).unwrap(), CloseOutcome::LogKept, "as it was closed");
    // Its other handles keep nobody out.
    assert_whole(&open(&fixture.disk, false));
}

#[test]
fn closing_in_time_leaves_one_file() {
    let fixture = Fixture::new();
    let monitor = Monitor::with_timeout(Duration::from_secs(3600));
    assert_eq!(fixture.db.clone().close_with(&monitor).unwrap(), CloseOutcome::Clean);
    assert!(!fixture.has_log());
    assert!(monitor.written_bytes() > ENTRIES * VALUE_BYTES as u64, "it was told of {} bytes", monitor.written_bytes());
    assert_eq!(monitor.phase(), Phase::Waiting);
    fixture.assert_whole_after_opening();
}

#[test]
fn closing_that_is_stopped_amid_a_write_loses_nothing() {
    let fixture = Fixture::new();
    let monitor = Monitor::new();
    fixture.stop_in_next_write(&monitor);
    assert_eq!(fixture.db.clone().close_with(&monitor).unwrap(), CloseOutcome::LogKept);
    let written = monitor.written_bytes();
    assert!(0 < written && written < ENTRIES * VALUE_BYTES as u64, "it was stopped after {written} bytes");
    fixture.assert_whole_after_opening();
}

#[test]
fn closing_waits_no_longer_for_an_exclusive_transaction_than_it_may() {
    let fixture = Fixture::new();
    let mut exclusive = fixture.db.begin_exclusive(Duration::ZERO).unwrap().unwrap();
    exclusive.put(&fixture.table, b"late", b"").unwrap();
    let closed = fixture.db.clone().close_with(&Monitor::with_timeout(Duration::from_millis(30)));
    assert!(matches!(closed, Err(Error::Stopped { .. })), "{closed:?}");
    assert!(matches!(exclusive.commit(), Err(Error::Closed { .. })));
    let again = fixture.db.clone().close();
    assert!(matches!(again, Err(Error::Closed { .. })), "it is not clean: {again:?}");
    fixture.assert_whole_after_opening();
}

#[test]
fn closing_waits_no_longer_for_a_load_than_it_may_nor_for_the_thread_that_waits_for_it() {
    let disk = HookedDisk::default();
    let db = Database::options().create(true).disk(Arc::new(disk.clone())).open(PATH).unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let fixture = Fixture { disk, db, table };
    fixture.put(1);
    let closing = fixture.db.clone();
    // The load is amid its input, and has all that a checkpoint needs, when it is asked for the second entry.
    let entries = (0..2_u64).map(|number| {
        if number == 1 {
            let closed = closing.clone().close_with(&Monitor::with_timeout(Duration::from_millis(30)));
            assert!(matches!(closed, Err(Error::Stopped { .. })), "{closed:?}");
        }
        (number.to_be_bytes(), [number as u8; VALUE_BYTES])
    });
    let loaded = fixture.db.bulk_load(&fixture.table, entries);
    assert!(loaded.is_ok() || matches!(loaded, Err(Error::Closed { .. })), "{loaded:?}");
    drop(closing);
    fixture.assert_whole_after_opening();
}

#[test]
fn who_closes_in_a_limited_time_ends_the_waiting_of_others_who_close() {
    let fixture = Fixture::new();
    let exclusive = fixture.db.begin_exclusive(Duration::ZERO).unwrap().unwrap();
    let (patient, impatient) = (fixture.db.clone(), fixture.db.clone());
    std::thread::scope(|scope| {
        let patient = scope.spawn(move || patient.close());
        let closed = impatient.close_with(&Monitor::with_timeout(Duration::from_millis(30)));
        for closed in [closed.map(drop), patient.join().unwrap()] {
            assert!(matches!(closed, Err(Error::Stopped { .. } | Error::Closed { .. })), "{closed:?}");
        }
    });
    drop(exclusive);
    fixture.assert_whole_after_opening();
}

#[test]
fn what_waits_for_the_log_is_written_there_after_a_failure_to_close_too() {
    let fixture = Fixture::new();
    fixture.disk.hooks.log_is_full.store(true, Ordering::SeqCst);
    let closed = fixture.db.clone().close();
    assert!(matches!(closed, Err(Error::DiskFull { .. })), "{closed:?}");
    fixture.disk.hooks.log_is_full.store(false, Ordering::SeqCst);
    fixture.assert_whole_after_opening();
}

#[test]
fn a_checkpoint_that_is_stopped_is_done_by_the_next() {
    let fixture = Fixture::new();
    let monitor = Monitor::new();
    fixture.stop_in_next_write(&monitor);
    let stopped = fixture.db.checkpoint_with(&monitor);
    assert!(matches!(&stopped, Err(Error::Stopped { path }) if path.ends_with(PATH)), "{stopped:?}");
    let again = fixture.db.checkpoint_with(&monitor);
    assert!(matches!(again, Err(Error::Stopped { .. })), "it stays stopped: {again:?}");
    assert_whole(&fixture.db);
    fixture.db.checkpoint().unwrap();
    assert_eq!(fixture.db.stats().unwrap().delta_bytes, 0);
    fixture.db.close().unwrap();
    assert_whole(&open(&fixture.disk, false));
}

#[test]
fn a_compaction_that_is_stopped_leaves_what_can_be_used_and_compacted() {
    let fixture = Fixture::new();
    fixture.db.checkpoint().unwrap();
    // Every page is rewritten, so that the first half of the file is free.
    fixture.put(3);
    fixture.db.checkpoint().unwrap();
    let length = || fixture.disk.open(std::path::Path::new(PATH), fulgurite::io::Access::Read).unwrap().len().unwrap();
    let before = length();
    let monitor = Monitor::new();
    fixture.stop_in_next_write(&monitor);
    let stopped = fixture.db.compact_with(&monitor);
    assert!(matches!(stopped, Err(Error::Stopped { .. })), "{stopped:?}");
    assert!(monitor.written_bytes() > 0);
    assert_whole(&fixture.db);
    let monitor = Monitor::new();
    fixture.db.compact_with(&monitor).unwrap();
    assert!(length() < before * 4 / 5, "{before} bytes are {} now", length());
    let written = fixture.disk.hooks.written_bytes.load(Ordering::SeqCst) as u64;
    assert!(monitor.written_bytes() > 0 && monitor.written_bytes() < written);
    assert_whole(&fixture.db);
    fixture.assert_whole_after_opening();
}

#[test]
fn a_monitor_ends_the_wait_for_a_load_before_the_load_ends() {
    let fixture = Fixture::new();
    let (db, (outcomes, outcome)) = (fixture.db.clone(), mpsc::channel());
    // The load is amid its input, and has all that a checkpoint needs, when it is asked for the second entry.
    let entries = (0..2_u64).map(|number| {
        if number == 1 {
            let (db, outcomes) = (db.clone(), outcomes.clone());
            // Another thread's, so that the test fails, and does not hang, if a call waits for the load.
            std::thread::spawn(move || {
                let _ = outcomes.send(db.checkpoint_with(&Monitor::with_timeout(Duration::from_millis(20))));
                let stopped = Monitor::new();
                stopped.stop();
                let _ = outcomes.send(db.compact_with(&stopped).map(drop));
            });
            for _ in 0..2 {
                let stopped = outcome.recv_timeout(Duration::from_secs(60)).expect("it does not wait for the load");
                assert!(matches!(&stopped, Err(Error::Stopped { path }) if path.ends_with(PATH)), "{stopped:?}");
            }
        }
        (number.to_be_bytes(), [number as u8; VALUE_BYTES])
    });
    fixture.db.bulk_load(&fixture.table, entries).unwrap();
    fixture.db.checkpoint_with(&Monitor::with_timeout(Duration::from_secs(3600))).unwrap();
    assert_whole(&fixture.db);
}
