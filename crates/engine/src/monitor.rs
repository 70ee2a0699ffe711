//! Progress and cancellation of long operations.

use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Instant, LockRank, Mutex};

/// Follows one long operation from any thread, and may end it before its time: hand a clone to
/// [`Database::compact_with`](crate::Database::compact_with),
/// [`Database::checkpoint_with`](crate::Database::checkpoint_with),
/// [`Database::backup_to_with`](crate::Database::backup_to_with) or
/// [`Database::close_with`](crate::Database::close_with).
///
/// An operation that is ended so loses nothing. It ends before its next write to the file; what it waits for before it
/// begins, such as another checkpoint or a bulk load, and a sync that has begun, take their time. A monitor is for one
/// operation: its time counts from when it is made, and what was stopped stays so.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    shared: Arc<Shared>,
}

/// What a long operation does now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It waits for others, or for the disk.
    #[default]
    Waiting,
    /// Commits are brought from memory into the file.
    Flushing,
    /// Runs are merged into the trees below them.
    Merging,
    /// Pages are moved to free places before them.
    Moving,
    /// Tables are copied to another file.
    Copying,
}

#[derive(Debug)]
struct Shared {
    written_bytes: AtomicU64,
    stopped: AtomicBool,
    /// [`LockRank::Monitor`].
    state: Mutex<State>,
}

impl Default for Shared {
    fn default() -> Self {
        let (written_bytes, stopped) = (AtomicU64::default(), AtomicBool::default());
        Self { written_bytes, stopped, state: Mutex::ranked(LockRank::Monitor, State::default()) }
    }
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    deadline: Option<Instant>,
}

impl Monitor {
    /// A monitor that ends nothing by itself.
    pub fn new() -> Self {
        Self::default()
    }

    /// A monitor that ends its operation after this time, counted from now.
    pub fn with_timeout(timeout: Duration) -> Self {
        let monitor = Self::default();
        monitor.shared.state.lock().deadline = Instant::now().checked_add(timeout);
        monitor
    }

    /// Ends the operation before its time, or one that begins later at once.
    pub fn stop(&self) {
        // Relaxed: it publishes nothing else.
        self.shared.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the operation is to end: [`Monitor::stop`] was called, or its time is over.
    pub fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed) || self.deadline().is_some_and(|at| at <= Instant::now())
    }

    /// What the operation does now.
    pub fn phase(&self) -> Phase {
        self.shared.state.lock().phase
    }

    /// Bytes of pages that were written to the database's file, or to that of a backup, since the operation began.
    pub fn written_bytes(&self) -> u64 {
        self.shared.written_bytes.load(Ordering::Relaxed)
    }

    /// When its time is over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.shared.state.lock().deadline
    }
}

/// The monitors of the operations on one database's file: those of the callers, and that of a close.
#[derive(Clone, Debug)]
pub struct Watchers {
    /// [`LockRank::Watchers`].
    monitors: Arc<Mutex<Vec<Monitor>>>,
}

impl Default for Watchers {
    fn default() -> Self {
        Self { monitors: Arc::new(Mutex::ranked(LockRank::Watchers, Vec::new())) }
    }
}

/// A monitor that watches as long as this lives.
#[derive(Debug)]
pub struct Watching {
    watchers: Watchers,
    monitor: Monitor,
}

impl Watchers {
    /// Lets a monitor follow what is done from now on, and end it.
    pub fn add(&self, monitor: &Monitor) -> Watching {
        self.monitors.lock().push(monitor.clone());
        Watching { watchers: self.clone(), monitor: monitor.clone() }
    }

    /// Reports the current phase.
    pub fn enter(&self, phase: Phase) {
        self.monitors.lock().iter().for_each(|monitor| monitor.shared.state.lock().phase = phase);
    }

    /// Looks whether one of them ends what is done to the database at `path`.
    ///
    /// # Errors
    /// [`Error::Stopped`], if so.
    pub fn look(&self, path: &Path) -> Result<()> {
        self.write(0, path)
    }

    /// Reports that `bytes` are about to be written to the file at `path`.
    ///
    /// # Errors
    /// As [`Watchers::look`].
    pub fn write(&self, bytes: u64, path: &Path) -> Result<()> {
        let monitors = self.monitors.lock();
        if monitors.iter().any(Monitor::is_stopped) {
            return Err(Error::Stopped { path: path.to_path_buf() });
        }
        for monitor in monitors.iter() {
            // Relaxed: a figure for people.
            monitor.shared.written_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut monitors = self.watchers.monitors.lock_after_panic();
        // One may watch several times over.
        if let Some(at) = monitors.iter().position(|one| Arc::ptr_eq(&one.shared, &self.monitor.shared)) {
            monitors.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_watch_are_told_and_any_of_them_ends_it() {
        let watchers = Watchers::default();
        let (one, other) = (Monitor::new(), Monitor::new());
        let path = Path::new("some.ful");
        let first = watchers.add(&one);
        watchers.write(10, path).expect("nobody has stopped it");
        let _second = watchers.add(&other);
        watchers.enter(Phase::Merging);
        watchers.write(5, path).expect("nobody has stopped it");
        assert_eq!([one.written_bytes(), other.written_bytes()], [15, 5]);
        assert_eq!([one.phase(), other.phase()], [Phase::Merging; 2]);
        one.stop();
        assert!(matches!(watchers.write(1, path), Err(Error::Stopped { path }) if path.ends_with("some.ful")));
        drop(first);
        watchers.write(1, path).expect("a monitor that has stopped it is gone");
        assert_eq!([one.written_bytes(), other.written_bytes()], [15, 6]);
    }

    #[test]
    fn a_time_ends_it_when_it_is_over() {
        assert!(Monitor::with_timeout(Duration::ZERO).is_stopped());
        let long = Monitor::with_timeout(Duration::from_secs(3600));
        assert!(!long.is_stopped());
        let clone = long.clone();
        clone.stop();
        assert!(long.is_stopped(), "clones are one");
        assert!(!Monitor::with_timeout(Duration::MAX).is_stopped(), "a time that no clock reaches");
    }
}
