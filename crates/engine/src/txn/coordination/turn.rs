//! Turns at being the only writer.
//!
//! A [`Turn`] is not a mutex guard, because a transaction may move between threads and outlive a stack frame.

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Arc, Condvar, Instant, LockRank, Mutex};

/// Hands out turns. Only [`LockRank::Registry`] and [`LockRank::Closing`] are taken before a turn.
#[derive(Debug)]
pub struct Turns {
    /// [`FREE`], [`TAKEN`] or [`AWAITED`]. While no thread waits, taking a turn and releasing it cost one exchange
    /// each.
    state: AtomicU32,
    /// [`LockRank::Turns`]. A waiting thread holds it except while it sleeps, so that no wake-up falls between its
    /// look at the state and its sleep.
    queue: Mutex<()>,
    free: Condvar,
}

/// Held during a turn. When it is dropped, the turn passes to a waiting thread.
#[derive(Debug)]
pub struct Turn(Arc<Turns>);

impl Default for Turns {
    fn default() -> Self {
        let queue = Mutex::ranked(LockRank::Turns, ());
        Self { state: AtomicU32::new(FREE), queue, free: Condvar::default() }
    }
}

impl Turns {
    /// Waits for a turn, until `deadline` if there is one. `None` if the turn did not come.
    pub fn wait_until(turns: &Arc<Self>, deadline: Option<Instant>) -> Option<Turn> {
        Self::try_take(turns).or_else(|| Self::wait_in_queue(turns, deadline))
    }

    /// Takes a turn if none is taken.
    pub fn try_take(turns: &Arc<Self>) -> Option<Turn> {
        // Acquire pairs with the Release in the drop of the turn before.
        let taken = turns.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then(|| Turn(Arc::clone(turns)))
    }

    #[cold]
    fn wait_in_queue(turns: &Arc<Self>, deadline: Option<Instant>) -> Option<Turn> {
        let mut queue = turns.queue.lock();
        // A thread that gets the turn here claims that others may wait, which at worst costs one wake-up without a
        // sleeper. Acquire as in `try_take`.
        while turns.state.swap(AWAITED, Ordering::Acquire) != FREE {
            queue = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(left) if left.is_zero() => return None,
                Some(left) => turns.free.wait_timeout(queue, left),
                None => turns.free.wait(queue),
            };
        }
        drop(queue);
        Some(Turn(Arc::clone(turns)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Release pairs with the Acquire of the thread that takes the next turn.
        if self.0.state.swap(FREE, Ordering::Release) == AWAITED {
            // A thread that has set `AWAITED` holds the queue's lock until it sleeps.
            drop(self.0.queue.lock_after_panic());
            self.0.free.notify_all();
        }
    }
}

/// No thread has the turn.
const FREE: u32 = 0;
/// A thread has it, and none waits.
const TAKEN: u32 = 1;
/// A thread has it, and others may wait.
const AWAITED: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_turn_waits_until_the_first_is_dropped() {
        let turns = Arc::new(Turns::default());
        let first = Turns::wait_until(&turns, None).expect("it waits for ever");
        assert!(Turns::try_take(&turns).is_none());
        let waiting = {
            let turns = Arc::clone(&turns);
            std::thread::spawn(move || drop(Turns::wait_until(&turns, None).expect("it waits for ever")))
        };
        drop(first);
        waiting.join().expect("the waiter gets its turn");
        assert!(Turns::try_take(&turns).is_some());
    }

    #[test]
    fn a_turn_is_waited_for_no_longer_than_told() {
        let turns = Arc::new(Turns::default());
        let first = Turns::try_take(&turns).expect("nobody has a turn");
        let soon = Instant::now() + std::time::Duration::from_millis(5);
        assert!(Turns::wait_until(&turns, Some(soon)).is_none() && Instant::now() >= soon);
        drop(first);
        assert!(Turns::wait_until(&turns, Some(soon)).is_some(), "a free turn is given even when it is late");
    }

    #[test]
    fn turns_of_many_threads_never_overlap_and_all_come() {
        const TURNS: usize = if cfg!(miri) { 20 } else { 5000 };
        let turns = Arc::new(Turns::default());
        let counter = Arc::new(crate::sync::atomic::AtomicUsize::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (turns, counter) = (Arc::clone(&turns), Arc::clone(&counter));
                std::thread::spawn(move || {
                    for _ in 0..TURNS {
                        let _turn = Turns::wait_until(&turns, None).expect("it waits for ever");
                        // Two steps that another thread between them would spoil.
                        let seen = counter.load(Ordering::Relaxed);
                        std::hint::black_box(seen);
                        counter.store(seen + 1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("every thread gets its turns"));
        assert_eq!(counter.load(Ordering::Relaxed), 4 * TURNS);
        assert!(Turns::try_take(&turns).is_some(), "the last turn was released");
    }
}
