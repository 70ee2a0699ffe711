//! Transactions from their snapshot to their commit, with rotations and checkpoints between.

use std::cell::Cell;

use loom::thread;

use super::database::{Database, get, is_conflict, value};
use super::model::Model;
use crate::faults::{Fault, How};
use crate::ids::{Birth, Sequence};
use crate::options::Durability;
use crate::pager::Page;
use crate::sync::{Arc, shadow};

pub const SKEW: Model = Model {
    name: "commit-skew",
    what: "two transactions commit after each read what the other writes: one of them must see the other",
    atomics: 160,
    run: skew,
    faults: &[VISIBLE_UNACQUIRED],
};

pub const MERGE: Model = Model {
    name: "commit-merge",
    what: "two transactions merge into one key, and both operands are in its value, in the order of the commits",
    run: merge,
    ..SKEW
};

pub const MERGE_ROTATE: Model = Model {
    name: "commit-merge-rotate",
    what: "two transactions merge into one key while the deltas are rotated: both operands are in its value, wherever it is",
    run: merge_rotate,
    ..SKEW
};

pub const DURABLE: Model = Model {
    name: "commit-durable",
    what: "two transactions commit durably, with one flush or two: each was in the log before its flush, and is on the disk and visible when that returns",
    run: durable,
    faults: &[DURABLE_UNACQUIRED, VISIBLE_UNACQUIRED],
    ..SKEW
};

pub const ROTATE: Model = Model {
    name: "commit-rotate",
    what: "a transaction commits while the deltas are rotated and merged, and a third thread reads",
    run: rotate,
    faults: &[LOGGED, VISIBLE_UNACQUIRED],
    ..SKEW
};

pub const PINS: Model = Model {
    name: "pins",
    what: "a thread reads a snapshot while a checkpoint replaces its pages, which are not written before it has ended",
    run: pins,
    faults: &[UNPINNED, PINNED],
    ..SKEW
};

const VISIBLE_UNACQUIRED: Fault = Fault {
    name: "the newest visible commit is read without acquiring",
    file: "txn/coordination/visible.rs",
    line: "Sequence(self.front.through.load(Ordering::Acquire))",
    how: How::Relaxed,
};
const DURABLE_UNACQUIRED: Fault = Fault {
    name: "what is durable is read without acquiring",
    file: "txn/coordination/group_sync.rs",
    line: "Sequence(self.durable.load(Ordering::Acquire))",
    how: How::Relaxed,
};
const LOGGED: Fault = Fault {
    name: "the log's lock is left out",
    file: "txn/commit/core.rs",
    line: "let mut logged = writer.log.lock();\n        while logged.exclusive",
    how: How::LeftOut,
};
const UNPINNED: Fault = Fault {
    name: "a pin is removed without the lock",
    file: "txn/snapshot/pins.rs",
    line: "self.pins.0.lock().remove(&self.birth)",
    how: How::LeftOut,
};
const PINNED: Fault = Fault {
    name: "pins are read without the lock",
    file: "txn/snapshot/pins.rs",
    line: "self.0.lock().keys().copied().collect()",
    how: How::LeftOut,
};

/// A database with one commit, of the key `a`.
pub fn with_one_commit(page: Page) -> Arc<Database> {
    shadow::alone(|| {
        let database = Database::new(page);
        database.transact(&[], b"a", Durability::Memory).expect("nobody else commits");
        Arc::new(database)
    })
}

fn skew() {
    let database = shadow::alone(|| Arc::new(Database::new(Page::default())));
    let seen: Arc<[Cell<Option<bool>>; 2]> = Arc::default();
    // The other key's value as each saw it, if it was committed.
    let transact = |database: &Database, own: u8, other: u8| {
        let outcome = database.transact(&[other], &[own], Durability::Memory);
        assert!(outcome.is_ok() || is_conflict(&outcome), "{outcome:?}");
        outcome.ok().map(|(found, _)| found[0].is_some())
    };
    let thread = {
        let (database, seen) = (Arc::clone(&database), Arc::clone(&seen));
        thread::spawn(move || seen[0].set(transact(&database, b'a', b'b')))
    };
    seen[1].set(transact(&database, b'b', b'a'));
    thread.join().expect("no thread panics");
    let both = [seen[0].get(), seen[1].get()];
    assert_ne!(both, [Some(false); 2], "each was committed without having seen the other");
    assert_ne!(both, [None; 2], "one may always be committed");
    let snapshot = database.core.snapshot().expect("it is open");
    assert_eq!([b'a', b'b'].map(|key| get(&snapshot, key).is_some()), both.map(|seen| seen.is_some()));
}

fn merge() {
    let database = with_one_commit(Page::default());
    let thread = {
        let database = Arc::clone(&database);
        thread::spawn(move || database.merge(b'a', b'1').expect("merges are in no conflict"))
    };
    let ours = database.merge(b'a', b'2').expect("merges are in no conflict");
    let theirs = thread.join().expect("no thread panics");
    let snapshot = database.core.snapshot().expect("it is open");
    let expected = if theirs < ours { b"a12" } else { b"a21" };
    assert_eq!(value(&snapshot, b'a').as_deref(), Some(&expected[..]));
}

fn merge_rotate() {
    let database = with_one_commit(Page::default());
    let thread = |operand: u8| {
        let database = Arc::clone(&database);
        thread::spawn(move || database.merge(b'a', operand).expect("merges are in no conflict"))
    };
    let threads = [thread(b'1'), thread(b'2')];
    database.core.rotate().expect("the log does not fail").expect("there is a commit");
    let [first, second] = threads.map(|thread| thread.join().expect("no thread panics"));
    let snapshot = database.core.snapshot().expect("it is open");
    let expected = if first < second { b"a12" } else { b"a21" };
    assert_eq!(value(&snapshot, b'a').as_deref(), Some(&expected[..]));
}

fn durable() {
    let database = shadow::alone(|| Arc::new(Database::new(Page::default())));
    let commit = |database: &Database, key: u8| {
        let sequence = database.put(key, Durability::Disk).expect("nothing is in conflict");
        database.disk[sequence.0 as usize - 1].with(|_| ());
        let snapshot = database.core.durable_snapshot().expect("it is open");
        assert!(snapshot.sequence >= sequence, "it is durable");
        assert_eq!(get(&snapshot, key), Some(key), "and visible");
    };
    let thread = {
        let database = Arc::clone(&database);
        thread::spawn(move || commit(&database, b'a'))
    };
    commit(&database, b'b');
    thread.join().expect("no thread panics");
}

fn rotate() {
    let database = with_one_commit(Page::default());
    let thread = {
        let database = Arc::clone(&database);
        thread::spawn(move || {
            database.transact(b"a", b"b", Durability::Memory).expect("nothing that it read is written");
        })
    };
    let rotation = database.core.rotate().expect("the log does not fail").expect("there is a commit");
    let snapshot = database.core.snapshot().expect("it is open");
    assert_eq!(get(&snapshot, b'a'), Some(b'a'), "it is in the frozen delta");
    assert_eq!(get(&snapshot, b'b').is_some(), snapshot.sequence >= Sequence(2));
    assert!(snapshot.sequence >= rotation.sequence);
    thread.join().expect("no thread panics");
    let snapshot = database.core.snapshot().expect("it is open");
    assert_eq!(get(&snapshot, b'b'), Some(b'b'));
}

fn pins() {
    let pages = [Page::default(), Page::default()];
    let database = with_one_commit(Page::clone(&pages[0]));
    let reader = {
        let database = Arc::clone(&database);
        thread::spawn(move || {
            let snapshot = database.core.snapshot().expect("it is open");
            let found = get(&snapshot, b'a');
            assert_eq!(found.is_some(), snapshot.state.checkpoint < Sequence(1), "it is in a delta, or in the page");
        })
    };
    database.checkpoint(Birth(2), Page::clone(&pages[1]), &pages[0]);
    reader.join().expect("no thread panics");
}
