//! Removing files from the page cache of the system.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{Advice, fadvise};

use crate::error::{Error, Result};

/// Writes the files below `directory` to the disk, and removes their pages from the page cache. Pages that a process
/// has mapped stay.
pub fn evict_below(directory: &Path) -> Result<()> {
    let io = |error| Error::io("list", directory, error);
    for entry in fs::read_dir(directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.is_dir() {
            evict_below(&path)?;
            continue;
        }
        let file = File::open(&path).map_err(|error| Error::io("open", &path, error))?;
        file.sync_data().map_err(|error| Error::io("sync", &path, error))?;
        fadvise(&file, 0, None, Advice::DontNeed).map_err(|error| Error::io("evict", &path, error.into()))?;
    }
    Ok(())
}
