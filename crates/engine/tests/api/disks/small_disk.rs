//! A disk of limited size, which others may fill and on which the database's file may fail.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile, FreeSpace, MemoryDisk};

/// A disk with two file systems: [`OTHER`] has the files in that directory, the main one has all others.
#[derive(Clone, Debug)]
pub struct SmallDisk {
    pub inner: MemoryDisk,
    pub main: FileSystem,
    pub other: FileSystem,
    /// Writing pages of the database's file fails.
    pub pages_fail: Arc<AtomicBool>,
}

/// The directory of the other file system.
pub const OTHER: &str = "/other";

/// A file system on which all files together have so many bytes of room.
#[derive(Clone, Debug)]
pub struct FileSystem {
    number: u64,
    pub total_bytes: Arc<AtomicU64>,
    /// What other programs have taken of that.
    pub foreign_bytes: Arc<AtomicU64>,
    /// Its files by name, with a lock under which they grow.
    names: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl FileSystem {
    fn new(number: u64, total_bytes: u64) -> Self {
        let total_bytes = Arc::new(AtomicU64::new(total_bytes));
        Self { number, total_bytes, foreign_bytes: Arc::default(), names: Arc::default() }
    }
}

impl SmallDisk {
    pub fn new(total_bytes: u64) -> Self {
        let (main, other) = (FileSystem::new(1, total_bytes), FileSystem::new(2, total_bytes));
        Self { inner: MemoryDisk::new(), main, other, pages_fail: Arc::default() }
    }

    /// What is free on the main file system.
    pub fn available_bytes(&self) -> u64 {
        self.available_to(&self.main, &self.main.names.lock().unwrap())
    }

    pub fn length_of(&self, path: impl AsRef<Path>) -> u64 {
        self.inner.open(path.as_ref(), Access::Read).and_then(|file| file.len()).unwrap_or(0)
    }

    fn available_to(&self, system: &FileSystem, names: &BTreeSet<PathBuf>) -> u64 {
        let used = names.iter().map(|path| self.length_of(path)).sum::<u64>();
        let used = used + system.foreign_bytes.load(Ordering::SeqCst);
        system.total_bytes.load(Ordering::SeqCst).saturating_sub(used)
    }

    fn system_of(&self, path: &Path) -> &FileSystem {
        if path.starts_with(OTHER) { &self.other } else { &self.main }
    }
}

impl ForwardDisk for SmallDisk {
    fn inner(&self) -> &dyn Disk {
        &self.inner
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let file = self.inner.open(path, access)?;
        let system = self.system_of(path).clone();
        system.names.lock().unwrap().insert(path.to_path_buf());
        let is_data = path.extension().is_some_and(|extension| extension == "ful");
        Ok(Arc::new(SmallFile { file, disk: self.clone(), system, is_data }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.system_of(to).names.lock().unwrap().insert(to.to_path_buf());
        self.inner.rename(from, to)
    }
}

#[derive(Debug)]
struct SmallFile {
    file: Arc<dyn File>,
    disk: SmallDisk,
    system: FileSystem,
    is_data: bool,
}

impl SmallFile {
    /// Does what lets the file grow to a length, if there is room for that.
    fn grow(&self, end: u64, change: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let names = self.system.names.lock().unwrap();
        let length = self.file.len()?;
        if end > length && end - length > self.disk.available_to(&self.system, &names) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        change()
    }
}

impl ForwardFile for SmallFile {
    fn inner(&self) -> &dyn File {
        &*self.file
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.is_data && offset >= METAS_END && self.disk.pages_fail.load(Ordering::SeqCst) {
            return Err(io::Error::other("the medium fails"));
        }
        self.grow(offset + bytes.len() as u64, || self.file.write_at(offset, bytes))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.grow(length, || self.file.set_len(length))
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.grow(offset + length, || self.file.allocate(offset, length))
    }

    fn free_space(&self) -> io::Result<Option<FreeSpace>> {
        let FileSystem { number, total_bytes, names, .. } = &self.system;
        let available_bytes = self.disk.available_to(&self.system, &names.lock().unwrap());
        let total_bytes = total_bytes.load(Ordering::SeqCst);
        Ok(Some(FreeSpace { available_bytes, total_bytes, file_system: *number }))
    }
}

/// Before it lie the metas.
const METAS_END: u64 = 8192;
