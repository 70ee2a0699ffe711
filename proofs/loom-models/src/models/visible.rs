//! Commits that finish in any order, and threads that wait for them.

use std::panic::AssertUnwindSafe;

use loom::cell::UnsafeCell;
use loom::thread;

use super::Model;
use crate::faults::{Fault, How};
use crate::ids::Sequence;
use crate::sync::Arc;
use crate::txn::coordination::visible::Visible;

pub const MODEL: Model = Model {
    name: "visible",
    what: "three commits finish in any order, and threads wait for each: a thread that sees its number sees what it and those before did",
    atomics: 16,
    run,
    faults: FAULTS,
};

const FILE: &str = "txn/coordination/visible.rs";
const FAULTS: &[Fault] = &[
    Fault {
        name: "the end of the prefix is read without acquiring",
        file: FILE,
        line: "Sequence(self.front.through.load(Ordering::Acquire))",
        how: How::Relaxed,
    },
    Fault {
        name: "the prefix advances without releasing",
        file: FILE,
        line: "self.front.through.compare_exchange(to - 1, to, Ordering::SeqCst, Ordering::Relaxed)",
        how: How::Relaxed,
    },
    Fault {
        name: "a commit says that it is finished without releasing",
        file: FILE,
        line: "self.slot(sequence.0).store(sequence.0, Ordering::SeqCst)",
        how: How::Relaxed,
    },
    Fault {
        name: "a neighbour is looked for out of order",
        file: FILE,
        line: "if self.slot(next).load(Ordering::SeqCst) != next",
        how: How::Relaxed,
    },
    Fault {
        name: "the end is looked for out of order by a thread that finishes",
        file: FILE,
        line: "let next = self.front.through.load(Ordering::SeqCst) + 1",
        how: How::Relaxed,
    },
    Fault {
        name: "sleepers are looked for out of order",
        file: FILE,
        line: "if self.front.sleepers.load(Ordering::SeqCst) > 0",
        how: How::Relaxed,
    },
    Fault {
        name: "the end is looked for out of order by a thread that goes to sleep",
        file: FILE,
        line: "self.front.through.load(Ordering::SeqCst) >= sequence.0",
        how: How::Relaxed,
    },
    Fault {
        name: "sleepers are woken without their lock",
        file: FILE,
        line: "drop(self.asleep.lock_after_panic())",
        how: How::LeftOut,
    },
    Fault { name: "sleepers are not woken", file: FILE, line: "self.advanced.notify_all()", how: How::LeftOut },
];

pub const THREE: Model = Model {
    name: "visible-three",
    what: "three commits finish in any order, and the last is waited for",
    run: run_three,
    ..MODEL
};

pub const ABANDONED: Model = Model {
    name: "visible-abandoned",
    what: "a commit that threads wait for is abandoned, and they get an error",
    run: run_abandoned,
    faults: ABANDONED_FAULTS,
    ..MODEL
};

const ABANDONED_FAULTS: &[Fault] = &[
    Fault {
        name: "abandoning a commit is not recorded",
        file: FILE,
        line: "self.broken.store(true, Ordering::SeqCst)",
        how: How::LeftOut,
    },
    Fault { name: "sleepers are not woken", file: FILE, line: "self.advanced.notify_all()", how: How::LeftOut },
];

/// Commits in all.
const COMMITS: usize = 3;

struct Shared {
    visible: Visible,
    /// What each commit does before it finishes.
    done: [UnsafeCell<()>; COMMITS],
}

impl Shared {
    fn commit(&self, number: u64) {
        self.done[number as usize - 1].with_mut(|_| ());
        self.visible.finish(Sequence(number));
    }

    /// Looks at what all commits did that are seen.
    fn look(&self) -> u64 {
        let through = self.visible.through().0;
        self.done.iter().take(through as usize).for_each(|done| done.with(|_| ()));
        through
    }
}

fn run() {
    let shared = Arc::new(Shared { visible: Visible::new(Sequence(0)), done: Default::default() });
    let other = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            shared.commit(2);
            shared.look();
        })
    };
    shared.commit(1);
    shared.visible.wait(Sequence(2));
    assert_eq!(shared.look(), 2);
    other.join().expect("no thread panics");
}

fn run_three() {
    let shared = Arc::new(Shared { visible: Visible::new(Sequence(0)), done: Default::default() });
    let threads = [2, 3].map(|number| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || shared.commit(number))
    });
    shared.commit(1);
    shared.visible.wait(Sequence(3));
    assert_eq!(shared.look(), 3);
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
}

fn run_abandoned() {
    let shared = Arc::new(Shared { visible: Visible::new(Sequence(0)), done: Default::default() });
    let threads = [2, 3].map(|number| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            shared.commit(number);
            // The panic comes when nothing is locked or modelled any more.
            let waited = AssertUnwindSafe(|| shared.visible.wait(Sequence(number)));
            assert!(std::panic::catch_unwind(waited).is_err(), "commit 1 never comes");
        })
    });
    shared.visible.abandon();
    threads.into_iter().for_each(|thread| thread.join().expect("the panics were caught"));
}
