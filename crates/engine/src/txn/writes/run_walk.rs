//! A walk through the runs of one depth of a stack, in key order and in one direction, without a lifetime.
//!
//! Two walks are made of it: the one through what a transaction has spilled
//! ([`SpillWalk`](crate::txn::writes::spill_walk::SpillWalk)), and the one through all layers of a table
//! ([`Walk`](crate::txn::reads::walk::Walk)).

use std::ops::Bound;

use crate::error::Result;
use crate::ids::PageRef;
use crate::pager::{Pages, Value};
use crate::tree;
use crate::tree::{Seek, Stack};

/// Where a walk begins.
#[derive(Clone, Copy, Debug)]
pub enum Start<'k> {
    /// At the first entry, going up.
    First,
    /// At the first key that is at least this, going up.
    From(&'k [u8]),
    /// At the first key above this, going up.
    Above(&'k [u8]),
    /// At the last entry, going down.
    Last,
    /// At the last key that is at most this, going down.
    Until(&'k [u8]),
    /// At the last key below this, going down.
    Below(&'k [u8]),
}

/// A place in the runs of one depth: in those that have so many newer ones above them in their range, range after
/// range.
#[derive(Debug)]
pub struct RunWalk {
    depth: usize,
    range: usize,
    /// At an entry, and the head of its key; none past the last.
    cursor: Option<(tree::Cursor, u64)>,
}

impl<'k> Start<'k> {
    /// The start of a range with this lower bound, going up.
    pub fn from_low(low: Bound<&'k [u8]>) -> Self {
        match low {
            Bound::Unbounded => Self::First,
            Bound::Included(key) => Self::From(key),
            Bound::Excluded(key) => Self::Above(key),
        }
    }

    /// The start of a range with this upper bound, going down.
    pub fn from_high(high: Bound<&'k [u8]>) -> Self {
        match high {
            Bound::Unbounded => Self::Last,
            Bound::Included(key) => Self::Until(key),
            Bound::Excluded(key) => Self::Below(key),
        }
    }

    /// The bound of the keys in the walk's direction.
    pub fn bound(self) -> Bound<&'k [u8]> {
        match self {
            Self::First | Self::Last => Bound::Unbounded,
            Self::From(key) | Self::Until(key) => Bound::Included(key),
            Self::Above(key) | Self::Below(key) => Bound::Excluded(key),
        }
    }

    /// Whether keys rise.
    pub fn is_upward(self) -> bool {
        matches!(self, Self::First | Self::From(_) | Self::Above(_))
    }
}

impl RunWalk {
    /// A walk through the runs of one depth.
    ///
    /// # Errors
    /// Damage where the walk begins; so for all that follow, on the way.
    pub fn new(pages: &Pages, stack: &Stack, depth: usize, start: Start<'_>) -> Result<Self> {
        let range = match start {
            Start::First => 0,
            Start::Last => stack.ranges().len() - 1,
            Start::From(key) | Start::Above(key) | Start::Until(key) | Start::Below(key) => stack.range_of(key),
        };
        let mut walk = Self { depth, range, cursor: None };
        if let Some(run) = stack.ranges()[range].runs.get(depth) {
            walk.cursor = with_head(pages, seek_tree(pages, &run.root, start)?)?;
        }
        if walk.cursor.is_none() {
            walk.enter_next(pages, stack, start.is_upward())?;
        }
        Ok(walk)
    }

    /// The head of the key where it stands; none past the last.
    #[inline]
    pub fn head(&self) -> Option<u64> {
        self.cursor.as_ref().map(|(_, head)| *head)
    }

    /// Where the run begins in which it stands.
    pub fn root(&self, stack: &Stack) -> PageRef {
        stack.ranges()[self.range].runs[self.depth].root.page
    }

    /// The entry where it stands, and its value; no value if the run says that the key has none.
    ///
    /// # Errors
    /// As [`RunWalk::new`].
    #[inline]
    pub fn entry<'a>(&self, pages: &'a Pages) -> Result<Option<(Value<'a>, Option<Value<'a>>)>> {
        match &self.cursor {
            Some((cursor, _)) => cursor.change(pages),
            None => Ok(None),
        }
    }

    /// Goes on to the next entry, in this range or another.
    ///
    /// # Errors
    /// As [`RunWalk::new`].
    #[inline]
    pub fn advance(&mut self, pages: &Pages, stack: &Stack, upward: bool) -> Result<()> {
        step_cursor(pages, &mut self.cursor, upward)?;
        if self.cursor.is_none() { self.enter_next(pages, stack, upward) } else { Ok(()) }
    }

    /// Moves to the first entry of the next range that has a run of this depth, in the walk's direction.
    fn enter_next(&mut self, pages: &Pages, stack: &Stack, upward: bool) -> Result<()> {
        self.cursor = None;
        while self.cursor.is_none() {
            let next = if upward { self.range.checked_add(1) } else { self.range.checked_sub(1) };
            let Some((next, range)) = next.and_then(|next| Some((next, stack.ranges().get(next)?))) else {
                return Ok(());
            };
            self.range = next;
            if let Some(run) = range.runs.get(self.depth) {
                let start = if upward { Start::First } else { Start::Last };
                self.cursor = with_head(pages, seek_tree(pages, &run.root, start)?)?;
            }
        }
        Ok(())
    }
}

/// A cursor with the head of the key at which it is.
#[inline]
pub fn with_head(pages: &Pages, cursor: Option<tree::Cursor>) -> Result<Option<(tree::Cursor, u64)>> {
    let Some(cursor) = cursor else { return Ok(None) };
    cursor.prefetch_from(pages)?;
    let head = cursor.head(pages)?;
    Ok(head.map(|head| (cursor, head)))
}

/// Moves a cursor to the next entry in the walk's direction, if there is one.
#[inline]
pub fn step_cursor(pages: &Pages, place: &mut Option<(tree::Cursor, u64)>, upward: bool) -> Result<()> {
    let Some((cursor, head)) = place else { return Ok(()) };
    let at_entry = if upward { cursor.next(pages)? } else { cursor.previous(pages)? };
    match cursor.head(pages)?.filter(|_| at_entry) {
        Some(next) => *head = next,
        None => *place = None,
    }
    Ok(())
}

/// A cursor at the walk's first entry of a tree; `None` if there is none.
pub fn seek_tree(pages: &Pages, root: &tree::Root, start: Start<'_>) -> Result<Option<tree::Cursor>> {
    let seek = match start {
        Start::First => Seek::First,
        Start::From(key) | Start::Below(key) => Seek::AtLeast(key),
        Start::Above(key) | Start::Until(key) => Seek::Above(key),
        Start::Last => Seek::End,
    };
    let mut cursor = tree::Cursor::seek(pages, root, seek)?;
    let at_entry = if start.is_upward() { cursor.settle(pages)? } else { cursor.previous(pages)? };
    Ok(at_entry.then_some(cursor))
}
