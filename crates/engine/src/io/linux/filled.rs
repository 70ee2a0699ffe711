//! What fills a window of memory, part by part, before it is read.
//!
//! Invariants: (1) The bytes of a part are written by one thread at a time, under the part's lock, and while its bit is
//! not set. (2) They are never written after its bit is set, and read only then. (3) The bit is set (Release) after the
//! last byte was written, and read (Acquire) before the first is read.
#![allow(unsafe_code)] // Slices of the window.

use std::io;
use std::ptr::NonNull;

use crate::io::Fill;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};

/// Where the parts of a window come from, and which it has.
#[derive(Debug)]
pub(super) struct Filler {
    source: Arc<dyn Fill>,
    /// A bit for each part that is filled.
    filled: Box<[AtomicU64]>,
    /// Each is held while a part is filled whose number has this remainder. Nothing of the engine is locked under it,
    /// except by a disk.
    filling: [Mutex<()>; LOCKS],
}

impl Filler {
    pub fn new(source: Arc<dyn Fill>) -> Self {
        let words = source.content_bytes().div_ceil(source.part_bytes()).div_ceil(u64::from(u64::BITS));
        let filled = (0..words).map(|_| AtomicU64::new(0)).collect();
        Self { source, filled, filling: [const { Mutex::new(()) }; LOCKS] }
    }

    /// Fills the parts with these bytes that are not filled.
    ///
    /// # Errors
    /// `UnexpectedEof` if there are no such bytes; that of the source.
    ///
    /// # Safety
    /// All calls have the same `base`, from which memory for all parts may be written. It is read only where a call for
    /// the same bytes was successful before.
    pub unsafe fn ensure(&self, base: NonNull<u8>, offset: u64, length: usize) -> io::Result<()> {
        let end = offset.checked_add(length as u64).filter(|&end| end <= self.source.content_bytes());
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let part_bytes = self.source.part_bytes();
        for part in offset / part_bytes..end.div_ceil(part_bytes) {
            if !self.is_filled(part) {
                // SAFETY: this function's contract; the part begins below the end of the content.
                unsafe { self.fill(base, part)? };
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`Filler::ensure`], and there is such a part.
    #[cold]
    unsafe fn fill(&self, base: NonNull<u8>, part: u64) -> io::Result<()> {
        let _filling = self.filling[(part % LOCKS as u64) as usize].lock();
        if self.is_filled(part) {
            return Ok(());
        }
        let start = part * self.source.part_bytes();
        let length = (self.source.content_bytes() - start).min(self.source.part_bytes()) as usize;
        // SAFETY: the memory from `base` on has all parts, by the contract.
        let address = unsafe { base.add(start as usize) };
        // SAFETY: the part's bit is not set, so nobody reads its bytes; its lock is held, so nobody else writes them.
        let bytes = unsafe { std::slice::from_raw_parts_mut(address.as_ptr(), length) };
        self.source.fill(part, bytes)?;
        self.filled[(part / 64) as usize].fetch_or(1 << (part % 64), Ordering::Release);
        Ok(())
    }

    fn is_filled(&self, part: u64) -> bool {
        self.filled[(part / 64) as usize].load(Ordering::Acquire) >> (part % 64) & 1 != 0
    }
}

const LOCKS: usize = 64;
