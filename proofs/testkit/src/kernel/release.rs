//! The time limit of a fault that a run makes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Ends a fault that nobody has ended in time.
///
/// Linux 6.18 can repeat a write to a shortened loop device for ever. The process that waits for it cannot be killed
/// until the device has its length again, and the parent waits for that process.
#[derive(Debug, Default)]
pub(super) struct Release {
    running: Option<(Sender<()>, JoinHandle<()>)>,
    released: Arc<AtomicBool>,
}

impl Release {
    /// Begins a fault, which `end` ends after `limit` unless [`Self::stop`] is called before.
    pub fn start(&mut self, limit: Duration, end: impl FnOnce() + Send + 'static) {
        self.stop();
        let (stop, stopped) = mpsc::channel();
        let released = Arc::clone(&self.released);
        let thread = std::thread::spawn(move || {
            if stopped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                released.store(true, Ordering::Release);
                end();
            }
        });
        self.running = Some((stop, thread));
    }

    /// The caller ends the fault itself. `end` is not running when this returns, and does not run later.
    pub fn stop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            let _ = thread.join();
        }
    }

    /// Whether a fault lasted too long.
    pub fn has_released(&self) -> bool {
        self.released.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_ends_at_its_limit_or_by_its_caller() {
        let (mut release, ended) = (Release::default(), Arc::new(AtomicBool::new(false)));
        let end = |ended: &Arc<AtomicBool>| {
            let ended = Arc::clone(ended);
            move || ended.store(true, Ordering::Release)
        };
        release.start(Duration::MAX, end(&ended));
        release.stop();
        assert!(!release.has_released() && !ended.load(Ordering::Acquire));
        release.start(Duration::ZERO, end(&ended));
        while !release.has_released() {
            std::thread::yield_now();
        }
        release.stop();
        assert!(ended.load(Ordering::Acquire), "stopping waits for the end");
    }
}
