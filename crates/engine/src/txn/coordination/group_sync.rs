//! Group commit: one flush makes many commits durable.
//!
//! One of the waiting commits leads: it flushes for all of them. Commits that arrive meanwhile wait for the next
//! flush, which one of them leads. Threads whose commits one flush released tend to commit again at once, so the next
//! leader waits for as many commits as are known to come, while they come quickly. Otherwise two halves of the
//! threads would take turns for ever, and each flush would serve one half.

use std::time::Duration;

use crate::error::Result;
use crate::ids::Sequence;
use crate::metrics;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Instant, LockRank, Mutex, MutexGuard};

/// See the module.
#[derive(Debug)]
pub struct GroupSync {
    durable: AtomicU64,
    /// [`LockRank::GroupSync`]. A flush takes the lock of the log, though not under this lock.
    group: Mutex<Group>,
    /// A flush has ended.
    ended: Condvar,
    /// The group that its leader waits for is complete.
    complete: Condvar,
}

#[derive(Debug, Default)]
struct Group {
    /// A commit leads.
    led: bool,
    /// The leader waits for more commits.
    gathers: bool,
    /// The waiting commits that no flush has made durable yet, including the leader's.
    waiting: Vec<Sequence>,
    /// How many commits the last flush released, and how many had arrived meanwhile.
    expected: usize,
    /// Flushes whose leaders do not wait for more commits, because the expected ones did not come in time.
    unaccompanied: u32,
    /// Estimate of how long a flush takes.
    flush_takes: Duration,
    flushes: Flushes,
}

/// Flushes so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flushes {
    /// How many.
    pub count: u64,
    /// How many commits they made durable.
    pub commits: u64,
}

impl GroupSync {
    /// Every commit up to `durable` is durable.
    pub fn new(durable: Sequence) -> Self {
        Self {
            durable: AtomicU64::new(durable.0),
            group: Mutex::ranked(LockRank::GroupSync, Group::default()),
            ended: Condvar::default(),
            complete: Condvar::default(),
        }
    }

    /// The newest commit that is known to be durable.
    pub fn durable(&self) -> Sequence {
        // Pairs with the Release in `raise`: a thread that sees that a commit is durable also sees what the flush did.
        Sequence(self.durable.load(Ordering::Acquire))
    }

    /// Flushes so far.
    pub fn flushes(&self) -> Flushes {
        self.group.lock().flushes
    }

    /// All commits up to this one are durable, for example by a checkpoint.
    pub fn raise(&self, durable: Sequence) {
        self.durable.fetch_max(durable.0, Ordering::Release);
    }

    /// Waits until the commit is durable. `flush` makes all commits durable that are in the log, and returns the last
    /// of them. Requires: the commit is in the log; the caller holds no lock.
    ///
    /// # Errors
    /// Those of `flush`. The error of a flush that another thread leads is returned to that thread.
    pub fn wait(&self, sequence: Sequence, flush: impl Fn() -> Result<Sequence>) -> Result<()> {
        if self.durable() >= sequence {
            return Ok(());
        }
        let mut group = self.group.lock();
        group.waiting.push(sequence);
        if group.gathers && group.waiting.len() >= group.expected {
            self.complete.notify_all();
        }
        let mut outcome = Ok(());
        while outcome.is_ok() && self.durable() < sequence {
            if group.led {
                group = self.ended.wait(group);
            } else {
                (group, outcome) = self.lead(group, &flush);
            }
        }
        // A flush has removed it, unless the flush failed or a checkpoint was faster.
        if let Some(at) = group.waiting.iter().position(|&waiting| waiting == sequence) {
            group.waiting.swap_remove(at);
        }
        outcome
    }

    fn lead<'g>(
        &'g self,
        group: MutexGuard<'g, Group>,
        flush: impl Fn() -> Result<Sequence>,
    ) -> (MutexGuard<'g, Group>, Result<()>) {
        let mut group = if group.waiting.len() < group.expected { self.gather(group) } else { group };
        group.led = true;
        drop(group);
        let leading = Leading(self);
        let began = Instant::now();
        let outcome = flush();
        let took = began.elapsed();
        let mut commits = 0;
        if let Ok(durable) = outcome {
            commits = durable.0.saturating_sub(self.durable().0);
            // Before the lead ends, so that no thread whose commit this was leads another flush.
            self.raise(durable);
            metrics::flush(took, commits);
        }
        let group = leading.end(|group| {
            if outcome.is_ok() {
                group.flushes.count += 1;
                group.flushes.commits += commits;
                group.expected = group.waiting.len();
                // Removed now and not when their threads wake up: the next leader may be faster.
                group.waiting.retain(|&waiting| waiting > self.durable());
                group.flush_takes = (group.flush_takes * 3 + took) / 4;
            }
        });
        (group, outcome.map(drop))
    }

    /// Waits until as many commits wait as are expected, while that raises the rate of all: `n` commits in the time
    /// of one flush are the same rate as `n + k` commits in that time and `k / n` of it more. Commits that arrive
    /// meanwhile may be followed by others as quickly. If waiting was in vain, the next flushes are not delayed.
    fn gather<'g>(&self, mut group: MutexGuard<'g, Group>) -> MutexGuard<'g, Group> {
        if group.unaccompanied > 0 {
            group.unaccompanied -= 1;
            return group;
        }
        let (here, flush_takes) = (group.waiting.len() as f64, group.flush_takes);
        let missing = group.expected as f64 - here;
        let began = Instant::now();
        let (mut before, mut since) = (here, began);
        let mut until = began + flush_takes.mul_f64((missing / here).min(1.0)).min(PATIENCE_MAX);
        (group.led, group.gathers) = (true, true);
        while group.waiting.len() < group.expected {
            let now = Instant::now();
            let left = until.saturating_duration_since(now);
            if left.is_zero() {
                let (count, elapsed) = (group.waiting.len() as f64, now.saturating_duration_since(began));
                let takes = flush_takes + elapsed;
                // Some waiting commits may be gone: a checkpoint has made them durable.
                let come = (count - before).max(0.0);
                let come_quickly = now.saturating_duration_since(since).mul_f64(count) < takes.mul_f64(come);
                if !come_quickly || elapsed > PATIENCE_MAX {
                    if flush_takes.mul_f64(count) < takes.mul_f64(here) {
                        group.unaccompanied = UNACCOMPANIED;
                    }
                    break;
                }
                (before, since) = (count, now);
                until = now + takes / 4;
                continue;
            }
            group = self.complete.wait_timeout(group, left);
        }
        group.gathers = false;
        group
    }

    fn end_lead(&self, group: &mut Group) {
        group.led = false;
        self.ended.notify_all();
    }
}

/// Ends the lead, even after a panic: no thread may wait for a leader that is gone.
struct Leading<'g>(&'g GroupSync);

impl<'g> Leading<'g> {
    /// Locks the group, applies `note` and ends the lead, in one step for all others.
    fn end(self, note: impl FnOnce(&mut Group)) -> MutexGuard<'g, Group> {
        let mut group = self.0.group.lock();
        note(&mut group);
        self.0.end_lead(&mut group);
        std::mem::forget(self);
        group
    }
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.0.end_lead(&mut self.0.group.lock_after_panic());
    }
}

/// A leader waits no longer than this, however long a flush takes.
const PATIENCE_MAX: Duration = Duration::from_millis(2);
/// After a wait in vain, so many flushes follow without one.
const UNACCOMPANIED: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::sync::Arc;
    use crate::sync::atomic::AtomicUsize;
    use std::path::PathBuf;

    /// The time of a flush, in which other commits arrive.
    fn take_time() {
        (0..if cfg!(miri) { 20 } else { 500 }).for_each(|_| std::thread::yield_now());
    }

    #[test]
    fn what_is_durable_is_not_waited_for() {
        let sync = GroupSync::new(Sequence(7));
        let flush = || -> Result<Sequence> { panic!("nobody needs a flush") };
        sync.wait(Sequence(7), flush).expect("it is durable");
        sync.raise(Sequence(9));
        sync.raise(Sequence(8));
        sync.wait(Sequence(9), flush).expect("it is durable");
    }

    #[test]
    fn commits_share_flushes_and_none_returns_before_its_own() {
        const THREADS: u64 = 8;
        const COMMITS: u64 = if cfg!(miri) { 4 } else { 50 };
        struct Log {
            sync: GroupSync,
            last: AtomicU64,
            flushed: AtomicU64,
            flushes: AtomicUsize,
        }
        let log = Arc::new(Log {
            sync: GroupSync::new(Sequence(0)),
            last: AtomicU64::new(0),
            flushed: AtomicU64::new(0),
            flushes: AtomicUsize::new(0),
        });
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let log = Arc::clone(&log);
                std::thread::spawn(move || {
                    for _ in 0..COMMITS {
                        let mine = log.last.fetch_add(1, Ordering::SeqCst) + 1;
                        let flush = || {
                            // The first one lasts until all threads have come.
                            while log.last.load(Ordering::SeqCst) < THREADS {
                                std::thread::yield_now();
                            }
                            let through = log.last.load(Ordering::SeqCst);
                            take_time();
                            log.flushes.fetch_add(1, Ordering::SeqCst);
                            assert!(log.flushed.fetch_max(through, Ordering::SeqCst) <= through, "one flush at a time");
                            Ok(Sequence(through))
                        };
                        log.sync.wait(Sequence(mine), flush).expect("no flush fails");
                        assert!(log.flushed.load(Ordering::SeqCst) >= mine, "{mine} was told durable too early");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("every commit becomes durable"));
        let (commits, flushes) = ((THREADS * COMMITS) as usize, log.flushes.load(Ordering::SeqCst));
        assert!(flushes + (THREADS as usize - 1) <= commits, "{flushes} flushes of {commits} commits");
        assert_eq!(log.sync.durable(), Sequence(THREADS * COMMITS));
    }

    /// If a thread counted as waiting until it wakes up, the second leader would count the first thread, and two
    /// halves of many threads would take turns for ever.
    #[test]
    fn who_was_released_is_expected_back_and_is_company_only_then() {
        let sync = GroupSync::new(Sequence(0));
        let lead = |group, durable| {
            let flush = || {
                std::thread::sleep(Duration::from_millis(1));
                Ok(Sequence(durable))
            };
            let (group, outcome) = sync.lead(group, flush);
            outcome.expect("no flush fails");
            group
        };
        let mut group = sync.group.lock();
        group.waiting = vec![Sequence(1), Sequence(2)];
        // Neither thread has woken up when the next one leads.
        let group = lead(group, 1);
        assert_eq!((group.expected, &group.waiting[..]), (2, &[Sequence(2)][..]));
        let group = lead(group, 2);
        assert_eq!((group.expected, group.waiting.len()), (1, 0));
        assert_eq!(group.unaccompanied, UNACCOMPANIED, "the first was waited for, and did not come back");
        assert!(!group.led && !group.gathers);
    }

    #[test]
    fn who_is_gone_before_the_flush_is_waited_for_no_longer() {
        let sync = Arc::new(GroupSync::new(Sequence(0)));
        let mut has_left = false;
        while !has_left {
            let leaving = {
                let sync = Arc::clone(&sync);
                std::thread::spawn(move || {
                    loop {
                        let mut group = sync.group.lock();
                        if group.gathers {
                            group.waiting.retain(|&waiting| waiting != Sequence(2));
                            return true;
                        }
                        if group.flushes.count > 0 {
                            return false;
                        }
                        drop(group);
                        std::thread::yield_now();
                    }
                })
            };
            let mut group = sync.group.lock();
            (group.waiting, group.expected) = (vec![Sequence(1), Sequence(2)], 3);
            (group.unaccompanied, group.flush_takes) = (0, Duration::from_secs(1));
            let (group, outcome) = sync.lead(group, || Ok(Sequence(1)));
            outcome.expect("no flush fails");
            drop(group);
            has_left = leaving.join().expect("it leaves or sees the flush");
            sync.group.lock().flushes = Flushes::default();
        }
    }

    #[test]
    fn everybody_learns_of_a_flush_that_fails() {
        let sync = Arc::new(GroupSync::new(Sequence(0)));
        let threads: Vec<_> = (1..=4)
            .map(|number| {
                let sync = Arc::clone(&sync);
                let flush = || {
                    take_time();
                    Err(Error::Poisoned { path: PathBuf::new() })
                };
                std::thread::spawn(move || sync.wait(Sequence(number), flush).is_err())
            })
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().expect("nobody waits for ever")));
    }
}
