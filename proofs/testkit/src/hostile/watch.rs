//! Watches over the use of a file: how much memory it takes, and that it ends.
//!
//! The program installs [`CountingAllocator`]; without it (in unit tests) memory counts as 0.
#![allow(unsafe_code)] // An allocator is an unsafe trait.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The system's allocator, counting what each thread holds, and refusing what no file of the test can need.
#[derive(Debug)]
pub struct CountingAllocator;

thread_local! {
    /// What this thread has allocated and not freed, and the most of that since the count began. Memory that another
    /// thread frees makes it too large, never too small; the engine has no other threads here.
    static HELD: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
    /// The file in use by this thread, for the last words.
    static FILE: Cell<u64> = const { Cell::new(u64::MAX) };
}

fn count(bytes: i64) {
    // While a thread ends, its locals are gone; nobody counts then.
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        let now = now + bytes;
        held.set((now, most.max(now)));
    });
}

/// A wild length read from a file would ask for this much or more: end at once, telling the file.
fn refuse_if_wild(bytes: usize) {
    if bytes >= WILD_BYTES {
        let file = FILE.try_with(Cell::get).unwrap_or(u64::MAX);
        if file != u64::MAX {
            eprintln!(
                "hostile: file {file} makes the engine ask for {bytes} bytes at once; repeat it with --file {file}"
            );
            std::process::abort();
        }
    }
}

// SAFETY: every call is passed on to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        refuse_if_wild(layout.size());
        count(layout.size() as i64);
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        refuse_if_wild(layout.size());
        count(layout.size() as i64);
        // SAFETY: the caller keeps to the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller keeps to the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        refuse_if_wild(size);
        count(size as i64 - layout.size() as i64);
        // SAFETY: the caller keeps to the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Knows which files are in use, and since when.
#[derive(Debug, Default)]
pub struct Watch {
    running: Mutex<Vec<(u64, Instant)>>,
}

/// One file in use.
#[derive(Debug)]
pub struct Guard<'w> {
    watch: &'w Watch,
    file: u64,
    before: i64,
}

impl Watch {
    /// Begins to use a file, in this thread.
    pub fn begin(&self, file: u64) -> Guard<'_> {
        self.running().push((file, Instant::now()));
        FILE.set(file);
        let (now, _) = HELD.get();
        HELD.set((now, now));
        Guard { watch: self, file, before: now }
    }

    /// The files that take so long that they must hang.
    pub fn hanging(&self) -> Vec<u64> {
        let running = self.running();
        running.iter().filter(|(_, since)| since.elapsed() > HANG).map(|(file, _)| *file).collect()
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Vec<(u64, Instant)>> {
        self.running.lock().expect("no thread panics while it holds this lock")
    }
}

impl Guard<'_> {
    /// Ends the use, and answers the most memory that was held beyond what was held before.
    pub fn end(self) -> u64 {
        let (_, most) = HELD.get();
        FILE.set(u64::MAX);
        self.watch.running().retain(|(file, _)| *file != self.file);
        u64::try_from(most - self.before).unwrap_or(0)
    }
}

/// No base is a hundredth of this.
const WILD_BYTES: usize = 1 << 30;
/// Far beyond any time allowed: only a loop without end takes so long.
const HANG: Duration = Duration::from_secs(30);
