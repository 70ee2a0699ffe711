//! Disks and files in front of others, which pass on each call that they do not change.
//!
//! A program's disk that counts, watches or refuses some calls implements [`ForwardDisk`] with these calls alone, and
//! its files [`ForwardFile`]. That makes them a [`Disk`] and a [`File`].

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::disk::{Access, Disk, File, FileLocks, FreeSpace, LockHolder, WriterAttempt, write_zeros};
use super::{Map, PreparedPlace};
use crate::sync::Arc;

/// A [`Disk`] that passes its calls to another one, unless it implements them itself.
///
/// Its files are those of the other disk, unless it implements [`ForwardDisk::open`].
///
/// ```
/// use std::io;
/// use std::path::Path;
/// use std::sync::Arc;
/// use fulgurite::Database;
/// use fulgurite::io::{Access, Disk, File, ForwardDisk, MemoryDisk};
///
/// /// A disk on which no file is created.
/// #[derive(Debug)]
/// struct NothingNew(MemoryDisk);
///
/// impl ForwardDisk for NothingNew {
///     fn inner(&self) -> &dyn Disk {
///         &self.0
///     }
///
///     fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
///         if access == Access::CreateNew {
///             return Err(io::ErrorKind::PermissionDenied.into());
///         }
///         self.0.open(path, access)
///     }
/// }
///
/// let options = Database::options().create(true).disk(Arc::new(NothingNew(MemoryDisk::new())));
/// assert!(options.open("a.ful").is_err());
/// ```
#[allow(missing_docs, clippy::missing_errors_doc)] // Except for `inner`, each is the call of `Disk` with its name.
pub trait ForwardDisk: Send + Sync + fmt::Debug {
    /// The disk that gets the calls.
    fn inner(&self) -> &dyn Disk;

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        self.inner().open(path, access)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner().remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner().rename(from, to)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.inner().sync_directory(directory)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.inner().list(directory)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner().exists(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.inner().canonical(path)
    }

    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt> {
        self.inner().lock_writer(lock_path)
    }

    fn writer_of(&self, lock_path: &Path) -> io::Result<Option<LockHolder>> {
        self.inner().writer_of(lock_path)
    }
}

impl<D: ForwardDisk> Disk for D {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        ForwardDisk::open(self, path, access)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        ForwardDisk::remove(self, path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        ForwardDisk::rename(self, from, to)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        ForwardDisk::sync_directory(self, directory)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        ForwardDisk::list(self, directory)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        ForwardDisk::exists(self, path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        ForwardDisk::canonical(self, path)
    }

    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt> {
        ForwardDisk::lock_writer(self, lock_path)
    }

    fn writer_of(&self, lock_path: &Path) -> io::Result<Option<LockHolder>> {
        ForwardDisk::writer_of(self, lock_path)
    }
}

/// A [`File`] that passes its calls to another one, unless it implements them itself.
///
/// All writes go through [`ForwardFile::write_at`], and all syncs of data through [`ForwardFile::sync_data`]: calls
/// that combine these use the two, and nothing is written through memory.
#[allow(missing_docs, clippy::missing_errors_doc, clippy::len_without_is_empty)] // As for `ForwardDisk`.
pub trait ForwardFile: Send + Sync + fmt::Debug {
    /// The file that gets the calls.
    fn inner(&self) -> &dyn File;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.inner().read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.inner().write_at(offset, bytes)
    }

    /// Writes and syncs, by the file's own calls.
    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, bytes)?;
        self.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        self.inner().len()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.inner().set_len(length)
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.inner().allocate(offset, length)
    }

    /// Writes zeros, by the file's own calls.
    fn prepare(&self, length: u64) -> io::Result<()> {
        write_zeros(|offset, zeros| self.write_at(offset, zeros), self.len()?, length)
    }

    /// None, so that all is written by calls.
    fn place(&self, _offset: u64, _length: usize) -> Option<PreparedPlace> {
        None
    }

    fn free_space(&self) -> io::Result<Option<FreeSpace>> {
        self.inner().free_space()
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner().sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.inner().sync_all()
    }

    fn forget_cached(&self) {
        self.inner().forget_cached();
    }

    fn locks(&self) -> &dyn FileLocks {
        self.inner().locks()
    }

    fn is_named(&self, path: &Path) -> io::Result<bool> {
        self.inner().is_named(path)
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Option<Map>> {
        self.inner().map(reserve_bytes)
    }
}

impl<F: ForwardFile> File for F {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        ForwardFile::read_at(self, offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        ForwardFile::write_at(self, offset, bytes)
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        ForwardFile::write_durably(self, offset, bytes)
    }

    fn len(&self) -> io::Result<u64> {
        ForwardFile::len(self)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        ForwardFile::set_len(self, length)
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        ForwardFile::allocate(self, offset, length)
    }

    fn prepare(&self, length: u64) -> io::Result<()> {
        ForwardFile::prepare(self, length)
    }

    fn place(&self, offset: u64, length: usize) -> Option<PreparedPlace> {
        ForwardFile::place(self, offset, length)
    }

    fn free_space(&self) -> io::Result<Option<FreeSpace>> {
        ForwardFile::free_space(self)
    }

    fn sync_data(&self) -> io::Result<()> {
        ForwardFile::sync_data(self)
    }

    fn sync_all(&self) -> io::Result<()> {
        ForwardFile::sync_all(self)
    }

    fn forget_cached(&self) {
        ForwardFile::forget_cached(self);
    }

    fn locks(&self) -> &dyn FileLocks {
        ForwardFile::locks(self)
    }

    fn is_named(&self, path: &Path) -> io::Result<bool> {
        ForwardFile::is_named(self, path)
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Option<Map>> {
        ForwardFile::map(self, reserve_bytes)
    }
}
