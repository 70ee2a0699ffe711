//! Multimap tables: many values under one key, sorted.
//!
//! An entry is one ordinary key made of both (`fulgurite_keys::MultimapLayout`) with an empty value, so a multimap has
//! every property of a table, and no limit to the values of a key.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;

use fulgurite_keys::{AsKey, Key, KeyBuffer, MultimapLayout};

use crate::db::access::typed::decode_error;
use crate::db::handle::database::Database;
use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::txn::reads::bounds::prefix_end;
use crate::txn::reads::range::Range;
use crate::txn::reads::read_methods::Read;
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::write_txn::WriteTxn;

/// A table that holds a sorted set of values `V` under each key `K`.
///
/// ```
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
/// let synsets = db.multimap_table::<String, u64>("synsets of words")?;
/// db.update(|txn| {
///     synsets.insert(txn, "bank", 2)?;
///     synsets.insert(txn, "bank", 1)?;
///     synsets.insert(txn, "banker", 3)
/// })?;
/// let txn = db.read()?;
/// let of_bank: Vec<u64> = synsets.get(&txn, "bank")?.collect::<fulgurite::Result<_>>()?;
/// assert_eq!(of_bank, [1, 2]);
/// # Ok(()) }
/// ```
pub struct MultimapTable<K, V> {
    table: Table,
    layout: MultimapLayout,
    types: PhantomData<fn() -> (K, V)>,
}

impl Database {
    /// Returns the multimap with this name, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::TableMismatch`] if it exists with other types or is not a multimap, and as [`Database::create_table`].
    pub fn multimap_table<K: Key, V: Key>(&self, name: &str) -> Result<MultimapTable<K, V>> {
        let options = TableOptions::new().key_type(K::type_name()).value_type(V::type_name()).multimap();
        MultimapTable::new(self.open_or_create_table(name, options)?)
    }
}

impl<K: Key, V: Key> MultimapTable<K, V> {
    /// Views an open table as a multimap.
    ///
    /// # Errors
    /// [`Error::TableMismatch`] if the catalog records other types, or that it is none.
    pub fn new(table: Table) -> Result<Self> {
        let requested = format!("multimap {} → {}", K::type_name(), V::type_name());
        if table.key_type() == K::type_name() && table.value_type() == V::type_name() && table.is_multimap() {
            let layout = MultimapLayout::of_width(K::FIXED_WIDTH);
            return Ok(Self { table, layout, types: PhantomData });
        }
        Err(Error::TableMismatch { name: table.name().to_owned(), stored: table.type_text(), requested })
    }

    /// The underlying table of byte keys.
    pub fn as_bytes(&self) -> &Table {
        &self.table
    }

    /// The values of `key`, in order from either end.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn get<'t>(&self, txn: &'t impl Read, key: impl AsKey<K>) -> Result<Values<'t, V>> {
        let prefix = self.join(key, &[])?;
        let range = Range::new(txn.layers(&self.table)?, Bound::Included(prefix.clone()), prefix_end(&prefix));
        Ok(Values { range, layout: self.layout, types: PhantomData })
    }

    /// Whether `key` has the value.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn contains(&self, txn: &impl Read, key: impl AsKey<K>, value: impl AsKey<V>) -> Result<bool> {
        let entry = self.join(key, value.encode().as_slice())?;
        Ok(txn.layers(&self.table)?.get(&entry)?.is_some())
    }

    /// The number of values of `key`.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn count(&self, txn: &impl Read, key: impl AsKey<K>) -> Result<u64> {
        let prefix = self.join(key, &[])?;
        let high = prefix_end(&prefix);
        txn.layers(&self.table)?.count(Bound::Included(&prefix), high.as_ref().map(|key| &**key))
    }

    /// All pairs of key and value, in order from either end.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn iter<'t>(&self, txn: &'t impl Read) -> Result<Pairs<'t, K, V>> {
        let range = Range::new(txn.layers(&self.table)?, Bound::Unbounded, Bound::Unbounded);
        Ok(Pairs { range, layout: self.layout, types: PhantomData })
    }

    /// The pairs whose keys begin with the bytes of an encoded `prefix`, such as those of a string.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn prefix<'t>(
        &self,
        txn: &'t impl Read,
        prefix: &(impl fulgurite_keys::KeyPrefix<K> + ?Sized),
    ) -> Result<Pairs<'t, K, V>> {
        let (mut encoded, mut joined) = (KeyBuffer::new(), KeyBuffer::new());
        prefix.encode_prefix(&mut encoded);
        self.layout.join_prefix(encoded.as_slice(), &mut joined);
        let low = Bound::Included(Box::from(joined.as_slice()));
        let range = Range::new(txn.layers(&self.table)?, low, prefix_end(joined.as_slice()));
        Ok(Pairs { range, layout: self.layout, types: PhantomData })
    }

    /// Adds `value` to `key`. Returns whether it was new.
    ///
    /// # Errors
    /// As [`WriteTxn::insert`].
    pub fn insert(&self, txn: &mut WriteTxn, key: impl AsKey<K>, value: impl AsKey<V>) -> Result<bool> {
        let entry = self.join(key, value.encode().as_slice())?;
        txn.insert(&self.table, &entry, &[])
    }

    /// Removes `value` from `key`. Returns whether it existed.
    ///
    /// # Errors
    /// As [`WriteTxn::delete`].
    pub fn remove(&self, txn: &mut WriteTxn, key: impl AsKey<K>, value: impl AsKey<V>) -> Result<bool> {
        let entry = self.join(key, value.encode().as_slice())?;
        txn.delete(&self.table, &entry)
    }

    /// Removes all values of `key`. Returns their number.
    ///
    /// # Errors
    /// As [`WriteTxn::delete_range`].
    pub fn remove_all(&self, txn: &mut WriteTxn, key: impl AsKey<K>) -> Result<u64> {
        let prefix = self.join(key, &[])?;
        let high = prefix_end(&prefix);
        txn.delete_range(&self.table, (Bound::Included(&*prefix), high.as_ref().map(|key| &**key)))
    }

    /// Deletes every pair for which `is_retained` returns false. Returns how many pairs were deleted.
    ///
    /// # Errors
    /// As [`WriteTxn::retain`]; [`Error::Decode`] at bytes that are no pair of these types.
    pub fn retain(&self, txn: &mut WriteTxn, mut is_retained: impl FnMut(K, V) -> bool) -> Result<u64> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        txn.retain_within(&self.table, all, |entry, _| {
            let (key, value) = Pairs::decode(self.layout, entry)?;
            Ok(is_retained(key, value))
        })
    }

    /// Deletes the first pair, and returns it.
    ///
    /// # Errors
    /// As [`WriteTxn::pop_first`]; [`Error::Decode`] if the stored bytes are no pair of these types: it is deleted
    /// nonetheless.
    pub fn pop_first(&self, txn: &mut WriteTxn) -> Result<Option<(K, V)>> {
        txn.pop_first(&self.table)?.map(|(entry, _)| Pairs::decode(self.layout, &entry)).transpose()
    }

    /// Deletes the last pair, and returns it.
    ///
    /// # Errors
    /// As [`MultimapTable::pop_first`].
    pub fn pop_last(&self, txn: &mut WriteTxn) -> Result<Option<(K, V)>> {
        txn.pop_last(&self.table)?.map(|(entry, _)| Pairs::decode(self.layout, &entry)).transpose()
    }

    /// The stored form of one pair, as bulk loads take it.
    ///
    /// # Errors
    /// [`Error::Decode`] if the key has another width than its type promises.
    pub fn entry(&self, key: impl AsKey<K>, value: impl AsKey<V>) -> Result<Box<[u8]>> {
        self.join(key, value.encode().as_slice())
    }

    fn join(&self, key: impl AsKey<K>, value: &[u8]) -> Result<Box<[u8]>> {
        let mut entry = KeyBuffer::new();
        self.layout.join(key.encode().as_slice(), value, &mut entry).map_err(decode_error)?;
        Ok(Box::from(entry.as_slice()))
    }
}

impl<K, V> Clone for MultimapTable<K, V> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), layout: self.layout, types: PhantomData }
    }
}

impl<K, V> fmt::Debug for MultimapTable<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("MultimapTable").field(&self.table).finish()
    }
}

/// The values of one key of a [`MultimapTable`].
#[derive(Debug)]
pub struct Values<'t, V> {
    range: Range<'t>,
    layout: MultimapLayout,
    types: PhantomData<fn() -> V>,
}

/// The pairs of a [`MultimapTable`].
#[derive(Debug)]
pub struct Pairs<'t, K, V> {
    range: Range<'t>,
    layout: MultimapLayout,
    types: PhantomData<fn() -> (K, V)>,
}

impl<V: Key> Values<'_, V> {
    fn decode(layout: MultimapLayout, entry: &[u8]) -> Result<V> {
        let (_, value) = layout.split(entry).map_err(decode_error)?;
        V::decode(value).map_err(decode_error)
    }
}

impl<V: Key> Iterator for Values<'_, V> {
    type Item = Result<V>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.range.next()?.and_then(|(entry, _)| Self::decode(self.layout, &entry)))
    }
}

impl<V: Key> DoubleEndedIterator for Values<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        Some(self.range.next_back()?.and_then(|(entry, _)| Self::decode(self.layout, &entry)))
    }
}

impl<K: Key, V: Key> Pairs<'_, K, V> {
    fn decode(layout: MultimapLayout, entry: &[u8]) -> Result<(K, V)> {
        let (key, value) = layout.split(entry).map_err(decode_error)?;
        Ok((K::decode(&key).map_err(decode_error)?, V::decode(value).map_err(decode_error)?))
    }
}

impl<K: Key, V: Key> Iterator for Pairs<'_, K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.range.next()?.and_then(|(entry, _)| Self::decode(self.layout, &entry)))
    }
}

impl<K: Key, V: Key> DoubleEndedIterator for Pairs<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        Some(self.range.next_back()?.and_then(|(entry, _)| Self::decode(self.layout, &entry)))
    }
}
