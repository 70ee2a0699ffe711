//! A disk that lets tests do something amid a sync or a write of the data file, whose reads may fail, and that may have
//! no room for the log.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile, MemoryDisk};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct HookedDisk {
    disk: MemoryDisk,
    pub hooks: Arc<Hooks>,
}

#[derive(Default)]
pub struct Hooks {
    pub syncs: AtomicUsize,
    pub written_bytes: AtomicUsize,
    pub in_syncs: Mutex<Option<SyncHook>>,
    pub in_next_write: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// There is no room for the log.
    pub log_is_full: AtomicBool,
    /// The data file cannot be read.
    pub reads_fail: AtomicBool,
}

/// Told how many syncs there were with this one.
pub type SyncHook = Arc<dyn Fn(usize) + Send + Sync>;

impl std::fmt::Debug for Hooks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Hooks").finish_non_exhaustive()
    }
}

impl ForwardDisk for HookedDisk {
    fn inner(&self) -> &dyn Disk {
        &self.disk
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(path, access)?;
        let (is_data, hooks) = (path.to_string_lossy().ends_with(".ful"), Arc::clone(&self.hooks));
        Ok(if is_data { Arc::new(DataFile { file, hooks }) } else { Arc::new(OtherFile { file, hooks }) })
    }
}

#[derive(Debug)]
struct DataFile {
    file: Arc<dyn File>,
    hooks: Arc<Hooks>,
}

impl ForwardFile for DataFile {
    fn inner(&self) -> &dyn File {
        &*self.file
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if self.hooks.reads_fail.load(Ordering::SeqCst) {
            return Err(io::Error::other("the medium fails"));
        }
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.hooks.written_bytes.fetch_add(bytes.len(), Ordering::SeqCst);
        let hook = self.hooks.in_next_write.lock().unwrap().take();
        if let Some(hook) = hook {
            hook();
        }
        self.file.write_at(offset, bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        let count = self.hooks.syncs.fetch_add(1, Ordering::SeqCst) + 1;
        let hook = self.hooks.in_syncs.lock().unwrap().clone();
        if let Some(hook) = hook {
            // Another thread's, so that the test fails, and does not hang, where the log's lock is held meanwhile.
            let (done, is_done) = mpsc::channel();
            std::thread::spawn(move || {
                hook(count);
                let _ = done.send(());
            });
            is_done.recv_timeout(Duration::from_secs(30)).expect("others commit while a large result is synced");
        }
        self.file.sync_data()
    }
}

/// A segment of the log, or what a sort writes.
#[derive(Debug)]
struct OtherFile {
    file: Arc<dyn File>,
    hooks: Arc<Hooks>,
}

impl ForwardFile for OtherFile {
    fn inner(&self) -> &dyn File {
        &*self.file
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.hooks.log_is_full.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write_at(offset, bytes)
    }
}
