//! How many objects of the other language each open database has.
//!
//! The engine shares a database that a process opens twice, and closes it for all. So the last object closes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use fulgurite::Database;

/// A database of an object of the other language.
pub struct Opened {
    /// The engine's handle.
    pub database: Database,
    /// The opening that the object is part of.
    pub opening: Opening,
}

/// The number of objects of one database. Opening and closing one of them holds its lock, so that no object shares a
/// database that is being closed. Other databases are not locked.
pub struct Opening(Arc<Mutex<u64>>);

static OPENINGS: Mutex<BTreeMap<PathBuf, Weak<Mutex<u64>>>> = Mutex::new(BTreeMap::new());

impl Opening {
    /// The opening of the database at `path`.
    pub fn of(path: &Path) -> Self {
        let path = canonical(path);
        let mut openings = OPENINGS.lock().unwrap_or_else(PoisonError::into_inner);
        openings.retain(|_, opening| opening.strong_count() > 0);
        let known = openings.get(&path).and_then(Weak::upgrade);
        Self(known.unwrap_or_else(|| {
            let opening = Arc::default();
            openings.insert(path, Arc::downgrade(&opening));
            opening
        }))
    }

    /// The number of objects, locked.
    pub fn lock(&self) -> MutexGuard<'_, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One path for all names of a file, which may not exist yet.
fn canonical(path: &Path) -> PathBuf {
    let of_directory = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(of_directory).unwrap_or_else(|| path.to_owned())
}
