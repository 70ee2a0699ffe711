//! Openings beside a thread that drops the last handle, or waits for another process.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

use fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile, MemoryDisk, WriterAttempt};
use fulgurite::{Database, Durability, Error, Options, TableOptions};

type Hook = Box<dyn FnOnce() + Send>;

/// What happens in a sync of the log, once.
#[derive(Clone, Default)]
struct SyncHook(Arc<Mutex<Option<Hook>>>);

impl fmt::Debug for SyncHook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SyncHook")
    }
}

#[derive(Debug, Default)]
struct SyncedDisk {
    disk: MemoryDisk,
    in_sync: SyncHook,
}

#[derive(Debug)]
struct SyncedFile {
    file: Arc<dyn File>,
    in_sync: SyncHook,
}

impl ForwardDisk for SyncedDisk {
    fn inner(&self) -> &dyn Disk {
        &self.disk
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(path, access)?;
        let is_log = path.to_string_lossy().contains("-log.");
        Ok(if is_log { Arc::new(SyncedFile { file, in_sync: self.in_sync.clone() }) } else { file })
    }
}

impl ForwardFile for SyncedFile {
    fn inner(&self) -> &dyn File {
        &*self.file
    }

    fn sync_data(&self) -> io::Result<()> {
        let hook = self.in_sync.0.lock().unwrap().take();
        if let Some(hook) = hook {
            hook();
        }
        self.file.sync_data()
    }
}

fn options(disk: &Arc<dyn Disk>) -> Options {
    Database::options().background(false).durability(Durability::Log).disk(Arc::clone(disk))
}

/// An open database whose last commit is synced when the handle is dropped, and what happens in that sync.
fn unsynced() -> (Arc<dyn Disk>, Database, SyncHook) {
    let disk = SyncedDisk::default();
    let hook = disk.in_sync.clone();
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let db = options(&disk).create(true).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.sync().unwrap();
    db.update(|txn| txn.put(&table, b"k", b"v")).unwrap();
    (disk, db, hook)
}

fn assert_holds(db: &Database) {
    let table = db.open_table("t").unwrap();
    assert_eq!(db.read().unwrap().get(&table, b"k").unwrap().as_deref(), Some(&b"v"[..]));
}

#[test]
fn an_opening_waits_for_a_thread_that_drops_the_last_handle() {
    let (disk, db, hook) = unsynced();
    let (reached, go_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (arrived, waited) = (Arc::clone(&reached), Arc::clone(&go_on));
    *hook.0.lock().unwrap() = Some(Box::new(move || {
        arrived.wait();
        waited.wait();
    }));
    let dropping = std::thread::spawn(move || drop(db));
    reached.wait();
    let (opens, opened) = mpsc::channel();
    let opening = std::thread::spawn(move || opens.send(options(&disk).open("a.ful")).unwrap());
    let early = opened.recv_timeout(Duration::from_millis(200));
    go_on.wait();
    assert!(early.is_err(), "it does not wait: {early:?}");
    assert_holds(&opened.recv().unwrap().unwrap());
    dropping.join().unwrap();
    opening.join().unwrap();
}

/// As a program's disk may do. It would wait for itself.
#[test]
fn an_opening_by_the_thread_that_drops_the_last_handle_does_not_wait() {
    let (disk, db, hook) = unsynced();
    let (opens, opened) = mpsc::channel();
    let again = Arc::clone(&disk);
    *hook.0.lock().unwrap() = Some(Box::new(move || opens.send(options(&again).open("a.ful")).unwrap()));
    let dropping = std::thread::spawn(move || drop(db));
    let refused = opened.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(matches!(refused, Err(Error::Locked { is_here: true, .. })), "{refused:?}");
    dropping.join().unwrap();
    assert_holds(&options(&disk).open("a.ful").unwrap());
}

/// A disk that says when the lock of a name was tried.
#[derive(Debug)]
struct TriedDisk {
    disk: MemoryDisk,
    tried: Mutex<mpsc::Sender<()>>,
}

impl ForwardDisk for TriedDisk {
    fn inner(&self) -> &dyn Disk {
        &self.disk
    }

    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt> {
        let attempt = self.disk.lock_writer(lock_path);
        // The test may have heard enough.
        let _ = self.tried.lock().unwrap().send(());
        attempt
    }
}

#[test]
fn an_opening_that_does_not_wait_is_not_held_up_by_one_that_does() {
    let memory = MemoryDisk::new();
    // Another process: it has a disk of its own, with the same files.
    let other: Arc<dyn Disk> = Arc::new(memory.clone());
    let writer = options(&other).create(true).open("a.ful").unwrap();
    let (tried, is_tried) = mpsc::channel();
    let disk: Arc<dyn Disk> = Arc::new(TriedDisk { disk: memory, tried: Mutex::new(tried) });
    let waits = options(&disk).wait_for_lock(Duration::from_secs(3600));
    let waiting = std::thread::spawn(move || waits.open("a.ful"));
    is_tried.recv().unwrap();
    let (opens, opened) = mpsc::channel();
    let opening = std::thread::spawn(move || opens.send(options(&disk).open("a.ful")).unwrap());
    let answer = opened.recv_timeout(Duration::from_secs(30));
    writer.close().unwrap();
    waiting.join().unwrap().unwrap();
    opening.join().unwrap();
    assert!(matches!(answer, Ok(Err(Error::Locked { .. }))), "{answer:?}");
}
