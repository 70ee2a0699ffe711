//! A walk through what a transaction has changed in one table, of that in memory, in key order and in one direction.
//!
//! A walk that borrows the changes steps from one to the next. A detached one looks a key up at each step, so that the
//! transaction can make changes between its steps.

use std::ops::Bound;

use crate::ids::TableId;
use crate::txn::writes::pending::Pending;
use crate::txn::writes::run_walk::Start;
use crate::txn::writes::small_bytes::ChangedKey;
use crate::txn::writes::table_writes::Between;
use crate::txn::writes::write_set::WriteSet;

/// See the module.
#[derive(Debug)]
pub struct MemoryWalk<'w> {
    table: TableId,
    upward: bool,
    place: Place<'w>,
}

#[derive(Debug)]
enum Place<'w> {
    /// There are no more changes.
    Past,
    /// At a change, and those that follow.
    At((&'w [u8], &'w Pending), Between<'w>),
    /// At the change of this key.
    Key(ChangedKey),
}

impl<'w> MemoryWalk<'w> {
    /// A walk that borrows the changes.
    pub fn new(set: Option<&'w WriteSet>, table: TableId, start: Start<'_>) -> Self {
        let place = match set {
            Some(set) => Place::next(changes(set, table, start), start.is_upward()),
            None => Place::Past,
        };
        Self { table, upward: start.is_upward(), place }
    }

    /// A walk that borrows nothing.
    pub fn detached(set: Option<&WriteSet>, table: TableId, start: Start<'_>) -> Self {
        Self { table, upward: start.is_upward(), place: Place::key(set, table, start) }
    }

    /// The change that the walk is at, if any is left. Requires: the set is that with which the walk began.
    #[inline]
    pub fn entry<'a>(&self, set: Option<&'a WriteSet>) -> Option<(&'a [u8], &'a Pending)>
    where
        'w: 'a,
    {
        match &self.place {
            Place::Past => None,
            Place::At(entry, _) => Some(*entry),
            Place::Key(key) => set?.range(self.table, Bound::Included(key), Bound::Unbounded).next(),
        }
    }

    /// Goes on from the change of `key`, where the walk is. Requires: as [`MemoryWalk::entry`].
    pub fn advance(&mut self, set: Option<&WriteSet>, key: &[u8]) {
        self.place = match std::mem::replace(&mut self.place, Place::Past) {
            Place::Past => Place::Past,
            Place::At(_, rest) => Place::next(rest, self.upward),
            Place::Key(_) => {
                Place::key(set, self.table, if self.upward { Start::Above(key) } else { Start::Below(key) })
            }
        };
    }
}

impl<'w> Place<'w> {
    /// At the next of these changes.
    fn next(mut changes: Between<'w>, upward: bool) -> Self {
        let next = if upward { changes.next() } else { changes.next_back() };
        next.map_or(Self::Past, |next| Self::At(next, changes))
    }

    /// At the first change from `start` on, by its key.
    fn key(set: Option<&WriteSet>, table: TableId, start: Start<'_>) -> Self {
        let first = set.and_then(|set| {
            let mut changes = changes(set, table, start);
            if start.is_upward() { changes.next() } else { changes.next_back() }
        });
        first.map_or(Self::Past, |(key, _)| Self::Key(key.into()))
    }
}

/// The changes of a table from `start` on.
fn changes<'w>(set: &'w WriteSet, table: TableId, start: Start<'_>) -> Between<'w> {
    match start.is_upward() {
        true => set.range(table, start.bound(), Bound::Unbounded),
        false => set.range(table, Bound::Unbounded, start.bound()),
    }
}
