//! The locks of the engine in the order in which a thread takes them.
//!
//! In builds with debug assertions a lock that was made with [`Mutex::ranked`](super::Mutex::ranked) panics if its
//! thread holds a lock of its own or a higher rank. In other builds a rank takes neither memory nor time.
//!
//! Ranks are those of one database. Code of the program that runs under a lock may use another database, so it is
//! called by [`outside_locks`]. A program that implements a [`Disk`](crate::io::Disk) by another database cannot use
//! such a build.
//!
//! The locks that are not named here are inside `io`, `pager` and `delta`. They are taken last, and under them only
//! locks of `io` are taken.

#[cfg(debug_assertions)]
use std::cell::RefCell;

/// A lock of the engine. A thread that holds one takes only locks of higher ranks, which come later here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockRank {
    /// The databases that this process has open. Nothing is locked under it, and no database is opened or dropped.
    Registry,
    /// Held while a database is being closed.
    Closing,
    /// The queue of threads that wait for their turn at being the only writer. A turn itself is not a guard, but its
    /// holder takes only locks of higher ranks.
    Turns,
    /// The checkpointer: one checkpoint runs at a time.
    Checkpointer,
    /// The commits that wait for a flush. Nothing is locked under it, so no flush is made under it.
    GroupSync,
    /// The log. Under it commits get their numbers, and deltas are rotated.
    Log,
    /// Which segments of the log stay. Nothing is locked under it.
    Retention,
    /// The deltas of past epochs, for checks of conflicts.
    History,
    /// The space of the data file.
    Space,
    /// The newest state.
    Published,
    /// Commits that were refused, by reason. Nothing is locked under it; so for all that follow, except the watchers.
    Conflicts,
    /// The sleep of threads that wait for commits to become visible.
    Visible,
    /// Where the large values of a delta are.
    LargeValues,
    /// The checkpoints that live states read.
    Pins,
    /// What a transaction has read.
    ReadSet,
    /// The locks by which other processes know of this one.
    Presence,
    /// What the background thread is asked to do.
    BackgroundRequests,
    /// How things were when a checkpoint failed because the disk was full.
    FailedCheckpoint,
    /// The monitors that watch the operations on a file.
    Watchers,
    /// The state of one monitor.
    Monitor,
}

/// The rank of a lock, if it has one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rank(#[cfg(debug_assertions)] Option<LockRank>);

/// A rank that this thread holds until this is dropped.
#[derive(Debug)]
pub struct Held(#[cfg(debug_assertions)] Option<LockRank>);

impl Rank {
    /// No rank: the lock is not checked.
    pub const NONE: Self = Self(
        #[cfg(debug_assertions)]
        None,
    );

    /// This rank.
    pub const fn of(rank: LockRank) -> Self {
        #[cfg(not(debug_assertions))]
        let _ = rank;
        Self(
            #[cfg(debug_assertions)]
            Some(rank),
        )
    }

    /// Notes that the calling thread is about to take a lock of this rank.
    ///
    /// # Panics
    /// With debug assertions, if the thread holds a lock of this rank or a higher one; not while it unwinds.
    #[cfg(debug_assertions)]
    pub fn hold(self) -> Held {
        let Some(rank) = self.0 else { return Held(None) };
        // A thread that is ending has no list any more.
        let highest = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            let highest = held.iter().max().copied();
            held.push(rank);
            highest
        });
        let held = Held(highest.is_ok().then_some(rank));
        if let Ok(Some(highest)) = highest {
            assert!(
                highest < rank || std::thread::panicking(),
                "{rank:?} is locked by a thread that holds {highest:?}"
            );
        }
        held
    }

    /// Nothing, without debug assertions.
    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub const fn hold(self) -> Held {
        Held()
    }
}

#[cfg(debug_assertions)]
impl Drop for Held {
    fn drop(&mut self) {
        let Some(rank) = self.0 else { return };
        let _ = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            if let Some(place) = held.iter().rposition(|&other| other == rank) {
                held.swap_remove(place);
            }
        });
    }
}

/// Calls code of the program, for which the locks that this thread holds do not count.
#[inline]
pub fn outside_locks<R>(call: impl FnOnce() -> R) -> R {
    #[cfg(debug_assertions)]
    let _outside = Outside(HELD.try_with(RefCell::take).unwrap_or_default());
    call()
}

/// The ranks that a thread holds again when this is dropped.
#[cfg(debug_assertions)]
struct Outside(Vec<LockRank>);

#[cfg(debug_assertions)]
impl Drop for Outside {
    fn drop(&mut self) {
        let held = std::mem::take(&mut self.0);
        // The call may have kept a guard of its own.
        let _ = HELD.try_with(|now| now.borrow_mut().extend(held));
    }
}

#[cfg(debug_assertions)]
thread_local! {
    /// The ranks of the locks that this thread holds.
    static HELD: RefCell<Vec<LockRank>> = const { RefCell::new(Vec::new()) };
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::super::Mutex;
    use super::*;

    /// What `act` panics with, if it does.
    fn panic_of(act: impl FnOnce() + Send) -> Option<String> {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        outcome.err().map(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
    }

    #[test]
    fn locks_are_taken_in_the_order_of_their_ranks_and_released_in_any() {
        let (log, space, other) = (Mutex::ranked(LockRank::Log, 1), Mutex::ranked(LockRank::Space, 2), Mutex::new(3));
        let first = log.lock();
        let second = space.lock();
        let third = other.lock();
        drop(first);
        drop((second, third));
        let last = space.lock();
        drop(last);
        assert_eq!(*log.lock() + *other.lock(), 4);
    }

    #[test]
    fn a_lock_of_a_lower_rank_or_the_same_is_refused_and_leaves_the_thread_as_it_was() {
        let (log, space) = (Mutex::ranked(LockRank::Log, ()), Mutex::ranked(LockRank::Space, ()));
        let held = space.lock();
        let text = panic_of(|| drop(log.lock())).expect("the log comes before the space");
        assert_eq!(text, "Log is locked by a thread that holds Space");
        let same = Mutex::ranked(LockRank::Space, ());
        assert!(panic_of(|| drop(same.lock())).is_some());
        drop(held);
        assert!(panic_of(|| drop(log.lock())).is_none());
    }

    #[test]
    fn code_of_the_program_may_take_the_locks_of_another_database() {
        let (log, space) = (Mutex::ranked(LockRank::Log, ()), Mutex::ranked(LockRank::Space, ()));
        let held = space.lock();
        assert!(panic_of(|| outside_locks(|| drop(log.lock()))).is_none());
        assert!(panic_of(|| outside_locks(|| panic!("by the program"))).is_some());
        assert!(panic_of(|| drop(log.lock())).is_some(), "this thread holds the space again");
        drop(held);
    }

    #[test]
    fn another_thread_is_free_to_take_what_this_one_may_not() {
        let (log, space) = (Mutex::ranked(LockRank::Log, ()), Mutex::ranked(LockRank::Space, ()));
        let held = space.lock();
        std::thread::scope(|scope| scope.spawn(|| drop(log.lock())).join().expect("it holds nothing"));
        drop(held);
    }
}
