//! Where data sets are on disk: a directory for the run, with one for each engine's store.
//!
//! Invariant: nothing outside the run's own directory is written or removed, except directories of runs whose process
//! has ended.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The directory of a run, `run-PID`, removed with everything in it when dropped; or `kept-PID`, left to its owner.
#[derive(Debug)]
pub struct Places {
    path: PathBuf,
    keep: bool,
}

impl Places {
    /// Makes the directory of this process' run inside `parent`, and removes those that dead processes left there.
    pub fn new(parent: &Path, keep: bool) -> Result<Self> {
        remove_left_over(parent);
        let kind = if keep { "kept" } else { "run" };
        let path = parent.join(format!("{kind}-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| Error::io("create", &path, error))?;
        let path = path.canonicalize().map_err(|error| Error::io("find", &path, error))?;
        Ok(Self { path, keep })
    }

    /// The run's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An empty directory for one engine's store; its former content is removed.
    pub fn fresh(&self, dataset: &str, engine: &str) -> Result<PathBuf> {
        let path = self.path.join(dataset).join(engine);
        if path.exists() {
            fs::remove_dir_all(&path).map_err(|error| Error::io("remove", &path, error))?;
        }
        fs::create_dir_all(&path).map_err(|error| Error::io("create", &path, error))?;
        Ok(path)
    }

    /// Removes a data set with all its stores, unless they are to be kept.
    pub fn remove(&self, dataset: &str) -> Result<()> {
        let path = self.path.join(dataset);
        if self.keep || !path.exists() {
            return Ok(());
        }
        fs::remove_dir_all(&path).map_err(|error| Error::io("remove", &path, error))
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        if !self.keep {
            // No one can handle a failure here; the next run tries again.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Best effort: whatever cannot be read or removed stays.
fn remove_left_over(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix("run-")).and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_leaves_nothing_unless_asked_to() {
        let parent = tempfile::tempdir().unwrap();
        let places = Places::new(parent.path(), false).unwrap();
        let store = places.fresh("data", "engine").unwrap();
        fs::write(store.join("file"), b"x").unwrap();
        assert!(!places.fresh("data", "engine").unwrap().join("file").exists());
        places.remove("data").unwrap();
        assert!(!store.exists());
        drop(places);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);

        let kept = Places::new(parent.path(), true).unwrap();
        let store = kept.fresh("data", "engine").unwrap();
        kept.remove("data").unwrap();
        drop(kept);
        assert!(store.exists());
    }

    #[test]
    fn what_dead_runs_left_is_removed_and_other_things_stay() {
        let parent = tempfile::tempdir().unwrap();
        // Process identifiers end below 2^22 on Linux.
        fs::create_dir(parent.path().join("run-99999999")).unwrap();
        fs::create_dir(parent.path().join("mine")).unwrap();
        drop(Places::new(parent.path(), false).unwrap());
        assert!(!parent.path().join("run-99999999").exists());
        assert!(parent.path().join("mine").exists());
    }
}
