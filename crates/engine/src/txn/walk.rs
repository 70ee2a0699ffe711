//! Walking through the layers of a table in key order, one way, without a lifetime: owned iterators keep a walk beside
//! the snapshot that they hand to it at each step.
//!
//! Invariant: each source stands at its next entry in the walk's direction, or is past its last. Where several stand at
//! one key the newest layer's entry counts, and all of them move on.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::delta::{Change, Position};
use crate::error::Result;
use crate::pager::{Pages, Value};
use crate::tree::{self, RUNS_MAX, Seek, Stack};
use crate::txn::layers::Layers;
use crate::txn::write_set::Pending;

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

/// A place in every layer of a table.
#[derive(Debug)]
pub struct Walk {
    upward: bool,
    base: Option<tree::Cursor>,
    deltas: [Option<Position>; 2],
    /// One for each depth of the stack, the newest runs first.
    runs: Vec<RunWalk>,
    /// The key of the transaction's own change; copied, so that a walk borrows nothing.
    own: Option<Box<[u8]>>,
}

/// A place in the runs of one depth: in those that have so many newer ones above them in their range, range after range.
#[derive(Debug)]
struct RunWalk {
    depth: usize,
    range: usize,
    /// At an entry; none past the last.
    cursor: Option<tree::Cursor>,
}

/// What the newest layer at a key says.
enum Newest<'a> {
    Own(&'a Pending),
    Changed(Change<'a>),
    Ran(Option<Value<'a>>),
    Stored(Value<'a>),
}

/// The sources of a walk, one bit for each.
#[derive(Clone, Copy, Debug, Default)]
struct Sources(u64);

impl Sources {
    const OWN: u32 = 0;
    const DELTAS: u32 = 1;
    const BASE: u32 = 3;
    const RUNS: u32 = 4;

    fn has(self, source: u32) -> bool {
        self.0 >> source & 1 != 0
    }
}

const _: () = assert!(Sources::RUNS as usize + RUNS_MAX <= u64::BITS as usize);

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

    /// The bound of what lies in the walk's direction.
    pub fn bound(self) -> Bound<&'k [u8]> {
        match self {
            Self::First | Self::Last => Bound::Unbounded,
            Self::From(key) | Self::Until(key) => Bound::Included(key),
            Self::Above(key) | Self::Below(key) => Bound::Excluded(key),
        }
    }

    fn is_upward(self) -> bool {
        matches!(self, Self::First | Self::From(_) | Self::Above(_))
    }
}

impl Walk {
    /// A walk through all layers.
    ///
    /// # Errors
    /// Damage where the walk begins.
    pub fn new(layers: &Layers<'_>, start: Start<'_>) -> Result<Self> {
        let mut walk = Self::new_above(layers, start)?;
        walk.base = match &layers.view.trees.base {
            Some(root) => seek_tree(layers.pages(), root, start)?,
            None => None,
        };
        Ok(walk)
    }

    /// A walk through the layers above the tree.
    ///
    /// # Errors
    /// As [`Walk::new`].
    pub fn new_above(layers: &Layers<'_>, start: Start<'_>) -> Result<Self> {
        let deltas = layers.deltas().map(|delta| {
            let delta = delta?;
            Some(match start {
                Start::First => delta.first(layers.at),
                Start::From(key) => delta.seek(key, layers.at),
                Start::Above(key) => delta.seek_after(key, layers.at),
                Start::Last => delta.last(layers.at),
                Start::Below(key) => delta.seek_before(key, layers.at),
                Start::Until(key) => {
                    let at = delta.seek(key, layers.at);
                    let equal = delta.entry(&at).is_some_and(|(found, _)| found == key);
                    if equal { at } else { delta.seek_before(key, layers.at) }
                }
            })
        });
        let id = layers.view.info.id;
        let own = layers.set.and_then(|set| match start {
            Start::First => set.first_from(id, Bound::Unbounded),
            Start::From(key) => set.first_from(id, Bound::Included(key)),
            Start::Above(key) => set.first_from(id, Bound::Excluded(key)),
            Start::Last => set.last_until(id, Bound::Unbounded),
            Start::Until(key) => set.last_until(id, Bound::Included(key)),
            Start::Below(key) => set.last_until(id, Bound::Excluded(key)),
        });
        let own = own.map(|(key, _)| key.into());
        let runs = match layers.stack() {
            Some(stack) => {
                let walks = (0..stack.depth()).map(|depth| RunWalk::new(layers.pages(), stack, depth, start));
                walks.collect::<Result<_>>()?
            }
            None => Vec::new(),
        };
        Ok(Self { upward: start.is_upward(), base: None, deltas, runs, own })
    }

    /// The next entry that has a value, in the walk's direction. Requires: the layers are those that the walk began in.
    ///
    /// # Errors
    /// Damage on the way.
    pub fn next<'a>(&mut self, layers: &Layers<'a>) -> Result<Option<(Value<'a>, Value<'a>)>> {
        self.next_if(layers, |_| true)
    }

    /// As [`Walk::next`], as long as keys are `within` what is walked through; then the walk has ended.
    ///
    /// What a key beyond that has for a value is nobody's business: to look at it may be a read that is checked at the commit, and
    /// may fail.
    ///
    /// # Errors
    /// As [`Walk::next`].
    #[inline]
    pub fn next_if<'a>(
        &mut self,
        layers: &Layers<'a>,
        within: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<(Value<'a>, Value<'a>)>> {
        loop {
            let Some((key, newest)) = self.step(layers)? else { return Ok(None) };
            if !within(&key) {
                return Ok(None);
            }
            let value = match newest {
                Newest::Own(pending) => layers.own_value(&key, pending)?,
                Newest::Changed(change) => layers.changed_value(change)?,
                Newest::Ran(value) => value,
                Newest::Stored(value) => Some(value),
            };
            if let Some(value) = value {
                return Ok(Some((key, value)));
            }
        }
    }

    /// The next key that a layer above the tree changed, and whether it has a value now.
    ///
    /// # Errors
    /// Damage on the way.
    pub fn next_above<'a>(&mut self, layers: &Layers<'a>) -> Result<Option<(Value<'a>, bool)>> {
        let step = self.step(layers)?;
        Ok(step.map(|(key, newest)| {
            let present =
                !matches!(newest, Newest::Own(Pending::Delete) | Newest::Changed(Change::Delete) | Newest::Ran(None));
            (key, present)
        }))
    }

    fn step<'a>(&mut self, layers: &Layers<'a>) -> Result<Option<(Value<'a>, Newest<'a>)>> {
        let mut best: Option<(Value<'a>, Newest<'a>)> = None;
        let mut tied = Sources::default();
        if let (Some(set), Some(key)) = (layers.set, &self.own)
            && let Some((key, pending)) = set.first_from(layers.view.info.id, Bound::Included(key))
        {
            (best, tied) = (Some((Value::from(key), Newest::Own(pending))), Sources(1 << Sources::OWN));
        }
        for (index, delta) in layers.deltas().into_iter().enumerate() {
            let (Some(delta), Some(position)) = (delta, &self.deltas[index]) else { continue };
            if let Some((key, change)) = delta.entry(position)
                && self.offer(&mut tied, Sources::DELTAS + index as u32, best.as_ref().map(|(key, _)| key), key)
            {
                best = Some((Value::from(key), Newest::Changed(change)));
            }
        }
        for (index, run) in self.runs.iter().enumerate() {
            if let Some(cursor) = &run.cursor
                && let Some((key, value)) = cursor.change(layers.pages())?
                && self.offer(&mut tied, Sources::RUNS + index as u32, best.as_ref().map(|(key, _)| key), &key)
            {
                best = Some((key, Newest::Ran(value)));
            }
        }
        if let Some(cursor) = &self.base
            && let Some(entry) = cursor.entry(layers.pages())?
            && self.offer(&mut tied, Sources::BASE, best.as_ref().map(|(key, _)| key), &entry.key)
        {
            best = Some((entry.key, Newest::Stored(entry.value)));
        }
        if let Some((key, _)) = &best {
            self.advance(layers, tied, key)?;
        }
        Ok(best)
    }

    /// Whether the source's key comes before the best so far. Notes which sources stand at the best key.
    fn offer(&self, tied: &mut Sources, source: u32, best: Option<&Value<'_>>, key: &[u8]) -> bool {
        let order = best.map_or(Ordering::Less, |best| if self.upward { key.cmp(best) } else { (**best).cmp(key) });
        match order {
            Ordering::Less => {
                *tied = Sources(1 << source);
                true
            }
            Ordering::Equal => {
                tied.0 |= 1 << source;
                false
            }
            Ordering::Greater => false,
        }
    }

    fn advance(&mut self, layers: &Layers<'_>, tied: Sources, key: &[u8]) -> Result<()> {
        let id = layers.view.info.id;
        if let (true, Some(set)) = (tied.has(Sources::OWN), layers.set) {
            let own = match self.upward {
                true => set.first_from(id, Bound::Excluded(key)),
                false => set.last_until(id, Bound::Excluded(key)),
            };
            self.own = own.map(|(key, _)| key.into());
        }
        for (index, delta) in layers.deltas().into_iter().enumerate() {
            let is_tied = tied.has(Sources::DELTAS + index as u32);
            if let (true, Some(delta), Some(position)) = (is_tied, delta, &mut self.deltas[index]) {
                if self.upward { delta.next(position) } else { delta.previous(position) }
            }
        }
        if let Some(stack) = layers.stack() {
            for (index, run) in self.runs.iter_mut().enumerate() {
                if tied.has(Sources::RUNS + index as u32) {
                    run.advance(layers.pages(), stack, self.upward)?;
                }
            }
        }
        if let (true, Some(cursor)) = (tied.has(Sources::BASE), &mut self.base) {
            let at_entry = if self.upward { cursor.next(layers.pages())? } else { cursor.previous(layers.pages())? };
            if !at_entry {
                self.base = None;
            }
        }
        Ok(())
    }
}

impl RunWalk {
    fn new(pages: &Pages, stack: &Stack, depth: usize, start: Start<'_>) -> Result<Self> {
        let range = match start {
            Start::First => 0,
            Start::Last => stack.ranges().len() - 1,
            Start::From(key) | Start::Above(key) | Start::Until(key) | Start::Below(key) => stack.range_of(key),
        };
        let mut walk = Self { depth, range, cursor: None };
        if let Some(run) = stack.ranges()[range].runs.get(depth) {
            walk.cursor = seek_tree(pages, &run.root, start)?;
        }
        if walk.cursor.is_none() {
            walk.enter_next(pages, stack, start.is_upward())?;
        }
        Ok(walk)
    }

    /// Moves to the next entry. Requires: it is at one.
    fn advance(&mut self, pages: &Pages, stack: &Stack, upward: bool) -> Result<()> {
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        let at_entry = if upward { cursor.next(pages)? } else { cursor.previous(pages)? };
        if !at_entry {
            self.enter_next(pages, stack, upward)?;
        }
        Ok(())
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
                self.cursor = seek_tree(pages, &run.root, if upward { Start::First } else { Start::Last })?;
            }
        }
        Ok(())
    }
}

/// A cursor at the walk's first entry of a tree; `None` if there is none.
fn seek_tree(pages: &Pages, root: &tree::Root, start: Start<'_>) -> Result<Option<tree::Cursor>> {
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
