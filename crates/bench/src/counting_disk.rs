//! The operating system's disk, with a count of how often somebody waited for a file to be synced.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::fulgurite::io::{Access, Disk, File, Map, ReaderSlots, RealDisk, WriterAttempt};

/// The disk.
#[derive(Debug, Default)]
pub struct CountingDisk {
    disk: RealDisk,
    syncs: Arc<AtomicU64>,
}

impl CountingDisk {
    /// The count, which goes on.
    pub fn syncs(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.syncs)
    }
}

impl Disk for CountingDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(path, access)?;
        Ok(Arc::new(CountingFile { file, syncs: self.syncs() }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.disk.sync_directory(directory)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.disk.list(directory)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.disk.canonical(path)
    }

    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt> {
        self.disk.lock_writer(lock_path)
    }

    fn reader_slots(&self, lock_path: &Path) -> io::Result<Box<dyn ReaderSlots>> {
        self.disk.reader_slots(lock_path)
    }
}

#[derive(Debug)]
struct CountingFile {
    file: Arc<dyn File>,
    syncs: Arc<AtomicU64>,
}

impl CountingFile {
    fn count(&self) {
        // Relaxed: the count is read between turns, when no thread commits.
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }
}

impl File for CountingFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, bytes)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.file.allocate(offset, length)
    }

    fn prepare(&self, length: u64) -> io::Result<()> {
        self.file.prepare(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.count();
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.count();
        self.file.sync_all()
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Option<Map>> {
        self.file.map(reserve_bytes)
    }
}
