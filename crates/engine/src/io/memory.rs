//! A disk in memory: for tests, and for databases that need not outlive the process.
//!
//! Invariants: (1) clones share everything. (2) A removed file lives on for those who have it open, as on Unix.
//! (3) Directories need not be made: any parent of a file is one. (4) Chunks never written take no memory.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::Map;
use super::disk::{Access, Disk, File, FileLocks, LockHolder, WriterAttempt, WriterLock};
use super::memory_locks::{MemoryHolder, MemoryLocks};
use crate::sync::{Arc, Mutex};

/// A disk in memory. Clones share its files; syncs do nothing; nothing is mapped.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    shared: Arc<Shared>,
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    fn file(&self, path: &Path) -> Option<Arc<Content>> {
        self.shared.names.lock().get(&plain(path)).cloned()
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let mut names = self.shared.names.lock();
        let path = plain(path);
        let content = match (names.get(&path), access) {
            (Some(_), Access::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(content), _) => Arc::clone(content),
            (None, Access::CreateNew) => Arc::clone(names.entry(path).or_default()),
            (None, _) => return Err(io::ErrorKind::NotFound.into()),
        };
        drop(names);
        let (holder, disk) = (content.locks.holder(), self.clone());
        Ok(Arc::new(MemoryFile { content, holder, disk, writable: access != Access::Read }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = self.shared.names.lock().remove(&plain(path));
        removed.map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut names = self.shared.names.lock();
        let bytes = names.remove(&plain(from)).ok_or(io::ErrorKind::NotFound)?;
        names.insert(plain(to), bytes);
        Ok(())
    }

    fn sync_directory(&self, _directory: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let wanted = plain(directory);
        let names = self.shared.names.lock();
        let inside = names.keys().filter(|path| path.parent() == Some(&wanted));
        Ok(inside.filter_map(|path| path.file_name()).map(|name| directory.join(name)).collect())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.file(path).is_some())
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        if path.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name at its end"));
        }
        Ok(plain(path))
    }

    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt> {
        let path = plain(lock_path);
        if !self.shared.locked.lock().insert(path.clone()) {
            return Ok(WriterAttempt::Busy(LockHolder::ThisProcess));
        }
        Ok(WriterAttempt::Held(Box::new(MemoryWriterLock { shared: Arc::clone(&self.shared), path })))
    }

    fn writer_of(&self, lock_path: &Path) -> io::Result<Option<LockHolder>> {
        let is_held = self.shared.locked.lock().contains(&plain(lock_path));
        Ok(is_held.then_some(LockHolder::ThisProcess))
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// Guards which name is which file. No other lock is taken under it.
    names: Mutex<BTreeMap<PathBuf, Arc<Content>>>,
    /// Guards which lock files are held. No other lock is taken under it.
    locked: Mutex<HashSet<PathBuf>>,
}

/// A file, under whatever name.
#[derive(Debug, Default)]
struct Content {
    /// Guards the file's bytes and length. No other lock is taken under it.
    bytes: Mutex<SparseBytes>,
    locks: MemoryLocks,
}

#[derive(Debug)]
struct MemoryFile {
    content: Arc<Content>,
    holder: MemoryHolder,
    disk: MemoryDisk,
    writable: bool,
}

impl MemoryFile {
    fn check_writable(&self) -> io::Result<()> {
        if self.writable { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }
}

impl File for MemoryFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.content.bytes.lock().read(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        self.content.bytes.lock().write(offset, bytes)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.bytes.lock().length)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.check_writable()?;
        self.content.bytes.lock().set_length(length)
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.check_writable()?;
        let end = offset.checked_add(length).ok_or(io::ErrorKind::FileTooLarge)?;
        let mut bytes = self.content.bytes.lock();
        if end > bytes.length { bytes.set_length(end) } else { Ok(()) }
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn map(&self, _reserve_bytes: u64) -> io::Result<Option<Map>> {
        Ok(None)
    }

    fn locks(&self) -> &dyn FileLocks {
        &self.holder
    }

    fn is_named(&self, path: &Path) -> io::Result<bool> {
        Ok(self.disk.file(path).is_some_and(|content| Arc::ptr_eq(&content, &self.content)))
    }
}

#[derive(Debug)]
struct MemoryWriterLock {
    shared: Arc<Shared>,
    path: PathBuf,
}

impl WriterLock for MemoryWriterLock {
    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for MemoryWriterLock {
    fn drop(&mut self) {
        self.shared.locked.lock().remove(&self.path);
    }
}

/// A file's bytes in chunks; a chunk that was never written is absent and reads as zeros.
///
/// Invariant: bytes of a chunk past `length` are zero, so that growing shows zeros.
#[derive(Default)]
struct SparseBytes {
    chunks: Vec<Option<Box<[u8; CHUNK_BYTES]>>>,
    length: u64,
}

/// Without the bytes: printing a database must not print every byte of its disk.
impl fmt::Debug for SparseBytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SparseBytes").field("length", &self.length).finish_non_exhaustive()
    }
}

impl SparseBytes {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        while done < buffer.len() {
            let (index, within) = place(offset + done as u64);
            let part = (buffer.len() - done).min(CHUNK_BYTES - within);
            let target = &mut buffer[done..done + part];
            match &self.chunks[index] {
                Some(chunk) => target.copy_from_slice(&chunk[within..within + part]),
                None => target.fill(0),
            }
            done += part;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        if end > self.length && !bytes.is_empty() {
            self.set_length(end)?;
        }
        let mut done = 0;
        while done < bytes.len() {
            let (index, within) = place(offset + done as u64);
            let part = (bytes.len() - done).min(CHUNK_BYTES - within);
            let chunk = self.chunks[index].get_or_insert_with(zeros);
            chunk[within..within + part].copy_from_slice(&bytes[done..done + part]);
            done += part;
        }
        Ok(())
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        if length > LENGTH_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let (last, within) = place(length);
        let count = if within == 0 { last } else { last + 1 };
        self.chunks.resize_with(count, || None);
        if within != 0
            && length < self.length
            && let Some(chunk) = &mut self.chunks[last]
        {
            chunk[within..].fill(0);
        }
        self.length = length;
        Ok(())
    }
}

/// A chunk of zeros, made on the heap: it is too large to pass over the stack.
fn zeros() -> Box<[u8; CHUNK_BYTES]> {
    vec![0; CHUNK_BYTES].into_boxed_slice().try_into().expect("the slice has the array's length")
}

/// Which chunk holds the byte at `offset`, and where.
fn place(offset: u64) -> (usize, usize) {
    ((offset / CHUNK_BYTES as u64) as usize, (offset % CHUNK_BYTES as u64) as usize)
}

/// The path without `.` parts and with `..` resolved, made absolute from `/`: the form under which names are kept.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

const CHUNK_BYTES: usize = 64 * 1024;

/// Keeps the list of chunks within 128 MiB.
const LENGTH_MAX: u64 = 1 << 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_disk_names_its_files_and_their_lengths_but_not_their_bytes() {
        let disk = MemoryDisk::new();
        let file = disk.open(Path::new("a.ful"), Access::CreateNew).expect("the disk is empty");
        file.write_at(0, &[7; 100_000]).expect("memory has space");
        let text = format!("{disk:?}");
        assert!(text.contains("a.ful") && text.contains("length: 100000") && text.len() < 500, "{text}");
    }

    #[test]
    fn a_prepared_file_keeps_its_bytes_and_ends_in_zeros() {
        let file = MemoryDisk::new().open(Path::new("file"), Access::CreateNew).expect("the disk is empty");
        file.write_at(0, &[1; 1000]).expect("memory has space");
        for length in [600_500, 100] {
            file.prepare(length).expect("memory has space");
            assert_eq!(file.len().expect("it is there"), 600_500);
        }
        let mut bytes = vec![9; 600_500];
        file.read_at(0, &mut bytes).expect("the file is that long");
        assert!(bytes[..1000].iter().all(|byte| *byte == 1) && bytes[1000..].iter().all(|byte| *byte == 0));
    }
}
