//! A place in the prepared part of a file, to be written through memory.

#![allow(unsafe_code)] // Stores to a map that may be gone: see `PreparedPlace::write`.

use std::ptr::NonNull;

/// Bytes of a file that were [prepared](crate::io::File::prepare), and that one thread will write: see
/// [`crate::io::File::place`].
#[derive(Debug)]
pub struct PreparedPlace {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: it is an address; the caller of `PreparedPlace::write` guarantees that storing there is sound, from any
// thread.
unsafe impl Send for PreparedPlace {}

impl PreparedPlace {
    /// The `length` bytes from `start` on, which are mapped, shared and writable.
    #[cfg(target_os = "linux")]
    pub(in crate::io) fn new(start: NonNull<u8>, length: usize) -> Self {
        Self { start, length }
    }

    /// Prefetches the first lines of memory of the place, which other processors may have, so that storing there does
    /// not wait for them.
    #[inline]
    pub fn approach(&self) {
        let end = self.length.min(PREFETCHED_BYTES_MAX);
        (0..end).step_by(LINE_BYTES).for_each(|offset| prefetch_to_write(self.start.as_ptr().wrapping_add(offset)));
        // The place may begin inside a line, and then end in a line that no step reached.
        prefetch_to_write(self.start.as_ptr().wrapping_add(end.saturating_sub(1)));
    }

    /// Stores `bytes` there: the system has them then, as after [`crate::io::File::write_at`].
    ///
    /// # Panics
    /// If the place has another length.
    ///
    /// # Safety
    /// The file of the place is open until this returns, and is not cut below the place's end meanwhile; and no other
    /// thread writes there in that time.
    #[inline]
    pub unsafe fn write(self, bytes: &[u8]) {
        assert!(bytes.len() == self.length, "a place is for what it was made for");
        // SAFETY: it is mapped while the file is open, and in the file while that is not cut: this function's
        // contract. `bytes` is not part of the map, into which there are no references.
        unsafe { self.start.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }
}

/// Prefetches the cache line at `address` for writing: a hint, for any address.
#[inline(always)]
fn prefetch_to_write(address: *mut u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: a prefetch changes no memory that the program can observe, and faults on no address; processors
        // that do not know this one take it for a `nop`.
        unsafe {
            std::arch::asm!("prefetchw [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        // SAFETY: `prfm` changes no memory that the program can observe, and faults on no address.
        unsafe {
            std::arch::asm!("prfm pstl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}

const LINE_BYTES: usize = 64;
/// More than this is on its way for so long that the rest can be fetched meanwhile.
const PREFETCHED_BYTES_MAX: usize = 1 << 10;
