//! What is not made durable: databases that are discarded, and copies that are sent elsewhere.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile, MemoryDisk};
use fulgurite::{Database, Durability, Error, Monitor, Options, Read, Sequence, Table, TableOptions};

use super::backups::{content, fill};

/// A kind of call that the gate of a disk can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// A write to a file that is not the log.
    Write,
    /// A sync of the log.
    LogSync,
}

/// Holds one call until the test lets it go on.
#[derive(Debug, Default)]
struct Gate {
    next: Mutex<Option<Call>>,
    is_held: AtomicBool,
}

impl Gate {
    fn hold_next(&self, call: Call) {
        *self.next.lock().unwrap() = Some(call);
    }

    fn wait_until_held(&self) {
        wait_until("a call is held", || self.is_held.load(Ordering::SeqCst));
    }

    fn let_go(&self) {
        self.is_held.store(false, Ordering::SeqCst);
    }

    fn pass(&self, call: Call) {
        if self.next.lock().unwrap().take_if(|next| *next == call).is_some() {
            self.is_held.store(true, Ordering::SeqCst);
            wait_until("a held call goes on", || !self.is_held.load(Ordering::SeqCst));
        }
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "not within a minute: {what}");
        thread::yield_now();
    }
}

/// A disk that counts writes and syncs, and can hold one of them.
#[derive(Clone, Debug, Default)]
struct CountingDisk {
    disk: MemoryDisk,
    writes: Arc<AtomicUsize>,
    syncs: Arc<AtomicUsize>,
    gate: Arc<Gate>,
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
        let is_log = path.to_string_lossy().contains("-log.");
        Ok(Arc::new(CountingFile { file: self.disk.open(path, access)?, counts: self.clone(), is_log }))
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
    is_log: bool,
}

impl CountingFile {
    fn note_sync(&self) {
        self.counts.syncs.fetch_add(1, Ordering::SeqCst);
        if self.is_log {
            self.counts.gate.pass(Call::LogSync);
        }
    }
}

impl ForwardFile for CountingFile {
    fn inner(&self) -> &dyn File {
        &*self.file
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.counts.writes.fetch_add(1, Ordering::SeqCst);
        if !self.is_log {
            self.counts.gate.pass(Call::Write);
        }
        self.file.write_at(offset, bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.note_sync();
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.note_sync();
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

/// Discards on another thread. Returns once the database is closed for all threads.
fn begin_discarding(db: &Database) -> JoinHandle<fulgurite::Result<()>> {
    let discarded = db.clone();
    let discarding = thread::spawn(move || discarded.discard());
    wait_until("the database is closed", || matches!(db.read(), Err(Error::Closed { .. })));
    discarding
}

/// Opens the database again. Returns how many entries its table has.
fn entries_left(disk: &CountingDisk) -> u64 {
    let db = disk.options().create(false).open("a.ful").unwrap();
    assert!(db.check().unwrap().is_sound());
    let table = db.open_table("t").unwrap();
    db.read().unwrap().len(&table).unwrap()
}

#[test]
fn discarding_stops_a_running_checkpoint() {
    let disk = CountingDisk::default();
    let db = disk.options().open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.checkpoint().unwrap();
    db.update(|txn| (0..4000_u32).try_for_each(|key| txn.put(&table, key.to_be_bytes(), [7_u8; 2000]))).unwrap();
    disk.gate.hold_next(Call::Write);
    let running = db.clone();
    let running = thread::spawn(move || running.checkpoint());
    disk.gate.wait_until_held();
    let discarding = begin_discarding(&db);
    let (_, syncs) = disk.counts();
    disk.gate.let_go();
    let stopped = running.join().unwrap();
    assert!(matches!(stopped, Err(Error::Stopped { .. })), "{stopped:?}");
    discarding.join().unwrap().unwrap();
    drop((db, table));
    assert_eq!(disk.counts().1, syncs, "its pages are not made durable");
    assert!([0, 4000].contains(&entries_left(&disk)));
}

#[test]
fn discarding_waits_for_a_running_bulk_load_which_is_durable_then() {
    let disk = CountingDisk::default();
    let db = disk.options().open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.checkpoint().unwrap();
    disk.gate.hold_next(Call::Write);
    let (loading, loaded) = (db.clone(), table.clone());
    let entries = (0..4000_u32).map(|key| (key.to_be_bytes(), [7_u8; 500]));
    let loading = thread::spawn(move || loading.bulk_load(&loaded, entries));
    disk.gate.wait_until_held();
    let discarding = begin_discarding(&db);
    assert!(!discarding.is_finished(), "it waits");
    disk.gate.let_go();
    assert_eq!(loading.join().unwrap().unwrap().inserted, 4000);
    discarding.join().unwrap().unwrap();
    drop((db, table));
    assert_eq!(entries_left(&disk), 4000);
}

#[test]
fn a_spilled_transaction_that_discarding_overtakes_is_certainly_not_committed() {
    let disk = CountingDisk::default();
    let db = disk.options().write_set_bytes(8 << 10).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.checkpoint().unwrap();
    let (writing, written, gate) = (db.clone(), table.clone(), Arc::clone(&disk.gate));
    let committing = thread::spawn(move || {
        let mut txn = writing.write().unwrap();
        (0..1000_u32).for_each(|key| txn.put(&written, key.to_be_bytes(), [7_u8; 100]).unwrap());
        assert!(writing.stats().unwrap().spilled_bytes > 0);
        // Of the note, which comes before its pages.
        gate.hold_next(Call::LogSync);
        txn.commit()
    });
    disk.gate.wait_until_held();
    let discarding = begin_discarding(&db);
    assert!(!discarding.is_finished(), "it waits");
    disk.gate.let_go();
    let refused = committing.join().unwrap();
    assert!(matches!(refused, Err(Error::Closed { .. })), "{refused:?}");
    discarding.join().unwrap().unwrap();
    drop((db, table));
    assert_eq!(entries_left(&disk), 0);
}

#[test]
fn of_commits_that_wait_to_be_durable_discarding_syncs_none() {
    let disk = CountingDisk::default();
    let db = disk.options().open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.sync().unwrap();
    let commit = |key: &'static [u8]| -> JoinHandle<fulgurite::Result<Sequence>> {
        let (db, table): (Database, Table) = (db.clone(), table.clone());
        thread::spawn(move || {
            let mut txn = db.write()?;
            txn.put(&table, key, b"")?;
            txn.commit_with(Durability::Disk)
        })
    };
    disk.gate.hold_next(Call::LogSync);
    let first = commit(b"first");
    disk.gate.wait_until_held();
    let second = commit(b"second");
    wait_until("the second commit is visible", || db.read().unwrap().get(&table, b"second").unwrap().is_some());
    // It waits for no sync.
    begin_discarding(&db).join().unwrap().unwrap();
    let (_, syncs) = disk.counts();
    disk.gate.let_go();
    first.join().unwrap().unwrap();
    let unknown = second.join().unwrap();
    assert!(matches!(unknown, Err(Error::Indeterminate { .. })), "{unknown:?}");
    drop((db, table));
    assert_eq!(disk.counts().1, syncs);
    assert!(entries_left(&disk) >= 1, "the first commit is durable");
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
