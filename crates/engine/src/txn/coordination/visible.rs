//! Which commits are visible: all up to one number, in whatever order threads finish theirs.
//!
//! Commits get their numbers under the log's lock and insert their changes without it. Readers must not see commit 8
//! while commit 7 is still being inserted, so they see the prefix of finished commits that has no gap.
//!
//! Invariants: (1) `through` only rises, by one at a time, and only past commits that are finished. (2) A thread that
//! loads it sees what each commit up to it did before it finished. (3) Fewer than [`ROOM`] numbers above `through`
//! are assigned, so that no two commits share a slot.
//!
//! Of two neighbours that finish at once, one must carry `through` past both: each stores that it is finished before
//! it looks for the other. All these accesses are `SeqCst`, so that there is one order of them in which one of the
//! two looks last.

use crate::ids::Sequence;
use crate::planted::{Fault, give_way, planted};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Condvar, Instant, LockRank, Mutex, spin_loop};

/// See the module.
#[derive(Debug)]
pub struct Visible {
    front: Front,
    /// A commit that finished before its predecessor, by its number modulo [`ROOM`].
    finished: Box<[AtomicU64]>,
    /// A commit will never finish.
    broken: AtomicBool,
    /// [`LockRank::Visible`]. A waiting thread holds it except while it sleeps.
    asleep: Mutex<()>,
    advanced: Condvar,
}

/// What each commit writes or reads when it finishes. It has cache lines of its own, because every transaction would
/// read its neighbours.
#[derive(Debug)]
#[repr(align(128))]
struct Front {
    through: AtomicU64,
    sleepers: AtomicUsize,
}

impl Visible {
    /// All commits up to `through` are finished, and none above has begun.
    pub fn new(through: Sequence) -> Self {
        Self {
            front: Front { through: AtomicU64::new(through.0), sleepers: AtomicUsize::new(0) },
            finished: (0..ROOM).map(|_| AtomicU64::new(0)).collect(),
            broken: AtomicBool::new(false),
            asleep: Mutex::ranked(LockRank::Visible, ()),
            advanced: Condvar::default(),
        }
    }

    /// The end of the prefix.
    #[inline]
    pub fn through(&self) -> Sequence {
        // Acquire pairs with the exchanges in `advance`: see invariant (2).
        Sequence(self.front.through.load(Ordering::Acquire))
    }

    /// Whether the number may be assigned.
    #[inline]
    pub fn has_room(&self, sequence: Sequence) -> bool {
        sequence.0 - self.through().0 < ROOM
    }

    /// The commit has done everything that must precede its visibility. Requires: [`Visible::has_room`] returned true.
    #[inline]
    pub fn finish(&self, sequence: Sequence) {
        if planted(Fault::ShownBeforePredecessors) {
            self.front.through.fetch_max(sequence.0, Ordering::SeqCst);
        }
        // If no other commit is running, the prefix ends just before this one: then no slot is needed.
        if !self.advance(sequence.0) {
            give_way();
            self.slot(sequence.0).store(sequence.0, Ordering::SeqCst);
            give_way();
        }
        loop {
            let next = self.front.through.load(Ordering::SeqCst) + 1;
            if self.slot(next).load(Ordering::SeqCst) != next {
                break;
            }
            self.advance(next);
        }
        if self.front.sleepers.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    /// A commit that has a number will never finish. Threads that wait for it, or for a later one, must not wait for
    /// ever.
    pub fn abandon(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Waits until all commits up to this one are finished.
    ///
    /// # Panics
    /// If a commit was abandoned on the way there.
    #[inline]
    pub fn wait(&self, sequence: Sequence) {
        assert!(self.arrives(sequence), "a thread panicked amid a commit, and no later one can be seen");
    }

    /// Waits until all commits up to this one are finished, or one is abandoned. Whether they are finished.
    #[inline]
    pub fn arrives(&self, sequence: Sequence) -> bool {
        self.through() >= sequence || self.wait_long(sequence)
    }

    #[cold]
    fn wait_long(&self, sequence: Sequence) -> bool {
        for _ in 0..SPINS {
            spin_loop();
            if self.through() >= sequence {
                return true;
            }
        }
        self.wait_until(sequence, None)
    }

    /// Waits until all commits up to this one are finished, or one is abandoned, or `deadline` comes. Whether they
    /// are finished.
    pub fn wait_until(&self, sequence: Sequence, deadline: Option<Instant>) -> bool {
        // As in `finish`: a sleeper counts itself before it looks, and a finishing thread looks for sleepers after it
        // has advanced.
        self.front.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut asleep = self.asleep.lock_after_panic();
        let arrived = || self.front.through.load(Ordering::SeqCst) >= sequence.0;
        while !arrived() && !self.broken.load(Ordering::SeqCst) {
            asleep = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(left) if left.is_zero() => break,
                Some(left) => self.advanced.wait_timeout(asleep, left),
                None => self.advanced.wait(asleep),
            };
        }
        drop(asleep);
        self.front.sleepers.fetch_sub(1, Ordering::Relaxed);
        arrived()
    }

    #[cold]
    fn wake(&self) {
        // A thread that has looked holds the lock until it sleeps.
        drop(self.asleep.lock_after_panic());
        self.advanced.notify_all();
    }

    #[inline]
    fn advance(&self, to: u64) -> bool {
        self.front.through.compare_exchange(to - 1, to, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn slot(&self, number: u64) -> &AtomicU64 {
        &self.finished[(number % ROOM) as usize]
    }
}

/// Commits that may be running at once.
const ROOM: u64 = if cfg!(model_checked) { 4 } else { 1024 };
/// Looks at the prefix before going to sleep: most commits take a microsecond. (A model checker tries everything that
/// may come between.)
const SPINS: u32 = if cfg!(model_checked) { 0 } else { 200 };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::Arc;

    #[test]
    fn the_prefix_ends_before_the_first_commit_that_is_not_finished() {
        let prefix = Visible::new(Sequence(10));
        prefix.finish(Sequence(12));
        prefix.finish(Sequence(13));
        assert_eq!(prefix.through(), Sequence(10));
        prefix.finish(Sequence(11));
        assert_eq!(prefix.through(), Sequence(13));
        prefix.finish(Sequence(15));
        assert_eq!(prefix.through(), Sequence(13));
        prefix.finish(Sequence(14));
        assert_eq!(prefix.through(), Sequence(15));
    }

    #[test]
    fn there_is_room_for_as_many_as_there_are_slots() {
        let prefix = Visible::new(Sequence(5));
        assert!(prefix.has_room(Sequence(5 + ROOM - 1)) && !prefix.has_room(Sequence(5 + ROOM)));
        (7..5 + ROOM).rev().for_each(|number| prefix.finish(Sequence(number)));
        assert_eq!(prefix.through(), Sequence(5));
        prefix.finish(Sequence(6));
        assert_eq!(prefix.through(), Sequence(5 + ROOM - 1));
    }

    #[test]
    fn nobody_waits_for_ever_for_a_commit_that_was_abandoned() {
        let prefix = Arc::new(Visible::new(Sequence(0)));
        let waiting = {
            let prefix = Arc::clone(&prefix);
            std::thread::spawn(move || prefix.wait(Sequence(2)))
        };
        prefix.finish(Sequence(2));
        prefix.abandon();
        assert!(waiting.join().is_err(), "commit 1 never came");
        prefix.wait(Sequence(0));
    }

    #[test]
    fn who_asks_is_told_whether_a_commit_arrives() {
        let prefix = Visible::new(Sequence(3));
        assert!(prefix.arrives(Sequence(3)));
        prefix.finish(Sequence(4));
        prefix.abandon();
        assert!(prefix.arrives(Sequence(4)) && !prefix.arrives(Sequence(5)));
    }

    #[test]
    fn commits_of_many_threads_all_come_through_and_each_sees_what_those_before_did() {
        const COMMITS: u64 = if cfg!(miri) { 300 } else { 40_000 };
        let shared = Arc::new((Visible::new(Sequence(0)), Mutex::new(0_u64)));
        let done: Arc<[AtomicU64]> = (0..=COMMITS).map(|_| AtomicU64::new(0)).collect();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (shared, done) = (Arc::clone(&shared), Arc::clone(&done));
                std::thread::spawn(move || {
                    loop {
                        let (prefix, numbers) = &*shared;
                        let mut last = numbers.lock();
                        let number = *last + 1;
                        if number > COMMITS {
                            return;
                        }
                        if !prefix.has_room(Sequence(number)) {
                            drop(last);
                            std::thread::yield_now();
                            continue;
                        }
                        *last = number;
                        drop(last);
                        // Relaxed: it is the prefix that must make it known.
                        done[number as usize].store(number, Ordering::Relaxed);
                        prefix.finish(Sequence(number));
                        prefix.wait(Sequence(number));
                        let through = prefix.through().0;
                        for before in through.saturating_sub(20).max(1)..=through {
                            assert_eq!(done[before as usize].load(Ordering::Relaxed), before);
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no thread waits for ever, or sees too little"));
        assert_eq!(shared.0.through(), Sequence(COMMITS));
    }
}
