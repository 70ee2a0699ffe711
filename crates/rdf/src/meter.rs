//! Owns the count of memory that each thread has allocated and not freed, by which an evaluation is held to a limit of
//! it.
//!
//! A library cannot choose the allocator: the program installs [`MeteringAllocator`], and without that the count stays
//! 0. The evaluation ([`sparql`](crate::sparql)) puts its own count in the place of its thread's while it runs; what
//! the store reads with is left out by [`uncounted`], since pages stay in a cache that all share, and leave it when
//! others read.
//!
//! Invariants: (1) counting allocates nothing, takes no lock and cannot panic: additions wrap. (2) The count of a
//! thread is changed by that thread alone. What another one frees, it frees from its own count.
#![allow(unsafe_code)] // An allocator is an unsafe trait.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

/// An allocator that counts, for each thread, the bytes that it has allocated less those that it has freed: what
/// [`Limits::memory_bytes_max`](crate::sparql::Limits::memory_bytes_max) is held to. All else is up to the allocator
/// within, the system's unless another is given. It costs an addition for each of them.
///
/// ```standalone_crate
/// use fulgurite_rdf::MeteringAllocator;
///
/// #[global_allocator]
/// static ALLOCATOR: MeteringAllocator = MeteringAllocator::system();
///
/// assert!(MeteringAllocator::is_installed());
/// ```
#[derive(Debug)]
pub struct MeteringAllocator<A = System>(A);

thread_local! {
    /// What this thread has allocated less what it has freed, or what an evaluation has put in the place of that. It
    /// has no destructor, so that it is there as long as the thread is.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

impl<A> MeteringAllocator<A> {
    /// One that allocates by `allocator`.
    pub const fn new(allocator: A) -> Self {
        Self(allocator)
    }
}

impl MeteringAllocator {
    /// One that allocates by the system's allocator.
    pub const fn system() -> Self {
        Self(System)
    }

    /// Whether the program has installed one, around any allocator.
    pub fn is_installed() -> bool {
        let before = held();
        let probe = black_box(Vec::<u8>::with_capacity(black_box(1)));
        let is_counted = held() != before;
        drop(probe);
        is_counted
    }
}

/// What counts now: of the evaluation that the thread is in, or of the thread.
#[inline]
pub(crate) fn held() -> i64 {
    HELD.try_with(Cell::get).unwrap_or(0)
}

/// Puts another count in its place, and returns it.
#[inline]
pub(crate) fn replace(bytes: i64) -> i64 {
    HELD.try_with(|held| held.replace(bytes)).unwrap_or(0)
}

/// Counts bytes that were allocated, or freed if they are negative.
#[inline]
pub(crate) fn count(bytes: i64) {
    let _ = HELD.try_with(|held| held.set(held.get().wrapping_add(bytes)));
}

/// Runs `work` without counting what it allocates and frees. What stays of it and is freed where it counts is for the
/// caller to [`count`].
#[inline]
pub(crate) fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let _before = Before(held());
    work()
}

/// Puts the count back, also if a panic passes.
struct Before(i64);

impl Drop for Before {
    #[inline]
    fn drop(&mut self) {
        replace(self.0);
    }
}

/// As a signed number. No allocation is larger than `isize::MAX`.
#[inline]
fn signed(bytes: usize) -> i64 {
    bytes as i64
}

// SAFETY: every call is passed on as it is to an allocator that keeps to the contract; counting neither allocates nor
// unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for MeteringAllocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract of `alloc`.
        let pointer = unsafe { self.0.alloc(layout) };
        if !pointer.is_null() {
            count(signed(layout.size()));
        }
        pointer
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract of `alloc_zeroed`.
        let pointer = unsafe { self.0.alloc_zeroed(layout) };
        if !pointer.is_null() {
            count(signed(layout.size()));
        }
        pointer
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-signed(layout.size()));
        // SAFETY: the caller keeps to the contract of `dealloc`.
        unsafe { self.0.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps to the contract of `realloc`.
        let moved = unsafe { self.0.realloc(pointer, layout, size) };
        if !moved.is_null() {
            count(signed(size) - signed(layout.size()));
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_allocates_and_frees_is_counted_by_its_size() {
        let allocator = MeteringAllocator::new(System);
        let (small, large) = (Layout::array::<u8>(100).unwrap(), Layout::array::<u8>(1000).unwrap());
        let before = held();
        // SAFETY: the layout has a size.
        let first = unsafe { allocator.alloc(small) };
        assert_eq!(held() - before, 100);
        // SAFETY: as above.
        let zeroed = unsafe { allocator.alloc_zeroed(large) };
        assert_eq!(held() - before, 1100);
        // SAFETY: `first` is of this allocator and of this layout.
        let grown = unsafe { allocator.realloc(first, small, 5000) };
        assert_eq!(held() - before, 6000);
        // SAFETY: it has this size since it has grown.
        unsafe { allocator.dealloc(grown, Layout::array::<u8>(5000).unwrap()) };
        // SAFETY: `zeroed` is of this allocator and of this layout.
        unsafe { allocator.dealloc(zeroed, large) };
        assert_eq!(held(), before);
    }

    /// Has no memory.
    struct Empty;

    // SAFETY: it gives no memory, which the contract allows, so none comes back.
    unsafe impl GlobalAlloc for Empty {
        unsafe fn alloc(&self, _: Layout) -> *mut u8 {
            std::ptr::null_mut()
        }

        unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
    }

    #[test]
    fn what_could_not_be_allocated_is_not_counted() {
        let (allocator, layout, before) = (MeteringAllocator::new(Empty), Layout::array::<u8>(100).unwrap(), held());
        // SAFETY: the layout has a size.
        assert!(unsafe { allocator.alloc(layout) }.is_null());
        // SAFETY: as above.
        assert!(unsafe { allocator.alloc_zeroed(layout) }.is_null());
        assert_eq!(held(), before);
    }

    #[test]
    fn what_is_not_to_be_counted_leaves_the_count_as_it_was_also_if_it_panics() {
        let before = held();
        assert_eq!(uncounted(|| replace(7)), before);
        assert_eq!(held(), before);
        let panic = std::panic::catch_unwind(|| {
            uncounted(|| {
                count(1000);
                std::panic::resume_unwind(Box::new(()));
            })
        });
        assert!(panic.is_err());
        assert_eq!(held(), before);
    }

    #[test]
    fn a_program_that_has_installed_none_is_told_so() {
        assert!(!MeteringAllocator::is_installed());
    }
}
