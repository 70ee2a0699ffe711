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

/// The database of that key: the open one, if there is one, otherwise what `open` returns. Of several threads one
/// opens it.
///
/// # Errors
/// [`Error::AlreadyOpen`] if it is open with options that differ in what they promise; those of `open`.
pub fn open_once(key: Key, options: Options, open: impl FnOnce(Options) -> Result<Inner>) -> Result<Arc<Inner>> {
    static REGISTRY: PerProcess<Registry> = PerProcess::new();
    let registry = REGISTRY.get();
    let mut held = registry.held.lock();
    let found = loop {
        match held.get(&key) {
            Some(Held::Opening) => held = registry.changed.wait(held),
            Some(Held::Open(inner)) => break inner.upgrade(),
            None => break None,
        }
    };
    // What was found may be the last handle by now: dropping it closes the database, which must not happen under the
    // lock.
    let open_already = found.as_ref().filter(|inner| !inner.is_outdated());
    if open_already.is_none() {
        held.insert(key.clone(), Held::Opening);
    }
    drop(held);
    if let Some(inner) = open_already {
        let same = inner.options.promises_same(&options);
        return if same { Ok(Arc::clone(inner)) } else { Err(Error::AlreadyOpen { path: key.path }) };
    }
    drop(found);
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
