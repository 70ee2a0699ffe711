//! A disk in memory that records every change and sync, so that all that a power cut may leave can be tried.
//!
//! Model, from `docs/reference/durability.md`: a file's bytes and the length that reading them needs are durable
//! after its sync, names after the sync of their directory; of everything later any subset may survive, in any order,
//! and a write may be torn between 512-byte sectors. Stricter than most file systems are, so what passes here passes
//! on them:
//! - Syncing a file does not make its name durable.
//! - Writing some bytes durably makes no others of the file durable.
//! - Cutting a file becomes durable with `sync_all` only, or once the cut-off part is written again and synced.
//! - An older write may reach the medium after a newer one to the same place.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use fulgurite::io::{Access, Disk, File, FileLocks, Map, MemoryDisk, MemoryHolder, MemoryLocks, WriterAttempt};

use crate::content::Payload;
use crate::crash_recording::{Change, FileNumber, Mark, Operation, Recording, State};

/// A disk in memory that records every change and sync. Clones share everything.
///
/// ```
/// use fulgurite::io::{Access, Disk};
/// use fulgurite_testkit::{CrashDisk, Kinds};
/// use std::path::Path;
///
/// let disk = CrashDisk::new();
/// let file = disk.open(Path::new("a"), Access::CreateNew)?;
/// disk.sync_directory(Path::new(""))?;
/// file.write_at(0, b"hello")?;
/// file.sync_data()?;
/// disk.mark("acknowledged", 1);
/// for image in disk.recording().images(42, Kinds::default()) {
///     let acknowledged = image.marks().last().is_some();
///     let length = image.disk().open(Path::new("a"), Access::Read).and_then(|file| file.len());
///     assert!(!acknowledged || matches!(length, Ok(5)), "{image}");
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
pub struct CrashDisk {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Guards the files and the recording, so that the order recorded is the order done. No other lock is taken under
    /// it.
    live: Mutex<Live>,
    /// Locks of processes do not survive a power cut and are not recorded: this disk, which has no files, keeps those
    /// on names.
    locks: MemoryDisk,
    /// And this those on files. No other lock is taken under it.
    file_locks: Mutex<BTreeMap<FileNumber, MemoryLocks>>,
}

impl Shared {
    fn new(live: Mutex<Live>) -> Self {
        Self { live, locks: MemoryDisk::new(), file_locks: Mutex::default() }
    }
}

#[derive(Debug)]
struct Live {
    state: State,
    recording: Recording,
}

impl CrashDisk {
    /// An empty disk with an empty recording.
    pub fn new() -> Self {
        Self::from_state(State::default())
    }

    /// A disk whose files are durable as they are, with an empty recording.
    pub(crate) fn from_state(mut state: State) -> Self {
        // No one has files of this disk open: contents without a name are gone.
        state.forget_nameless();
        let recording = Recording { start: state.clone(), operations: Vec::new(), marks: Vec::new() };
        let live = Mutex::new(Live { state, recording });
        Self { shared: Arc::new(Shared::new(live)) }
    }

    /// A disk with the same files, all of them durable, and an empty recording: a copy that costs nothing until one
    /// of the two changes.
    pub fn fork(&self) -> Self {
        Self::from_state(self.live().state.clone())
    }

    /// What the death of all processes leaves: the same files, as little durable as they are, and a recording that
    /// continues. No one holds a lock.
    pub fn killed(&self) -> Self {
        let state = self.live().state.clone();
        let recording = self.recording();
        Self { shared: Arc::new(Shared::new(Mutex::new(Live { state, recording }))) }
    }

    /// What was recorded so far.
    pub fn recording(&self) -> Recording {
        self.live().recording.clone()
    }

    /// How many operations were recorded so far.
    pub fn operations(&self) -> usize {
        self.live().recording.operations.len()
    }

    /// Notes that something has happened by now, such as that the commit `number` was acknowledged as durable.
    pub fn mark(&self, label: &'static str, number: u64) {
        let mut live = self.live();
        let operations = live.recording.operations.len();
        live.recording.marks.push(Mark { operations, label, number });
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.shared.live.lock().expect("no thread panics while it holds this lock")
    }

    /// The form under which names are kept.
    fn plain(&self, path: &Path) -> io::Result<PathBuf> {
        self.shared.locks.canonical(path)
    }

    fn plain_directory(&self, directory: &Path) -> io::Result<PathBuf> {
        let mut inside = self.plain(&directory.join("any"))?;
        inside.pop();
        Ok(inside)
    }
}

impl Default for CrashDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl Live {
    fn record(&mut self, change: Change) {
        self.state.apply(&change);
        self.recording.operations.push(Operation(change));
    }

    fn find(&self, path: &Path) -> io::Result<FileNumber> {
        self.state.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Disk for CrashDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let path = self.plain(path)?;
        let mut live = self.live();
        let file = match (live.find(&path), access) {
            (Ok(_), Access::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Err(_), Access::CreateNew) => {
                let file = FileNumber(live.state.contents.len());
                live.record(Change::Create { path, file });
                file
            }
            (found, Access::Read | Access::Write) => found?,
        };
        drop(live);
        let mut locks = self.shared.file_locks.lock().expect("no thread panics while it holds this lock");
        let holder = locks.entry(file).or_default().holder();
        Ok(Arc::new(CrashFile { disk: self.clone(), file, holder, writable: access != Access::Read }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let path = self.plain(path)?;
        let mut live = self.live();
        let file = live.find(&path)?;
        live.record(Change::Remove { path, file });
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (self.plain(from)?, self.plain(to)?);
        let mut live = self.live();
        let file = live.find(&from)?;
        live.record(Change::Rename { from, to, file });
        Ok(())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        let directory = self.plain_directory(directory)?;
        self.live().record(Change::SyncDirectory { directory });
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let plain = self.plain_directory(directory)?;
        let live = self.live();
        let names = live.state.names_in(&plain).filter_map(Path::file_name);
        Ok(names.map(|name| directory.join(name)).collect())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let path = self.plain(path)?;
        Ok(self.live().find(&path).is_ok())
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.plain(path)
    }

    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt> {
        self.shared.locks.lock_writer(lock_path)
    }
}

#[derive(Debug)]
struct CrashFile {
    disk: CrashDisk,
    file: FileNumber,
    holder: MemoryHolder,
    writable: bool,
}

impl CrashFile {
    fn record_change(&self, change: Change) -> io::Result<()> {
        if !self.writable {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.disk.live().record(change);
        Ok(())
    }
}

impl File for CrashFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let content = self.disk.live().state.content(self.file).clone();
        content.read(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        check_length(offset, bytes.len() as u64)?;
        self.record_change(Change::Write { file: self.file, payload: Arc::new(Payload::new(offset, bytes)) })
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, bytes)?;
        let end = offset + bytes.len() as u64;
        self.disk.live().record(Change::SyncRange { file: self.file, start: offset, end });
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.live().state.content(self.file).length())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        check_length(0, length)?;
        self.record_change(Change::SetLength { file: self.file, length })
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        let end = check_length(offset, length)?;
        self.record_change(Change::Allocate { file: self.file, end })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.live().record(Change::SyncData { file: self.file });
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.disk.live().record(Change::SyncAll { file: self.file });
        Ok(())
    }

    fn map(&self, _reserve_bytes: u64) -> io::Result<Option<Map>> {
        Ok(None)
    }

    fn locks(&self) -> &dyn FileLocks {
        &self.holder
    }

    fn is_named(&self, path: &Path) -> io::Result<bool> {
        let path = self.disk.plain(path)?;
        Ok(self.disk.live().find(&path).is_ok_and(|file| file == self.file))
    }
}

/// The end of a range, if a file may be that long.
fn check_length(offset: u64, length: u64) -> io::Result<u64> {
    let end = offset.checked_add(length).filter(|end| *end <= LENGTH_MAX);
    end.ok_or_else(|| io::ErrorKind::FileTooLarge.into())
}

/// Keeps a file's list of pages small; no test that enumerates crashes wants more.
const LENGTH_MAX: u64 = 64 << 30;
