//! Commits that insert into a delta while others read it: records, versions, leaves and inner nodes, the index, and
//! numbers.
//!
//! The engine's delta is compiled with nodes of four keys. A commit inserts, and is visible when its number is:
//! readers must find what was inserted at or below the number that they learnt, and nothing later.
//!
//! Most stores that publish something stand behind the release fence of the lock under which they are made, and what
//! they publish was written before that: such a store is as good without its own Release, and no fault is planted
//! there.

use std::ops::Bound;

use loom::thread;

use super::model::Model;
use crate::delta::{Change, Delta, Trail};
use crate::faults::{Fault, How};
use crate::format::{Identity, ValueAlign};
use crate::ids::Sequence;
use crate::sync::{Arc, shadow};
use crate::txn::coordination::visible::Visible;

pub const SCAN: Model = Model {
    name: "delta-scan",
    what: "a commit inserts a key before others into a leaf, while a thread reads in the order of keys",
    atomics: 112,
    run: || write_and_read(&[b"bd"], b"a", Shared::scan),
    faults: SCAN_FAULTS,
};

pub const GET: Model = Model {
    name: "delta-get",
    what: "a commit inserts a key, while a thread gets it and another",
    run: || {
        write_and_read(&[b"b"], b"a", |shared| {
            shared.get(b'a');
            shared.get(b'b');
        })
    },
    faults: GET_FAULTS,
    ..SCAN
};

pub const CHANGES: Model = Model {
    name: "delta-changes",
    what: "a commit inserts a key before one that has changed, while a thread reads the changes",
    run: || write_and_read(&[b"b", b"d"], b"a", Shared::ask_changes),
    faults: CHANGES_FAULTS,
    ..SCAN
};

pub const SPLIT: Model = Model {
    name: "delta-split",
    what: "a commit inserts a key into a full leaf, which is split below a new root, while a thread reads in the order of keys",
    atomics: 144,
    run: || write_and_read(&[b"bdfh"], b"c", Shared::scan),
    faults: SPLIT_FAULTS,
};

pub const SPLIT_AGAIN: Model = Model {
    name: "delta-split-again",
    what: "a commit splits a leaf below an inner node, while a thread reads in the order of keys",
    atomics: 208,
    run: || write_and_read(&[b"bdfhjlnp"], b"k", Shared::scan),
    faults: SPLIT_AGAIN_FAULTS,
};

pub const SPLIT_INNER: Model = Model {
    name: "delta-split-inner",
    what: "a commit splits a full inner node, and a leaf below it, while a thread looks for the next key",
    atomics: 320,
    run: || write_and_read(&[&TWENTY], &[21], |shared| shared.seek(21)),
    faults: SPLIT_INNER_FAULTS,
};

pub const FIRST: Model = Model {
    name: "delta-first",
    what: "two commits insert the first keys of a delta, and one of the threads reads in the order of keys",
    run: || write_both(b"", *b"ab", [2, 3], Shared::scan),
    faults: FIRST_FAULTS,
    ..SCAN
};

pub const SAME: Model = Model {
    name: "delta-same-key",
    what: "two commits insert versions of one key in any order, and one of the threads gets it",
    run: || write_both(b"b", *b"bb", [2, 3], |shared| shared.get(b'b')),
    faults: SAME_FAULTS,
    ..SCAN
};

pub const NEW: Model = Model {
    name: "delta-new-key",
    what: "two commits insert the same new key, either may find the other's record, and one of the threads gets the key",
    run: || write_both(b"b", *b"aa", [3, 2], |shared| shared.get(b'a')),
    faults: NEW_FAULTS,
    ..SCAN
};

pub const ALONG: Model = Model {
    name: "delta-along",
    what: "a commit inserts rising keys, the last one into the leaf after the others', while a commit splits their leaf",
    atomics: 208,
    run: || write_along(b"bdfhjl", b"fhk", b"g"),
    faults: ALONG_FAULTS,
};

const RECORD_UNACQUIRED: Fault = Fault {
    name: "a record is found without acquiring",
    file: "delta/record.rs",
    line: "Unit::new(self.0.load(Ordering::Acquire)).map(RecordRef)",
    how: How::Relaxed,
};
const VERSION_UNRELEASED: Fault = Fault {
    name: "a version is published without releasing",
    file: "delta/record.rs",
    line: "header.newest.store(top.version.0.get(), Ordering::Release)",
    how: How::Relaxed,
};
const VERSION_UNACQUIRED: Fault = Fault {
    name: "a version is found without acquiring",
    file: "delta/record.rs",
    line: "VersionRef(Unit::new(self.header().newest.load(Ordering::Acquire))",
    how: How::Relaxed,
};
const INDEX_UNACQUIRED: Fault = Fault {
    name: "a record is found in the index without acquiring",
    file: "delta/index.rs",
    line: "let entry = self.slots[place].load(Ordering::Acquire)",
    how: How::Relaxed,
};
const FENCE_OF_WRITERS: Fault = Fault {
    name: "the fence of a thread that locks a node is missing",
    file: "delta/btree/node.rs",
    line: "fence(Ordering::Release)",
    how: How::LeftOut,
};
const FENCE_OF_READERS: Fault = Fault {
    name: "the fence of a thread that has read a node is missing",
    file: "delta/btree/node.rs",
    line: "fence(Ordering::Acquire)",
    how: How::LeftOut,
};
const UNLOCKED_UNRELEASED: Fault = Fault {
    name: "a node is unlocked without releasing",
    file: "delta/btree/node.rs",
    line: "self.node.version.store(self.stamp.0 + 2, Ordering::Release)",
    how: How::Relaxed,
};
const STAMP_UNACQUIRED: Fault = Fault {
    name: "a node's version is taken without acquiring",
    file: "delta/btree/node.rs",
    line: "let version = self.version.load(Ordering::Acquire);\n        if version & 1 == 0 { Stamp",
    how: How::Relaxed,
};
const VISIBLE_UNRELEASED: Fault = Fault {
    name: "a commit is visible without releasing",
    file: "txn/coordination/visible.rs",
    line: "self.front.through.compare_exchange(to - 1, to, Ordering::SeqCst, Ordering::Relaxed)",
    how: How::Relaxed,
};
const SCAN_FAULTS: &[Fault] = &[FENCE_OF_WRITERS, FENCE_OF_READERS, STAMP_UNACQUIRED];
const GET_FAULTS: &[Fault] = &[INDEX_UNACQUIRED, VISIBLE_UNRELEASED];
const CHANGES_FAULTS: &[Fault] = &[FENCE_OF_WRITERS, FENCE_OF_READERS, STAMP_UNACQUIRED];
const SPLIT_FAULTS: &[Fault] = &[
    Fault {
        name: "a root is found without acquiring",
        file: "delta/btree/tree.rs",
        line: "Unit::new(self.root.load(Ordering::Acquire))?;",
        how: How::Relaxed,
    },
    STAMP_UNACQUIRED,
];
const RIGHT_UNACQUIRED: Fault = Fault {
    name: "the leaf to the right is found without acquiring",
    file: "delta/btree/node.rs",
    line: "Unit::new(self.right.load(Ordering::Acquire))",
    how: How::Relaxed,
};
const SPLIT_AGAIN_FAULTS: &[Fault] = &[
    Fault {
        name: "a child is found without acquiring",
        file: "delta/btree/node.rs",
        line: "Unit::new(self.children.get(index)?.load(Ordering::Acquire))",
        how: How::Relaxed,
    },
    RIGHT_UNACQUIRED,
    UNLOCKED_UNRELEASED,
    STAMP_UNACQUIRED,
];
/// As many keys as make five full leaves, and with that a full root.
const TWENTY: [u8; 20] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40];

const SPLIT_INNER_FAULTS: &[Fault] = &[FENCE_OF_WRITERS, FENCE_OF_READERS, UNLOCKED_UNRELEASED];
const ALONG_FAULTS: &[Fault] = &[RIGHT_UNACQUIRED, STAMP_UNACQUIRED];
const FIRST_FAULTS: &[Fault] = &[RECORD_UNACQUIRED];
const SAME_FAULTS: &[Fault] = &[VERSION_UNRELEASED, VERSION_UNACQUIRED, UNLOCKED_UNRELEASED];
const NEW_FAULTS: &[Fault] = &[
    Fault {
        name: "a record is marked as indexed without releasing",
        file: "delta/record.rs",
        line: "length.store(length.load(Ordering::Relaxed) | KEY_INDEXED, Ordering::Release)",
        how: How::Relaxed,
    },
    Fault {
        name: "the mark of an indexed record is read without acquiring",
        file: "delta/record.rs",
        line: "self.header().length.load(Ordering::Acquire) & KEY_INDEXED",
        how: How::Relaxed,
    },
];

/// A delta, and which commits of it are visible. The value of a key is the number of the commit that put it.
pub struct Shared {
    delta: Delta,
    visible: Visible,
    /// The keys that each commit puts, number 1 first.
    puts: Vec<Vec<u8>>,
}

impl Shared {
    /// With this many commits.
    fn new(puts: Vec<Vec<u8>>, commits: u64) -> Arc<Self> {
        shadow::alone(|| {
            let shared = Self { delta: Delta::new(ValueAlign::One), visible: Visible::new(Sequence(0)), puts };
            (1..=commits).for_each(|number| shared.commit(number));
            Arc::new(shared)
        })
    }

    fn commit(&self, number: u64) {
        for key in &self.puts[number as usize - 1] {
            let key = &[*key];
            self.delta.insert(key, Identity.hash(key), Sequence(number), Change::Put(&[number as u8]));
        }
        self.visible.finish(Sequence(number));
    }

    /// As [`Shared::commit`], as the engine inserts a commit's many keys.
    fn commit_along(&self, number: u64) {
        let mut trail = Trail::default();
        for key in &self.puts[number as usize - 1] {
            let key = &[*key];
            let change = Change::Put(&[number as u8]);
            self.delta.insert_along(&mut trail, key, Identity.hash(key), Sequence(number), change);
        }
        self.visible.finish(Sequence(number));
    }

    /// What the commits up to `at` have made of a key.
    fn expected(&self, key: u8, at: u64) -> Option<u8> {
        (1..=at).rev().find(|number| self.puts[*number as usize - 1].contains(&key)).map(|number| number as u8)
    }

    fn keys(&self) -> Vec<u8> {
        let mut keys = self.puts.concat();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Reads all in the order of keys.
    fn scan(&self) {
        let at = self.visible.through();
        let expected: Vec<(u8, u8)> =
            self.keys().into_iter().filter_map(|key| Some((key, self.expected(key, at.0)?))).collect();
        let mut found = Vec::new();
        let mut position = self.delta.first(at);
        while let Some((key, change)) = self.delta.entry(&position) {
            let Change::Put(value) = change else { panic!("only puts were inserted") };
            found.push((key[0], value[0]));
            self.delta.next(&mut position);
        }
        assert_eq!(found, expected, "in order, at {}", at.0);
    }

    /// Looks in the order of keys for the first one from `key` on.
    fn seek(&self, key: u8) {
        let at = self.visible.through();
        let expected = self.keys().into_iter().find(|next| *next >= key && self.expected(*next, at.0).is_some());
        let found = self.delta.entry(&self.delta.seek(&[key], at)).map(|(key, _)| key[0]);
        assert_eq!(found, expected, "from {key} on, at {}", at.0);
    }

    /// Reads one key, past the index.
    fn get(&self, key: u8) {
        let at = self.visible.through();
        let found = self.delta.get(&[key], Identity.hash(&[key]), at).map(|change| match change {
            Change::Put(value) => value[0],
            _ => panic!("only puts were inserted"),
        });
        assert_eq!(found, self.expected(key, at.0), "of {}, at {}", key as char, at.0);
    }

    /// Reads in every way, when all is at rest and this many commits are visible.
    fn read_all(&self, commits: u64) {
        assert_eq!(self.visible.through(), Sequence(commits));
        self.scan();
        self.puts.last().into_iter().flatten().for_each(|key| self.get(*key));
        self.ask_changes();
    }

    /// Asks what has changed from a key on since commit 1: no visible commit may be missed.
    fn ask_changes(&self) {
        let (at, low) = (self.visible.through().0, b"c");
        let changed = (2..=at).flat_map(|number| self.puts[number as usize - 1].iter());
        let first = changed.filter(|key| **key >= low[0]).min();
        let found = self.delta.first_changed_since(Bound::Included(low), Bound::Unbounded, Sequence(1));
        if let Some(first) = first {
            assert!(found.is_some_and(|key| key[0] <= *first), "a change is missed");
        }
    }
}

/// After the commits `before`, one thread commits, and another reads.
fn write_and_read(before: &[&[u8]], puts: &[u8], read: fn(&Shared)) {
    let commits = before.len() as u64;
    let shared = Shared::new(before.iter().chain([&puts]).map(|keys| keys.to_vec()).collect(), commits);
    let writer = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || shared.commit(commits + 1))
    };
    read(&shared);
    writer.join().expect("no thread panics");
    shared.read_all(commits + 1);
}

/// After a commit, two threads make commits 2 and 3 of a key each, in this order if none is held up, and the latter
/// reads.
fn write_both(before: &[u8], puts: [u8; 2], order: [u64; 2], read: fn(&Shared)) {
    let [one, other] = puts.map(|key| vec![key]);
    let shared = Shared::new(vec![before.to_vec(), one, other], 1);
    let writers = order.map(|number| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            shared.commit(number);
            if number == order[1] {
                read(&shared);
            }
        })
    });
    writers.into_iter().for_each(|writer| writer.join().expect("no thread panics"));
    shared.read_all(3);
}

/// After a commit, one thread makes commit 2, of rising keys, and another one commit 3.
fn write_along(before: &[u8], along: &[u8], puts: &[u8]) {
    let shared = Shared::new([before, along, puts].map(<[u8]>::to_vec).to_vec(), 1);
    let writer = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || shared.commit(3))
    };
    shared.commit_along(2);
    shared.scan();
    writer.join().expect("no thread panics");
    shared.read_all(3);
}
