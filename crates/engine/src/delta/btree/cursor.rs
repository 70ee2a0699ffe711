//! Positions in the key order of a delta: plain numbers, so that an owned iterator can hold one beside its delta.
//!
//! A position copies a window of record names from one leaf. The copy needs no upkeep: an entry that is visible at
//! the position's sequence was in the delta before the position was made. So the position does not show what a writer
//! adds later, in this leaf or by splitting it. The next window is found by the leaf if that is unchanged, and by the
//! key at the window's end otherwise.

use crate::delta::arena::Unit;
use crate::delta::btree::node::{Leaf, Stamp};
use crate::delta::btree::tree::Tree;
use crate::delta::record::{RecordRef, VersionRef};
use crate::ids::Sequence;
use crate::sync::before_retry;
use std::ops::Range;

/// Names in a window: enough to hide one record's cache misses behind the work on the others.
const WINDOW: usize = 16;
/// Names in the first window after a seek, which may be read no further than its first entry.
const WINDOW_FIRST: usize = 4;

/// A place in the order of one delta's keys, as seen at one sequence: on an entry, before the first or after the last.
///
/// It is made and moved by the methods of [`Delta`](crate::delta::Delta), and only by those of the one that made it.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Which delta it belongs to.
    pub(in crate::delta) delta: u64,
    pub(in crate::delta) at: Sequence,
    pub(in crate::delta) place: Place,
    window: Option<Window>,
}

/// Where a [`Position`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::delta) enum Place {
    BeforeFirst,
    On(RecordRef, VersionRef),
    AfterLast,
}

/// Some neighbouring records of one leaf, and which of them is current.
#[derive(Clone, Copy, Debug)]
struct Window {
    leaf: Unit,
    stamp: Stamp,
    /// Where the first one is in the leaf.
    start: usize,
    records: [Option<RecordRef>; WINDOW],
    count: usize,
    current: usize,
    /// Whether the records of the next window were prefetched when this one was made.
    prefetched_next: bool,
}

/// Where a search for a window begins.
#[derive(Clone, Copy)]
pub(in crate::delta) enum Start<'k> {
    /// At the first key, going up.
    First,
    /// At the first key that is at or above this one, going up.
    From(&'k [u8]),
    /// At the first key above this one, going up.
    After(&'k [u8]),
    /// At the last key below this one, going down.
    Before(&'k [u8]),
    /// At the last key, going down.
    Last,
}

impl Position {
    /// The first visible entry from `start` on, in the direction that it says.
    pub(in crate::delta) fn seek(tree: &Tree, delta: u64, start: Start<'_>, at: Sequence) -> Self {
        let mut position = Self { delta, at, place: Place::AfterLast, window: None };
        if matches!(start, Start::Before(_) | Start::Last) {
            position.window = window_down(tree, start, WINDOW_FIRST);
            position.settle_down(tree);
        } else {
            position.window = window_up(tree, start, WINDOW_FIRST);
            position.settle_up(tree);
        }
        position
    }

    /// To the next visible entry.
    #[inline]
    pub(in crate::delta) fn next(&mut self, tree: &Tree) {
        match self.place {
            Place::On(..) => {
                self.step_up(tree);
                self.settle_up(tree);
            }
            Place::BeforeFirst => *self = Self::seek(tree, self.delta, Start::First, self.at),
            Place::AfterLast => {}
        }
    }

    /// To the visible entry before.
    #[inline]
    pub(in crate::delta) fn previous(&mut self, tree: &Tree) {
        match self.place {
            Place::On(..) => {
                self.step_down(tree);
                self.settle_down(tree);
            }
            Place::AfterLast => *self = Self::seek(tree, self.delta, Start::Last, self.at),
            Place::BeforeFirst => {}
        }
    }

    /// Goes up to a record that has a visible version, from the current one on.
    #[inline]
    fn settle_up(&mut self, tree: &Tree) {
        loop {
            let Some(record) = self.window.as_ref().and_then(Window::record) else {
                self.place = Place::AfterLast;
                return;
            };
            if let Some(version) = tree.record(record).visible(self.at) {
                self.place = Place::On(record, version);
                return;
            }
            self.step_up(tree);
        }
    }

    /// Goes down to a record that has a visible version, from the current one on.
    #[inline]
    fn settle_down(&mut self, tree: &Tree) {
        loop {
            let Some(record) = self.window.as_ref().and_then(Window::record) else {
                self.place = Place::BeforeFirst;
                return;
            };
            if let Some(version) = tree.record(record).visible(self.at) {
                self.place = Place::On(record, version);
                return;
            }
            self.step_down(tree);
        }
    }

    #[inline]
    fn step_up(&mut self, tree: &Tree) {
        let Some(window) = &mut self.window else { return };
        if window.current + 1 < window.count {
            window.current += 1;
        } else {
            self.window = window.above(tree);
        }
    }

    #[inline]
    fn step_down(&mut self, tree: &Tree) {
        let Some(window) = &mut self.window else { return };
        if window.current > 0 {
            window.current -= 1;
        } else {
            self.window = window.below(tree);
        }
    }
}

impl Window {
    /// The current record.
    #[inline]
    fn record(&self) -> Option<RecordRef> {
        self.records[self.current]
    }

    /// The window that begins after this one ends.
    fn above(&self, tree: &Tree) -> Option<Self> {
        let leaf = tree.leaf(self.leaf);
        let end = self.start + self.count;
        let near = if end < leaf.count() {
            Self::go_up(tree, leaf, self.stamp, end)
        } else {
            tree.leaf_after(leaf, self.stamp).and_then(|(next, stamp)| Self::go_up(tree, next, stamp, 0))
        };
        // `None` is the end, or a leaf that has changed: the search by key distinguishes the two.
        self.fetch_newest_of(near.as_ref(), tree);
        near.or_else(|| window_up(tree, Start::After(tree.key(self.records[self.count - 1]?)), WINDOW))
    }

    /// The window that ends before this one begins.
    fn below(&self, tree: &Tree) -> Option<Self> {
        let leaf = tree.leaf(self.leaf);
        let near = if self.start > 0 {
            Self::go_down(tree, leaf, self.stamp, self.start)
        } else {
            tree.leaf_before(leaf, self.stamp).and_then(|(next, stamp)| Self::go_down(tree, next, stamp, next.count()))
        };
        self.fetch_newest_of(near.as_ref(), tree);
        near.or_else(|| window_down(tree, Start::Before(tree.key(self.records[0]?)), WINDOW))
    }

    /// A window that begins at `start`. Prefetches the records of the next window, and the next leaf.
    fn go_up(tree: &Tree, leaf: &Leaf, stamp: Stamp, start: usize) -> Option<Self> {
        let end = start + WINDOW;
        let window = Self { prefetched_next: true, ..Self::copy(tree, leaf, stamp, start..end, start)? };
        let right = leaf.right();
        if let Some(right) = right
            && start == 0
        {
            tree.prefetch_leaf(right);
        }
        if end < leaf.count() {
            fetch(tree, leaf, end..end + WINDOW);
        } else if let Some(right) = right {
            fetch(tree, tree.leaf(right), 0..WINDOW);
        }
        Some(window)
    }

    /// A window that ends at `end`. Prefetches the records of the window before, and the leaf before.
    fn go_down(tree: &Tree, leaf: &Leaf, stamp: Stamp, end: usize) -> Option<Self> {
        let start = end.saturating_sub(WINDOW);
        let window = Self { prefetched_next: true, ..Self::copy(tree, leaf, stamp, start..end, end.checked_sub(1)?)? };
        let left = leaf.left();
        if let Some(left) = left
            && end == leaf.count()
        {
            tree.prefetch_leaf(left);
        }
        if start > 0 {
            fetch(tree, leaf, start.saturating_sub(WINDOW)..start);
        } else if let Some(left) = left {
            let left = tree.leaf(left);
            fetch(tree, left, left.count().saturating_sub(WINDOW)..left.count());
        }
        Some(window)
    }

    /// Prefetches the newest versions of the records in the next window, if the records were prefetched when this one
    /// was made: a version of a key that was changed again can be anywhere.
    fn fetch_newest_of(&self, next: Option<&Self>, tree: &Tree) {
        if let (true, Some(next)) = (self.prefetched_next, next) {
            next.records.iter().flatten().for_each(|record| tree.prefetch_newest(*record));
        }
    }

    /// Copies the leaf's records in `range`, with `current` as the current one. None if the leaf has changed since
    /// `stamp`.
    fn copy(tree: &Tree, leaf: &Leaf, stamp: Stamp, range: Range<usize>, current: usize) -> Option<Self> {
        let mut records = [None; WINDOW];
        let start = range.start;
        let end = leaf.count().min(range.end);
        for (slot, index) in records.iter_mut().zip(start..end) {
            *slot = leaf.key(index);
        }
        if !leaf.is_unchanged(stamp) {
            return None;
        }
        for record in records.iter().flatten() {
            tree.prefetch(*record);
        }
        Some(Self {
            leaf: leaf.unit(),
            stamp,
            start,
            records,
            count: end - start,
            current: current - start,
            prefetched_next: false,
        })
    }
}

/// Prefetches the records at `range` of a leaf, as far as they exist.
fn fetch(tree: &Tree, leaf: &Leaf, range: Range<usize>) {
    for record in range.map_while(|index| leaf.key(index)) {
        tree.prefetch(record);
    }
}

/// The window of `length` records that begins at `start`. None if there is no such key.
fn window_up<'t>(tree: &'t Tree, mut start: Start<'t>, length: usize) -> Option<Window> {
    loop {
        let (key, inclusive) = match start {
            Start::First => (&[][..], true),
            Start::From(key) => (key, true),
            Start::After(key) => (key, false),
            Start::Before(_) | Start::Last => unreachable!("these go down"),
        };
        let (leaf, stamp) = tree.descend_to(key)?;
        let Some(found) = leaf.search(key, |record| tree.key(record)) else {
            before_retry();
            continue;
        };
        let from = found.position + usize::from(found.exact && !inclusive);
        if from < leaf.count() {
            match Window::copy(tree, leaf, stamp, from..from + length, from) {
                Some(window) => return Some(window),
                None => {
                    before_retry();
                    continue;
                }
            }
        }
        let high = leaf.high();
        if leaf.is_unchanged(stamp) {
            // All keys of the key's leaf are below it: the next leaf begins at the fence.
            start = Start::From(tree.key(high?));
        } else {
            before_retry();
        }
    }
}

/// The window of `length` records that ends at `start`. None if there is no such key.
fn window_down<'t>(tree: &'t Tree, mut start: Start<'t>, length: usize) -> Option<Window> {
    loop {
        let (leaf, stamp, end) = match start {
            Start::Last => {
                let (leaf, stamp) = tree.descend_to_last()?;
                (leaf, stamp, leaf.count())
            }
            Start::Before(key) => {
                let (leaf, stamp) = tree.descend_below(key)?;
                let Some(found) = leaf.search(key, |record| tree.key(record)) else {
                    before_retry();
                    continue;
                };
                (leaf, stamp, found.position)
            }
            Start::First | Start::From(_) | Start::After(_) => unreachable!("these go up"),
        };
        if end > 0 {
            match Window::copy(tree, leaf, stamp, end.saturating_sub(length)..end, end - 1) {
                Some(window) => return Some(window),
                None => {
                    before_retry();
                    continue;
                }
            }
        }
        let low = leaf.low();
        if leaf.is_unchanged(stamp) {
            start = Start::Before(tree.key(low?));
        } else {
            before_retry();
        }
    }
}
