//! The memory of one delta: an arena that grows in chunks and is freed as a whole, when the delta is dropped.
//!
//! Chunk `i` holds 4 KiB · 2^i, so a delta of any size is made of at most 23 chunks, found by one logarithm. Memory is
//! named by the number of its first 8-byte unit: 32 bits reach 32 GiB. A chunk exists from the first allocation that
//! falls into it: an empty arena owns nothing.
//!
//! The large chunks of an arena that is dropped serve the next one: see [`Spares`].
//!
//! Invariants: (1) Memory that was handed out is never moved, reused or freed before the arena is dropped. (2) No two
//! allocations overlap. (3) Any number of threads may allocate at once. The arena drops no values in the memory.
#![allow(unsafe_code)] // Raw memory that outlives every borrow of what is in it is the whole purpose of this file.

use crate::delta::lanes::Lanes;
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Arc, memory};
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::num::NonZeroU32;
use std::ptr::{self, NonNull};

/// Number of an 8-byte unit of an arena; the least is [`UNIT_FIRST`], so that 0 can mean "none".
pub(super) type Unit = NonZeroU32;

/// Bytes of a cache line, as far as it matters for speed.
pub(super) const LINE: usize = 64;
/// Allocation counts in units of this many bytes.
const UNIT_BYTES: usize = 8;
/// The first unit of the first chunk: chunk `i` begins at unit `UNIT_FIRST << i` and has as many units.
const UNIT_FIRST: u64 = 512;
/// As many chunks as 32-bit units reach.
const CHUNKS_MAX: usize = 23;
/// Chunks are aligned at least to this, which is therefore the largest alignment that can be asked for.
const ALIGN_MAX: usize = 64;
/// From this unit on, after half a megabyte, there are lanes. (Under a model checker or an interpreter, arenas have
/// few units.)
const LANES_FROM: u64 = if cfg!(any(model_checked, miri)) { UNIT_FIRST + 64 } else { 1 << 16 };
/// Units of the pieces that lanes take at a time.
const PIECE_UNITS: u64 = if cfg!(any(model_checked, miri)) { 64 } else { 512 };
/// Larger allocations do not use pieces, because they would leave too much of a piece unused.
const LANE_UNITS_MAX: u64 = PIECE_UNITS / 8;
/// How far ahead of what is handed out memory is fetched into the cache.
const FETCH_AHEAD_BYTES: usize = 256;
/// From this size on, chunks are aligned to huge pages and the system is asked for such. (For a model checker even
/// the least is as large: then it is kept for reuse.)
const HUGE_PAGE_BYTES: usize = if cfg!(model_checked) { 4 << 10 } else { 2 << 20 };

const _: () = assert!(UNIT_FIRST << CHUNKS_MAX == 1 << u32::BITS);

/// Large chunks that dropped arenas left to later ones: two of each size at most, for an arena has one of each, and
/// there are an active and a frozen delta.
///
/// Memory that is new to a process costs as much as all the rest of an insert: the system must find it, zero it and
/// map it. Memory that is offered to the system meanwhile is lost: the page cache of the checkpoint that empties the
/// delta uses it.
#[derive(Default)]
struct Spares {
    chunks: [[AtomicPtr<u8>; 2]; CHUNKS_MAX],
    /// No arena has taken a large chunk since the last [`Spares::forget`]: chunks that are put here are freed.
    unwanted: AtomicBool,
}

/// See the module.
pub(super) struct Arena {
    /// Null until the chunk is needed; never changed afterwards.
    chunks: [AtomicPtr<u8>; CHUNKS_MAX],
    next: Next,
    /// From [`LANES_FROM`] on small allocations come from pieces of memory that threads took for themselves.
    lanes: Lanes<Piece>,
    /// The blocks that were too large for a chunk, each naming the one before.
    blocks: AtomicPtr<Block>,
    /// Their bytes.
    block_bytes: AtomicUsize,
    spares: Arc<Spares>,
}

/// The first unit that was never handed out. It has a cache line to itself: inserts write it, and the fields that
/// would be beside it, chunks and the tree's root, is read by each get and each other insert.
#[repr(align(64))]
struct Next(AtomicU64);

/// The rest of a piece of memory that belongs to a lane: its first unit, in the upper half, and where it ends.
#[derive(Default)]
struct Piece(AtomicU64);

/// Head of a block of its own; the bytes follow, aligned to 16.
#[repr(C, align(16))]
struct Block {
    previous: *mut Block,
    length: usize,
}

// SAFETY: the raw pointers in an arena own memory that no other arena knows, and it hands out addresses only.
unsafe impl Send for Arena {}
// SAFETY: every field that a shared reference can change is atomic; a `Block` is not changed once it is published.
unsafe impl Sync for Arena {}

impl Spares {
    /// The spare chunk of this size, if there is one.
    fn take(&self, index: usize) -> Option<NonNull<u8>> {
        if is_kept(index) {
            // Relaxed: a hint. A thread that misses it keeps or frees one chunk too many.
            self.unwanted.store(false, Ordering::Relaxed);
        }
        self.remove(index)
    }

    /// Frees all chunks, and those that are put before the next is taken.
    fn forget(&self) {
        self.unwanted.store(true, Ordering::Relaxed);
        for index in 0..CHUNKS_MAX {
            while let Some(chunk) = self.remove(index) {
                // SAFETY: `put` took it with the word that it has this layout.
                unsafe { dealloc(chunk.as_ptr(), chunk_layout(index)) };
            }
        }
    }

    fn remove(&self, index: usize) -> Option<NonNull<u8>> {
        // Acquire pairs with the release in `put`: the arena before has done all it did with the memory.
        let mut places = self.chunks[index].iter();
        places.find_map(|place| NonNull::new(place.swap(ptr::null_mut(), Ordering::Acquire)))
    }

    /// Takes a chunk that nobody uses any more.
    ///
    /// # Safety
    /// `chunk` was allocated with `chunk_layout(index)`, and nothing refers to it.
    unsafe fn put(&self, index: usize, chunk: NonNull<u8>) {
        let layout = chunk_layout(index);
        if is_kept(index) && !self.unwanted.load(Ordering::Relaxed) {
            let is_taken_by = |place: &AtomicPtr<u8>| {
                // Release as `remove` says.
                let exchanged =
                    place.compare_exchange(ptr::null_mut(), chunk.as_ptr(), Ordering::Release, Ordering::Relaxed);
                exchanged.is_ok()
            };
            if self.chunks[index].iter().any(is_taken_by) {
                return;
            }
        }
        // SAFETY: the caller's word is for it.
        unsafe { dealloc(chunk.as_ptr(), layout) };
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Default for Arena {
    fn default() -> Self {
        Self::with(Arc::default())
    }
}

impl Arena {
    /// An arena that will use what this one and those before it leave.
    pub(super) fn successor(&self) -> Self {
        Self::with(Arc::clone(&self.spares))
    }

    /// Frees the memory that is kept for reuse.
    pub(super) fn forget_spares(&self) {
        self.spares.forget();
    }

    /// How many chunks are kept for reuse.
    #[cfg(test)]
    pub(super) fn spare_count(&self) -> usize {
        self.spares.chunks.iter().flatten().filter(|chunk| !chunk.load(Ordering::Relaxed).is_null()).count()
    }

    /// An arena that owns nothing yet.
    fn with(spares: Arc<Spares>) -> Self {
        Self {
            spares,
            chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS_MAX],
            next: Next(AtomicU64::new(UNIT_FIRST)),
            lanes: Lanes::default(),
            blocks: AtomicPtr::new(ptr::null_mut()),
            block_bytes: AtomicUsize::new(0),
        }
    }

    /// Takes `bytes` of memory aligned to `align`, uninitialised, in one stretch.
    ///
    /// Requires: `align` is a power of two from 8 to 64.
    ///
    /// # Panics
    /// When the arena has handed out 32 GiB.
    #[inline]
    pub(super) fn allocate(&self, bytes: usize, align: usize) -> (Unit, NonNull<u8>) {
        debug_assert!(align.is_power_of_two() && (UNIT_BYTES..=ALIGN_MAX).contains(&align));
        let units = bytes.div_ceil(UNIT_BYTES).max(1) as u64;
        let slack = (align / UNIT_BYTES - 1) as u64;
        let unit = match self.lanes.of_thread() {
            Some(lane) if units <= LANE_UNITS_MAX => self.take_of(lane, units, slack),
            _ => self.take(units, slack),
        };
        let chunk = chunk_of(unit);
        let memory = self.in_chunk(self.chunk(chunk), chunk, unit);
        memory::handed_out(memory, bytes);
        // What the next allocations will write is fetched now: a lock taken after a write waits for its lines.
        prefetch_lines::<4>(memory.as_ptr().wrapping_add(bytes + FETCH_AHEAD_BYTES));
        (unit, memory)
    }

    /// Takes units of one chunk. The first unit is a multiple of `slack + 1`.
    fn take(&self, units: u64, slack: u64) -> Unit {
        loop {
            // Relaxed: the counter only keeps allocations apart; the code that shares the memory publishes it.
            let start = self.next.0.fetch_add(units + slack, Ordering::Relaxed);
            // A unit's alignment is its address's, because chunks are aligned and begin at multiples of 512 units.
            let first = (start + slack) & !slack;
            let last = first + units - 1;
            assert!(last <= u64::from(u32::MAX), "a delta has outgrown the 32 GiB that its references reach");
            let (Some(unit), Some(last)) = (Unit::new(first as u32), Unit::new(last as u32)) else {
                unreachable!("units begin at 512 and fit into 32 bits");
            };
            if first >= LANES_FROM {
                self.lanes.open();
            }
            // Otherwise it would lie across two chunks: what is left of the first stays unused.
            if chunk_of(unit) == chunk_of(last) {
                return unit;
            }
        }
    }

    /// As [`Arena::take`], from the lane's piece, or from a new one.
    #[inline]
    fn take_of(&self, lane: &Piece, units: u64, slack: u64) -> Unit {
        // Relaxed, here and below: as in `take`.
        let mut now = lane.0.load(Ordering::Relaxed);
        loop {
            let (start, end) = (now >> 32, now & u64::from(u32::MAX));
            let first = (start + slack) & !slack;
            if first + units > end {
                return self.take_piece(lane, now, units);
            }
            let left = (first + units) << 32 | end;
            match lane.0.compare_exchange(now, left, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Unit::new(first as u32).expect("a piece has no unit 0"),
                Err(theirs) => now = theirs,
            }
        }
    }

    /// Takes a new piece, from its beginning the units that are asked for, and leaves the rest to the lane, where
    /// `now` is too small. What was left there, or what another thread of the lane came first with, is lost.
    #[cold]
    fn take_piece(&self, lane: &Piece, now: u64, units: u64) -> Unit {
        let unit = self.take(PIECE_UNITS, ALIGN_MAX as u64 / UNIT_BYTES as u64 - 1);
        let first = u64::from(unit.get());
        // The end of the last chunk has no number of 32 bits: of a piece there a unit is lost.
        let end = (first + PIECE_UNITS).min(u64::from(u32::MAX));
        // No unit is handed out twice, so a piece that is as it was has not changed meanwhile. Relaxed as in `take`.
        let _ = lane.0.compare_exchange(now, (first + units) << 32 | end, Ordering::Relaxed, Ordering::Relaxed);
        unit
    }

    /// The address of `unit`.
    ///
    /// # Safety
    /// `unit` came from [`Arena::allocate`] of this arena, by way of an acquiring load if on another thread.
    #[inline(always)]
    pub(super) unsafe fn address(&self, unit: Unit) -> NonNull<u8> {
        let chunk = chunk_of(unit);
        // Relaxed: the caller's acquire of `unit` pairs with a release that came after the chunk was stored.
        let base = self.chunks[chunk].load(Ordering::Relaxed);
        debug_assert!(!base.is_null());
        // SAFETY: the chunk of an allocated unit exists, by the caller's word.
        let base = unsafe { NonNull::new_unchecked(base) };
        let address = self.in_chunk(base, chunk, unit);
        memory::looked_at(address);
        address
    }

    /// Copies `bytes` to a block of their own, aligned to 16. The block lives as long as the arena.
    pub(super) fn store_block(&self, bytes: &[u8]) -> NonNull<u8> {
        let layout = block_layout(bytes.len());
        // SAFETY: the layout is not empty: it begins with a `Block`.
        let memory = unsafe { alloc(layout) };
        let Some(block) = NonNull::new(memory.cast::<Block>()) else { handle_alloc_error(layout) };
        // SAFETY: the layout has room for `bytes` after the `Block`, hence its end is still inside the allocation.
        let contents = unsafe { block.add(1) }.cast::<u8>();
        // SAFETY: the target has `bytes.len()` bytes, is fresh and so overlaps nothing.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), contents.as_ptr(), bytes.len()) };
        let mut previous = self.blocks.load(Ordering::Relaxed);
        loop {
            // SAFETY: fresh memory of the layout above; no other thread knows it before the exchange succeeds.
            unsafe { block.write(Block { previous, length: bytes.len() }) };
            // Release and relaxed: the list is read only by `drop`, which has the arena to itself.
            match self.blocks.compare_exchange_weak(previous, block.as_ptr(), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => previous = now,
            }
        }
        self.block_bytes.fetch_add(layout.size(), Ordering::Relaxed);
        contents
    }

    /// Bytes handed out so far.
    pub(super) fn used_bytes(&self) -> usize {
        let units = self.next.0.load(Ordering::Relaxed) - UNIT_FIRST;
        units as usize * UNIT_BYTES + self.block_bytes.load(Ordering::Relaxed)
    }

    /// The chunk, made if it is not there.
    fn chunk(&self, index: usize) -> NonNull<u8> {
        // Acquire pairs with the release of the exchange in `make_chunk`, on whichever thread that was.
        match NonNull::new(self.chunks[index].load(Ordering::Acquire)) {
            Some(chunk) => chunk,
            None => self.make_chunk(index),
        }
    }

    #[cold]
    fn make_chunk(&self, index: usize) -> NonNull<u8> {
        let layout = chunk_layout(index);
        let fresh = self.spares.take(index).unwrap_or_else(|| {
            // SAFETY: a chunk's layout is never empty.
            let memory = unsafe { alloc(layout) };
            let Some(fresh) = NonNull::new(memory) else { handle_alloc_error(layout) };
            memory::allocated(fresh, layout.size());
            advise_huge_pages(fresh, layout.size());
            fresh
        });
        let slot = &self.chunks[index];
        match slot.compare_exchange(ptr::null_mut(), fresh.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(theirs) => {
                // SAFETY: allocated with this layout, here or by an arena before, and nobody else has it.
                unsafe { self.spares.put(index, fresh) };
                NonNull::new(theirs).expect("the exchange failed because the slot was taken")
            }
        }
    }

    /// The address of `unit` in the chunk with this base.
    #[inline(always)]
    fn in_chunk(&self, base: NonNull<u8>, chunk: usize, unit: Unit) -> NonNull<u8> {
        let offset = (u64::from(unit.get()) - (UNIT_FIRST << chunk)) as usize * UNIT_BYTES;
        // SAFETY: the unit is in this chunk, whose size `chunk_of` and `chunk_layout` agree on.
        unsafe { base.add(offset) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for (index, chunk) in self.chunks.iter_mut().enumerate() {
            if let Some(memory) = NonNull::new(*chunk.get_mut()) {
                // SAFETY: `make_chunk` got it with this layout, and nothing in an arena outlives it.
                unsafe { self.spares.put(index, memory) };
            }
        }
        let mut next = *self.blocks.get_mut();
        while let Some(block) = NonNull::new(next) {
            // SAFETY: a published block is initialised, and is freed only below.
            let Block { previous, length } = unsafe { block.read() };
            next = previous;
            // SAFETY: `store_block` allocated it with the layout of its length.
            unsafe { dealloc(block.as_ptr().cast(), block_layout(length)) };
        }
    }
}

/// A slice of zeroes, which the system hands out without touching it when it is large.
pub(super) fn zeroed_words(count: usize) -> Box<[AtomicU64]> {
    assert!(count > 0);
    let layout = Layout::array::<AtomicU64>(count).expect("a filter is far smaller than the address space");
    // SAFETY: the layout is not empty, because `count` is not zero.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    if let Some(memory) = NonNull::new(memory) {
        advise_huge_pages(memory, layout.size());
    }
    let words = ptr::slice_from_raw_parts_mut(memory.cast::<AtomicU64>(), count);
    // SAFETY: the global allocator made it with the slice's own layout, and zero bytes are valid `AtomicU64`s.
    unsafe { Box::from_raw(words) }
}

/// Asks the processor to fetch the cache line at `address`: a hint, for any address.
#[inline(always)]
pub(super) fn prefetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads no memory that the program can observe, and faults on no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        // SAFETY: `prfm` reads no memory that the program can observe, and faults on no address.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}

/// Asks for some consecutive cache lines: a hint, for any address.
#[inline(always)]
pub(super) fn prefetch_lines<const LINES: usize>(address: *const u8) {
    let lines = if cfg!(miri) { 0 } else { LINES };
    for line in 0..lines {
        prefetch(address.wrapping_add(line * LINE));
    }
}

/// Which chunk holds `unit`.
#[inline(always)]
fn chunk_of(unit: Unit) -> usize {
    unit.ilog2() as usize - UNIT_FIRST.ilog2() as usize
}

/// Whether a chunk is large enough to be kept for reuse.
fn is_kept(index: usize) -> bool {
    chunk_layout(index).size() >= HUGE_PAGE_BYTES
}

fn chunk_layout(index: usize) -> Layout {
    let bytes = (UNIT_FIRST as usize * UNIT_BYTES) << index;
    let align = if bytes < HUGE_PAGE_BYTES { ALIGN_MAX } else { HUGE_PAGE_BYTES };
    Layout::from_size_align(bytes, align).expect("a chunk has at most 16 GiB and its alignment is a power of two")
}

fn block_layout(length: usize) -> Layout {
    let (layout, _) = Layout::new::<Block>()
        .extend(Layout::array::<u8>(length).expect("it is the length of a slice"))
        .expect("a slice and 16 bytes fit into the address space");
    layout
}

/// Asks for huge pages: a random read in a large delta otherwise waits for the page table too. A refusal costs speed
/// only, so it goes unheard.
fn advise_huge_pages(memory: NonNull<u8>, bytes: usize) {
    #[cfg(all(target_os = "linux", not(any(miri, model_checked))))]
    if bytes >= HUGE_PAGE_BYTES {
        let (start, length) = whole_pages(memory, bytes);
        // SAFETY: the range is inside an allocation of ours, and the advice changes no content.
        let _ = unsafe { rustix::mm::madvise(start, length, rustix::mm::Advice::LinuxHugepage) };
    }
    #[cfg(not(all(target_os = "linux", not(any(miri, model_checked)))))]
    let _ = (memory, bytes);
}

/// The pages that lie wholly in an allocation: those at its ends may belong to others too.
#[cfg(all(target_os = "linux", not(any(miri, model_checked))))]
fn whole_pages(memory: NonNull<u8>, bytes: usize) -> (*mut std::ffi::c_void, usize) {
    /// The system's are at most as large.
    const PAGE_BYTES_MAX: usize = 64 << 10;
    let skipped = memory.as_ptr().align_offset(PAGE_BYTES_MAX);
    let length = (bytes - skipped) / PAGE_BYTES_MAX * PAGE_BYTES_MAX;
    (memory.as_ptr().wrapping_add(skipped).cast(), length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const THREADS: usize = 4;
    const ROUNDS: usize = if cfg!(miri) { 30 } else { 20_000 };

    #[test]
    fn what_threads_are_given_is_aligned_and_overlaps_nowhere() {
        let arena = Arena::default();
        let take = |thread: usize| {
            let one = |round: usize| {
                let bytes = 1 + (round * 37 + thread * 11) % 700;
                let align = UNIT_BYTES << (round % 4);
                let (unit, memory) = arena.allocate(bytes, align);
                assert!(memory.addr().get().is_multiple_of(align));
                // SAFETY: `bytes` bytes are this thread's alone.
                unsafe { memory.write_bytes(thread as u8, bytes) };
                (unit, bytes)
            };
            (0..ROUNDS).map(one).collect::<Vec<_>>()
        };
        let taken: Vec<Vec<(Unit, usize)>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || take(thread))).collect();
            threads.into_iter().map(|thread| thread.join().expect("it has not panicked")).collect()
        });
        for (thread, pieces) in taken.iter().enumerate() {
            for &(unit, bytes) in pieces {
                // SAFETY: the unit is from this arena, and its thread has ended.
                let memory = unsafe { arena.address(unit) };
                // SAFETY: its thread has written so many bytes there, and nobody writes any more.
                let bytes = unsafe { std::slice::from_raw_parts(memory.as_ptr(), bytes) };
                assert!(bytes.iter().all(|byte| usize::from(*byte) == thread), "another thread wrote here");
            }
        }
        let mut all: Vec<_> = taken.into_iter().flatten().collect();
        all.sort_unstable();
        let end = |&(unit, bytes): &(Unit, usize)| unit.get() as usize + bytes.div_ceil(UNIT_BYTES);
        assert!(all.is_sorted_by(|one, next| end(one) <= next.0.get() as usize));
        assert!(all.iter().all(|piece| end(piece) <= arena.used_bytes() / UNIT_BYTES + UNIT_FIRST as usize));
    }

    #[test]
    fn threads_of_different_lanes_share_no_line_once_there_are_lanes() {
        let arena = Arena::default();
        while arena.lanes.of_thread().is_none() {
            arena.allocate(LANE_UNITS_MAX as usize * UNIT_BYTES, UNIT_BYTES);
        }
        let lanes: Vec<&Piece> = arena.lanes.all().take(2).collect();
        let mut lines: [Vec<u64>; 2] = Default::default();
        for _ in 0..3 * PIECE_UNITS {
            for (lane, lines) in lanes.iter().zip(&mut lines) {
                lines.push(u64::from(arena.take_of(lane, 1, 0).get()) * UNIT_BYTES as u64 / LINE as u64);
            }
        }
        let [ours, theirs] = lines;
        assert!(ours.iter().all(|line| !theirs.contains(line)));
    }

    #[test]
    fn what_is_too_large_for_a_piece_does_not_use_one_up() {
        let arena = Arena::default();
        while arena.lanes.of_thread().is_none() {
            arena.allocate(LANE_UNITS_MAX as usize * UNIT_BYTES, UNIT_BYTES);
        }
        let (small, _) = arena.allocate(UNIT_BYTES, UNIT_BYTES);
        arena.allocate((LANE_UNITS_MAX as usize + 1) * UNIT_BYTES, UNIT_BYTES);
        let (next, _) = arena.allocate(UNIT_BYTES, UNIT_BYTES);
        assert_eq!(next.get(), small.get() + 1);
    }

    #[test]
    fn a_piece_that_another_thread_of_the_lane_was_faster_than_is_not_handed_out_again() {
        let (arena, lane) = (Arena::default(), Piece::default());
        let before = lane.0.load(Ordering::Relaxed);
        let theirs = arena.take_of(&lane, 2, 0);
        let ours = arena.take_piece(&lane, before, 2);
        assert!(u64::from(ours.get()) >= u64::from(theirs.get()) + PIECE_UNITS);
        assert_eq!(arena.take_of(&lane, 1, 0).get(), theirs.get() + 2, "the lane goes on in the first");
    }
}
