//! Takes the place of the operating system's files on platforms that Fulgurite does not support yet.
//!
//! Everything compiles there, and databases in memory work. Each use of a real file fails with `Unsupported`.

use std::io;
use std::path::{Path, PathBuf};

use crate::io::disk::{Access, Disk, File, WriterAttempt};
use crate::sync::Arc;

/// The operating system's files: on this platform every call fails with `Unsupported`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, _path: &Path, _access: Access) -> io::Result<Arc<dyn File>> {
        Err(not_yet())
    }

    fn remove(&self, _path: &Path) -> io::Result<()> {
        Err(not_yet())
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(not_yet())
    }

    fn sync_directory(&self, _directory: &Path) -> io::Result<()> {
        Err(not_yet())
    }

    fn list(&self, _directory: &Path) -> io::Result<Vec<PathBuf>> {
        Err(not_yet())
    }

    fn exists(&self, _path: &Path) -> io::Result<bool> {
        Err(not_yet())
    }

    fn canonical(&self, _path: &Path) -> io::Result<PathBuf> {
        Err(not_yet())
    }

    fn lock_writer(&self, _lock_path: &Path) -> io::Result<WriterAttempt> {
        Err(not_yet())
    }
}

fn not_yet() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "files are not supported on this platform yet: only on Linux")
}
