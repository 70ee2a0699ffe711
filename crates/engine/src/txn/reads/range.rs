//! A range that borrows its transaction.
//!
//! It reads the tree alone where nothing is above the tree between the bounds. Otherwise it walks through all layers.

use std::ops::Bound;

use crate::error::{Error, Result};
use crate::pager::Value;
use crate::process::Stamp;
use crate::tree;
use crate::tree::Entry;
use crate::txn::reads::bounds::{OwnedBound, as_bound, is_left_back, is_left_front};
use crate::txn::reads::layers::Layers;
use crate::txn::reads::read_set::OpenRange;
use crate::txn::reads::walk::Walk;
use crate::txn::writes::run_walk::Start;

/// An iterator over the entries of a range of keys, in order from either end.
///
/// The first error ends it.
#[derive(Debug)]
pub struct Range<'t> {
    source: Source<'t>,
    /// The process that opened the database. Pages are read without checking it.
    stamp: Stamp,
    /// Notes how far the range is read, if reads are checked.
    open: Option<Box<OpenRange<'t>>>,
}

// A box for the large variant would cost each range an allocation.
#[expect(clippy::large_enum_variant)]
#[derive(Debug)]
enum Source<'t> {
    /// Bounds with no key between them, or the end after an error.
    Empty,
    /// The bounds are known and nothing was read yet.
    Fresh { layers: Layers<'t>, low: OwnedBound, high: OwnedBound },
    /// Nothing is above the tree.
    Tree(tree::Range<'t>),
    /// There are changes above the tree.
    Layered(Box<Layered<'t>>),
}

/// A key and its value.
pub type Pair<'t> = (Value<'t>, Value<'t>);

impl<'t> Range<'t> {
    /// A range that has read nothing yet.
    pub fn new(layers: Layers<'t>, low: OwnedBound, high: OwnedBound) -> Self {
        let open = layers.reads.map(|reads| {
            let table = layers.view.info.id;
            Box::new(reads.open_range(table, as_bound(&low), as_bound(&high)))
        });
        Self { source: Source::Fresh { layers, low, high }, stamp: layers.state.stamp, open }
    }

    /// As [`Range::new`], for a transaction whose reads are not noted. The range is at its first entry, so the bounds
    /// are not copied.
    ///
    /// # Errors
    /// As the iterator's items.
    #[inline]
    pub(super) fn begun(layers: Layers<'t>, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<Self> {
        debug_assert!(layers.reads.is_none(), "what is read would not be noted");
        let source = if layers.is_pure(low, high) {
            Source::Tree(tree::Range::new(layers.pages(), layers.view.trees.base.as_deref(), low, high)?)
        } else {
            let (low, high) = (low.map(Box::from), high.map(Box::from));
            Source::Layered(Box::new(Layered { layers, ends: Ends::new(low, high) }))
        };
        Ok(Self { source, stamp: layers.state.stamp, open: None })
    }

    /// Checks that this process opened the database.
    ///
    /// # Errors
    /// [`Error::Forked`].
    #[inline(always)]
    pub(super) fn check_process(&self) -> Result<()> {
        if self.stamp.is_inherited() { Err(Error::Forked) } else { Ok(()) }
    }

    /// The range of the tree, if nothing is above the tree.
    pub(super) fn tree(&mut self) -> Option<&mut tree::Range<'t>> {
        match &mut self.source {
            Source::Tree(range) => Some(range),
            _ => None,
        }
    }

    /// Nothing is left.
    pub(super) fn end(&mut self) {
        self.source = Source::Empty;
    }

    #[cold]
    #[inline(never)]
    pub(super) fn begin(&mut self) -> Result<()> {
        let Source::Fresh { layers, low, high } = &mut self.source else { return Ok(()) };
        let (layers, low, high) =
            (*layers, std::mem::replace(low, Bound::Unbounded), std::mem::replace(high, Bound::Unbounded));
        // After an error below, the range is empty.
        self.source = Source::Empty;
        let (low_key, high_key) = (as_bound(&low), as_bound(&high));
        self.source = if layers.is_pure(low_key, high_key) {
            Source::Tree(tree::Range::new(layers.pages(), layers.view.trees.base.as_deref(), low_key, high_key)?)
        } else {
            Source::Layered(Box::new(Layered { layers, ends: Ends::new(low, high) }))
        };
        Ok(())
    }

    #[inline(always)]
    pub(super) fn read(&mut self, back: bool) -> Result<Option<Pair<'t>>> {
        self.check_process()?;
        if let Source::Tree(range) = &mut self.source {
            let entry = if back { range.next_back()? } else { range.next()? };
            return Ok(entry.map(pair));
        }
        self.read_layered(back)
    }

    #[inline(never)]
    fn read_layered(&mut self, back: bool) -> Result<Option<Pair<'t>>> {
        self.begin()?;
        match &mut self.source {
            Source::Empty | Source::Fresh { .. } => Ok(None),
            Source::Tree(range) => Ok(if back { range.next_back()? } else { range.next()? }.map(pair)),
            Source::Layered(layered) => layered.ends.next(&layered.layers, back),
        }
    }

    #[inline(always)]
    fn item(&mut self, back: bool) -> Option<Result<Pair<'t>>> {
        let item = self.read(back);
        if item.is_err() {
            self.source = Source::Empty;
        }
        if let Some(open) = &mut self.open {
            note(open, &item, back);
        }
        item.transpose()
    }
}

#[inline(never)]
fn note<'t>(open: &mut OpenRange<'t>, item: &Result<Option<Pair<'t>>>, back: bool) {
    match item {
        Ok(Some((key, _))) => open.read_to(key, back),
        Ok(None) | Err(_) => open.read_whole(),
    }
}

impl<'t> Iterator for Range<'t> {
    type Item = Result<Pair<'t>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.item(false)
    }
}

impl DoubleEndedIterator for Range<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.item(true)
    }
}

/// A range through all layers.
#[derive(Debug)]
struct Layered<'t> {
    layers: Layers<'t>,
    ends: Ends<'t>,
}

/// Both ends of a walk between bounds, each begun when it is first asked for.
#[derive(Debug)]
struct Ends<'t> {
    low: OwnedBound,
    high: OwnedBound,
    front: Option<Walk<'t>>,
    back: Option<Walk<'t>>,
    /// The last keys given from each end: the other end stops before them.
    given_front: Option<Value<'t>>,
    given_back: Option<Value<'t>>,
    ended: bool,
}

impl<'t> Ends<'t> {
    fn new(low: OwnedBound, high: OwnedBound) -> Self {
        Self { low, high, front: None, back: None, given_front: None, given_back: None, ended: false }
    }

    fn next(&mut self, layers: &Layers<'t>, back: bool) -> Result<Option<Pair<'t>>> {
        if self.ended {
            return Ok(None);
        }
        let walk = if back { &mut self.back } else { &mut self.front };
        let walk = match walk {
            Some(walk) => walk,
            None => {
                let start =
                    if back { Start::from_high(as_bound(&self.high)) } else { Start::from_low(as_bound(&self.low)) };
                walk.insert(Walk::new(layers, start)?)
            }
        };
        let next = if back {
            walk.next_if(layers, |key| is_left_back(key, &self.low, self.given_front.as_deref()))?
        } else {
            walk.next_if(layers, |key| is_left_front(key, &self.high, self.given_back.as_deref()))?
        };
        let Some((key, value)) = next else {
            self.ended = true;
            return Ok(None);
        };
        let given = if back { &mut self.given_back } else { &mut self.given_front };
        *given = Some(key.clone());
        Ok(Some((key, value)))
    }
}

/// An entry of the tree as a pair.
#[inline(always)]
pub fn pair<'a>(entry: Entry<'a>) -> (Value<'a>, Value<'a>) {
    (entry.key, entry.value)
}
