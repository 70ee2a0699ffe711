//! The databases that this process has open, so that opening one twice gives the same.
//!
//! Keyed by the canonical path. Databases on a disk of the caller's (a memory disk, say) are keyed by that disk too.
//!
//! Invariant: an entry of an open database stays until all that its last handle closes is closed. So an opening
//! waits for that, instead of finding the locks of a database that is about to go.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Weak;
use std::thread::{self, ThreadId};

use crate::db::handle::inner::{Entry, Inner};
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::options::Options;
use crate::process::PerProcess;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Condvar, LockRank, Mutex};

/// Identity of an open database within this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    disk: usize,
    path: PathBuf,
}

impl Key {
    /// The key of a canonical path on a disk. Requires: the disk lives as long as the key is registered.
    pub fn new(options: &Options, path: PathBuf) -> Self {
        Self { disk: Arc::as_ptr(&options.disk).cast::<()>() as usize, path }
    }
}

/// What this process knows of a database.
#[derive(Debug)]
enum Held {
    /// A thread is opening it: others wait.
    Opening,
    /// The opening with this number has opened it. If all handles are gone, the last is about to close it.
    Open(u64, Weak<Inner>),
    /// This thread drops the last handle of the opening with this number: others wait.
    Closing(u64, ThreadId),
}

impl Held {
    fn is_of(&self, number: u64) -> bool {
        matches!(self, Self::Open(own, _) | Self::Closing(own, _) if *own == number)
    }
}

/// All databases that are open or being opened.
#[derive(Debug)]
struct Registry {
    /// [`LockRank::Registry`].
    held: Mutex<HashMap<Key, Held>>,
    changed: Condvar,
    /// The number of the next opening.
    next: AtomicU64,
}

impl Default for Registry {
    fn default() -> Self {
        let held = Mutex::ranked(LockRank::Registry, HashMap::new());
        Self { held, changed: Condvar::default(), next: AtomicU64::new(0) }
    }
}

impl Registry {
    /// The open database of that key, which may be closed or outdated. If there is none, notes that the caller opens
    /// it. Waits while another thread does, or drops the last handle.
    fn find_or_begin(&self, key: &Key) -> Option<Arc<Inner>> {
        let mut held = self.held.lock();
        loop {
            match held.get(key) {
                Some(Held::Open(_, inner)) => match inner.upgrade() {
                    Some(inner) => return Some(inner),
                    None => held = self.changed.wait(held),
                },
                // A program's disk opens it while it is closed: waiting would have no end.
                Some(Held::Closing(_, thread)) if *thread == thread::current().id() => break,
                Some(Held::Opening | Held::Closing(..)) => held = self.changed.wait(held),
                None => break,
            }
        }
        held.insert(key.clone(), Held::Opening);
        None
    }

    /// Forgets a database, unless another one has its key by now.
    fn forget(&self, key: &Key, inner: &Arc<Inner>) {
        let mut held = self.held.lock();
        if matches!(held.get(key), Some(Held::Open(_, known)) if std::ptr::eq(known.as_ptr(), Arc::as_ptr(inner))) {
            held.remove(key);
        }
    }
}

fn registry() -> &'static Registry {
    static REGISTRY: PerProcess<Registry> = PerProcess::new();
    REGISTRY.get()
}

/// The entry of an open database: the last of what a handle closes.
#[derive(Debug)]
struct Registered {
    key: Key,
    number: u64,
    /// As long as the key is registered, no other disk is at its address.
    _disk: Arc<dyn Disk>,
}

impl Entry for Registered {
    fn note_closing(&self) {
        let mut held = registry().held.lock();
        if let Some(entry) = held.get_mut(&self.key).filter(|entry| entry.is_of(self.number)) {
            *entry = Held::Closing(self.number, thread::current().id());
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let registry = registry();
        let mut held = registry.held.lock();
        if held.get(&self.key).is_some_and(|entry| entry.is_of(self.number)) {
            held.remove(&self.key);
        }
        drop(held);
        registry.changed.notify_all();
    }
}

/// The database of that key: the open one, if there is one, otherwise what `open` returns. Of several threads one
/// opens it.
///
/// # Errors
/// [`Error::AlreadyOpen`] if it is open with options that differ in what they promise; those of `open`.
pub fn open_once(key: Key, options: Options, open: impl FnOnce(Options) -> Result<Inner>) -> Result<Arc<Inner>> {
    let registry = registry();
    while let Some(inner) = registry.find_or_begin(&key) {
        // Both outside of the lock: the disk is asked, and what was found may be the last handle by now, which closes
        // the database when it is dropped.
        if inner.is_outdated() {
            registry.forget(&key, &inner);
            continue;
        }
        let same = inner.options.promises_same(&options);
        return if same { Ok(inner) } else { Err(Error::AlreadyOpen { path: key.path }) };
    }
    let opening = Opening { registry, key, opened: None };
    let mut inner = open(options)?;
    // Relaxed: numbers order nothing.
    let number = registry.next.fetch_add(1, Ordering::Relaxed);
    let disk = Arc::clone(&inner.options.disk);
    inner.registered = Some(Box::new(Registered { key: opening.key.clone(), number, _disk: disk }));
    let inner = Arc::new(inner);
    opening.end(number, &inner);
    Ok(inner)
}

/// A database that is being opened. Dropped, it is not any more, whatever came of it.
struct Opening {
    registry: &'static Registry,
    key: Key,
    opened: Option<Held>,
}

impl Opening {
    fn end(mut self, number: u64, inner: &Arc<Inner>) {
        self.opened = Some(Held::Open(number, Arc::downgrade(inner)));
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let mut held = self.registry.held.lock();
        match self.opened.take() {
            Some(opened) => held.insert(self.key.clone(), opened),
            None => held.remove(&self.key),
        };
        drop(held);
        self.registry.changed.notify_all();
    }
}
