//! [`LiveIndex`]: an index that is reopened after another process has changed it.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use fulgurite_facts::FactDatabase;

use crate::error::Result;
use crate::stack::{Identities, identities, open_index};

/// An index that is opened again when its files are replaced, or incremental databases are added. Threads can share it.
///
/// Other databases of facts are opened too. One that another process changes in its place, such as by `facts write`, is
/// read as it was when it was opened.
pub struct LiveIndex {
    path: PathBuf,
    opened: Mutex<Opened>,
}

/// A database, and the identities of its files.
struct Opened {
    files: Identities,
    database: FactDatabase,
}

impl LiveIndex {
    /// Opens the index at `path`.
    ///
    /// # Errors
    /// As [`open_index`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let opened = Opened { files: identities(&path), database: open_index(&path)? };
        Ok(Self { path, opened: Mutex::new(opened) })
    }

    /// The database as it is now. What was read from an earlier one can still be read.
    ///
    /// # Errors
    /// As [`open_index`]. The next call tries again.
    pub fn database(&self) -> Result<FactDatabase> {
        // Looked at first: what changes while it is opened is found by the next call.
        let files = identities(&self.path);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.files != files {
            *opened = Opened { files, database: open_index(&self.path)? };
        }
        Ok(opened.database.clone())
    }
}
