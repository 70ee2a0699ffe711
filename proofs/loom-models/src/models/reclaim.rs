//! A delta that is released while another thread still reads it, and the next one that reuses its memory.

use loom::thread;

use super::model::Model;
use crate::delta::{Change, Delta};
use crate::faults::{Fault, How};
use crate::format::{Identity, ValueAlign};
use crate::ids::Sequence;
use crate::sync::{Arc, shadow};

pub const MODEL: Model = Model {
    name: "reclaim",
    what: "two threads insert into a delta that reuses the memory of the one before, which a third may still read",
    atomics: 128,
    run,
    faults: FAULTS,
};

const FILE: &str = "delta/arena.rs";
const FAULTS: &[Fault] = &[
    Fault {
        name: "memory is left without releasing",
        file: FILE,
        line: "place.compare_exchange(ptr::null_mut(), chunk.as_ptr(), Ordering::Release, Ordering::Relaxed)",
        how: How::Relaxed,
    },
    Fault {
        name: "memory is reused without acquiring",
        file: FILE,
        line: "NonNull::new(place.swap(ptr::null_mut(), Ordering::Acquire))",
        how: How::Relaxed,
    },
    Fault {
        name: "a chunk that another thread made is found without acquiring",
        file: FILE,
        line: "NonNull::new(self.chunks[index].load(Ordering::Acquire))",
        how: How::Relaxed,
    },
];

const AT: Sequence = Sequence(1);

fn insert(delta: &Delta, key: u8) {
    delta.insert(&[key], Identity.hash(&[key]), AT, Change::Put(&[key]));
}

fn has(delta: &Delta, key: u8) -> bool {
    match delta.get(&[key], Identity.hash(&[key]), AT) {
        Some(change) => change == Change::Put(&[key]),
        None => false,
    }
}

fn run() {
    let [before, next] = shadow::alone(|| {
        let before = Delta::new(ValueAlign::One);
        insert(&before, b'a');
        let next = before.successor();
        [before, next].map(Arc::new)
    });
    let reader = {
        let before = Arc::clone(&before);
        thread::spawn(move || {
            let first = before.first(AT);
            let entry = before.entry(&first);
            assert_eq!(entry, Some((&b"a"[..], Change::Put(b"a"))), "a delta stays whole for as long as it is held");
        })
    };
    drop(before);
    let writers = [b'b', b'c'].map(|key| {
        let next = Arc::clone(&next);
        thread::spawn(move || insert(&next, key))
    });
    reader.join().expect("no thread panics");
    writers.into_iter().for_each(|writer| writer.join().expect("no thread panics"));
    assert!(has(&next, b'b') && has(&next, b'c') && !has(&next, b'a'));
}
