//! A disk whose calls fail on request: the Nth of them, once or forever, and all growth beyond a quota.
//!
//! A call that fails does not reach the disk beneath, except that half of a failing write does. A failed sync may
//! undo what was written since the last one that succeeded, as Linux may: it marks the pages clean, and drops them
//! later.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use fulgurite::io::{Access, Disk, File, FileLocks, LockHolder, Map, WriterAttempt, WriterLock};

use crate::fault::{Call, FailedCall, Fault, FaultError, Persistence, Unsynced};

/// A disk on top of another, whose calls fail on request. Clones share everything.
///
/// To try every call of a piece of work: run it once without a fault and read [`FaultDisk::calls`]; then once with a
/// fault at each number up to that, on a fresh disk.
#[derive(Clone, Debug)]
pub struct FaultDisk {
    inner: Arc<dyn Disk>,
    shared: Arc<Shared>,
}

impl FaultDisk {
    /// A disk that passes everything on to `inner`.
    pub fn new(inner: Arc<dyn Disk>) -> Self {
        Self { inner, shared: Arc::new(Shared::default()) }
    }

    /// Replaces the fault there was, and begins to count calls from 0.
    ///
    /// # Panics
    /// If `fault.nth` is 0: the first call is number 1.
    pub fn arm(&self, fault: Fault) {
        assert!(fault.nth > 0, "calls are counted from 1");
        *self.shared.faults() = Faults { armed: Some(fault), calls: 0, failed_call: None };
    }

    /// Lets all calls pass again. What was counted stays.
    pub fn disarm(&self) {
        self.shared.faults().armed = None;
    }

    /// How many calls were made since the last [`FaultDisk::arm`], or since the beginning: of the kinds that the
    /// fault counts, or of all kinds.
    pub fn calls(&self) -> u64 {
        self.shared.faults().calls
    }

    /// The first call that failed since the last [`FaultDisk::arm`].
    pub fn failed_call(&self) -> Option<FailedCall> {
        self.shared.faults().failed_call.clone()
    }

    /// From now on, files may not grow beyond this many bytes together, as [`FaultError::NoSpace`]; `None` for no
    /// limit. Files count from when they were first opened through this disk, by their length, until they are
    /// removed.
    pub fn set_quota_bytes(&self, quota_bytes: Option<u64>) {
        self.shared.files().quota_bytes = quota_bytes;
    }

    fn check(&self, call: Call, path: &Path) -> io::Result<()> {
        self.shared.check(call, path).map(drop)
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// Guards the fault and the counts. Rank 3: no other lock is taken under it.
    faults: Mutex<Faults>,
    /// Guards the files that are known and their sum. Rank 2: taken under a file's state.
    files: Mutex<Files>,
}

#[derive(Debug, Default)]
struct Faults {
    armed: Option<Fault>,
    calls: u64,
    failed_call: Option<FailedCall>,
}

#[derive(Debug, Default)]
struct Files {
    quota_bytes: Option<u64>,
    used_bytes: u64,
    known: HashMap<PathBuf, Arc<FileState>>,
}

/// What all handles of one file share.
#[derive(Debug)]
struct FileState {
    /// Guards the file's changes, so that each is undone in the order done. Rank 1.
    changes: Mutex<Changes>,
}

#[derive(Debug)]
struct Changes {
    /// The length, as it counts towards the quota.
    length: u64,
    /// Whether it counts: not once the file's name is gone.
    counted: bool,
    /// How to take back what was done since the last good sync, in the order done. Kept only for [`Unsynced::Dropped`].
    undo: Vec<Undo>,
}

/// The length before a change, and the bytes that it replaced or cut off.
#[derive(Debug)]
struct Undo {
    length: u64,
    offset: u64,
    bytes: Vec<u8>,
    /// A handle that may write.
    file: Arc<dyn File>,
}

impl Undo {
    /// These bytes at `offset` are durable: an undone change keeps them, and a length that reaches to their end.
    fn keep(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        let own_end = self.offset + self.bytes.len() as u64;
        if end > self.length {
            // Where the change reached past the end that there was, zeros take the place of what it wrote.
            if own_end >= self.length && end > own_end {
                self.bytes.resize((end - self.offset) as usize, 0);
            }
            self.length = end;
        }
        let own_end = self.offset + self.bytes.len() as u64;
        let (from, to) = (offset.max(self.offset), end.min(own_end));
        if from < to {
            let kept = &bytes[(from - offset) as usize..(to - offset) as usize];
            self.bytes[(from - self.offset) as usize..(to - self.offset) as usize].copy_from_slice(kept);
        }
    }
}

impl Shared {
    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().expect("no thread panics while it holds this lock")
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().expect("no thread panics while it holds this lock")
    }

    /// Counts a call and fails it if its turn has come. Gives the fault that is armed, for what depends on it later.
    fn check(&self, call: Call, path: &Path) -> io::Result<Option<Fault>> {
        let mut faults = self.faults();
        let Some(fault) = faults.armed else {
            faults.calls += 1;
            return Ok(None);
        };
        if !fault.calls.contains(&call) {
            return Ok(Some(fault));
        }
        faults.calls += 1;
        let strikes = match fault.persistence {
            Persistence::Once => faults.calls == fault.nth,
            Persistence::Forever => faults.calls >= fault.nth,
        };
        if !strikes {
            return Ok(Some(fault));
        }
        faults.failed_call.get_or_insert_with(|| FailedCall { call, path: path.to_path_buf() });
        Err(fault.error.into())
    }

    /// Stops counting a file whose name is gone.
    fn forget(&self, path: &Path) {
        let known = self.files().known.remove(path);
        if let Some(state) = known {
            let mut changes = state.changes();
            changes.counted = false;
            self.files().used_bytes -= changes.length;
        }
    }

    fn drops_unsynced(&self) -> bool {
        self.faults().armed.is_some_and(|fault| fault.unsynced == Unsynced::Dropped)
    }
}

impl Files {
    fn check_quota(&self, changes: &Changes, length: u64) -> io::Result<()> {
        let growth = if changes.counted { length.saturating_sub(changes.length) } else { 0 };
        let needed = self.used_bytes.saturating_add(growth);
        if growth > 0 && self.quota_bytes.is_some_and(|quota| needed > quota) {
            return Err(FaultError::NoSpace.into());
        }
        Ok(())
    }
}

impl FileState {
    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().expect("no thread panics while it holds this lock")
    }
}

impl Disk for FaultDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        self.check(Call::Open, path)?;
        let inner = self.inner.open(path, access)?;
        let path = self.inner.canonical(path)?;
        let length = inner.len()?;
        let mut files = self.shared.files();
        if !files.known.contains_key(&path) {
            files.used_bytes += length;
            let changes = Changes { length, counted: true, undo: Vec::new() };
            files.known.insert(path.clone(), Arc::new(FileState { changes: Mutex::new(changes) }));
        }
        let state = Arc::clone(&files.known[&path]);
        drop(files);
        Ok(Arc::new(FaultFile { inner, shared: Arc::clone(&self.shared), state, path }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.check(Call::Remove, path)?;
        self.inner.remove(path)?;
        let path = self.inner.canonical(path)?;
        self.shared.forget(&path);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check(Call::Rename, from)?;
        self.inner.rename(from, to)?;
        let (from, to) = (self.inner.canonical(from)?, self.inner.canonical(to)?);
        if from != to {
            self.shared.forget(&to);
            let mut files = self.shared.files();
            if let Some(state) = files.known.remove(&from) {
                files.known.insert(to, state);
            }
        }
        Ok(())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.check(Call::SyncDirectory, directory)?;
        self.inner.sync_directory(directory)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.check(Call::Look, directory)?;
        self.inner.list(directory)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.check(Call::Look, path)?;
        self.inner.exists(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.check(Call::Look, path)?;
        self.inner.canonical(path)
    }

    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt> {
        self.check(Call::Lock, lock_path)?;
        let attempt = self.inner.lock_writer(lock_path)?;
        Ok(match attempt {
            WriterAttempt::Held(inner) => {
                WriterAttempt::Held(Box::new(FaultLock { inner, disk: self.clone(), path: lock_path.to_path_buf() }))
            }
            busy @ WriterAttempt::Busy(_) => busy,
        })
    }
}

#[derive(Debug)]
struct FaultFile {
    inner: Arc<dyn File>,
    shared: Arc<Shared>,
    state: Arc<FileState>,
    path: PathBuf,
}

impl FaultFile {
    fn check(&self, call: Call) -> io::Result<Option<Fault>> {
        self.shared.check(call, &self.path)
    }

    /// Does a change that brings the file to `length`, unless that is over the quota, and notes how to take it back:
    /// the bytes in `replaced` become others or are cut off. Answers what is noted, still guarded.
    fn change(
        &self,
        length: impl FnOnce(u64) -> u64,
        replaced: std::ops::Range<u64>,
        change: impl FnOnce(&dyn File) -> io::Result<()>,
    ) -> io::Result<MutexGuard<'_, Changes>> {
        let mut changes = self.state.changes();
        let old_length = changes.length;
        let length = length(old_length);
        self.shared.files().check_quota(&changes, length)?;
        if self.shared.drops_unsynced() {
            let end = replaced.end.min(old_length);
            let mut bytes = vec![0; end.saturating_sub(replaced.start) as usize];
            self.inner.read_at(replaced.start.min(end), &mut bytes)?;
            let file = Arc::clone(&self.inner);
            changes.undo.push(Undo { length: old_length, offset: replaced.start, bytes, file });
        }
        let result = change(&*self.inner);
        self.settle(&mut changes)?;
        result.map(|()| changes)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset.saturating_add(bytes.len() as u64);
        self.change(|length| length.max(end), offset..end, |file| file.write_at(offset, bytes)).map(drop)
    }

    fn sync(&self, sync: impl FnOnce(&dyn File) -> io::Result<()>) -> io::Result<()> {
        if let Err(error) = self.check(Call::Sync) {
            self.take_back()?;
            return Err(error);
        }
        let mut changes = self.state.changes();
        sync(&*self.inner)?;
        changes.undo.clear();
        Ok(())
    }

    /// Takes back what is noted, as a failed sync may.
    fn take_back(&self) -> io::Result<()> {
        let mut changes = self.state.changes();
        for undo in std::mem::take(&mut changes.undo).into_iter().rev() {
            undo.file.set_len(undo.length)?;
            undo.file.write_at(undo.offset, &undo.bytes)?;
        }
        self.settle(&mut changes)
    }

    /// Counts the length that the file has now.
    fn settle(&self, changes: &mut Changes) -> io::Result<()> {
        let length = self.inner.len()?;
        if changes.counted {
            let mut files = self.shared.files();
            files.used_bytes = files.used_bytes - changes.length + length;
        }
        changes.length = length;
        Ok(())
    }
}

impl File for FaultFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.check(Call::Read)?;
        self.inner.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let verdict = self.check(Call::Write);
        self.write(offset, if verdict.is_err() { &bytes[..bytes.len() / 2] } else { bytes })?;
        verdict.map(drop)
    }

    /// Counts as a write and a sync, but leaves what else was written to the file as unsynced as it was. If the sync
    /// fails, it takes that back too.
    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.check(Call::Write) {
            self.write(offset, &bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        if let Err(error) = self.check(Call::Sync) {
            self.write(offset, bytes)?;
            self.take_back()?;
            return Err(error);
        }
        if bytes.is_empty() {
            return self.inner.write_durably(offset, bytes);
        }
        let end = offset.saturating_add(bytes.len() as u64);
        let write = |file: &dyn File| file.write_durably(offset, bytes);
        let mut changes = self.change(|length| length.max(end), offset..end, write)?;
        changes.undo.iter_mut().for_each(|undo| undo.keep(offset, bytes));
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.check(Call::Length)?;
        self.inner.len()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.check(Call::SetLength)?;
        self.change(|_| length, length..u64::MAX, |file| file.set_len(length)).map(drop)
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.check(Call::Allocate)?;
        let end = offset.saturating_add(length);
        self.change(|length| length.max(end), end..end, |file| file.allocate(offset, length)).map(drop)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync(|file| file.sync_data())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync(|file| file.sync_all())
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Option<Map>> {
        self.check(Call::Map)?;
        self.inner.map(reserve_bytes)
    }

    fn locks(&self) -> &dyn FileLocks {
        self
    }

    fn is_named(&self, path: &Path) -> io::Result<bool> {
        self.check(Call::Look)?;
        self.inner.is_named(path)
    }
}

impl FileLocks for FaultFile {
    fn lock_writer(&self) -> io::Result<Option<LockHolder>> {
        self.check(Call::Lock)?;
        self.inner.locks().lock_writer()
    }

    /// Releases whatever the call reports: a lock that stays would keep out the rest of the test.
    fn unlock_writer(&self) -> io::Result<()> {
        self.inner.locks().unlock_writer()?;
        self.check(Call::Lock).map(drop)
    }

    fn writer(&self) -> io::Result<Option<LockHolder>> {
        self.check(Call::Lock)?;
        self.inner.locks().writer()
    }

    fn pin(&self, number: u64) -> io::Result<()> {
        self.check(Call::Lock)?;
        self.inner.locks().pin(number)
    }

    fn unpin(&self) -> io::Result<()> {
        self.check(Call::Lock)?;
        self.inner.locks().unpin()
    }

    fn oldest_pinned(&self) -> io::Result<Option<u64>> {
        self.check(Call::Lock)?;
        self.inner.locks().oldest_pinned()
    }
}

/// A lock whose calls are counted and fail like others. When closing it fails, it is given up, as the contract says.
#[derive(Debug)]
struct FaultLock {
    disk: FaultDisk,
    path: PathBuf,
    inner: Box<dyn WriterLock>,
}

impl WriterLock for FaultLock {
    fn close(self: Box<Self>) -> io::Result<()> {
        self.disk.check(Call::Lock, &self.path)?;
        self.inner.close()
    }
}
