//! Walking through the layers of a table in key order, one way, without a lifetime: owned iterators keep a walk beside
//! the snapshot that they hand to it at each step.
//!
//! Invariant: each source stands at its next entry in the walk's direction, or is past its last. Where several stand at
//! one key the newest layer's entry counts, and all of them move on.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::delta::{Change, Position};
use crate::error::Result;
use crate::pager::Value;
use crate::tree::{self, Seek};
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
    /// The key of the transaction's own change; copied, so that a walk borrows nothing.
    own: Option<Box<[u8]>>,
}

/// What the newest layer at a key says.
enum Newest<'a> {
    Own(&'a Pending),
    Changed(Change<'a>),
    Stored(Value<'a>),
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
        let mut walk = Self::new_above(layers, start);
        walk.base = match &layers.view.base {
            Some(root) => seek_base(layers, root, start)?,
            None => None,
        };
        Ok(walk)
    }

    /// A walk through the layers above the tree.
    pub fn new_above(layers: &Layers<'_>, start: Start<'_>) -> Self {
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
        Self { upward: start.is_upward(), base: None, deltas, own }
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
            let present = !matches!(newest, Newest::Own(Pending::Delete) | Newest::Changed(Change::Delete));
            (key, present)
        }))
    }

    fn step<'a>(&mut self, layers: &Layers<'a>) -> Result<Option<(Value<'a>, Newest<'a>)>> {
        let mut best: Option<(Value<'a>, Newest<'a>)> = None;
        let mut tied = [false; 4];
        if let (Some(set), Some(key)) = (layers.set, &self.own)
            && let Some((key, pending)) = set.first_from(layers.view.info.id, Bound::Included(key))
        {
            (best, tied[0]) = (Some((Value::from(key), Newest::Own(pending))), true);
        }
        for (index, delta) in layers.deltas().into_iter().enumerate() {
            let (Some(delta), Some(position)) = (delta, &self.deltas[index]) else { continue };
            if let Some((key, change)) = delta.entry(position)
                && self.offer(&mut tied, index + 1, best.as_ref().map(|(key, _)| key), key)
            {
                best = Some((Value::from(key), Newest::Changed(change)));
            }
        }
        if let Some(cursor) = &self.base
            && let Some(entry) = cursor.entry(layers.pages())?
            && self.offer(&mut tied, 3, best.as_ref().map(|(key, _)| key), &entry.key)
        {
            best = Some((entry.key, Newest::Stored(entry.value)));
        }
        if let Some((key, _)) = &best {
            self.advance(layers, tied, key)?;
        }
        Ok(best)
    }

    /// Whether the source's key comes before the best so far. Notes which sources stand at the best key.
    fn offer(&self, tied: &mut [bool; 4], source: usize, best: Option<&Value<'_>>, key: &[u8]) -> bool {
        let order = best.map_or(Ordering::Less, |best| if self.upward { key.cmp(best) } else { (**best).cmp(key) });
        match order {
            Ordering::Less => {
                *tied = [false; 4];
                tied[source] = true;
                true
            }
            Ordering::Equal => {
                tied[source] = true;
                false
            }
            Ordering::Greater => false,
        }
    }

    fn advance(&mut self, layers: &Layers<'_>, tied: [bool; 4], key: &[u8]) -> Result<()> {
        let id = layers.view.info.id;
        if let (true, Some(set)) = (tied[0], layers.set) {
            let own = match self.upward {
                true => set.first_from(id, Bound::Excluded(key)),
                false => set.last_until(id, Bound::Excluded(key)),
            };
            self.own = own.map(|(key, _)| key.into());
        }
        for (index, delta) in layers.deltas().into_iter().enumerate() {
            if let (true, Some(delta), Some(position)) = (tied[index + 1], delta, &mut self.deltas[index]) {
                if self.upward { delta.next(position) } else { delta.previous(position) }
            }
        }
        if let (true, Some(cursor)) = (tied[3], &mut self.base) {
            let at_entry = if self.upward { cursor.next(layers.pages())? } else { cursor.previous(layers.pages())? };
            if !at_entry {
                self.base = None;
            }
        }
        Ok(())
    }
}

/// A cursor at the walk's first entry of the tree; `None` if there is none.
fn seek_base(layers: &Layers<'_>, root: &tree::Root, start: Start<'_>) -> Result<Option<tree::Cursor>> {
    let pages = layers.pages();
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
