//! The operating system's disk, with counts of what an engine does to it: how often it waits for a file to be synced, and how
//! many bytes it writes, by calls or through memory, zeros that it prepares a file with included.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::fulgurite::io::{Access, Disk, File, FileLocks, FreeSpace, Map, RealDisk, WriterAttempt};

/// The disk.
#[derive(Debug, Default)]
pub struct CountingDisk {
    disk: RealDisk,
    counts: Arc<Counts>,
}

/// What was counted so far.
#[derive(Debug, Default)]
pub struct Counts {
    syncs: AtomicU64,
    written_bytes: AtomicU64,
}

impl Counts {
    /// Syncs of any file.
    pub fn syncs(&self) -> u64 {
        // Relaxed, here and below: counts are read when no thread writes, or to be shown.
        self.syncs.load(Ordering::Relaxed)
    }

    /// Bytes written to any file.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    fn count_sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    fn count_bytes(&self, bytes: u64) {
        self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl CountingDisk {
    /// The counts, which go on.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }
}

impl Disk for CountingDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(path, access)?;
        Ok(Arc::new(CountingFile { file, counts: self.counts() }))
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
}

#[derive(Debug)]
struct CountingFile {
    file: Arc<dyn File>,
    counts: Arc<Counts>,
}

impl File for CountingFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.counts.count_bytes(bytes.len() as u64);
        self.file.write_at(offset, bytes)
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.counts.count_bytes(bytes.len() as u64);
        self.counts.count_sync();
        self.file.write_durably(offset, bytes)
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
        let before = self.file.len()?;
        let prepared = self.file.prepare(length);
        // Where the disk can do nothing, the file stays as it is.
        self.counts.count_bytes(self.file.len()?.saturating_sub(before));
        prepared
    }

    fn sync_data(&self) -> io::Result<()> {
        self.counts.count_sync();
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.counts.count_sync();
        self.file.sync_all()
    }

    fn forget_cached(&self) {
        self.file.forget_cached();
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Option<Map>> {
        self.file.map(reserve_bytes)
    }

    fn free_space(&self) -> io::Result<Option<FreeSpace>> {
        self.file.free_space()
    }

    fn locks(&self) -> &dyn FileLocks {
        self.file.locks()
    }

    fn is_named(&self, path: &Path) -> io::Result<bool> {
        self.file.is_named(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_that_is_written_is_counted_and_every_sync() {
        let directory = tempfile::tempdir().unwrap();
        let disk = CountingDisk::default();
        let counts = disk.counts();
        let file = disk.open(&directory.path().join("file"), Access::CreateNew).unwrap();
        file.write_at(0, &[1; 100]).unwrap();
        file.write_durably(100, &[1; 50]).unwrap();
        file.sync_data().unwrap();
        assert_eq!((counts.written_bytes(), counts.syncs()), (150, 2));
        file.prepare(70_000).unwrap();
        let grown = file.len().unwrap() - 150;
        assert_eq!(counts.written_bytes(), 150 + grown);
        file.write_at(150, &[2; 30]).unwrap();
        file.prepare(60_000).unwrap();
        assert_eq!(counts.written_bytes(), 180 + grown);
    }
}
