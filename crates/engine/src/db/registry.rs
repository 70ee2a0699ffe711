//! The databases that this process has open, so that opening one twice gives the same.
//!
//! Keyed by the canonical path. Databases on a disk of the caller's (a memory disk, say) are keyed by that disk too.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{OnceLock, Weak};

use crate::db::database::Inner;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::sync::{Arc, Mutex, MutexGuard};

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

/// All open databases. Held while one is opened, so that two threads cannot open the same at once.
#[derive(Debug, Default)]
pub struct Registry(HashMap<Key, Weak<Inner>>);

impl Registry {
    /// The registry of this process, locked. Lock rank 0.
    pub fn lock() -> MutexGuard<'static, Self> {
        static REGISTRY: OnceLock<Mutex<Registry>> = OnceLock::new();
        // A panic while one database was opened must not keep all others from opening: the map itself is always whole.
        REGISTRY.get_or_init(Mutex::default).lock_after_panic()
    }

    /// The open database of that key, if there is one.
    ///
    /// # Errors
    /// [`Error::AlreadyOpen`] if it was opened with options that differ in what they promise.
    pub fn find(&self, key: &Key, options: &Options) -> Result<Option<Arc<Inner>>> {
        let Some(inner) = self.0.get(key).and_then(Weak::upgrade).filter(|inner| !inner.is_closed()) else {
            return Ok(None);
        };
        if inner.options.promises_same(options) {
            Ok(Some(inner))
        } else {
            Err(Error::AlreadyOpen { path: key.path.clone() })
        }
    }

    /// Registers a database that was opened.
    pub fn insert(&mut self, key: Key, inner: &Arc<Inner>) {
        self.0.retain(|_, held| held.strong_count() > 0);
        self.0.insert(key, Arc::downgrade(inner));
    }
}
