//! The entries of a range in batches, a leaf at a time where nothing is above the tree: the least cost for each entry.

use crate::error::Result;
use crate::format::{InlineCells, Unpacked, UnpackedEntries};
use crate::txn::reads::range::{Pair, Range};

/// Batches of entries, from either end: see [`crate::ReadTxn::leaf_batches`].
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

/// A batch of entries in order.
#[derive(Debug)]
pub struct LeafBatch<'t>(Batch<'t>);

#[derive(Debug)]
enum Batch<'t> {
    /// A mapped leaf without overflows.
    Inline(InlineCells<'t>),
    /// A mapped leaf that is packed.
    Unpacked(Unpacked<'t>),
    /// Entries that were fetched or merged one by one.
    Fetched(Vec<Pair<'t>>),
}

impl<'t> LeafBatches<'t> {
    pub(crate) fn new(range: Range<'t>) -> Self {
        Self(range)
    }

    fn read(&mut self, back: bool) -> Result<Option<LeafBatch<'t>>> {
        self.0.check_process()?;
        self.0.begin()?;
        if let Some(range) = self.0.tree() {
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
            self.0.end();
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

/// From the end: the last batch comes first, with its entries in rising order.
impl DoubleEndedIterator for LeafBatches<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.item(true)
    }
}

impl LeafBatch<'_> {
    /// The number of entries: at least one.
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

/// Entries of a batch that are fetched or merged one by one.
pub(super) const FETCHED_ENTRIES_MAX: usize = 128;

/// No further entry is added to such a batch beyond this.
pub(super) const FETCHED_BYTES_MAX: usize = 1 << 20;
