//! RDF4J's lock of a data directory: a directory `lock` with the files `locked`, which the process holds locked, and
//! `process`, which names it. A killed process leaves the files, but not the lock.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{Error, Result};

/// The lock of a directory, held so that RDF4J does not open the store meanwhile, where there is a file to lock.
#[derive(Debug)]
pub struct Lock {
    _file: Option<File>,
}

impl Lock {
    /// Takes the lock, if RDF4J has left its files.
    ///
    /// # Errors
    /// [`Error::InUse`], [`Error::Read`].
    pub fn take(directory: &Path) -> Result<Self> {
        let path = directory.join("lock").join("locked");
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self { _file: None }),
            Err(source) => return Err(Error::Read { path, source }),
        };
        match lock(&file) {
            Ok(true) => Ok(Self { _file: Some(file) }),
            Ok(false) => {
                let process = std::fs::read_to_string(directory.join("lock").join("process")).unwrap_or_default();
                let process = process.lines().next().unwrap_or_default().to_owned();
                Err(Error::InUse { path: directory.to_path_buf(), process })
            }
            Err(source) => Err(Error::Read { path, source }),
        }
    }
}

/// Locks a file as Java does, beside other readers. Returns whether it could.
#[cfg(unix)]
fn lock(file: &File) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, fcntl_lock};
    use rustix::io::Errno;

    match fcntl_lock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Elsewhere the files alone mean that the store is open.
#[cfg(not(unix))]
fn lock(_file: &File) -> io::Result<bool> {
    Ok(false)
}
