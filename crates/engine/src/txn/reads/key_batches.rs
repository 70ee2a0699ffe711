//! The keys of a range in batches, without values: the least cost for each key, above all in packed tables.

use std::ops::Bound;

use crate::error::Result;
use crate::format::{InlineCells, KeySuffix, PackedKeys};
use crate::tree::{self, PrefixRead};
use crate::txn::reads::bounds::prefix_end;
use crate::txn::reads::layers::Layers;
use crate::txn::reads::leaf_batches::{FETCHED_BYTES_MAX, FETCHED_ENTRIES_MAX};
use crate::txn::reads::range::{Pair, Range};

/// Batches of keys in order: see [`ReadTxn::key_batches`](crate::ReadTxn::key_batches).
///
/// A key is returned as a [`KeySuffix`]: the bytes that it does not share with the key before.
///
/// ```
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let db = fulgurite::Database::options().create(true).open(directory.path().join("fruit.ful"))?;
/// # let fruit = db.create_table("fruit", fulgurite::TableOptions::new().packed(true))?;
/// # db.update(|txn| [b"apple", b"apply"].into_iter().try_for_each(|key| txn.put(&fruit, key, b"")))?;
/// let txn = db.read()?;
/// let (mut keys, mut key) = (Vec::new(), Vec::new());
/// let mut batches = txn.key_batches(&fruit, ..)?;
/// while let Some(batch) = batches.next_of(usize::MAX)? {
///     for suffix in &batch {
///         suffix.complete(&mut key);
///         keys.push(key.clone());
///     }
/// }
/// assert_eq!(keys, [b"apple", b"apply"]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct KeyBatches<'t>(Range<'t>);

/// A batch of keys in order. Its first key is complete.
#[derive(Debug)]
pub struct KeyBatch<'t>(Batch<'t>);

#[derive(Debug)]
enum Batch<'t> {
    /// A mapped leaf without overflows.
    Inline(InlineCells<'t>),
    /// Keys of a mapped leaf that is packed; `first` comes before them, unless it is empty.
    Packed { first: Vec<u8>, keys: PackedKeys<'t> },
    /// Entries that were fetched or merged one by one.
    Fetched(Vec<Pair<'t>>),
}

impl<'t> KeyBatches<'t> {
    #[inline]
    /// Requires: the transaction need not know what it reads.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn new(layers: Layers<'t>, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<Self> {
        Range::begun(layers, low, high).map(Self)
    }

    /// The next batch, of at most `most` keys. `None` at the end, and after an error.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    #[inline]
    pub fn next_of(&mut self, most: usize) -> Result<Option<KeyBatch<'t>>> {
        let batch = self.read(most);
        if batch.is_err() {
            self.0.end();
        }
        batch
    }

    fn read(&mut self, most: usize) -> Result<Option<KeyBatch<'t>>> {
        self.0.check_process()?;
        if most == 0 {
            return Ok(None);
        }
        if let Some(range) = self.0.tree() {
            if let Some((leaf, indices)) = range.next_packed(most)? {
                let mut first = Vec::new();
                let keys = PackedKeys::new(leaf, indices, &mut first);
                return Ok(Some(KeyBatch(Batch::Packed { first, keys })));
            }
            if let Some(cells) = range.next_inline(most)? {
                return Ok(Some(KeyBatch(Batch::Inline(cells))));
            }
        }
        let (mut fetched, mut bytes) = (Vec::new(), 0);
        while fetched.len() < FETCHED_ENTRIES_MAX.min(most)
            && bytes < FETCHED_BYTES_MAX
            && let Some((key, value)) = self.0.read(false)?
        {
            bytes += key.len() + value.len();
            fetched.push((key, value));
        }
        Ok((!fetched.is_empty()).then_some(KeyBatch(Batch::Fetched(fetched))))
    }
}

/// See [`ReadTxn::prefix_keys`](crate::ReadTxn::prefix_keys). Requires: the transaction need not know what it reads.
#[inline]
pub fn prefix_keys(
    layers: Layers<'_>,
    prefix: &[u8],
    keys_max: usize,
    mut each: impl FnMut(KeySuffix<'_>),
) -> Result<bool> {
    debug_assert!(layers.reads.is_none(), "what is read would not be noted");
    let (mut left, mut last) = (keys_max, None);
    if let Some(root) = layers.packed_tree_alone_of_prefix(prefix)
        && let Some(read) = tree::read_prefix(layers.pages(), root, prefix, keys_max, &mut each)
    {
        match read {
            PrefixRead::Whole => return Ok(true),
            PrefixRead::Enough => return Ok(false),
            PrefixRead::UpTo(given, key) => (left, last) = (left - given, key),
        }
    }
    if left == 0 {
        // Checking whether there are more would read another page.
        return Ok(false);
    }
    let low = last.as_deref().map_or(Bound::Included(prefix), Bound::Excluded);
    let end = prefix_end(prefix);
    let mut batches = KeyBatches::new(layers, low, end.as_ref().map(|end| &**end))?;
    while left > 0 {
        let Some(batch) = batches.next_of(left)? else { return Ok(true) };
        batch.iter().for_each(&mut each);
        left -= batch.len();
    }
    Ok(false)
}

impl KeyBatch<'_> {
    /// The number of keys: at least one.
    #[allow(clippy::len_without_is_empty)] // It never is.
    pub fn len(&self) -> usize {
        match &self.0 {
            Batch::Inline(cells) => cells.len(),
            Batch::Packed { first, keys } => keys.len() + usize::from(!first.is_empty()),
            Batch::Fetched(entries) => entries.len(),
        }
    }

    /// The keys.
    #[inline(always)]
    pub fn iter(&self) -> KeySuffixes<'_> {
        KeySuffixes(match &self.0 {
            Batch::Inline(cells) => Keys::Inline(cells.clone()),
            Batch::Packed { first, keys } => {
                Keys::Packed { first: (!first.is_empty()).then_some(first), keys: keys.clone() }
            }
            Batch::Fetched(entries) => Keys::Fetched(entries.iter()),
        })
    }
}

impl<'b> IntoIterator for &'b KeyBatch<'_> {
    type Item = KeySuffix<'b>;
    type IntoIter = KeySuffixes<'b>;

    #[inline(always)]
    fn into_iter(self) -> KeySuffixes<'b> {
        self.iter()
    }
}

/// The keys of a [`KeyBatch`].
#[derive(Clone, Debug)]
pub struct KeySuffixes<'b>(Keys<'b>);

#[derive(Clone, Debug)]
enum Keys<'b> {
    Inline(InlineCells<'b>),
    Packed { first: Option<&'b [u8]>, keys: PackedKeys<'b> },
    Fetched(std::slice::Iter<'b, Pair<'b>>),
}

impl<'b> Iterator for KeySuffixes<'b> {
    type Item = KeySuffix<'b>;

    #[inline(always)]
    fn next(&mut self) -> Option<KeySuffix<'b>> {
        match &mut self.0 {
            Keys::Inline(cells) => cells.next().map(|(key, _)| KeySuffix::whole(key)),
            Keys::Packed { first, keys } => match first.take() {
                Some(first) => Some(KeySuffix::whole(first)),
                None => keys.next(),
            },
            Keys::Fetched(entries) => entries.next().map(|(key, _)| KeySuffix::whole(key)),
        }
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Keys::Inline(cells) => cells.size_hint(),
            Keys::Packed { first, keys } => {
                let count = keys.len() + usize::from(first.is_some());
                (count, Some(count))
            }
            Keys::Fetched(entries) => entries.size_hint(),
        }
    }
}

impl ExactSizeIterator for KeySuffixes<'_> {}
