//! A place in the prepared part of a file, to be written through memory.

#![allow(unsafe_code)] // What lies there may be gone: see `PreparedPlace::write`.

use std::ptr::NonNull;

/// Bytes of a file that were [prepared](super::File::prepare), and that one thread will write: see [`super::File::place`].
#[derive(Debug)]
pub struct PreparedPlace {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: it is an address; whoever stores there answers for it, from whatever thread: see `PreparedPlace::write`.
unsafe impl Send for PreparedPlace {}

impl PreparedPlace {
    /// The `length` bytes from `start` on, which are mapped, shared and writable.
    pub(super) fn new(start: NonNull<u8>, length: usize) -> Self {
        Self { start, length }
    }

    /// Asks for the first lines of memory of the place, which other processors may have: so that storing there does not wait for them.
    #[inline]
    pub fn approach(&self) {
        let end = self.length.min(APPROACHED_BYTES_MAX);
        (0..end).step_by(LINE_BYTES).for_each(|offset| prefetch_to_write(self.start.as_ptr().wrapping_add(offset)));
        // The place may begin amid a line, and then end in one that no step came to.
        prefetch_to_write(self.start.as_ptr().wrapping_add(end.saturating_sub(1)));
    }

    /// Stores `bytes` there: the system has them then, as after [`super::File::write_at`].
    ///
    /// # Panics
    /// If the place has another length.
    ///
    /// # Safety
    /// The file that gave the place is held by somebody until this returns, and is not cut to less than the place's end meanwhile; and
    /// nobody else writes there in that time.
    #[inline]
    pub unsafe fn write(self, bytes: &[u8]) {
        assert!(bytes.len() == self.length, "a place is for what it was made for");
        // SAFETY: it is mapped as long as the file is held, and in the file as long as that is not cut: the caller's word. `bytes` is no
        // part of the map, into which nobody has references.
        unsafe { self.start.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }
}

/// Asks the processor for the cache line at `address`, and for it alone: a hint, for any address.
#[inline(always)]
fn prefetch_to_write(address: *mut u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: a prefetch changes no memory that the program can observe, and faults on no address; processors that do not know
        // this one take it for a `nop`.
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
const APPROACHED_BYTES_MAX: usize = 1 << 10;
