//! How many objects of the other language each open database has.
//!
//! The engine shares a database that a process opens twice, and closes it for all. So the last object closes it.
//!
//! Each process counts its own objects. A child made by `fork` inherits those of its parent, but cannot use them, so it
//! does not count them, and waits for none of their locks: threads that the child does not have may hold them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use fulgurite::io::{Disk, RealDisk};
use fulgurite::{Database, PerProcess, Stamp};

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
    /// The process that opened the database. None if the system does not show forks, and opens no database.
    process: Option<Stamp>,
    /// The number of objects, without those that have left since it was locked last.
    count: Mutex<u64>,
    /// Objects that were dropped without closing the database: see [`Opening::leave`].
    left: AtomicU64,
}

static OPENINGS: PerProcess<Mutex<BTreeMap<PathBuf, Weak<Objects>>>> = PerProcess::new();

impl Opening {
    /// The opening of the database at `path`, where the file need not exist yet.
    pub fn of(path: &Path) -> Self {
        // Drawn first: forks are noticed from then on.
        let (path, process) = (canonical(path), Stamp::new().ok());
        let mut openings = OPENINGS.get().lock().unwrap_or_else(PoisonError::into_inner);
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
        if self.0.process.is_some_and(|process| process.is_inherited()) {
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

/// The path by which the engine knows a database. Where there is none, opening the database fails as well.
fn canonical(path: &Path) -> PathBuf {
    RealDisk.canonical(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Opens a database as bindings do.
    fn opened(path: &Path) -> Opened {
        let opening = Opening::of(path);
        let mut objects = opening.lock();
        let database = Database::options().create(true).open(path).unwrap();
        *objects += 1;
        drop(objects);
        Opened { database, opening }
    }

    #[test]
    fn all_names_of_a_file_that_does_not_exist_are_one_opening() {
        let directory = tempfile::tempdir().unwrap();
        let inside = |name: &str| directory.path().join(name);
        symlink("file.ful", inside("link.ful")).unwrap();
        symlink(inside("link.ful"), inside("second.ful")).unwrap();
        symlink(directory.path(), inside("again")).unwrap();
        let opening = Opening::of(&inside("file.ful"));
        *opening.lock() += 1;
        for name in ["link.ful", "second.ful", "again/file.ful", "./again/link.ful"] {
            assert_eq!(*Opening::of(&inside(name)).lock(), 1, "{name}");
        }
        assert_eq!(*Opening::of(&inside("other.ful")).lock(), 0);
    }

    #[test]
    fn a_bare_name_is_a_file_of_the_current_directory() {
        let name = "a bare name that does not exist.ful";
        let opening = Opening::of(Path::new(name));
        *opening.lock() += 1;
        for path in [std::env::current_dir().unwrap().join(name), Path::new(".").join(name)] {
            assert_eq!(*Opening::of(&path).lock(), 1, "{}", path.display());
        }
    }

    #[test]
    fn the_last_object_closes_a_database_that_the_first_one_has_created_through_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link.ful");
        symlink("file.ful", &link).unwrap();
        let (first, second) = (opened(&link), opened(&link));
        second.opening.close(second.database).unwrap();
        first.database.create_table("t", Default::default()).unwrap();
        let other = first.database.clone();
        first.opening.close(first.database).unwrap();
        assert!(matches!(other.read(), Err(fulgurite::Error::Closed { .. })));
    }
}
