//! What is not made durable: databases that are discarded, and copies that are sent elsewhere.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile, MemoryDisk};
use fulgurite::{Database, Durability, Error, Monitor, Options, TableOptions};

use super::backups::{content, fill};

/// A disk that counts writes and syncs.
#[derive(Clone, Debug, Default)]
struct CountingDisk {
    disk: MemoryDisk,
    writes: Arc<AtomicUsize>,
    syncs: Arc<AtomicUsize>,
}

impl CountingDisk {
    fn options(&self) -> Options {
        let options = Database::options().create(true).background(false).disk(Arc::new(self.clone()));
        options.durability(Durability::Memory)
    }

    fn counts(&self) -> (usize, usize) {
        (self.writes.load(Ordering::SeqCst), self.syncs.load(Ordering::SeqCst))
    }
}

impl ForwardDisk for CountingDisk {
    fn inner(&self) -> &dyn Disk {
        &self.disk
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(CountingFile { file: self.disk.open(path, access)?, counts: self.clone() }))
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        self.disk.sync_directory(directory)
    }
}

#[derive(Debug)]
struct CountingFile {
    file: Arc<dyn File>,
    counts: CountingDisk,
}

impl ForwardFile for CountingFile {
    fn inner(&self) -> &dyn File {
        &*self.file
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.counts.writes.fetch_add(1, Ordering::SeqCst);
        self.file.write_at(offset, bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.counts.syncs.fetch_add(1, Ordering::SeqCst);
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.counts.syncs.fetch_add(1, Ordering::SeqCst);
        self.file.sync_all()
    }
}

#[test]
fn discarding_writes_and_syncs_nothing_and_leaves_what_the_log_has() {
    let disk = CountingDisk::default();
    let db = disk.options().open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let mut txn = db.write().unwrap();
    txn.put(&table, b"written", b"").unwrap();
    txn.commit_with(Durability::Log).unwrap();
    db.update(|txn| txn.put(&table, b"in the buffer", b"")).unwrap();
    let before = disk.counts();
    db.discard().unwrap();
    assert_eq!(disk.counts(), before);
    let db = disk.options().create(false).open("a.ful").unwrap();
    let (table, txn) = (db.open_table("t").unwrap(), db.read().unwrap());
    assert!(txn.get(&table, b"written").unwrap().is_some());
    assert!(txn.get(&table, b"in the buffer").unwrap().is_none());
    assert!(db.check().unwrap().is_sound());
    drop(txn);
    // Dropped without discarding, the log is written.
    db.update(|txn| txn.put(&table, b"in the buffer", b"")).unwrap();
    drop((db, table));
    let db = disk.options().create(false).open("a.ful").unwrap();
    let table = db.open_table("t").unwrap();
    assert!(db.read().unwrap().get(&table, b"in the buffer").unwrap().is_some());
}

#[test]
fn handles_of_a_discarded_database_are_closed_and_its_snapshots_are_read() {
    let disk = CountingDisk::default();
    let db = disk.options().open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"k", b"v")).unwrap();
    let (snapshot, mut writing) = (db.read().unwrap(), db.write().unwrap());
    writing.put(&table, b"late", b"").unwrap();
    db.clone().discard().unwrap();
    let before = disk.counts();
    assert_eq!(snapshot.get(&table, b"k").unwrap().as_deref(), Some(&b"v"[..]));
    assert!(matches!(writing.commit(), Err(Error::Closed { .. })));
    assert!(matches!(db.read(), Err(Error::Closed { .. })));
    assert!(matches!(db.checkpoint(), Err(Error::Closed { .. })));
    assert!(matches!(db.sync(), Err(Error::Closed { .. })));
    let again = disk.options().open("a.ful").unwrap_err();
    assert!(matches!(again, Error::Locked { .. }), "{again}");
    db.clone().discard().unwrap();
    assert!(matches!(db.close(), Err(Error::Closed { .. })));
    drop((snapshot, table));
    assert_eq!(disk.counts(), before);
    disk.options().open("a.ful").unwrap();
}

#[test]
fn a_database_that_is_open_read_only_is_discarded_too() {
    let disk = CountingDisk::default();
    disk.options().open("a.ful").unwrap().close().unwrap();
    let reader = disk.options().create(false).read_only(true).open("a.ful").unwrap();
    reader.clone().discard().unwrap();
    assert!(matches!(reader.read(), Err(Error::Closed { .. })));
}

#[test]
fn the_files_of_a_discarded_database_can_be_removed_and_their_path_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    for round in 0..3_u8 {
        let db = Database::create(&path).unwrap();
        assert_eq!(db.tables().unwrap().len(), 0, "round {round}");
        let table = db.create_table("t", TableOptions::new()).unwrap();
        db.update(|txn| txn.put(&table, b"k", [round])).unwrap();
        db.discard().unwrap();
        for entry in std::fs::read_dir(directory.path()).unwrap() {
            let file = entry.unwrap().path();
            assert!(!file.to_string_lossy().ends_with("-lock"), "the lock is given up");
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn discarding_waits_for_no_exclusive_transaction_and_ends_a_close_that_does() {
    let db = Database::options().create(true).disk(Arc::new(MemoryDisk::new())).open("a.ful").unwrap();
    let exclusive = db.begin_exclusive(Duration::ZERO).unwrap().unwrap();
    let closing = db.clone();
    let closing = std::thread::spawn(move || closing.close());
    db.discard().unwrap();
    let closed = closing.join().unwrap();
    assert!(matches!(closed, Err(Error::Stopped { .. } | Error::Closed { .. })), "{closed:?}");
    drop(exclusive);
}

#[test]
fn an_unsynced_copy_has_all_that_the_snapshot_shows() {
    let disk = CountingDisk::default();
    let db = disk.options().open("a.ful").unwrap();
    fill(&db);
    let (plain, txn) = (db.open_table("plain").unwrap(), db.read().unwrap());
    db.update(|txn| txn.put(&plain, b"later", b"")).unwrap();
    let (_, syncs) = disk.counts();
    db.copy_snapshot_unsynced_to(&txn, "copy.ful", &Monitor::new()).unwrap();
    assert_eq!(disk.counts().1, syncs);
    db.backup_snapshot_to(&txn, "backup.ful", &Monitor::new()).unwrap();
    assert!(disk.counts().1 > syncs, "a backup is synced");
    let copy = disk.options().create(false).open("copy.ful").unwrap();
    assert_eq!(content(&copy.read().unwrap()), content(&txn));
    assert!(copy.check().unwrap().is_sound());
    let error = db.copy_snapshot_unsynced_to(&txn, "backup.ful", &Monitor::new()).unwrap_err();
    assert!(matches!(error, Error::FileExists { .. }), "{error}");
    let error = copy.copy_snapshot_unsynced_to(&txn, "other.ful", &Monitor::new()).unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
}
