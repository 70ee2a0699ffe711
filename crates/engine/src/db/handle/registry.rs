//! The databases that this process has open, so that opening one twice gives the same.
//!
//! Keyed by the canonical path. Databases on a disk of the caller's (a memory disk, say) are keyed by that disk too.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Weak;

use crate::db::handle::inner::Inner;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::process::PerProcess;
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
    Open(Weak<Inner>),
}

/// All databases that are open or being opened.
#[derive(Debug)]
struct Registry {
    /// [`LockRank::Registry`].
    held: Mutex<HashMap<Key, Held>>,
    changed: Condvar,
}

impl Default for Registry {
    fn default() -> Self {
        Self { held: Mutex::ranked(LockRank::Registry, HashMap::new()), changed: Condvar::default() }
    }
}

impl Registry {
    /// The open database of that key, which may be closed or outdated. If there is none, notes that the caller opens
    /// it. Waits while another thread does.
    fn find_or_begin(&self, key: &Key) -> Option<Arc<Inner>> {
        let mut held = self.held.lock();
        loop {
            match held.get(key) {
                Some(Held::Opening) => held = self.changed.wait(held),
                Some(Held::Open(inner)) => match inner.upgrade() {
                    Some(inner) => return Some(inner),
                    None => break,
                },
                None => break,
            }
        }
        held.insert(key.clone(), Held::Opening);
        None
    }

    /// Forgets a database, unless another one has its key by now.
    fn forget(&self, key: &Key, inner: &Arc<Inner>) {
        let mut held = self.held.lock();
        if matches!(held.get(key), Some(Held::Open(known)) if std::ptr::eq(known.as_ptr(), Arc::as_ptr(inner))) {
            held.remove(key);
        }
    }
}

/// The database of that key: the open one, if there is one, otherwise what `open` returns. Of several threads one
/// opens it.
///
/// # Errors
/// [`Error::AlreadyOpen`] if it is open with options that differ in what they promise; those of `open`.
pub fn open_once(key: Key, options: Options, open: impl FnOnce(Options) -> Result<Inner>) -> Result<Arc<Inner>> {
    static REGISTRY: PerProcess<Registry> = PerProcess::new();
    let registry = REGISTRY.get();
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
    let inner = Arc::new(open(options)?);
    opening.end(&inner);
    Ok(inner)
}

/// A database that is being opened. Dropped, it is not any more, whatever came of it.
struct Opening {
    registry: &'static Registry,
    key: Key,
    opened: Option<Weak<Inner>>,
}

impl Opening {
    fn end(mut self, inner: &Arc<Inner>) {
        self.opened = Some(Arc::downgrade(inner));
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let mut held = self.registry.held.lock();
        held.retain(|_, held| {
            matches!(held, Held::Opening) || matches!(held, Held::Open(inner) if inner.strong_count() > 0)
        });
        match self.opened.take() {
            Some(inner) => held.insert(self.key.clone(), Held::Open(inner)),
            None => held.remove(&self.key),
        };
        drop(held);
        self.registry.changed.notify_all();
    }
}
