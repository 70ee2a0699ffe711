//! The disk of a simulation: each call is a step, some fail as planned, and the power may be cut at any of them.
//!
//! It is built on a [`CrashDisk`], which records what a cut may leave. A cut does not end anything here: it notes the
//! length of the recording, and what had been acknowledged. The result of the cut is checked after the engine's call
//! in progress has returned.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile, FreeSpace, WriterAttempt};
use fulgurite::planted::simulation;

use crate::crash_disk::CrashDisk;
use crate::fault::FaultError;
use crate::random::Random;

/// See the module. Clones share everything.
#[derive(Clone)]
pub struct SimulatedDisk {
    inner: CrashDisk,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Files that are open.
    handles: AtomicU64,
    /// Guards what is planned. Nothing is locked under it.
    plan: Mutex<Plan>,
}

/// What is to happen on the disk, by the number of the call that changes or syncs something.
#[derive(Debug, Default)]
pub struct Plan {
    /// Such calls so far.
    pub calls: u64,
    /// Reads so far.
    pub reads: u64,
    /// The disk is full from the one to the other.
    pub full: Option<(u64, u64)>,
    /// These calls fail.
    pub fails: Option<(u64, Failing)>,
    /// The power is cut before this call,
    pub cut_at: Option<u64>,
    /// or before the next sync of the data file after that.
    pub cut_at_sync: Option<u64>,
    /// How far that was.
    pub cut: Option<Cut>,
    /// What was acknowledged so far: survives a cut, and the death of the process.
    pub acknowledged: Acknowledged,
    /// Calls that failed because the disk was full.
    pub refused: u64,
    /// Other calls that failed.
    pub failed: u64,
}

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// One write; half of it is done.
    Write,
    /// Some writes to the file of pages: so many.
    PageWrites(u64),
    /// One sync.
    Sync,
    /// Some reads: so many.
    Reads(u64),
}

/// The newest version of the model that is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// A power cut must leave it.
    pub durable: u64,
    /// The death of the process must leave it.
    pub logged: u64,
}

/// A moment at which the power may have been cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// How far the recording had come.
    pub operations: usize,
    /// What was acknowledged.
    pub acknowledged: Acknowledged,
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SimulatedDisk").field("plan", &*self.plan()).finish_non_exhaustive()
    }
}

impl SimulatedDisk {
    /// A disk that nothing is planned for.
    pub fn new(inner: CrashDisk) -> Self {
        Self { inner, shared: Arc::default() }
    }

    /// The disk below.
    pub fn inner(&self) -> &CrashDisk {
        &self.inner
    }

    /// What is planned, and what has happened of it.
    pub fn plan(&self) -> MutexGuard<'_, Plan> {
        self.shared.plan.lock().expect("no thread panics while it holds this lock")
    }

    /// Files that are open.
    pub fn handles(&self) -> u64 {
        self.shared.handles.load(Ordering::Relaxed)
    }

    /// A call that changes something. The answer is how it fails.
    fn change(&self, grows: bool, is_data: bool) -> io::Result<()> {
        simulation::step();
        let mut plan = self.plan();
        let call = plan.begin(&self.inner);
        if grows && plan.is_full() {
            plan.refused += 1;
            return Err(FaultError::NoSpace.into());
        }
        if plan.fails.take_if(|(at, failing)| *at <= call && *failing == Failing::Write).is_some() {
            plan.failed += 1;
            return Err(FaultError::Medium.into());
        }
        if is_data
            && let Some((at, Failing::PageWrites(left))) = &mut plan.fails
            && *at <= call
        {
            *left -= 1;
            if *left == 0 {
                plan.fails = None;
            }
            plan.failed += 1;
            return Err(FaultError::Medium.into());
        }
        Ok(())
    }

    fn sync(&self, is_data: bool) -> io::Result<()> {
        simulation::step();
        let mut plan = self.plan();
        let calls = plan.calls;
        if is_data && plan.cut_at_sync.take_if(|at| *at <= calls).is_some() {
            plan.cut_at = Some(calls);
        }
        let call = plan.begin(&self.inner);
        if plan.fails.take_if(|(at, failing)| *at <= call && *failing == Failing::Sync).is_some() {
            plan.failed += 1;
            return Err(FaultError::Medium.into());
        }
        Ok(())
    }

    fn read(&self) -> io::Result<()> {
        simulation::step();
        let mut plan = self.plan();
        plan.reads += 1;
        let call = plan.calls;
        if let Some((at, Failing::Reads(left))) = &mut plan.fails
            && *at <= call
            && *left > 0
        {
            *left -= 1;
            if *left == 0 {
                plan.fails = None;
            }
            plan.failed += 1;
            return Err(FaultError::Medium.into());
        }
        Ok(())
    }
}

impl Plan {
    /// Counts a call, and cuts the power if its time has come.
    fn begin(&mut self, disk: &CrashDisk) -> u64 {
        self.calls += 1;
        if self.cut_at.take_if(|at| *at <= self.calls).is_some() {
            self.cut = Some(Cut { operations: disk.operations(), acknowledged: self.acknowledged });
        }
        self.calls
    }

    /// The same with nothing planned.
    pub fn without_faults(self) -> Self {
        Self { full: None, fails: None, cut_at: None, cut_at_sync: None, ..self }
    }

    /// Has some calls fail within the next ones, unless some are to anyway.
    pub fn fail_within(&mut self, calls: u64, random: &mut Random) {
        if self.fails.is_some() || self.full.is_some_and(|(_, to)| self.calls < to) {
            return;
        }
        let at = self.calls + 1 + random.below(calls);
        match random.below(20) {
            0..8 => self.full = Some((at, at + 1 + random.below(300))),
            8..10 => self.fails = Some((at, Failing::Write)),
            10..16 => self.fails = Some((at, Failing::PageWrites(1 + random.below(8)))),
            16 => self.fails = Some((at, Failing::Sync)),
            _ => self.fails = Some((at, Failing::Reads(1 + random.below(6)))),
        }
    }

    /// Whether the disk is full now.
    pub fn is_full(&self) -> bool {
        self.full.is_some_and(|(from, to)| (from..to).contains(&self.calls))
    }
}

impl ForwardDisk for SimulatedDisk {
    fn inner(&self) -> &dyn Disk {
        &self.inner
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        if access == Access::CreateNew { self.change(true, false) } else { self.read() }?;
        let inner = self.inner.open(path, access)?;
        self.shared.handles.fetch_add(1, Ordering::Relaxed);
        let is_data = path.extension().is_some_and(|extension| extension == "ful");
        Ok(Arc::new(SimulatedFile { inner, disk: self.clone(), is_data }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(false, false)?;
        self.inner.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(false, false)?;
        self.inner.rename(from, to)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.sync(false)?;
        self.inner.sync_directory(directory)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.read()?;
        self.inner.list(directory)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.read()?;
        self.inner.exists(path)
    }

    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt> {
        simulation::step();
        self.inner.lock_writer(lock_path)
    }
}

#[derive(Debug)]
struct SimulatedFile {
    inner: Arc<dyn File>,
    disk: SimulatedDisk,
    /// It is the file of pages, and no segment of the log.
    is_data: bool,
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        self.disk.shared.handles.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SimulatedFile {
    fn grows(&self, end: u64) -> io::Result<bool> {
        Ok(end > self.inner.len()?)
    }
}

impl ForwardFile for SimulatedFile {
    fn inner(&self) -> &dyn File {
        &*self.inner
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.disk.read()?;
        self.inner.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let outcome = self.disk.change(self.grows(offset.saturating_add(bytes.len() as u64))?, self.is_data);
        if let Err(error) = outcome {
            // As much of it as fits, or as a medium wrote before it failed.
            let room = self.inner.len()?.saturating_sub(offset).min(bytes.len() as u64) as usize;
            let done = if error.kind() == io::ErrorKind::StorageFull { room } else { bytes.len() / 2 };
            self.inner.write_at(offset, &bytes[..done])?;
            return Err(error);
        }
        self.inner.write_at(offset, bytes)
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.change(self.grows(offset.saturating_add(bytes.len() as u64))?, self.is_data)?;
        if let Err(error) = self.disk.sync(self.is_data) {
            self.inner.write_at(offset, bytes)?;
            return Err(error);
        }
        self.inner.write_durably(offset, bytes)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.disk.change(self.grows(length)?, self.is_data)?;
        self.inner.set_len(length)
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.disk.change(self.grows(offset.saturating_add(length))?, self.is_data)?;
        self.inner.allocate(offset, length)
    }

    fn free_space(&self) -> io::Result<Option<FreeSpace>> {
        let mut plan = self.disk.plan();
        let is_full = plan.is_full();
        plan.refused += u64::from(is_full);
        let available_bytes = if is_full { 0 } else { DISK_BYTES / 2 };
        Ok(Some(FreeSpace { available_bytes, total_bytes: DISK_BYTES, file_system: 1 }))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.sync(self.is_data)?;
        self.inner.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.disk.sync(self.is_data)?;
        self.inner.sync_all()
    }
}

/// What the disk says that it has room for.
const DISK_BYTES: u64 = 64 << 30;
