//! Commits that wait for flushes, one of them flushing for all.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::thread;

use super::model::Model;
use crate::error::{Error, Result};
use crate::faults::{Fault, How};
use crate::ids::Sequence;
use crate::sync::{Arc, Mutex, advance};
use crate::txn::coordination::group_sync::GroupSync;

pub const MODEL: Model = Model {
    name: "group-sync",
    what: "three threads commit, one of them twice, and wait for flushes: none returns too early, none waits forever",
    atomics: 4,
    run: || commit_all(None),
    faults: FAULTS,
};

pub const FAILING: Model = Model {
    name: "group-sync-failing",
    what: "as group-sync, but the first flush fails: its leader gets the error, and later flushes serve the others",
    run: || commit_all(Some(1)),
    faults: &[UNWOKEN],
    ..MODEL
};

const FILE: &str = "txn/coordination/group_sync.rs";
const UNWOKEN: Fault =
    Fault { name: "a waiting thread is not woken", file: FILE, line: "self.ended.notify_all()", how: How::LeftOut };
const FAULTS: &[Fault] = &[
    Fault {
        name: "what is durable is read without acquiring",
        file: FILE,
        line: "Sequence(self.durable.load(Ordering::Acquire))",
        how: How::Relaxed,
    },
    Fault {
        name: "what is durable is published without releasing",
        file: FILE,
        line: "self.durable.fetch_max(durable.0, Ordering::Release)",
        how: How::Relaxed,
    },
    Fault {
        name: "the lead is given up without the lock",
        file: FILE,
        line: "let mut group = self.0.group.lock();\n        note",
        how: How::LeftOut,
    },
    UNWOKEN,
];

struct Log {
    sync: GroupSync,
    last: Mutex<u64>,
    /// A place for each commit, written by the flush that makes it durable, and read by the thread that waits for it.
    disk: [UnsafeCell<()>; 4],
    /// What is on the disk, and the flushes so far.
    flushed: Cell<u64>,
    flushes: Cell<u64>,
    failing: Option<u64>,
}

impl Log {
    fn flush(&self) -> Result<Sequence> {
        let through = *self.last.lock();
        // A flush takes long, in comparison: so leaders wait for company.
        advance(Duration::from_millis(10));
        self.flushes.set(self.flushes.get() + 1);
        if Some(self.flushes.get()) == self.failing {
            return Err(Error::Poisoned { path: PathBuf::new() });
        }
        let written = self.flushed.replace(through) as usize..through as usize;
        self.disk[written].iter().for_each(|place| place.with_mut(|_| ()));
        Ok(Sequence(through))
    }

    /// Whether the commit became durable.
    fn commit(&self) -> bool {
        let mine = {
            let mut last = self.last.lock();
            *last += 1;
            *last
        };
        let outcome = self.sync.wait(Sequence(mine), || self.flush());
        if outcome.is_ok() {
            self.disk[mine as usize - 1].with(|_| ());
            assert!(self.flushed.get() >= mine, "{mine} was told durable too early");
            assert!(self.sync.durable() >= Sequence(mine));
        }
        outcome.is_ok()
    }
}

fn commit_all(failing: Option<u64>) {
    let sync = GroupSync::new(Sequence(0));
    let (flushed, flushes) = (Cell::new(0), Cell::new(0));
    let log = Arc::new(Log { sync, last: Mutex::new(0), disk: Default::default(), flushed, flushes, failing });
    let threads = [1, 2].map(|commits| {
        let log = Arc::clone(&log);
        thread::spawn(move || (0..commits).filter(|_| log.commit()).count())
    });
    let own = usize::from(log.commit());
    let others: usize = threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum();
    let lost = usize::from(failing.is_some());
    assert_eq!(own + others, 4 - lost, "only the leader of the failed flush gets the error");
    assert!(log.sync.flushes().count + lost as u64 == log.flushes.get());
}
