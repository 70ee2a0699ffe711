//! Turns at being the only writer.

use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::thread;

use super::model::Model;
use crate::faults::{Fault, How};
use crate::sync::{Arc, Instant};
use crate::txn::coordination::turn::{Turn, Turns};

pub const MODEL: Model = Model {
    name: "turn",
    what: "three threads take turns, one with a timeout: never two at once, and none waits forever",
    atomics: 4,
    run,
    faults: FAULTS,
};

const FILE: &str = "txn/coordination/turn.rs";
const FAULTS: &[Fault] = &[
    Fault {
        name: "a free turn is taken without acquiring",
        file: FILE,
        line: "compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed)",
        how: How::Relaxed,
    },
    Fault {
        name: "an awaited turn is taken without acquiring",
        file: FILE,
        line: "swap(AWAITED, Ordering::Acquire)",
        how: How::Relaxed,
    },
    Fault {
        name: "a turn is returned without releasing",
        file: FILE,
        line: "swap(FREE, Ordering::Release)",
        how: How::Relaxed,
    },
    Fault {
        name: "waiters are woken without their lock",
        file: FILE,
        line: "drop(self.0.queue.lock_after_panic())",
        how: How::LeftOut,
    },
    Fault { name: "waiters are not woken", file: FILE, line: "self.0.free.notify_all()", how: How::LeftOut },
];

fn run() {
    let shared = Arc::new((Arc::new(Turns::default()), UnsafeCell::new(())));
    let work = |turn: Turn, shared: &(Arc<Turns>, UnsafeCell<()>)| {
        shared.1.with_mut(|_| ());
        drop(turn);
    };
    let deadlines = [None, Some(Instant::now() + Duration::from_millis(5))];
    let threads = deadlines.map(|deadline| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || match Turns::wait_until(&shared.0, deadline) {
            Some(turn) => work(turn, &shared),
            None => assert!(deadline.is_some_and(|deadline| Instant::now() >= deadline)),
        })
    });
    work(Turns::wait_until(&shared.0, None).expect("it waits for ever"), &shared);
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    assert!(Turns::try_take(&shared.0).is_some(), "the last turn was returned");
}
