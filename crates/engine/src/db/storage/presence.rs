//! How other processes know that this one uses a database.

use std::io;

use crate::ids::Birth;
use crate::io::{File, WriterLock};
use crate::planted::{Fault, planted};
use crate::process::Stamp;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, LockRank, Mutex};

/// How other processes know that this one uses a database. Every state holds it, and so does every transaction; the
/// last of them to be dropped ends it.
#[derive(Debug)]
pub struct Presence {
    file: Arc<dyn File>,
    stamp: Stamp,
    /// `None` once it was released. [`LockRank::Presence`].
    lock: Mutex<Option<Lock>>,
    /// The database is closed: with the last transaction the lock file goes too.
    leaves_at_end: AtomicBool,
}

#[derive(Debug)]
enum Lock {
    /// The lock of the name; the file itself is locked too.
    Writer(Box<dyn WriterLock>),
    Reader,
}

impl Presence {
    /// That of the writer. Requires: both locks are held.
    ///
    /// # Errors
    /// See [`Stamp::new`].
    pub fn of_writer(file: Arc<dyn File>, name: Box<dyn WriterLock>) -> io::Result<Self> {
        Self::new(file, Lock::Writer(name))
    }

    /// That of a reader, which pins nothing yet.
    ///
    /// # Errors
    /// See [`Stamp::new`].
    pub fn of_reader(file: Arc<dyn File>) -> io::Result<Self> {
        Self::new(file, Lock::Reader)
    }

    fn new(file: Arc<dyn File>, lock: Lock) -> io::Result<Self> {
        let (stamp, leaves_at_end) = (Stamp::new()?, AtomicBool::new(false));
        Ok(Self { file, stamp, lock: Mutex::ranked(LockRank::Presence, Some(lock)), leaves_at_end })
    }

    /// The oldest checkpoint that a reader in another process may show.
    ///
    /// # Errors
    /// The disk's.
    pub fn oldest_pinned(&self) -> io::Result<Option<Birth>> {
        Ok(self.file.locks().oldest_pinned()?.map(Birth))
    }

    /// Announces a reader of a checkpoint.
    ///
    /// # Errors
    /// The disk's.
    pub fn pin(&self, birth: Birth) -> io::Result<()> {
        if planted(Fault::ReaderUnannounced) {
            return Ok(());
        }
        self.file.locks().pin(birth.0)
    }

    /// Whether a writer lives, in any process.
    ///
    /// # Errors
    /// The disk's.
    pub fn writer_lives(&self) -> io::Result<bool> {
        Ok(self.file.locks().writer()?.is_some())
    }

    /// Has the last holder remove the lock file too.
    pub fn leave_at_end(&self) {
        // Relaxed: the one that drops it comes after all others.
        self.leaves_at_end.store(true, Ordering::Relaxed);
    }

    /// Gives up what is locked, and removes the lock file.
    ///
    /// # Errors
    /// The disk's; the locks are given up nonetheless.
    pub fn close(&self) -> io::Result<()> {
        match self.lock.lock().take() {
            Some(Lock::Writer(name)) => {
                // The next process that locks the name can also lock the file.
                let unlocked = self.file.locks().unlock_writer();
                name.close().and(unlocked)
            }
            Some(Lock::Reader) => self.file.locks().unpin(),
            None => Ok(()),
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if self.stamp.is_inherited() {
            // The locks are the parent's. What this process has of them does nothing when it is dropped.
            return;
        }
        if self.leaves_at_end.load(Ordering::Relaxed) {
            // The locks are given up, whatever becomes of the lock file.
            let _ = self.close();
            return;
        }
        // The file may live on in pages that are read still.
        match self.lock.lock().take() {
            Some(Lock::Writer(_)) => drop(self.file.locks().unlock_writer()),
            Some(Lock::Reader) => drop(self.file.locks().unpin()),
            None => {}
        }
    }
}
