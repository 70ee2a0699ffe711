//! Progress and cancellation of long operations.

use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Instant, LockRank, Mutex};

/// Reports the progress of one long operation to any thread, and can stop it. Pass a clone to
/// [`Database::compact_with`](crate::Database::compact_with),
/// [`Database::checkpoint_with`](crate::Database::checkpoint_with),
/// [`Database::backup_to_with`](crate::Database::backup_to_with),
/// [`Database::write_image_with`](crate::Database::write_image_with) or
/// [`Database::close_with`](crate::Database::close_with).
///
/// Stopping an operation loses nothing. The operation stops before its next write to the file, or while it waits for
/// another checkpoint or a bulk load. A running sync is not interrupted. Use one monitor for one operation: its timeout
/// counts from its creation, and it cannot be restarted.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    shared: Arc<Shared>,
}

/// The current phase of a long operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It waits for other operations, or for the disk.
    #[default]
    Waiting,
    /// It merges commits from memory into the file.
    Flushing,
    /// It merges runs into their trees.
    Merging,
    /// It moves pages from the end of the file to free pages.
    Moving,
    /// It copies tables to another file.
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
    /// Returns a monitor without a timeout.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a monitor that stops its operation after `timeout`, counted from now.
    pub fn with_timeout(timeout: Duration) -> Self {
        let monitor = Self::default();
        monitor.shared.state.lock().deadline = Instant::now().checked_add(timeout);
        monitor
    }

    /// Stops the operation. If it has not begun yet, it stops immediately when it begins.
    pub fn stop(&self) {
        // Relaxed: it publishes nothing else.
        self.shared.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the operation must stop: [`Monitor::stop`] was called, or the timeout is over.
    pub fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed) || self.deadline().is_some_and(|at| at <= Instant::now())
    }

    /// The current phase of the operation.
    pub fn phase(&self) -> Phase {
        self.shared.state.lock().phase
    }

    /// Bytes written to the database file, or to the file of a backup, since the operation began.
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
