//! How many objects of the other language each open database has.
//!
//! The engine shares a database that a process opens twice, and closes it for all. So the last object closes it.
//!
//! Each process counts its own objects. A child made by `fork` inherits those of its parent, but cannot use them, so it
//! does not count them, and waits for none of their locks: threads that the child does not have may hold them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

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
pub struct Opening(Arc<Objects>);

struct Objects {
    /// The id of the process that opened the database.
    process: u32,
    /// The number of objects, without those that have left since it was locked last.
    count: Mutex<u64>,
    /// Objects that were dropped without closing the database: see [`Opening::leave`].
    left: AtomicU64,
}

/// The openings of one process, and of its children.
struct Openings {
    /// The id of the process; 0 before the first use.
    process: AtomicU32,
    by_path: Mutex<BTreeMap<PathBuf, Weak<Objects>>>,
    /// Those of a child.
    child: OnceLock<Box<Self>>,
}

static OPENINGS: Openings = Openings::new();

impl Openings {
    const fn new() -> Self {
        Self { process: AtomicU32::new(0), by_path: Mutex::new(BTreeMap::new()), child: OnceLock::new() }
    }

    /// Those of a process. The first process that asks gets `self`.
    fn of(&self, process: u32) -> &Self {
        // Relaxed: the id orders nothing.
        match self.process.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
            Err(owner) if owner != process => self.child.get_or_init(|| Box::new(Self::new())).of(process),
            _ => self,
        }
    }
}

impl Opening {
    /// The opening of the database at `path`.
    pub fn of(path: &Path) -> Self {
        let (path, process) = (canonical(path), process::id());
        let mut openings = OPENINGS.of(process).by_path.lock().unwrap_or_else(PoisonError::into_inner);
        openings.retain(|_, opening| opening.strong_count() > 0);
        let known = openings.get(&path).and_then(Weak::upgrade);
        Self(known.unwrap_or_else(|| {
            let opening = Arc::new(Objects { process, count: Mutex::new(0), left: AtomicU64::new(0) });
            openings.insert(path, Arc::downgrade(&opening));
            opening
        }))
    }

    /// The number of objects, locked.
    pub fn lock(&self) -> MutexGuard<'_, u64> {
        let mut count = self.0.count.lock().unwrap_or_else(PoisonError::into_inner);
        // Acquire: pairs with `leave`.
        *count -= self.0.left.swap(0, Ordering::Acquire);
        count
    }

    /// Removes an object that does not close the database. It waits for nothing, so a destructor may call it.
    pub fn leave(&self) {
        self.0.left.fetch_add(1, Ordering::Release);
    }

    /// Removes an object, and closes the database if it was the last one.
    ///
    /// The last object waits for an exclusive transaction before it locks the number of objects. So the thread of this
    /// transaction can open the database meanwhile. Then this is not the last object.
    ///
    /// # Errors
    /// As [`Database::close`].
    pub fn close(&self, database: Database) -> fulgurite::Result<()> {
        if self.0.process != process::id() {
            // The engine refuses what a child has inherited.
            return database.close();
        }
        if *self.lock() == 1 {
            while matches!(database.begin_exclusive(WAIT), Ok(None)) {}
        }
        let mut objects = self.lock();
        *objects -= 1;
        if *objects > 0 { Ok(()) } else { database.close() }
    }
}

/// A close asks so often whether the exclusive transaction has ended.
const WAIT: Duration = Duration::from_secs(10);

/// One path for all names of a file, which may not exist yet.
fn canonical(path: &Path) -> PathBuf {
    let of_directory = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(of_directory).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_does_not_wait_for_the_openings_of_its_parent() {
        let openings = Openings::new();
        let of_parent = openings.of(1);
        let held = of_parent.by_path.lock().unwrap();
        let of_child = openings.of(2);
        assert!(of_child.by_path.try_lock().is_ok());
        assert!(std::ptr::eq(openings.of(2), of_child));
        assert!(!std::ptr::eq(openings.of(3), of_child));
        assert!(std::ptr::eq(openings.of(1), of_parent));
        drop(held);
    }
}
