//! [`Target`]: the file of the new store, which has another name until it is complete.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fulgurite::{Database, Durability};
use fulgurite_rdf::{Store, StoreOptions};

use crate::error::{Error, Result};

/// A file that is to be created. Unless it is published, nothing is left of it.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// The file that has the store meanwhile.
    fresh: PathBuf,
    is_published: bool,
    /// Keeps other threads from the file; the lock of the database keeps other processes from it.
    _turn: Turn,
}

impl Target {
    /// Checks that there is no such file, and removes what an interrupted migration has left.
    ///
    /// # Errors
    /// [`Error::TargetExists`], [`Error::Target`]; [`Error::Store`] if another migration to this file runs.
    pub fn reserve(path: &Path) -> Result<Self> {
        refuse_existing(path)?;
        let mut fresh = OsString::from(path);
        fresh.push("-migrating");
        let fresh = PathBuf::from(fresh);
        let turn = Turn::take(&fresh)?;
        match Database::options().open(&fresh) {
            // It also removes the log and the lock.
            Ok(left) => drop(left.close()),
            Err(error @ fulgurite::Error::Locked { .. }) => return Err(error.into()),
            Err(_) => {}
        }
        let target = Self { path: path.to_path_buf(), fresh, is_published: false, _turn: turn };
        target.remove_fresh().map_err(|source| Error::Target { path: target.fresh.clone(), source })?;
        Ok(target)
    }

    /// Creates the store.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn create(&self) -> Result<Store> {
        // Commits need not survive a crash: the file is of no use before it is complete.
        let options = Database::options().create(true).durability(Durability::Memory);
        Ok(Store::open_with(options, &self.fresh, StoreOptions::new())?)
    }

    /// Opens the store for reading.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn open(&self) -> Result<Store> {
        Ok(Store::open_with(Database::options().read_only(true), &self.fresh, StoreOptions::new())?)
    }

    /// Gives the store its name, durably. Requires: it is closed.
    ///
    /// # Errors
    /// [`Error::TargetExists`] if there is such a file now; [`Error::Target`].
    pub fn publish(mut self) -> Result<()> {
        let failed = |source| Error::Target { path: self.path.clone(), source };
        fs::File::open(&self.fresh).and_then(|file| file.sync_all()).map_err(failed)?;
        match fs::hard_link(&self.fresh, &self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return refuse_existing(&self.path),
            // Some file systems have no links.
            Err(_) => {
                refuse_existing(&self.path)?;
                fs::rename(&self.fresh, &self.path).map_err(failed)?;
            }
        }
        self.is_published = true;
        self.remove_fresh().and_then(|()| sync_directory(&self.path)).map_err(failed)
    }

    /// Removes the file that has the store meanwhile, and files of the engine beside it.
    fn remove_fresh(&self) -> io::Result<()> {
        let (directory, name) = (directory_of(&self.fresh), self.fresh.file_name().unwrap_or_default());
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let found = entry?.file_name();
            let rest = found.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
            if rest.is_some_and(|rest| rest.is_empty() || SUFFIXES.iter().any(|suffix| rest.starts_with(suffix))) {
                fs::remove_file(directory.join(&found))?;
            }
        }
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.is_published {
            // What cannot be removed now is removed by the next migration.
            let _ = self.remove_fresh();
        }
    }
}

/// A file that a migration of this process fills. Within a process, an open database is not locked, but shared.
#[derive(Debug)]
struct Turn(PathBuf);

/// The files of all migrations of this process.
static TAKEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

impl Turn {
    /// # Errors
    /// [`Error::Store`] if another migration fills it.
    fn take(path: &Path) -> Result<Self> {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        if TAKEN.lock().unwrap_or_else(PoisonError::into_inner).insert(absolute.clone()) {
            return Ok(Self(absolute));
        }
        Err(fulgurite::Error::Locked { path: absolute, pid: Some(std::process::id()), is_here: true }.into())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// # Errors
/// [`Error::TargetExists`].
fn refuse_existing(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(Error::TargetExists { path: path.to_path_buf(), is_directory: path.is_dir() }),
        Err(_) => Ok(()),
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    fs::File::open(directory_of(path))?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Of names of files that the engine keeps beside a database.
const SUFFIXES: [&[u8]; 3] = [b"-lock", b"-log.", b"-new"];

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("it is there");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("it is read").file_name().into_string();
        let mut names: Vec<String> = entries.map(|entry| name(entry).expect("it is text")).collect();
        names.sort();
        names
    }

    #[test]
    fn what_an_interrupted_migration_left_is_removed_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["a.ful-migrating", "a.ful-migrating-log.0000", "a.ful-migrating-new", "a.ful-migrating.old"] {
            fs::write(directory.path().join(name), "not a database").expect("it is written");
        }
        let target = Target::reserve(&directory.path().join("a.ful")).expect("it is free");
        assert_eq!(names(directory.path()), ["a.ful-migrating.old"]);
        target.create().and_then(|store| Ok(store.close()?)).expect("it is created");
        drop(target);
        assert_eq!(names(directory.path()), ["a.ful-migrating.old"]);
    }

    #[test]
    fn a_running_migration_to_the_same_target_is_left_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.ful");
        let target = Target::reserve(&path).expect("it is free");
        let store = target.create().expect("it is created");
        let refused = Target::reserve(&path).expect_err("it is in use");
        let is_locked = matches!(refused, Error::Store(fulgurite_rdf::Error::Engine(fulgurite::Error::Locked { .. })));
        assert!(is_locked, "{refused}");
        store.close().expect("it is closed");
        target.publish().expect("it is named");
        assert_eq!(names(directory.path()), ["a.ful"]);
        assert!(matches!(Target::reserve(&path), Err(Error::TargetExists { is_directory: false, .. })));
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_not_overwritten() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.ful");
        let target = Target::reserve(&path).expect("it is free");
        target.create().and_then(|store| Ok(store.close()?)).expect("it is created");
        fs::write(&path, "another").expect("it is written");
        assert!(matches!(target.publish(), Err(Error::TargetExists { .. })));
        assert_eq!((names(directory.path()), fs::read(&path).ok()), (vec!["a.ful".into()], Some(b"another".to_vec())));
    }
}
