//! What loom knows of each atomic and each piece of raw memory, kept beside them and found by their addresses.
//!
//! loom's atomics take a kilobyte, cannot be made in constants, and are not valid as zeroes. The engine needs all of
//! that: records and nodes are in raw memory, with fixed sizes. So an atomic of the model is one of std's, which
//! holds its first value and no later one, and a shadow that it gets at its first use. Shadows are made before any
//! thread begins, so that all of their uses come after that. For atomics in raw memory, [`write_piece`] and
//! [`read_piece`] ensure that they are used only after they were written.
//!
//! An atomic must not be moved after its first use: its shadow would stay behind. (The engine's are in an `Arc` or an
//! arena by then.) A shadow counts from the first value on: it holds the difference, which is zero for all of them at
//! first.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use crate::sync::clock;

/// What an atomic holds, and the value from which that counts.
#[derive(Clone)]
pub struct Shadow {
    /// The difference to `first`.
    pub difference: Rc<loom::sync::atomic::AtomicU64>,
    /// The atomic's first value.
    pub first: u64,
}

/// A piece of raw memory that was handed out.
struct Piece {
    end: usize,
    access: Rc<loom::cell::UnsafeCell<()>>,
}

#[derive(Default)]
struct Table {
    unused: Vec<Rc<loom::sync::atomic::AtomicU64>>,
    atomics: BTreeMap<usize, Shadow>,
    pieces: BTreeMap<usize, Piece>,
    threads: usize,
}

thread_local! {
    static TABLE: RefCell<Table> = RefCell::default();
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// What it means to run out of shadows: the model is wrong, whatever the engine does.
pub const TOO_FEW: &str = "a model says how many atomics it uses at most";

/// Begins an exploration with shadows for this many atomics, before any thread is begun.
pub fn begin(atomics: usize) {
    clock::reset();
    // What is left of the last exploration is dropped outside of the borrow.
    let before = TABLE.take();
    let unused = (0..atomics).map(|_| Rc::new(loom::sync::atomic::AtomicU64::new(0))).collect();
    TABLE.with_borrow_mut(|table| table.unused = unused);
    drop(before);
}

/// Runs what precedes all threads: atomics are std's then, and have no shadows. The value that they hold at the end
/// is their first one. It saves most of the time of models that begin with many keys.
pub fn alone<T>(work: impl FnOnce() -> T) -> T {
    assert!(TABLE.with_borrow(|table| table.atomics.is_empty()), "what has a shadow keeps it");
    ALONE.set(true);
    let result = work();
    ALONE.set(false);
    result
}

/// Whether [`alone`] runs.
pub fn is_alone() -> bool {
    ALONE.get()
}

/// How many threads have asked for their number before.
pub fn next_thread() -> usize {
    TABLE.with_borrow_mut(|table| {
        let number = table.threads;
        table.threads += 1;
        number
    })
}

/// The shadow of the atomic at `address`, which holds `first` if it has none yet.
pub fn of(address: usize, first: u64) -> Shadow {
    TABLE.with_borrow_mut(|table| {
        let Table { unused, atomics, .. } = table;
        let shadow = atomics.entry(address).or_insert_with(|| {
            let difference = unused.pop().expect(TOO_FEW);
            Shadow { difference, first }
        });
        shadow.clone()
    })
}

/// Ends the shadow of the atomic at `address`, if it has one.
pub fn take(address: usize) -> Option<Shadow> {
    // A destructor of a thread of the system may come after the table's.
    TABLE.try_with(|table| table.try_borrow_mut().ok()?.atomics.remove(&address)).ok().flatten()
}

/// Nothing is known of this memory.
pub fn forget_pieces(range: Range<usize>) {
    let forgotten: Vec<Piece> = TABLE.with_borrow_mut(|table| {
        let starts: Vec<usize> = table.pieces.range(range).map(|(start, _)| *start).collect();
        starts.iter().filter_map(|start| table.pieces.remove(start)).collect()
    });
    drop(forgotten);
}

/// This thread alone writes here now.
pub fn write_piece(range: Range<usize>) {
    let before: Vec<Piece> = TABLE.with_borrow_mut(|table| {
        let atomics: Vec<usize> = table.atomics.range(range.clone()).map(|(address, _)| *address).collect();
        atomics.iter().for_each(|address| _ = table.atomics.remove(address));
        let starts: Vec<usize> = table.pieces.range(range.clone()).map(|(start, _)| *start).collect();
        starts.iter().filter_map(|start| table.pieces.remove(start)).collect()
    });
    // All that others did with what lay here must be over, and known to be.
    before.iter().for_each(|piece| piece.access.with_mut(|_| ()));
    let access = Rc::new(loom::cell::UnsafeCell::new(()));
    TABLE.with_borrow_mut(|table| table.pieces.insert(range.start, Piece { end: range.end, access }));
}

/// This thread reads what was written here.
pub fn read_piece(address: usize) {
    let access = TABLE.with_borrow(|table| {
        let (_, piece) = table.pieces.range(..=address).next_back()?;
        (address < piece.end).then(|| Rc::clone(&piece.access))
    });
    access.expect("memory is read that was not handed out").with(|_| ());
}
