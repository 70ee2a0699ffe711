//! Threads under a simulator: one runs at a time, and a scheduler of the test kit chooses which.
//!
//! Compiled with the feature `planted-faults` alone, which nothing but the test kit enables. A thread that has
//! entered a simulation hands over only where it locks, unlocks, waits, sleeps, retries or yields, and where it calls
//! the simulated disk. It waits in the scheduler and never in the system for a lock that another thread holds, for
//! condition variables, for ends of threads and for times. So no thread sleeps until a thread acts that does not run,
//! and a deadlock is detected as such. Time is the scheduler's too. Threads that have not entered behave as in any
//! other build.

use std::cell::RefCell;
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

use super::Arc;

/// A thread, as the scheduler of a simulation sees it. All calls but [`Task::begin`] come from the thread that runs.
pub trait Task: Send + Sync {
    /// The number of the thread, from 0, in the order in which threads were begun.
    fn number(&self) -> usize;
    /// Others may come in between here.
    fn step(&self);
    /// This thread has nothing to do before another one has done something.
    fn stand_aside(&self);
    /// Waits until another thread wakes the waiters at this place, or until a time.
    fn wait(&self, place: usize, until: Option<Duration>);
    /// Wakes all threads that wait at this place. They do not run yet.
    fn wake(&self, place: usize);
    /// The time since the simulation began.
    fn now(&self) -> Duration;
    /// A random number.
    fn random(&self) -> u64;
    /// Makes a task for a thread that is about to be started.
    fn fork(&self) -> Arc<dyn Task>;
    /// The thread is there: waits until it is to run.
    fn begin(&self);
    /// The thread ends, by a panic or not, and another one goes on. Threads that wait at [`end_of`] are woken.
    fn end(&self, panicked: bool);
    /// Whether the thread of that number has ended.
    fn has_ended(&self, number: usize) -> bool;
}

/// Where the end of a thread is waited for.
pub fn end_of(task: usize) -> usize {
    usize::MAX - task
}

thread_local! {
    static TASK: RefCell<Option<Arc<dyn Task>>> = const { RefCell::new(None) };
}

/// Makes the calling thread a task, or no task any more. Returns what it was.
pub fn enter(task: Option<Arc<dyn Task>>) -> Option<Arc<dyn Task>> {
    TASK.replace(task)
}

/// What `act` makes of the calling thread's task; `None` if it is none.
#[inline]
pub fn with<R>(act: impl FnOnce(&dyn Task) -> R) -> Option<R> {
    // A thread that is ending has no task any more.
    TASK.try_with(|task| task.borrow().as_deref().map(act)).ok().flatten()
}

/// Others may come in between here.
#[inline]
pub fn step() {
    with(|task| task.step());
}

/// A thread that can be waited for.
#[derive(Debug)]
pub struct Thread {
    handle: JoinHandle<()>,
    /// Its number, if it is a task.
    number: Option<usize>,
}

/// Starts a thread: as a task, if the calling thread is one.
///
/// # Errors
/// The system's.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    let builder = std::thread::Builder::new().name(name.into());
    let Some(task) = with(|task| task.fork()) else {
        return builder.spawn(work).map(|handle| Thread { handle, number: None });
    };
    let number = Some(task.number());
    let handle = builder.spawn(move || {
        task.begin();
        enter(Some(Arc::clone(&task)));
        let _ending = Ending(task);
        work();
    })?;
    Ok(Thread { handle, number })
}

impl Thread {
    /// Waits until the thread has ended.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(self) -> std::thread::Result<()> {
        if let Some(number) = self.number {
            with(|task| {
                while !task.has_ended(number) {
                    task.wait(end_of(number), None);
                }
            });
        }
        self.handle.join()
    }
}

/// Reports the thread's end to the scheduler, also after a panic.
struct Ending(Arc<dyn Task>);

impl Drop for Ending {
    fn drop(&mut self) {
        enter(None);
        self.0.end(std::thread::panicking());
    }
}
