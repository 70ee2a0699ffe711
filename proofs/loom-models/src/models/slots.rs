//! What transactions leave in slots for the next ones, while the state is replaced.

use loom::thread;

use super::commit::with_one_commit;
use super::database::{Database, get};
use super::model::Model;
use crate::faults::{Fault, How};
use crate::ids::{Birth, Sequence};
use crate::options::Durability;
use crate::pager::Page;
use crate::sync::{Arc, shadow};
use crate::txn::commit::begin::{Reading, Writing};

pub const READERS: Model = Model {
    name: "slots-readers",
    what: "two transactions of a thread read one after the other while a checkpoint replaces the state that they share",
    atomics: 160,
    run: readers,
    faults: FAULTS,
};

pub const WRITERS: Model = Model {
    name: "slots-writers",
    what: "two transactions of a thread commit one after the other while deltas are rotated; nothing is held at the end",
    run: writers,
    faults: FAULTS,
    ..READERS
};

pub const CLOSING: Model = Model {
    name: "slots-closing",
    what: "the last handle is dropped while a transaction that outlived it ends: nothing is held then",
    run: closing,
    faults: &[Fault {
        name: "slots are not closed",
        file: FILE,
        line: "self.closed.store(true, Ordering::Relaxed)",
        how: How::LeftOut,
    }],
    ..READERS
};

const FILE: &str = "txn/coordination/slots.rs";
const FAULTS: &[Fault] = &[
    Fault {
        name: "the newest state is not published",
        file: FILE,
        line: "self.newest.store(state.cast_mut(), Ordering::Relaxed)",
        how: How::LeftOut,
    },
    Fault {
        name: "a slot is taken without acquiring",
        file: FILE,
        line: "busy.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)",
        how: How::Relaxed,
    },
    Fault {
        name: "a slot is returned without releasing",
        file: FILE,
        line: "busy.store(false, Ordering::Release)",
        how: How::Relaxed,
    },
];

fn readers() {
    let pages = [Page::default(), Page::default()];
    let database = with_one_commit(Page::clone(&pages[0]));
    let reader = {
        let database = Arc::clone(&database);
        thread::spawn(move || {
            let mut before = Sequence(0);
            for _ in 0..2 {
                let snapshot = Reading::begin(&database.core).expect("it is open");
                let found = get(&snapshot, b'a');
                assert_eq!(
                    found.is_some(),
                    snapshot.state.checkpoint < Sequence(1),
                    "it is in a delta, or in the page"
                );
                assert!(snapshot.state.checkpoint >= before, "no state comes after a newer one");
                before = snapshot.state.checkpoint;
            }
        })
    };
    database.checkpoint(Birth(2), Page::clone(&pages[1]), &pages[0]);
    reader.join().expect("no thread panics");
    assert_eq!(database.pins.pinned(), [Birth(2)], "nobody reads the old state, and no slot keeps it");
}

fn closing() {
    let database = shadow::alone(|| Database::new(Page::default()));
    let (core, pins) = (Arc::clone(&database.core), Arc::clone(&database.pins));
    let thread = thread::spawn(move || {
        drop(Writing::begin(&core).expect("it is open"));
        drop(Reading::begin(&core).expect("it is open"));
    });
    drop(database);
    thread.join().expect("no thread panics");
    assert_eq!(pins.pinned(), [], "no slot keeps a state, nor what holds that");
}

fn writers() {
    let database = with_one_commit(Page::default());
    let epoch = Arc::clone(&database.core.published.state().epoch);
    let thread = {
        let database = Arc::clone(&database);
        thread::spawn(move || {
            for key in [b'b', b'c'] {
                database.transact(&[], &[key], Durability::Memory).expect("nothing is in conflict");
            }
        })
    };
    database.core.rotate().expect("the log does not fail").expect("there is a commit");
    thread.join().expect("no thread panics");
    assert!(epoch.is_left(), "no transaction of the first epoch is there, and no slot keeps one");
    let snapshot = Reading::begin(&database.core).expect("it is open");
    assert_eq!([b'a', b'b', b'c'].map(|key| get(&snapshot, key)), [b'a', b'b', b'c'].map(Some));
}
