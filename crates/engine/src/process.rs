//! Which process an object belongs to. A child made by `fork` inherits open databases, but not the threads that serve
//! them, and it shares their locks with its parent: all that it could do with them would harm the parent.
//!
//! So every opened object gets a [`Stamp`], and is refused in a process that has inherited the stamp. The system itself
//! marks a child: it clears a page in every child (`MADV_WIPEONFORK`, Linux 4.14). Where it cannot, a handler of `fork`
//! does.
//!
//! Invariants: (1) Stamps fall: each is below all that were drawn before, also before a `fork`. (2) The word is at
//! least as high as every stamp of this process and below every inherited one; 0 in a child that has drawn none yet.

#![allow(unsafe_code)] // The word is reached by its address, so that a look costs two loads.

use std::io;
use std::sync::Once;

use crate::planted::{Fault, planted};
use crate::sync::OnceLock;
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The process that made it.
#[derive(Clone, Copy, Debug)]
pub struct Stamp(u64);

impl Stamp {
    /// A stamp of this process.
    ///
    /// # Errors
    /// The error of the system, if a `fork` cannot be detected.
    pub fn new() -> io::Result<Self> {
        watch_forks()?;
        number();
        // Relaxed: numbers order nothing.
        Ok(Self(NEXT.fetch_sub(1, Ordering::Relaxed)))
    }

    /// Whether this process is a child, made by `fork`, of the one that drew it.
    #[inline(always)]
    pub fn is_inherited(&self) -> bool {
        self.0 > word().load(Ordering::Relaxed) && !planted(Fault::ForkUnnoticed)
    }
}

/// A value for each process, made on first use. A child does not touch the value that it has inherited: locks in it may
/// be held by threads that the child does not have.
#[derive(Debug)]
pub struct PerProcess<T> {
    first: OnceLock<Box<Node<T>>>,
}

#[derive(Debug)]
struct Node<T> {
    process: u64,
    value: T,
    next: OnceLock<Box<Self>>,
}

impl<T: Default> PerProcess<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { first: OnceLock::new() }
    }

    /// This process's own.
    pub fn get(&self) -> &T {
        let process = number();
        let make = || Box::new(Node { process, value: T::default(), next: OnceLock::new() });
        let mut node = self.first.get_or_init(make);
        while node.process != process {
            node = node.next.get_or_init(make);
        }
        &node.value
    }
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A number that no ancestor of this process has: the word.
fn number() -> u64 {
    let number = word().load(Ordering::Relaxed);
    if number != 0 {
        return number;
    }
    // A child asks for the first time. Its threads draw before they set the word, and use stamps after: invariant (2).
    let fresh = NEXT.fetch_sub(1, Ordering::Relaxed) - 1;
    match word().compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => fresh,
        Err(set) => set,
    }
}

#[inline(always)]
fn word() -> &'static AtomicU64 {
    // SAFETY: it points to a static, or to a page that is never unmapped.
    unsafe { &*WORD.load(Ordering::Relaxed) }
}

static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);
static PLAIN: AtomicU64 = AtomicU64::new(u64::MAX);
/// Where the word is.
static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const PLAIN).cast_mut());

/// Sees to it that the word is 0 in a child.
fn watch_forks() -> io::Result<()> {
    static BEGUN: Once = Once::new();
    static FAILURE: OnceLock<i32> = OnceLock::new();
    BEGUN.call_once(|| {
        if let Err(error) = begin() {
            let _ = FAILURE.set(error.raw_os_error().unwrap_or_default());
        }
    });
    FAILURE.get().map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(*code)))
}

#[cfg(all(target_os = "linux", not(miri)))]
fn begin() -> io::Result<()> {
    use rustix::mm::{Advice, MapFlags, ProtFlags};
    // The system rounds it up to a page.
    let length = size_of::<AtomicU64>();
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a new mapping at an address of the system's choice touches no memory of others.
    let page = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), length, protection, flags) }?;
    // SAFETY: the page was mapped just now, and has no content.
    let wiped = unsafe { rustix::mm::madvise(page, length, Advice::LinuxWipeOnFork) };
    if wiped.is_err() {
        extern "C" fn in_child() {
            PLAIN.store(0, Ordering::Relaxed);
        }
        // SAFETY: the handler is a function of this program, and does what a signal handler may.
        let code = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        return if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) };
    }
    let word = page.cast::<AtomicU64>();
    // SAFETY: the page is mapped, aligned, and reached by nobody else yet.
    unsafe { word.write(AtomicU64::new(u64::MAX)) };
    WORD.store(word, Ordering::Relaxed);
    Ok(())
}

#[cfg(any(not(target_os = "linux"), miri))]
#[allow(clippy::unnecessary_wraps)] // Elsewhere it can fail.
fn begin() -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    /// Runs `check` in a child, and in a child of that. It must not panic, for other threads' locks may be held there.
    fn in_children(check: &dyn Fn() -> bool) -> bool {
        // SAFETY: the child calls nothing but `check` and `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let good = check();
            // SAFETY: it ends the process at once.
            unsafe { libc::_exit(i32::from(!good)) }
        }
        let mut status = 0;
        // SAFETY: it waits for the child that was made above.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        waited == child && status == 0
    }

    #[test]
    fn a_stamp_is_inherited_in_children_and_theirs_are_their_own() {
        static NUMBERS: PerProcess<AtomicU64> = PerProcess::new();
        let mine = Stamp::new().unwrap();
        NUMBERS.get().store(7, Ordering::Relaxed);
        assert!(!mine.is_inherited());
        assert!(in_children(&|| {
            let is_inherited = mine.is_inherited();
            let Ok(own) = Stamp::new() else { return false };
            let fresh = NUMBERS.get().swap(8, Ordering::Relaxed) == 0;
            let below = in_children(&|| {
                let fresh = NUMBERS.get().load(Ordering::Relaxed) == 0;
                mine.is_inherited() && own.is_inherited() && fresh
            });
            is_inherited && !own.is_inherited() && mine.is_inherited() && fresh && below
        }));
        assert!(!mine.is_inherited());
        assert_eq!(NUMBERS.get().load(Ordering::Relaxed), 7);
    }
}
