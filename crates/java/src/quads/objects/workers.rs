//! Threads that evaluate queries. A thread that has ended its work waits some time for the next one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::error::{Failure, Result};

/// The work of a thread.
pub type Work = Box<dyn FnOnce() + Send>;

/// An idle thread.
struct Idle {
    number: u64,
    work: Sender<Work>,
}

struct Workers {
    idle: Vec<Idle>,
    /// The number of the next thread.
    next: u64,
}

static WORKERS: Mutex<Workers> = Mutex::new(Workers { idle: Vec::new(), next: 0 });

/// How long an idle thread waits before it ends.
const IDLE_TIME: Duration = Duration::from_secs(10);

/// Does work on a thread of its own.
///
/// # Errors
/// [`Failure::Invalid`] if the system has no thread for it.
pub fn run(mut work: Work) -> Result<()> {
    let number = loop {
        let mut workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(idle) = workers.idle.pop() else {
            workers.next += 1;
            break workers.next;
        };
        drop(workers);
        match idle.work.send(work) {
            Ok(()) => return Ok(()),
            Err(returned) => work = returned.0,
        }
    };
    let spawned = thread::Builder::new().name("fulgurite-query".to_owned()).spawn(move || serve(number, work));
    spawned.map(drop).map_err(|error| Failure::Invalid(format!("no thread can be started for a query: {error}")))
}

fn serve(number: u64, mut work: Work) {
    let (sender, receiver) = channel();
    loop {
        // Dropping the work closes the results, which reports the failure.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            std::mem::forget(panic);
        }
        let idle = Idle { number, work: sender.clone() };
        WORKERS.lock().unwrap_or_else(PoisonError::into_inner).idle.push(idle);
        match next(number, &receiver) {
            Some(next) => work = next,
            None => return,
        }
    }
}

/// The next work; `None` if there is none for some time, and the thread is not known as idle any more.
fn next(number: u64, receiver: &Receiver<Work>) -> Option<Work> {
    if let Ok(work) = receiver.recv_timeout(IDLE_TIME) {
        return Some(work);
    }
    let mut workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = workers.idle.iter().position(|idle| idle.number == number) {
        workers.idle.remove(place);
        return None;
    }
    drop(workers);
    // A caller has taken the thread out, and sends its work now.
    receiver.recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_and_a_panic_ends_neither_the_thread_nor_others() {
        let (sender, receiver) = channel();
        for number in 0..100 {
            let sender = sender.clone();
            run(Box::new(move || {
                assert!(number % 10 != 0, "a planted panic");
                sender.send(number).unwrap();
            }))
            .unwrap();
        }
        drop(sender);
        let mut done: Vec<i32> = receiver.iter().collect();
        done.sort_unstable();
        assert_eq!(done, (0..100).filter(|number| number % 10 != 0).collect::<Vec<_>>());
    }
}
