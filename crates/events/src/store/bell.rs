//! How followers of this process learn of new events.
//!
//! Waking a thread takes tens of microseconds, so a thread spins before it sleeps: long if events come quickly, briefly
//! after any other event. A thread that has waited without an event does not spin until the next one: it sleeps until
//! the bell rings or its time is over.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The position after the newest event that followers may see, and threads that wait for a higher one.
#[derive(Debug, Default)]
pub struct Bell {
    position: AtomicU64,
    waiting: AtomicUsize,
    /// Calls of [`Bell::wake`].
    wakes: AtomicUsize,
    /// Guards nothing: a thread that holds it is not between its look at the position and its sleep. No lock is taken
    /// while it is held.
    asleep: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    /// The position after the newest event that followers may see.
    pub fn position(&self) -> u64 {
        self.position.load(Ordering::SeqCst)
    }

    /// Raises the position, and wakes all waiting threads.
    pub fn ring(&self, position: u64) {
        self.position.fetch_max(position, Ordering::SeqCst);
        // SeqCst: a thread that is counted here too late sees the new position.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.asleep.lock().unwrap_or_else(PoisonError::into_inner));
            self.rung.notify_all();
        }
    }

    /// Ends the current wait of each thread, or its next one, so that it looks whether it is to stop.
    pub fn wake(&self) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        drop(self.asleep.lock().unwrap_or_else(PoisonError::into_inner));
        self.rung.notify_all();
    }

    /// Waits at most `timeout` for a position above `after`, or until the bell rings or [`Bell::wake`] is called.
    /// Returns whether the position is above `after`.
    pub fn wait(&self, after: u64, timeout: Duration, attention: &mut Attention) -> bool {
        let begun = Instant::now();
        if !self.spin(after, begun, timeout.min(attention.span()), attention) {
            let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_add(1, Ordering::SeqCst);
            if !self.has_rung(after, attention) {
                let left = timeout.saturating_sub(begun.elapsed());
                asleep = self.rung.wait_timeout(asleep, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            drop(asleep);
        }
        attention.wakes = self.wakes.load(Ordering::SeqCst);
        let has_risen = self.position() > after;
        // A short time-out says nothing about the next event.
        attention.pace = match has_risen {
            true if begun.elapsed() < CLOSE => Pace::Close,
            true => Pace::Apart,
            false => Pace::Idle,
        };
        has_risen
    }

    /// Looks whether the bell has rung, at most for `span`. Returns whether it has.
    fn spin(&self, after: u64, begun: Instant, span: Duration, attention: &Attention) -> bool {
        while !self.has_rung(after, attention) {
            let waited = begun.elapsed();
            if waited >= span {
                return false;
            }
            if waited >= attention.unshared {
                thread::yield_now();
            }
            std::hint::spin_loop();
        }
        true
    }

    fn has_rung(&self, after: u64, attention: &Attention) -> bool {
        self.position() > after || self.wakes.load(Ordering::SeqCst) != attention.wakes
    }
}

/// What a thread that waits again and again knows of its last wait.
#[derive(Debug)]
pub struct Attention {
    pace: Pace,
    /// A thread that spins for longer lets others run on its core meanwhile.
    unshared: Duration,
    /// Calls of [`Bell::wake`] before the end of the last wait.
    wakes: usize,
}

/// How the last wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// With an event, soon: the next one probably comes soon, too.
    Close,
    /// With an event, later. So begins a thread.
    Apart,
    /// Without an event: nothing says when the next one comes.
    Idle,
}

impl Attention {
    /// That of a thread whose work is done when it has seen the events.
    pub fn of_follower(bell: &Bell) -> Self {
        Self { pace: Pace::Apart, unshared: BRIEF, wakes: bell.wakes.load(Ordering::SeqCst) }
    }

    /// That of a thread that passes the events on to another process, which may need the core.
    pub fn of_sender(bell: &Bell) -> Self {
        Self { unshared: Duration::ZERO, ..Self::of_follower(bell) }
    }

    /// How long the thread spins before it sleeps.
    fn span(&self) -> Duration {
        match self.pace {
            _ if !*HAS_CORES => Duration::ZERO,
            Pace::Close => CLOSE,
            Pace::Apart => BRIEF,
            Pace::Idle => Duration::ZERO,
        }
    }
}

/// Whether a thread can spin while another one appends.
static HAS_CORES: LazyLock<bool> = LazyLock::new(|| thread::available_parallelism().is_ok_and(|cores| cores.get() > 1));

/// Longer than most appends take, those included that wait for the file system.
const CLOSE: Duration = Duration::from_micros(300);
/// About how long it takes to wake a thread.
const BRIEF: Duration = Duration::from_micros(20);

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any call takes.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_thread_spins_long_only_after_a_short_wait() {
        let bell = Bell::default();
        let mut attention = Attention::of_follower(&bell);
        assert!(!bell.wait(0, CLOSE * 2, &mut attention));
        assert_eq!((attention.pace, attention.span()), (Pace::Idle, Duration::ZERO));
        bell.ring(1);
        while attention.pace != Pace::Close {
            assert!(bell.wait(0, LONG, &mut attention));
        }
        assert_eq!(attention.span(), if *HAS_CORES { CLOSE } else { Duration::ZERO });
        // Neither after a long wait, nor after a short one in which nothing came.
        for timeout in [CLOSE * 2, CLOSE / 2] {
            attention.pace = Pace::Close;
            assert!(!bell.wait(1, timeout, &mut attention));
            assert_eq!(attention.pace, Pace::Idle);
        }
    }

    #[test]
    fn a_thread_that_waited_without_an_event_does_not_spin_until_the_next_one() {
        let bell = Bell::default();
        let mut attention = Attention::of_follower(&bell);
        let brief = if *HAS_CORES { BRIEF } else { Duration::ZERO };
        assert_eq!(attention.span(), brief, "a thread that begins");
        for _ in 0..3 {
            assert!(!bell.wait(0, Duration::from_millis(1), &mut attention));
            assert_eq!(attention.span(), Duration::ZERO);
        }
        bell.ring(1);
        assert!(bell.wait(0, LONG, &mut attention));
        assert!(attention.span() >= brief, "after an event");
    }

    #[test]
    fn a_wake_before_a_follower_is_created_does_not_end_its_wait() {
        let bell = Bell::default();
        bell.wake();
        let (begun, timeout) = (Instant::now(), CLOSE * 2);
        assert!(!bell.wait(0, timeout, &mut Attention::of_follower(&bell)));
        assert!(begun.elapsed() >= timeout);
    }

    #[test]
    fn a_wake_before_the_wait_ends_it() {
        let bell = Bell::default();
        let mut attention = Attention::of_sender(&bell);
        bell.wake();
        let begun = Instant::now();
        assert!(!bell.wait(0, LONG, &mut attention));
        assert!(begun.elapsed() < LONG, "the wake was missed");
        assert!(!bell.wait(0, CLOSE * 2, &mut attention));
        assert_eq!(attention.pace, Pace::Idle, "a wake ends one wait only");
    }

    #[test]
    fn a_ring_ends_spinning_and_sleep() {
        let bell = Bell::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut attention = Attention::of_follower(&bell);
                for after in 0..2000 {
                    let begun = Instant::now();
                    while !bell.wait(after, LONG, &mut attention) {
                        assert!(begun.elapsed() < LONG, "the bell was not heard");
                    }
                }
            });
            for position in 1..=2000 {
                // Some of the waits end in sleep.
                while position % 500 == 0 && bell.waiting.load(Ordering::SeqCst) == 0 {
                    thread::yield_now();
                }
                bell.ring(position);
            }
        });
    }
}
