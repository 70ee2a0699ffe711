//! Memory that all threads that insert into one delta would otherwise write: a part for each thread, on a line of
//! memory of its own.
//!
//! A line that two threads write in turns moves from one processor to the other each time, which costs as much as a
//! miss. So a *lane* takes memory and numbers in blocks, and counts for itself. A thread uses the lane of its number.
//! Threads that share a lane are as safe as others, and no slower than without lanes.
//!
//! A delta has lanes from a certain size on: below it lanes would cost more than they save.

use crate::sync::{OnceLock, number_of_thread};
use std::thread;

/// See the module. What is in it can be changed by several threads at once.
pub(super) struct Lanes<T>(OnceLock<Box<[Lane<T>]>>);

/// Two lines: processors fetch neighbours in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Lane<T>(T);

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T: Default> Lanes<T> {
    /// From now on there are lanes.
    #[cold]
    pub(super) fn open(&self) {
        self.0.get_or_init(|| (0..lane_count()).map(|_| Lane::default()).collect());
    }

    /// The calling thread's lane, if there are lanes.
    #[inline(always)]
    pub(super) fn of_thread(&self) -> Option<&T> {
        let lanes = self.0.get()?;
        // Their number is a power of two.
        Some(&lanes[number_of_thread() & (lanes.len() - 1)].0)
    }

    /// All lanes there are.
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        self.0.get().into_iter().flatten().map(|lane| &lane.0)
    }
}

fn lane_count() -> usize {
    // Read once in a process: it is in files of the system, which a thread would otherwise read during an insert.
    static COUNT: OnceLock<usize> = OnceLock::new();
    if cfg!(any(model_checked, miri)) {
        return LANES_IN_MODELS;
    }
    *COUNT.get_or_init(|| {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        (LANES_PER_PROCESSOR * processors).next_power_of_two().min(LANES_MAX)
    })
}

/// Lanes for each processor, so that two threads that run side by side seldom share one.
const LANES_PER_PROCESSOR: usize = 4;
const LANES_MAX: usize = 64;
/// Few enough that some threads share a lane, and some do not.
const LANES_IN_MODELS: usize = 2;
