//! The part of a file that is prepared for small writes: they go to it through memory, at a fraction of what a call costs.
//!
//! A store to a page that has space on the medium is as good as a write by a call: it survives the process at once, and a
//! power cut after the next sync. Where the space is missing, or the page cannot be read back, it is SIGBUS. So:
//!
//! Invariants: (1) The prepared part is in the file, and has no holes: it was written there by calls, which report a full disk, or
//! through this, in what was prepared before.
//! (2) Only file systems that overwrite in place are trusted not to want space again for bytes that have it. (3) The file is
//! cut and prepared under the lock under which it is stored to; nobody cuts it through another handle. (4) One thread at a
//! time stores.

#![allow(unsafe_code)] // Memory maps have no safe interface.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags};

use super::disk::write_zeros;
use super::map::unmap;
use crate::sync::Mutex;

/// The prepared part of one file.
#[derive(Debug, Default)]
pub(super) struct Prepared(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    /// Nothing was prepared yet.
    #[default]
    Unused,
    /// The first bytes of the file, this many, may be stored to.
    Mapped(Window, u64),
    /// The file system is not trusted, or there is no address space.
    Refused,
}

/// A shared, writable mapping of a file's beginning.
#[derive(Debug)]
struct Window {
    base: NonNull<u8>,
}

// SAFETY: the window is plain memory that belongs to no thread; the mutex around it lets one thread at a time store.
unsafe impl Send for Window {}

impl Prepared {
    /// Stores `bytes` at `offset`, if they lie in the prepared part; otherwise answers `false`: a call must write them.
    #[inline]
    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        match &*self.0.lock() {
            State::Mapped(window, prepared_bytes) if offset.saturating_add(bytes.len() as u64) <= *prepared_bytes => {
                // SAFETY: the prepared part lies in the window, and by invariant (1) in the file.
                let place = unsafe { window.base.add(offset as usize) };
                // SAFETY: as above; `bytes` is no part of the window, which nobody else has references into.
                unsafe { place.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
                true
            }
            _ => false,
        }
    }

    /// See [`File::prepare`](super::File::prepare). Where calls must do all the same, nothing is written.
    pub(super) fn extend(&self, file: &fs::File, length: u64) -> io::Result<()> {
        let mut state = self.0.lock();
        if let State::Unused = *state {
            *state = Window::new(file).map_or(State::Refused, |window| State::Mapped(window, 0));
        }
        if let State::Mapped(_, prepared_bytes) = &mut *state
            && length <= WINDOW_BYTES
        {
            write_zeros(|offset, zeros| file.write_all_at(zeros, offset), file.metadata()?.len(), length)?;
            *prepared_bytes = length.max(*prepared_bytes);
        }
        Ok(())
    }

    /// See [`File::set_len`](super::File::set_len).
    pub(super) fn set_len(&self, file: &fs::File, length: u64) -> io::Result<()> {
        let mut state = self.0.lock();
        if let State::Mapped(_, prepared_bytes) = &mut *state {
            *prepared_bytes = length.min(*prepared_bytes);
        }
        file.set_len(length)
    }
}

impl Window {
    /// `None` where calls must do. That costs only speed.
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

/// Whether a byte of the file that has space never wants other space when it is overwritten.
fn overwrites_in_place(file: &fs::File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|system| IN_PLACE.contains(&((system.f_type as u64) & 0xffff_ffff)))
}

/// Ext2 to 4 and tmpfs, from `linux/magic.h`. Not XFS: a copy that somebody made of the file may share its blocks.
const IN_PLACE: [u64; 2] = [0xef53, 0x0102_1994];

/// Addresses cost nothing until they are touched. What lies behind is written by calls.
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
        assert_eq!(file.metadata().unwrap().len(), 100, "what lies behind the window is not prepared");
    }

    #[test]
    fn a_file_that_is_refused_does_not_grow() {
        let directory = tempfile::tempdir().unwrap();
        let file = fs::File::create_new(directory.path().join("file")).unwrap();
        let prepared = Prepared(Mutex::new(State::Refused));
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
