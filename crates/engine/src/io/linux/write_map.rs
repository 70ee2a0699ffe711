//! The part of a file that is prepared for small writes: they go to it through memory, at a fraction of what a call
//! costs.
//!
//! A store to a page that has space on the medium is as good as a write by a call: it survives the process at once,
//! and a power cut after the next sync. Where the space is missing, or the page cannot be read back, it is SIGBUS.
//! So:
//!
//! Invariants: (1) The prepared part is in the file, and has no holes: it was written there by calls, which report a
//! full disk, or through this map, in a part that was prepared before.
//! (2) Only file systems that overwrite in place are trusted not to need new space for bytes that have it. (3) The
//!     file is cut and prepared under the lock under which places in it are handed out, and not cut below one that is
//!     not written yet; it is not cut through another handle. (4) Each byte is stored by one thread at a time.

#![allow(unsafe_code)] // Memory maps have no safe interface.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags};

use super::map::unmap;
use crate::io::disk::write_zeros;
use crate::io::place::PreparedPlace;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, OnceLock};

/// The prepared part of one file. Asking for a place in it writes to no memory that threads share.
#[derive(Debug, Default)]
pub(in crate::io) struct Prepared {
    /// Made when the file is prepared first. An inner `None`: the file system is not trusted, or there is no address
    /// space.
    window: OnceLock<Option<Window>>,
    /// The first bytes of the file, this many, may be stored to.
    bytes: AtomicU64,
    /// Held while a thread changes `bytes`, or stores to a place of its own. Nothing is locked under it.
    changing: Mutex<()>,
}

/// A shared, writable mapping of a file's beginning.
#[derive(Debug)]
struct Window {
    base: NonNull<u8>,
}

// SAFETY: the window is plain memory that belongs to no thread.
unsafe impl Send for Window {}
// SAFETY: a shared reference to it provides only an address. The caller of `PreparedPlace::write` guarantees that
// storing is sound.
unsafe impl Sync for Window {}

impl Prepared {
    /// Stores `bytes` at `offset`, if they are inside the prepared part; otherwise returns `false`: a call must write
    /// them.
    #[inline]
    pub(in crate::io) fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        let _changing = self.changing.lock();
        let Some(place) = self.place(offset, bytes.len()) else { return false };
        // SAFETY: the caller keeps the file open. It is not cut, or written so, while `changing` is locked here; that
        // no other thread has this place from `Prepared::place` is invariant (4).
        unsafe { place.write(bytes) };
        true
    }

    /// See [`File::place`](crate::io::File::place).
    #[inline]
    pub(in crate::io) fn place(&self, offset: u64, length: usize) -> Option<PreparedPlace> {
        let window = self.window.get()?.as_ref()?;
        // Relaxed: the caller has the lock under which the file is prepared.
        if offset.checked_add(length as u64)? > self.bytes.load(Ordering::Relaxed) {
            return None;
        }
        // SAFETY: the prepared part is inside the window, and by invariant (1) in the file.
        Some(PreparedPlace::new(unsafe { window.base.add(offset as usize) }, length))
    }

    /// See [`File::prepare`](crate::io::File::prepare). Where only calls can write, nothing is written.
    pub(in crate::io) fn extend(&self, file: &fs::File, length: u64) -> io::Result<()> {
        let _changing = self.changing.lock();
        if self.window.get_or_init(|| Window::new(file)).is_some() && length <= WINDOW_BYTES {
            write_zeros(|offset, zeros| file.write_all_at(zeros, offset), file.metadata()?.len(), length)?;
            self.bytes.store(length.max(self.bytes.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
        Ok(())
    }

    /// See [`File::set_len`](crate::io::File::set_len).
    pub(in crate::io) fn set_len(&self, file: &fs::File, length: u64) -> io::Result<()> {
        let _changing = self.changing.lock();
        self.bytes.store(length.min(self.bytes.load(Ordering::Relaxed)), Ordering::Relaxed);
        file.set_len(length)
    }
}

impl Window {
    /// `None` where only calls can write. That costs only speed.
    fn new(file: &fs::File) -> Option<Self> {
        if !overwrites_in_place(file) {
            return None;
        }
        let (length, protection) = (WINDOW_BYTES as usize, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address of the system's choice touches no memory of others.
        let base = unsafe { rustix::mm::mmap(ptr::null_mut(), length, protection, MapFlags::SHARED, file, 0) };
        Some(Self { base: NonNull::new(base.ok()?)?.cast() })
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        unmap(self.base.as_ptr(), WINDOW_BYTES as usize);
    }
}

/// Whether a byte of the file that has space never needs other space when it is overwritten.
fn overwrites_in_place(file: &fs::File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|system| IN_PLACE.contains(&((system.f_type as u64) & 0xffff_ffff)))
}

/// Ext2 to 4 and tmpfs, from `linux/magic.h`. Not XFS: a copy of the file may share its blocks.
const IN_PLACE: [u64; 2] = [0xef53, 0x0102_1994];

/// Addresses cost nothing until they are touched. Bytes after the window are written by calls.
const WINDOW_BYTES: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{Access, Disk, RealDisk};

    #[test]
    fn what_is_stored_is_read_by_other_handles_and_what_is_not_prepared_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        let prepared = Prepared::default();
        assert!(!prepared.write(0, b"x"), "nothing is prepared yet");
        prepared.extend(&file, 5000).unwrap();
        if !overwrites_in_place(&file) {
            assert!(!prepared.write(0, b"x"), "this file system takes calls only");
            assert_eq!(file.metadata().unwrap().len(), 0, "and so zeros would be in vain");
            return;
        }
        assert!(prepared.write(4097, b"stored"));
        assert_eq!(&fs::read(&path).unwrap()[4096..4104], b"\0stored\0");
        assert!(prepared.write(4999, b"x") && !prepared.write(4999, b"xx") && !prepared.write(u64::MAX, b"xx"));
        prepared.set_len(&file, 100).unwrap();
        assert!(prepared.write(99, b"y") && !prepared.write(99, b"yy") && !prepared.write(4097, b"stored"));
        assert_eq!(fs::read(&path).unwrap()[99], b'y');
        prepared.extend(&file, WINDOW_BYTES + 1).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 100, "the bytes after the window are not prepared");
    }

    #[test]
    fn places_are_written_side_by_side_and_only_in_what_is_prepared() {
        let directory = tempfile::tempdir().unwrap();
        let file = RealDisk.open(&directory.path().join("file"), Access::CreateNew).unwrap();
        assert!(file.place(0, 1).is_none(), "nothing is prepared yet");
        file.prepare(10_000).unwrap();
        let Some(first) = file.place(0, 5_000) else { return };
        let last = file.place(5_000, 5_000).unwrap();
        assert!(file.place(5_001, 5_000).is_none() && file.place(u64::MAX, 2).is_none());
        // SAFETY: the file is held, and not cut; the places are apart, and each is written once.
        let write = |place: PreparedPlace, byte| unsafe { place.write(&[byte; 5_000]) };
        std::thread::scope(|scope| {
            scope.spawn(|| write(first, 1));
            write(last, 2);
        });
        let mut bytes = vec![0; 10_000];
        file.read_at(0, &mut bytes).unwrap();
        assert!(bytes[..5_000].iter().all(|byte| *byte == 1) && bytes[5_000..].iter().all(|byte| *byte == 2));
        file.set_len(7_000).unwrap();
        assert!(file.place(5_000, 2_001).is_none() && file.place(5_000, 2_000).is_some());
    }

    #[test]
    fn a_file_that_is_refused_does_not_grow() {
        let directory = tempfile::tempdir().unwrap();
        let file = fs::File::create_new(directory.path().join("file")).unwrap();
        let prepared = Prepared { window: OnceLock::from(None), ..Prepared::default() };
        prepared.extend(&file, 5000).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 0);
        assert!(!prepared.write(0, b"x"));
    }

    #[test]
    fn a_file_that_is_cut_and_grows_again_takes_writes_everywhere() {
        let directory = tempfile::tempdir().unwrap();
        let file = RealDisk.open(&directory.path().join("file"), Access::CreateNew).unwrap();
        file.prepare(10_000).unwrap();
        file.write_at(0, &[0; 9_000]).unwrap();
        file.write_at(9_000, &[1; 2_000]).unwrap();
        file.set_len(9_500).unwrap();
        file.write_at(9_400, &[2; 300]).unwrap();
        file.prepare(20_000).unwrap();
        file.write_at(9_700, &[0; 10_299]).unwrap();
        file.write_at(19_999, &[3]).unwrap();
        let mut bytes = vec![0; 20_000];
        file.read_at(0, &mut bytes).unwrap();
        let runs = [(0..9_000, 0), (9_000..9_400, 1), (9_400..9_700, 2), (9_700..19_999, 0), (19_999..20_000, 3)];
        for (range, byte) in runs {
            assert!(bytes[range.clone()].iter().all(|found| *found == byte), "{range:?}");
        }
    }
}
