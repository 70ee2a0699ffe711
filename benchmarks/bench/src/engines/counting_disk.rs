//! The operating system's disk, with counts of what an engine does to it: how often it waits for a file to be synced,
//! and how many bytes it writes, by calls or through memory, zeros that it prepares a file with included.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile, RealDisk};

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

impl ForwardDisk for CountingDisk {
    fn inner(&self) -> &dyn Disk {
        &self.disk
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(path, access)?;
        Ok(Arc::new(CountingFile { file, counts: self.counts() }))
    }
}

#[derive(Debug)]
struct CountingFile {
    file: Arc<dyn File>,
    counts: Arc<Counts>,
}

impl ForwardFile for CountingFile {
    fn inner(&self) -> &dyn File {
        &*self.file
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_that_is_written_is_counted_and_every_sync() {
        let directory = tempfile::tempdir().unwrap();
        let disk = CountingDisk::default();
        let counts = disk.counts();
        let file = Disk::open(&disk, &directory.path().join("file"), Access::CreateNew).unwrap();
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
