//! Stands in for the operating system's files on platforms that Fulgurite does not support yet.
//!
//! Everything compiles there, and databases in memory work; whatever asks for a real file is told so.

use std::io;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use super::HugePages;
use super::disk::{Access, Disk, File, WriterAttempt};
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

/// A window onto a file: there is none on this platform.
#[derive(Debug)]
pub enum Map {}

impl Map {
    /// The window's length.
    pub fn window_bytes(&self) -> u64 {
        match *self {}
    }

    /// The bytes of the file at `offset`.
    ///
    /// # Safety
    /// None is needed: no such value exists.
    #[allow(unsafe_code)] // The signature is that of the platforms that have maps; the body does nothing.
    pub unsafe fn slice(&self, _offset: u64, _length: usize) -> Option<&[u8]> {
        match *self {}
    }

    /// Where the window begins.
    pub fn base(&self) -> NonNull<u8> {
        match *self {}
    }

    /// Reads a part of the file into the page cache.
    ///
    /// # Errors
    /// None: no such value exists.
    pub fn populate(&self, _offset: u64, _length: u64) -> io::Result<()> {
        match *self {}
    }

    /// Says that reads will jump about.
    ///
    /// # Errors
    /// None: no such value exists.
    pub fn advise_random(&self) -> io::Result<()> {
        match *self {}
    }

    /// Asks for huge pages.
    ///
    /// # Errors
    /// None: no such value exists.
    pub fn advise_huge_pages(&self) -> io::Result<()> {
        match *self {}
    }

    /// Asks for no huge pages.
    ///
    /// # Errors
    /// None: no such value exists.
    pub fn advise_small_pages(&self) -> io::Result<()> {
        match *self {}
    }

    /// How much of the window is in memory.
    ///
    /// # Errors
    /// None: no such value exists.
    pub fn huge_pages(&self) -> io::Result<HugePages> {
        match *self {}
    }
}

/// Address space that all windows of this process have reserved together: none on this platform.
pub fn reserved_bytes() -> u64 {
    0
}

/// Sets how much address space all windows of this process may reserve together: without effect on this platform.
pub fn set_reserved_bytes_max(_bytes: u64) {}

fn not_yet() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "files are not supported on this platform yet: only on Linux")
}
