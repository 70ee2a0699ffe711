//! Iterators over a table: ranges that borrow their transaction, ranges that own their snapshot, cursors, batches.
//!
//! A range reads the tree alone where nothing lies above it between the bounds; otherwise it walks through all layers.

use std::ops::Bound;

use crate::error::{Error, Result};
use crate::format::{InlineCells, Unpacked, UnpackedEntries};
use crate::pager::Value;
use crate::process::Stamp;
use crate::sync::Arc;
use crate::tree;
use crate::txn::layers::{Layers, is_before, is_past, pair};
use crate::txn::read::OwnedBound;
use crate::txn::read_set::{CursorReads, OpenRange};
use crate::txn::state::{Snapshot, Table, TableView};
use crate::txn::walk::{Start, Walk};

/// The entries within bounds, in order from either end: an iterator of keys and values.
///
/// The first error ends it.
#[derive(Debug)]
pub struct Range<'t> {
    source: Source<'t>,
    /// Of the database: pages are read without it.
    stamp: Stamp,
    /// Notes how far it is read, for a transaction that must know.
    open: Option<Box<OpenRange<'t>>>,
}

// A box for what is large would cost each range an allocation.
#[expect(clippy::large_enum_variant)]
#[derive(Debug)]
enum Source<'t> {
    /// Bounds that nothing can lie between, or the end after an error.
    Empty,
    /// The bounds are known and nothing was read yet.
    Fresh { layers: Layers<'t>, low: OwnedBound, high: OwnedBound },
    /// Nothing lies above the tree.
    Tree(tree::Range<'t>),
    /// The layers above the tree have something to say.
    Layered(Box<Layered<'t>>),
}

pub(super) type Pair<'t> = (Value<'t>, Value<'t>);

impl<'t> Range<'t> {
    pub(crate) fn new(layers: Layers<'t>, low: OwnedBound, high: OwnedBound) -> Self {
        let open = layers.reads.map(|reads| {
            let table = layers.view.info.id;
            Box::new(reads.open_range(table, as_bound(&low), as_bound(&high)))
        });
        Self { source: Source::Fresh { layers, low, high }, stamp: layers.state.stamp, open }
    }

    /// As [`Range::new`] of a transaction that need not know what it reads, at its first entry: so that nobody keeps the bounds.
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

    /// Sees to it that this process opened the database.
    ///
    /// # Errors
    /// [`Error::Forked`].
    #[inline(always)]
    pub(super) fn check_process(&self) -> Result<()> {
        if self.stamp.is_inherited() { Err(Error::Forked) } else { Ok(()) }
    }

    /// What is read, if nothing lies above the tree.
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
    fn begin(&mut self) -> Result<()> {
        let Source::Fresh { layers, low, high } = &mut self.source else { return Ok(()) };
        let (layers, low, high) =
            (*layers, std::mem::replace(low, Bound::Unbounded), std::mem::replace(high, Bound::Unbounded));
        // What is left if an error follows.
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
    front: Option<Walk>,
    back: Option<Walk>,
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

/// Whether a key is still to be given from the front: it is below the upper bound, and below what the back gave.
#[inline]
pub(super) fn is_left_front(key: &[u8], high: &OwnedBound, given_back: Option<&[u8]>) -> bool {
    !is_past(key, as_bound(high)) && given_back.is_none_or(|given| key < given)
}

/// As [`is_left_front`], from the back.
#[inline]
pub(super) fn is_left_back(key: &[u8], low: &OwnedBound, given_front: Option<&[u8]>) -> bool {
    !is_before(key, as_bound(low)) && given_front.is_none_or(|given| key > given)
}

/// As [`Range`], owning its snapshot: it may be stored, sent to another thread, and outlive the transaction.
///
/// It gives copies of keys and values.
#[derive(Debug)]
pub struct OwnedRange {
    snapshot: Snapshot,
    view: Arc<TableView>,
    low: OwnedBound,
    high: OwnedBound,
    front: Option<Walk>,
    back: Option<Walk>,
    given_front: Option<Vec<u8>>,
    given_back: Option<Vec<u8>>,
    ended: bool,
}

impl OwnedRange {
    pub(crate) fn new(snapshot: Snapshot, table: &Table, low: OwnedBound, high: OwnedBound) -> Result<Self> {
        snapshot.state.view(table)?;
        let view = snapshot.state.view_of(table.info.id).map(Arc::clone).expect("the view was found just now");
        let (front, back, given_front, given_back) = (None, None, None, None);
        Ok(Self { snapshot, view, low, high, front, back, given_front, given_back, ended: false })
    }

    fn read(&mut self, back: bool) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.snapshot.state.check_process()?;
        if self.ended {
            return Ok(None);
        }
        let layers = Layers {
            state: &self.snapshot.state,
            view: &self.view,
            at: self.snapshot.sequence,
            set: None,
            reads: None,
        };
        let walk = if back { &mut self.back } else { &mut self.front };
        let walk = match walk {
            Some(walk) => walk,
            None => {
                let start =
                    if back { Start::from_high(as_bound(&self.high)) } else { Start::from_low(as_bound(&self.low)) };
                walk.insert(Walk::new(&layers, start)?)
            }
        };
        let next = if back {
            walk.next_if(&layers, |key| is_left_back(key, &self.low, self.given_front.as_deref()))?
        } else {
            walk.next_if(&layers, |key| is_left_front(key, &self.high, self.given_back.as_deref()))?
        };
        let Some((key, value)) = next else {
            self.ended = true;
            return Ok(None);
        };
        let (key, value) = (key.to_vec(), value.to_vec());
        let given = if back { &mut self.given_back } else { &mut self.given_front };
        *given = Some(key.clone());
        Ok(Some((key, value)))
    }
}

impl Iterator for OwnedRange {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.read(false);
        self.ended |= item.is_err();
        item.transpose()
    }
}

impl DoubleEndedIterator for OwnedRange {
    fn next_back(&mut self) -> Option<Self::Item> {
        let item = self.read(true);
        self.ended |= item.is_err();
        item.transpose()
    }
}

/// A place in a table that moves both ways.
///
/// It stands at an entry, before the first, or after the last; it begins before the first.
#[derive(Debug)]
pub struct Cursor<'t> {
    layers: Layers<'t>,
    walk: Option<Walk>,
    upward: bool,
    place: Place<'t>,
    /// Notes where it goes, for a transaction that must know.
    reads: Option<CursorReads<'t>>,
}

#[derive(Debug)]
enum Place<'t> {
    BeforeFirst,
    At(Value<'t>),
    AfterLast,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(layers: Layers<'t>) -> Self {
        let reads = layers.reads.map(|reads| CursorReads::new(reads, layers.view.info.id));
        Self { layers, walk: None, upward: true, place: Place::BeforeFirst, reads }
    }

    /// Moves to the first entry whose key is at least `key`, and gives it; after the last if there is none.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`]; so for the other moves.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) -> Result<Option<Pair<'t>>> {
        self.start(Start::From(key.as_ref()))
    }

    /// Moves to the first entry.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn first(&mut self) -> Result<Option<Pair<'t>>> {
        self.start(Start::First)
    }

    /// Moves to the last entry.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn last(&mut self) -> Result<Option<Pair<'t>>> {
        self.start(Start::Last)
    }

    /// Moves to the next entry, and gives it; after the last if there is none.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[allow(clippy::should_implement_trait)] // It moves both ways and can fail, which no iterator does.
    pub fn next(&mut self) -> Result<Option<Pair<'t>>> {
        self.layers.state.check_process()?;
        match (&self.place, &mut self.walk) {
            (Place::AfterLast, _) => Ok(None),
            (_, Some(walk)) if self.upward => {
                let entry = walk.next(&self.layers)?;
                if let Some(reads) = &mut self.reads {
                    reads.step(self.upward, entry.as_ref().map(|(key, _)| &**key));
                }
                Ok(self.stand(entry))
            }
            (Place::BeforeFirst, _) => self.start(Start::First),
            (Place::At(key), _) => {
                let key = key.clone();
                self.start(Start::Above(&key))
            }
        }
    }

    /// Moves to the entry before, and gives it; before the first if there is none.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn previous(&mut self) -> Result<Option<Pair<'t>>> {
        self.layers.state.check_process()?;
        match (&self.place, &mut self.walk) {
            (Place::BeforeFirst, _) => Ok(None),
            (_, Some(walk)) if !self.upward => {
                let entry = walk.next(&self.layers)?;
                if let Some(reads) = &mut self.reads {
                    reads.step(self.upward, entry.as_ref().map(|(key, _)| &**key));
                }
                Ok(self.stand(entry))
            }
            (Place::AfterLast, _) => self.start(Start::Last),
            (Place::At(key), _) => {
                let key = key.clone();
                self.start(Start::Below(&key))
            }
        }
    }

    fn start(&mut self, start: Start<'_>) -> Result<Option<Pair<'t>>> {
        self.layers.state.check_process()?;
        self.upward = matches!(start, Start::First | Start::From(_) | Start::Above(_));
        if let Some(reads) = &mut self.reads {
            // Should what follows fail, it counts as gone over whole.
            reads.jump(start.bound(), self.upward, None);
        }
        let walk = self.walk.insert(Walk::new(&self.layers, start)?);
        let entry = walk.next(&self.layers)?;
        if let Some(reads) = &mut self.reads {
            reads.step(self.upward, entry.as_ref().map(|(key, _)| &**key));
        }
        Ok(self.stand(entry))
    }

    fn stand(&mut self, entry: Option<Pair<'t>>) -> Option<Pair<'t>> {
        self.place = match &entry {
            Some((key, _)) => Place::At(key.clone()),
            None if self.upward => Place::AfterLast,
            None => Place::BeforeFirst,
        };
        entry
    }
}

/// The entries of a range in batches, from either end: the least cost per entry. See [`crate::ReadTxn::leaf_batches`].
///
/// The first error ends it.
///
/// ```
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let db = fulgurite::Database::options().create(true).open(directory.path().join("fruit.ful"))?;
/// # let fruit = db.create_table("fruit", Default::default())?;
/// # db.update(|txn| txn.put(&fruit, b"apple", b"red"))?;
/// let txn = db.read()?;
/// let mut bytes = 0;
/// for batch in txn.leaf_batches(&fruit, ..)? {
///     batch?.iter().for_each(|(key, value)| bytes += key.len() + value.len());
/// }
/// assert_eq!(bytes, 8);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct LeafBatches<'t>(Range<'t>);

/// Entries that lie together, in order.
#[derive(Debug)]
pub struct LeafBatch<'t>(Batch<'t>);

#[derive(Debug)]
enum Batch<'t> {
    /// A mapped leaf without overflows.
    Inline(InlineCells<'t>),
    /// A mapped leaf that is packed.
    Unpacked(Unpacked<'t>),
    /// Some that were fetched or merged one by one.
    Fetched(Vec<Pair<'t>>),
}

impl<'t> LeafBatches<'t> {
    pub(crate) fn new(range: Range<'t>) -> Self {
        Self(range)
    }

    fn read(&mut self, back: bool) -> Result<Option<LeafBatch<'t>>> {
        self.0.check_process()?;
        self.0.begin()?;
        if let Source::Tree(range) = &mut self.0.source {
            if let Some(cells) = if back { range.next_inline_back()? } else { range.next_inline(usize::MAX)? } {
                return Ok(Some(LeafBatch(Batch::Inline(cells))));
            }
            if let Some(entries) = if back { range.next_unpacked_back()? } else { range.next_unpacked()? } {
                return Ok(Some(LeafBatch(Batch::Unpacked(entries))));
            }
        }
        let (mut fetched, mut bytes) = (Vec::new(), 0);
        while fetched.len() < FETCHED_ENTRIES_MAX
            && bytes < FETCHED_BYTES_MAX
            && let Some((key, value)) = self.0.read(back)?
        {
            bytes += key.len() + value.len();
            fetched.push((key, value));
        }
        if back {
            fetched.reverse();
        }
        Ok((!fetched.is_empty()).then_some(LeafBatch(Batch::Fetched(fetched))))
    }

    fn item(&mut self, back: bool) -> Option<Result<LeafBatch<'t>>> {
        let item = self.read(back);
        if item.is_err() {
            self.0.source = Source::Empty;
        }
        item.transpose()
    }
}

impl<'t> Iterator for LeafBatches<'t> {
    type Item = Result<LeafBatch<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.item(false)
    }
}

/// From the end: the last batch first, its entries in order all the same.
impl DoubleEndedIterator for LeafBatches<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.item(true)
    }
}

impl LeafBatch<'_> {
    /// How many entries there are: at least one.
    #[allow(clippy::len_without_is_empty)] // It never is.
    pub fn len(&self) -> usize {
        match &self.0 {
            Batch::Inline(cells) => cells.len(),
            Batch::Unpacked(entries) => entries.len(),
            Batch::Fetched(entries) => entries.len(),
        }
    }

    /// Keys and values, from either end.
    #[inline(always)]
    pub fn iter(&self) -> BatchEntries<'_> {
        BatchEntries(match &self.0 {
            Batch::Inline(cells) => Entries::Inline(cells.clone()),
            Batch::Unpacked(entries) => Entries::Unpacked(entries.iter()),
            Batch::Fetched(entries) => Entries::Fetched(entries.iter()),
        })
    }
}

impl<'b> IntoIterator for &'b LeafBatch<'_> {
    type Item = (&'b [u8], &'b [u8]);
    type IntoIter = BatchEntries<'b>;

    #[inline(always)]
    fn into_iter(self) -> BatchEntries<'b> {
        self.iter()
    }
}

/// Keys and values of a [`LeafBatch`], from either end. `for_each` is faster than a loop.
#[derive(Clone, Debug)]
pub struct BatchEntries<'b>(Entries<'b>);

#[derive(Clone, Debug)]
enum Entries<'b> {
    Inline(InlineCells<'b>),
    Unpacked(UnpackedEntries<'b>),
    Fetched(std::slice::Iter<'b, Pair<'b>>),
}

#[inline(always)]
fn bytes<'b>((key, value): &'b Pair<'_>) -> (&'b [u8], &'b [u8]) {
    (key, value)
}

impl<'b> Iterator for BatchEntries<'b> {
    type Item = (&'b [u8], &'b [u8]);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Entries::Inline(cells) => cells.next(),
            Entries::Unpacked(entries) => entries.next(),
            Entries::Fetched(entries) => entries.next().map(bytes),
        }
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Entries::Inline(cells) => cells.size_hint(),
            Entries::Unpacked(entries) => entries.size_hint(),
            Entries::Fetched(entries) => entries.size_hint(),
        }
    }

    #[inline(always)]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, folded: B, f: F) -> B {
        match self.0 {
            Entries::Inline(cells) => cells.fold(folded, f),
            Entries::Unpacked(entries) => entries.fold(folded, f),
            Entries::Fetched(entries) => entries.map(bytes).fold(folded, f),
        }
    }
}

impl DoubleEndedIterator for BatchEntries<'_> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Entries::Inline(cells) => cells.next_back(),
            Entries::Unpacked(entries) => entries.next_back(),
            Entries::Fetched(entries) => entries.next_back().map(bytes),
        }
    }

    #[inline(always)]
    fn rfold<B, F: FnMut(B, Self::Item) -> B>(self, folded: B, f: F) -> B {
        match self.0 {
            Entries::Inline(cells) => cells.rfold(folded, f),
            Entries::Unpacked(entries) => entries.rfold(folded, f),
            Entries::Fetched(entries) => entries.map(bytes).rfold(folded, f),
        }
    }
}

impl ExactSizeIterator for BatchEntries<'_> {}

pub(super) fn as_bound(bound: &OwnedBound) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &**key)
}

/// Entries of a batch that are fetched or merged one by one.
pub(super) const FETCHED_ENTRIES_MAX: usize = 128;
/// No further entry is added to such a batch beyond this.
pub(super) const FETCHED_BYTES_MAX: usize = 1 << 20;
