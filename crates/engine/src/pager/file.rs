//! Owns the data file as the pager sees it: a row of pages, a window onto it that grows with it, and the cache that
//! is used where there is no window.
//!
//! Invariants: (1) a window of [`Pages`](super::Pages) reaches past the end of the snapshot's extents. (2) A window
//! lives until its last snapshot is dropped, so that page addresses stay valid while the file outgrows it. Callers:
//! the pager, and `db`, which opens it.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{CUT_OFF, Error, Place, Result};
use crate::format::{Identity, PageSize};
use crate::ids::{Birth, PageNumber};
use crate::io::{File, Map, memory_bytes};
use crate::planted::{Fault, planted};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};

use super::read::{FrameCache, Source};

/// How pages are read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Map the file where the disk can. Otherwise pages are read into a cache.
    pub map: bool,
    /// Ask for huge pages under the map.
    pub huge_pages: bool,
    /// Bound of that cache.
    pub cache_bytes: usize,
}

/// The data file. Shared by all snapshots and the writer.
#[derive(Debug)]
pub struct PageFile {
    path: PathBuf,
    file: Arc<dyn File>,
    page_size: PageSize,
    identity: Identity,
    options: ReadOptions,
    /// The birth of the first operation of this process, the largest number while there is none: births are far below
    /// it, as metas and extent tables are checked for. Pages at least as young were written here.
    first_own_birth: AtomicU64,
    /// Guards the newest window or the cache, made at first need. The file is mapped under it; no lock is taken under
    /// it.
    source: Mutex<Option<Source>>,
    /// Whether a sync has failed. Held across a sync: of two concurrent syncs the system reports a failure to one
    /// only, and success to the other. Nothing is locked under it.
    sync_failed: Mutex<bool>,
    /// Whether what the system has of the file in memory may not be on the disk.
    distrusted: AtomicBool,
}

impl PageFile {
    /// Wraps an open file. Nothing is read or mapped yet.
    pub fn new(
        path: &Path,
        file: Arc<dyn File>,
        page_size: PageSize,
        identity: Identity,
        options: ReadOptions,
    ) -> Arc<Self> {
        Arc::new(Self {
            path: path.to_path_buf(),
            file,
            page_size,
            identity,
            options,
            first_own_birth: AtomicU64::new(u64::MAX),
            source: Mutex::new(None),
            sync_failed: Mutex::new(false),
            distrusted: AtomicBool::new(false),
        })
    }

    /// Notes that an operation with this birth begins: from now on pages that are as young as this are built here.
    pub fn note_own(&self, birth: Birth) {
        // Relaxed: readers learn of the operation's pages through the state that it published.
        self.first_own_birth.fetch_min(birth.0, Ordering::Relaxed);
    }

    /// Whether pages of this birth were built by this process.
    pub fn is_written_here(&self, birth: Birth) -> bool {
        birth.0 >= self.first_own_birth.load(Ordering::Relaxed)
    }

    /// Where the pages of a snapshot with so many pages come from: a window that reaches past all of them, or the
    /// cache.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file ends before its extents do; [`Error::Io`] if it cannot be mapped.
    pub(super) fn source_of(&self, page_count: u64) -> Result<Source> {
        let length = self.length_bytes()?;
        let needed = page_count.saturating_mul(self.page_size.bytes() as u64);
        if needed > length {
            return Err(self.cut_off(length / self.page_size.bytes() as u64));
        }
        let mut source = self.source.lock();
        let current = match &*source {
            Some(Source::Map(map)) if map.window_bytes() >= needed => Source::Map(Arc::clone(map)),
            Some(Source::Cache(cache)) => Source::Cache(Arc::clone(cache)),
            _ => self.open_source(length)?,
        };
        *source = Some(current.clone());
        Ok(current)
    }

    /// The newest window onto the file, if it is mapped: for statistics and advice.
    pub fn window(&self) -> Option<Arc<Map>> {
        match &*self.source.lock() {
            Some(Source::Map(map)) => Some(Arc::clone(map)),
            _ => None,
        }
    }

    /// Where the file is, for errors.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself, for metas and syncs.
    pub fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// Size of the pages.
    pub fn page_size(&self) -> PageSize {
        self.page_size
    }

    /// The database's identity.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether memory is likely to hold all of a file of so many pages: what was just written is not read from the
    /// disk then.
    pub fn is_held_by_memory(&self, pages: u64) -> bool {
        pages.saturating_mul(self.page_size.bytes() as u64) <= memory_bytes() / HELD_SHARE
    }

    /// Number of pages that so many raw bytes take: at least one, for even an empty value has a place.
    pub fn pages_of(&self, length: u32) -> u32 {
        length.div_ceil(self.page_size.bytes() as u32).max(1)
    }

    /// The file's length.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn length_bytes(&self) -> Result<u64> {
        self.file.len().map_err(|source| Error::io("read the length", &self.path, source))
    }

    /// Number of the pages that the file has whole.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn whole_pages(&self) -> Result<u64> {
        Ok(self.length_bytes()? / self.page_size.bytes() as u64)
    }

    /// Refuses a file that has fewer pages.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it has; [`Error::Io`].
    pub fn refuse_cut_off(&self, page_count: u64) -> Result<()> {
        let file_pages = self.whole_pages()?;
        if page_count <= file_pages { Ok(()) } else { Err(self.cut_off(file_pages)) }
    }

    /// The error of a file that ends after `file_pages` whole pages.
    fn cut_off(&self, file_pages: u64) -> Error {
        let what = format!("the file ends here, before its last page: {CUT_OFF}");
        Error::corrupt(&self.path, Place::Page(PageNumber(file_pages)), what)
    }

    /// Makes everything written so far durable.
    ///
    /// # Errors
    /// [`Error::Io`]; the caller must not write to the database any more, because it is unknown what is on the disk.
    /// [`Error::Poisoned`] if that was so before.
    pub fn sync(&self) -> Result<()> {
        let mut failed = self.sync_failed.lock();
        if *failed {
            return Err(Error::Poisoned { path: self.path.clone() });
        }
        let outcome = match self.file.sync_data() {
            Err(_) if planted(Fault::FailedSyncIgnored) => Ok(()),
            outcome => outcome,
        };
        *failed = outcome.is_err();
        outcome.map_err(|source| {
            self.distrust();
            Error::failed_sync("sync", &self.path, source)
        })
    }

    /// A sync has failed, of this file or of the log. The system may hold pages in memory then, as if they were
    /// written, that are not on the disk; worse, ext4 loses what is written to such a page later, sync or not, where
    /// its space was never written before. So the system is asked to drop them, now and, as some may be mapped, when
    /// the file is closed: the next process that opens the file reads the disk.
    pub fn distrust(&self) {
        // Relaxed: `drop` comes after all others.
        if !self.distrusted.swap(true, Ordering::Relaxed) {
            self.file.forget_cached();
        }
    }

    /// Writes a large value to pages that `Space` gave for it.
    ///
    /// # Errors
    /// The disk's.
    pub fn write_value(&self, first_page: PageNumber, value: &[u8]) -> Result<()> {
        self.write(first_page, value)
    }

    /// Reads `length` bytes from a page's start. Requires: the caller checked that they are within the file.
    pub(super) fn read(&self, page: PageNumber, length: usize) -> Result<Box<[u8]>> {
        let mut bytes = vec![0; length].into_boxed_slice();
        let read = self.file.read_at(self.offset(page), &mut bytes);
        read.map_err(|source| self.unreadable(page, source))?;
        Ok(bytes)
    }

    /// The error for a page that cannot be read. An image reports damage before there are bytes of a page.
    #[cold]
    pub(super) fn unreadable(&self, page: PageNumber, source: io::Error) -> Error {
        match source.kind() {
            io::ErrorKind::InvalidData => Error::corrupt(&self.path, Place::Page(page), source.to_string()),
            _ => Error::io("read", &self.path, source),
        }
    }

    /// Writes bytes from a page's start. Requires: `Space` gave the caller these pages.
    pub(super) fn write(&self, page: PageNumber, bytes: &[u8]) -> Result<()> {
        self.write_at(page, 0, bytes)
    }

    /// Writes bytes from `offset` after a page's start.
    pub(super) fn write_at(&self, page: PageNumber, offset: u64, bytes: &[u8]) -> Result<()> {
        assert!(page.0 > 0, "page 0 holds the metas, which only `db` writes");
        let written = self.file.write_at(self.offset(page) + offset, bytes);
        written.map_err(|source| Error::io("write", &self.path, source))
    }

    fn offset(&self, page: PageNumber) -> u64 {
        page.0 * self.page_size.bytes() as u64
    }

    fn open_source(&self, length: u64) -> Result<Source> {
        if self.options.map {
            let reserve = length.saturating_mul(WINDOW_FILES).max(WINDOW_BYTES_MIN);
            let map = self.file.map(reserve).map_err(|source| Error::io("map", &self.path, source))?;
            if let Some(map) = map {
                if !self.options.huge_pages {
                    // A hint: a system that refuses it has no huge pages.
                    let _ = map.advise_small_pages();
                }
                return Ok(Source::Map(Arc::new(map)));
            }
        }
        Ok(Source::Cache(Arc::new(FrameCache::new(self.options.cache_bytes, self.page_size.bytes()))))
    }
}

impl Drop for PageFile {
    fn drop(&mut self) {
        if self.distrusted.load(Ordering::Relaxed) {
            // No snapshot has the map any more.
            drop(self.source.lock().take());
            // Pages that are not written yet cannot be dropped. The result does not matter: no code relies on it.
            let _ = self.file.sync_data();
            self.file.forget_cached();
        }
    }
}

/// Memory is likely to hold a file that is at most this part of it: a half.
const HELD_SHARE: u64 = 2;

/// A window has room for the file to grow by this factor before it must be mapped again.
const WINDOW_FILES: u64 = 8;

const WINDOW_BYTES_MIN: u64 = 1 << 30;
