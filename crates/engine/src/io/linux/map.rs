//! A read-only window onto a file: shared with the page cache, never written through.
//!
//! Invariants: (1) The window begins at the file's first byte, at an address that is a multiple of 2 MiB, so that
//! each 2 MiB of the file can be mapped by one huge page. (2) It may reach past the end of the file; touching it
//! there is SIGBUS, so the caller of [`Map::slice`] vouches for the length. (3) All windows of the process together
//! stay under a cap. (4) A window that is filled on demand is memory of its own: its bytes are read only after
//! [`Map::ensure`], and never written after that.
//!
//! A window may be larger than the file because reserved addresses cost nothing until they are touched: a file that
//! grows inside its window needs no new map.

#![allow(unsafe_code)] // Memory maps have no safe interface.

use std::ffi::c_void;
use std::fs;
use std::io;
use std::ptr::{self, NonNull};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};

use super::filled::Filler;
use crate::io::Fill;
use crate::io::huge_pages::{self, HugePages};
use crate::io::machine::memory_bytes;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};

/// A read-only window onto a file, from its first byte. Dropping it unmaps it.
#[derive(Debug)]
pub struct Map {
    base: NonNull<u8>,
    window_bytes: u64,
    /// What fills the window, if it is not a file that does.
    filler: Option<Box<Filler>>,
    /// Returned to the process's cap after the window is unmapped.
    _charge: Charge,
}

// SAFETY: the window is plain memory that belongs to no thread; after `new` only its filler changes it, by the
// invariants there.
unsafe impl Send for Map {}
// SAFETY: as for `Send`; all other methods that take `&self` only read it or advise the system about it.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `file`, of `file_bytes` at present, with a window of `reserve_bytes` or what there is address space for.
    /// `None` if that is less than the file, or if its file system has no maps.
    pub(in crate::io) fn new(file: &fs::File, file_bytes: u64, reserve_bytes: u64) -> io::Result<Option<Self>> {
        let Some(needed_bytes) = round_up(file_bytes.max(1)) else { return Ok(None) };
        let mut window_bytes = round_up(reserve_bytes).unwrap_or(needed_bytes).max(needed_bytes);
        let mut cramped = false;
        loop {
            match Self::try_new(file, window_bytes) {
                Ok(Some(map)) => {
                    let half = halve(window_bytes, needed_bytes);
                    if cramped && half < window_bytes {
                        // What fits may be all there is: leave the rest of the process some room.
                        drop(map);
                        window_bytes = half;
                        cramped = false;
                        continue;
                    }
                    map.advise_for_size(file_bytes);
                    return Ok(Some(map));
                }
                Ok(None) if window_bytes > needed_bytes => {
                    window_bytes = halve(window_bytes, needed_bytes);
                    cramped = true;
                }
                Ok(None) => return Ok(None),
                Err(Errno::NODEV | Errno::ACCESS | Errno::OPNOTSUPP) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A window of memory that is filled part by part, where it is first read. `None` if there is no address space for
    /// it. Filled parts stay in memory until it is dropped.
    pub(in crate::io) fn filled_by(source: Arc<dyn Fill>) -> io::Result<Option<Self>> {
        let Some(window_bytes) = round_up(source.content_bytes().max(1)) else { return Ok(None) };
        let Some(charge) = Charge::try_new(window_bytes) else { return Ok(None) };
        // SAFETY: a new private mapping at an address of the system's choice touches no memory of others.
        let mapped = unsafe {
            rustix::mm::mmap_anonymous(
                ptr::null_mut(),
                window_bytes as usize,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        let mapped = match mapped {
            Err(Errno::NOMEM) => return Ok(None),
            mapped => mapped?,
        };
        let base = NonNull::new(mapped.cast()).expect("no mapping begins at address 0");
        let map = Self { base, window_bytes, filler: Some(Box::new(Filler::new(source))), _charge: charge };
        // A huge page would be cleared, and take memory, for one part. Systems without them refuse this.
        let _ = map.advise_small_pages();
        Ok(Some(map))
    }

    /// Whether bytes of the window may be read only after [`Map::ensure`].
    #[inline(always)]
    pub fn is_filled_on_demand(&self) -> bool {
        self.filler.is_some()
    }

    /// Fills these bytes of the window, if it is one that is filled on demand and they are not filled yet.
    ///
    /// # Errors
    /// Those of what fills it; `UnexpectedEof` if that has no such bytes.
    pub fn ensure(&self, offset: u64, length: usize) -> io::Result<()> {
        match &self.filler {
            None => Ok(()),
            // SAFETY: the window has room for all that fills it, and is read by the contract of `Map::slice`.
            Some(filler) => unsafe { filler.ensure(self.base, offset, length) },
        }
    }

    /// The window's length: a multiple of 2 MiB.
    pub fn window_bytes(&self) -> u64 {
        self.window_bytes
    }

    /// The bytes of the file at `offset`, or `None` if they are not inside the window.
    ///
    /// # Safety
    /// Until the slice is last used, `offset + length` is at most the file's length, or the access is SIGBUS; and
    /// nobody writes these bytes of the file, by whatever means. [`Map::ensure`] was successful for them before.
    #[inline]
    pub unsafe fn slice(&self, offset: u64, length: usize) -> Option<&[u8]> {
        if offset.saturating_add(length as u64) > self.window_bytes {
            return None;
        }
        // SAFETY: `offset + length` is inside the window, which is one mapping.
        let start = unsafe { self.base.as_ptr().add(offset as usize) };
        // SAFETY: the bytes are mapped for reading while `self` lives (no overflow: the sum is at most
        // `window_bytes`, which is below u64::MAX); the caller vouches that they are in the file and stay as they
        // are.
        Some(unsafe { std::slice::from_raw_parts(start, length) })
    }

    /// Where the window begins. The contract of [`Map::slice`] holds for reads from here too.
    #[inline(always)]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Reads the part of the file from `offset` on into the page cache and maps it, all at once: far cheaper than a
    /// fault per page. Nothing outside of the file is touched.
    ///
    /// # Errors
    /// `InvalidInput` if the part is not in the window, `Unsupported` on Linux before 5.14; otherwise the part
    /// reaches past the end of the file, or the medium failed, which would have been SIGBUS on access.
    pub fn populate(&self, offset: u64, length: u64) -> io::Result<()> {
        if length == 0 || self.filler.is_some() {
            return Ok(());
        }
        let start = offset - offset % rustix::param::page_size() as u64;
        let end = offset.checked_add(length).filter(|end| *end <= self.window_bytes);
        let Some(end) = end else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the part is not in the window"));
        };
        loop {
            match self.advise(start, end - start, Advice::LinuxPopulateRead) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(Errno::INVAL) => return Err(io::ErrorKind::Unsupported.into()),
                result => return Ok(result?),
            }
        }
    }

    /// Says that reads will jump about: right only when the file is larger than memory, for it stops read-ahead and
    /// with it huge pages.
    ///
    /// # Errors
    /// The system's; reading works nonetheless.
    pub fn advise_random(&self) -> io::Result<()> {
        Ok(self.advise(0, self.window_bytes, Advice::Random)?)
    }

    /// Asks for huge pages: right while the file fits into memory.
    ///
    /// # Errors
    /// The system's (`InvalidInput` where it has no huge pages); reading works nonetheless.
    pub fn advise_huge_pages(&self) -> io::Result<()> {
        Ok(self.advise(0, self.window_bytes, Advice::LinuxHugepage)?)
    }

    /// Asks for no huge pages: to measure what they are worth.
    ///
    /// # Errors
    /// The system's; reading works nonetheless.
    pub fn advise_small_pages(&self) -> io::Result<()> {
        Ok(self.advise(0, self.window_bytes, Advice::LinuxNoHugepage)?)
    }

    /// How much of the window is in memory, and how much of that is mapped by huge pages.
    ///
    /// # Errors
    /// The system's, from `/proc/self/smaps`.
    pub fn huge_pages(&self) -> io::Result<HugePages> {
        let start = self.base.as_ptr().addr() as u64;
        let text = fs::read_to_string("/proc/self/smaps")?;
        Ok(huge_pages::parse(&text, start..start + self.window_bytes))
    }

    /// One attempt with exactly this window; `None` if there is no address space for it.
    fn try_new(file: &fs::File, window_bytes: u64) -> rustix::io::Result<Option<Self>> {
        let Some(charge) = Charge::try_new(window_bytes) else { return Ok(None) };
        let length = window_bytes as usize;
        // SAFETY: a new private mapping at an address of the system's choice touches no memory of others.
        let reserved = unsafe {
            rustix::mm::mmap_anonymous(
                ptr::null_mut(),
                length + HUGE_PAGE_BYTES as usize,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        let reserved = match reserved {
            Err(Errno::NOMEM) => return Ok(None),
            reserved => reserved?,
        };
        let reserved = Reserved { start: reserved.cast(), length: length + HUGE_PAGE_BYTES as usize };
        let before = reserved.start.addr().next_multiple_of(HUGE_PAGE_BYTES as usize) - reserved.start.addr();
        let base = reserved.start.wrapping_add(before);
        // SAFETY: `base..base + length` is inside the reservation, which no other code knows, so replacing it is
        // harmless.
        let mapped = unsafe {
            rustix::mm::mmap(
                base.cast::<c_void>(),
                length,
                ProtFlags::READ,
                MapFlags::SHARED | MapFlags::FIXED,
                file,
                0,
            )
        };
        match mapped {
            Err(Errno::NOMEM) => return Ok(None),
            mapped => mapped?,
        };
        reserved.release_around(before, length);
        let base = NonNull::new(base).expect("no mapping begins at address 0");
        Ok(Some(Self { base, window_bytes, filler: None, _charge: charge }))
    }

    /// Huge pages while the file fits into memory, random access when it does not.
    fn advise_for_size(&self, file_bytes: u64) {
        // Both are hints. Systems without huge pages refuse the one, and lose only speed.
        let _ = if file_bytes <= memory_bytes() { self.advise_huge_pages() } else { self.advise_random() };
    }

    /// Requires: `offset` is a multiple of the system's page size, and `offset + length` is inside the window.
    fn advise(&self, offset: u64, length: u64, advice: Advice) -> rustix::io::Result<()> {
        assert!(offset + length <= self.window_bytes, "advice must stay inside the window");
        let start = self.base.as_ptr().wrapping_add(offset as usize);
        // SAFETY: the range is inside the window, and the advice used here never changes what it reads as.
        unsafe { rustix::mm::madvise(start.cast::<c_void>(), length as usize, advice) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        unmap(self.base.as_ptr(), self.window_bytes as usize);
    }
}

/// Address space that all windows of this process have reserved together, in bytes.
pub fn reserved_bytes() -> u64 {
    RESERVED_BYTES.load(Ordering::Relaxed)
}

/// Sets how much address space all windows of this process may reserve together: 16 TiB unless this is called.
/// Windows that exist stay. A file that does not fit is read without a map.
pub fn set_reserved_bytes_max(bytes: u64) {
    RESERVED_BYTES_MAX.store(bytes, Ordering::Relaxed);
}

/// A window's share of the process's cap, returned when dropped.
#[derive(Debug)]
struct Charge(u64);

impl Charge {
    fn try_new(bytes: u64) -> Option<Self> {
        let max = RESERVED_BYTES_MAX.load(Ordering::Relaxed);
        // Relaxed: the sum alone matters, it orders no other memory.
        let charged = RESERVED_BYTES
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| sum.checked_add(bytes).filter(|sum| *sum <= max));
        charged.is_ok().then(|| Self(bytes))
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        // Relaxed: see `try_new`.
        RESERVED_BYTES.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// A range of addresses without memory. Dropping it unmaps it.
struct Reserved {
    start: *mut u8,
    length: usize,
}

impl Reserved {
    /// Keeps the middle for its new owner and unmaps what is before and after it.
    fn release_around(self, before: usize, length: usize) {
        let after = self.length - before - length;
        unmap(self.start, before);
        unmap(self.start.wrapping_add(before + length), after);
        std::mem::forget(self);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        unmap(self.start, self.length);
    }
}

/// Requires: the range is the caller's own mapping, and no reference into it is left.
pub(in crate::io) fn unmap(start: *mut u8, length: usize) {
    if length == 0 {
        return;
    }
    // SAFETY: the callers own the range, and what borrows from it borrows from the value that is being dropped.
    let result = unsafe { rustix::mm::munmap(start.cast::<c_void>(), length) };
    debug_assert!(result.is_ok(), "a range that was mapped can be unmapped");
}

fn round_up(bytes: u64) -> Option<u64> {
    bytes.checked_next_multiple_of(HUGE_PAGE_BYTES).filter(|bytes| *bytes <= WINDOW_BYTES_MAX)
}

fn halve(window_bytes: u64, needed_bytes: u64) -> u64 {
    (window_bytes / 2).next_multiple_of(HUGE_PAGE_BYTES).max(needed_bytes)
}

const HUGE_PAGE_BYTES: u64 = 2 << 20;

/// Half of what x86-64 and aarch64 give a process at most: no larger request can succeed.
const WINDOW_BYTES_MAX: u64 = 1 << 46;

static RESERVED_BYTES: AtomicU64 = AtomicU64::new(0);
static RESERVED_BYTES_MAX: AtomicU64 = AtomicU64::new(16 << 40);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::io::{Access, Disk, File, RealDisk};
    use crate::sync::Arc;

    #[test]
    fn bytes_written_after_mapping_show_up_in_the_window() {
        let directory = tempfile::tempdir().unwrap();
        let file = create(directory.path());
        file.write_at(0, b"first").unwrap();
        let map = file.map(1 << 30).unwrap().unwrap();
        assert_eq!(map.window_bytes(), 1 << 30);
        assert_eq!(map.base.as_ptr().addr() % (2 << 20), 0);
        assert_eq!(slice(&map, 0, 5), Some(&b"first"[..]));
        file.allocate(0, 5 << 20).unwrap();
        file.write_at(4 << 20, b"later").unwrap();
        assert_eq!(slice(&map, 4 << 20, 5), Some(&b"later"[..]));
    }

    #[test]
    fn a_slice_that_leaves_the_window_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let file = create(directory.path());
        file.write_at(0, &[1; 100]).unwrap();
        let map = file.map(0).unwrap().unwrap();
        let window_bytes = map.window_bytes();
        assert_eq!(window_bytes, 2 << 20);
        assert_eq!(slice(&map, window_bytes, 0), Some(&b""[..]));
        assert_eq!(slice(&map, window_bytes, 1), None);
        assert_eq!(slice(&map, 1, window_bytes as usize), None);
        assert_eq!(slice(&map, u64::MAX, 1), None);
        assert_eq!(slice(&map, u64::MAX - 1, usize::MAX), None);
    }

    #[test]
    fn an_empty_file_can_be_mapped_and_grow() {
        let directory = tempfile::tempdir().unwrap();
        let file = create(directory.path());
        let map = file.map(1).unwrap().unwrap();
        file.write_at(0, b"x").unwrap();
        assert_eq!(slice(&map, 0, 1), Some(&b"x"[..]));
    }

    #[test]
    fn populated_bytes_are_resident_and_a_part_past_the_end_is_an_error_and_no_signal() {
        let directory = tempfile::tempdir().unwrap();
        let file = create(directory.path());
        file.write_at(0, &[1; 1 << 20]).unwrap();
        let map = file.map(1 << 30).unwrap().unwrap();
        map.populate(12345, (1 << 20) - 12345).unwrap();
        map.populate(7, 0).unwrap();
        let pages = map.huge_pages().unwrap();
        assert!(pages.resident_bytes >= (1 << 20) - (64 << 10), "{pages:?}");
        assert!(pages.huge_bytes <= pages.resident_bytes, "{pages:?}");
        map.populate(0, 4 << 20).unwrap_err();
        assert_eq!(map.populate(0, 2 << 30).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        map.advise_random().unwrap();
    }

    #[test]
    fn windows_are_charged_to_the_process_while_they_live() {
        let directory = tempfile::tempdir().unwrap();
        let map = create(directory.path()).map(1 << 40).unwrap().unwrap();
        assert_eq!(map.window_bytes(), 1 << 40);
        assert!(reserved_bytes() >= 1 << 40);
        drop(map);
        assert!(reserved_bytes() < 1 << 40);
    }

    fn create(directory: &Path) -> Arc<dyn File> {
        RealDisk.open(&directory.join("file"), Access::CreateNew).unwrap()
    }

    fn slice(map: &Map, offset: u64, length: usize) -> Option<&[u8]> {
        // SAFETY: the tests ask only for bytes that are in the file, or outside of the window, and write none
        // meanwhile.
        unsafe { map.slice(offset, length) }
    }
}
