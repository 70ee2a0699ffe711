//! Typed tables: keys and values encoded by `fulgurite-keys`, types recorded in the catalog and checked at opening.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use fulgurite_keys::{AsKey, AsValue, Key, KeyBuffer, KeyPrefix, ValueCodec};

use crate::db::handle::database::Database;
use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::pager::Value;
use crate::txn::reads::bounds::{OwnedBound, prefix_end};
use crate::txn::reads::range::Range;
use crate::txn::reads::read_methods::Read;
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::write_txn::WriteTxn;

/// A table whose keys are `K` and whose values are `V`.
///
/// Entries are in the order of `K`. Borrowed forms work as arguments: `&str` for `String` keys, `(u32, &str)` for
/// `(u32, String)`.
///
/// ```
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
/// let ages = db.typed_table::<String, u32>("ages")?;
/// db.update(|txn| {
///     ages.put(txn, "ada", 36)?;
///     ages.put(txn, "alan", 41)
/// })?;
/// let txn = db.read()?;
/// assert_eq!(ages.get(&txn, "alan")?, Some(41));
/// let all: Vec<(String, u32)> = ages.iter(&txn)?.collect::<fulgurite::Result<_>>()?;
/// assert_eq!(all, [("ada".to_owned(), 36), ("alan".to_owned(), 41)]);
/// # Ok(()) }
/// ```
pub struct TypedTable<K, V> {
    table: Table,
    types: PhantomData<fn() -> (K, V)>,
}

impl Database {
    /// Returns the typed table with this name, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::TableMismatch`] if it exists with other types, and as [`Database::create_table`].
    pub fn typed_table<K: Key, V: ValueCodec>(&self, name: &str) -> Result<TypedTable<K, V>> {
        self.typed_table_with(name, TableOptions::new())
    }

    /// As [`Database::typed_table`], with options.
    ///
    /// # Errors
    /// As [`Database::typed_table`].
    pub fn typed_table_with<K: Key, V: ValueCodec>(
        &self,
        name: &str,
        options: TableOptions,
    ) -> Result<TypedTable<K, V>> {
        let options = options.key_type(K::type_name()).value_type(V::value_type().to_string());
        Ok(TypedTable { table: self.open_or_create_table(name, options)?, types: PhantomData })
    }
}

impl<K: Key, V: ValueCodec> TypedTable<K, V> {
    /// Views an open table as typed.
    ///
    /// # Errors
    /// [`Error::TableMismatch`] if the catalog records other types.
    pub fn new(table: Table) -> Result<Self> {
        let requested = format!("{} → {}", K::type_name(), V::value_type());
        if table.key_type() == K::type_name()
            && table.value_type() == V::value_type().to_string()
            && !table.is_multimap()
        {
            return Ok(Self { table, types: PhantomData });
        }
        Err(Error::TableMismatch { name: table.name().to_owned(), stored: table.type_text(), requested })
    }

    /// The underlying table of byte keys and values.
    pub fn as_bytes(&self) -> &Table {
        &self.table
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`]; [`Error::Decode`] if the stored bytes are no `V`.
    pub fn get(&self, txn: &impl Read, key: impl AsKey<K>) -> Result<Option<V>> {
        self.get_bytes(txn, key)?.map(|value| V::decode_value(&value).map_err(decode_error)).transpose()
    }

    /// The encoded value of `key`, without decoding or copying it.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn get_bytes<'t>(&self, txn: &'t impl Read, key: impl AsKey<K>) -> Result<Option<Value<'t>>> {
        txn.layers(&self.table)?.get(&key.encode())
    }

    /// All entries, in order from either end.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn iter<'t>(&self, txn: &'t impl Read) -> Result<TypedRange<'t, K, V>> {
        let range = Range::new(txn.layers(&self.table)?, Bound::Unbounded, Bound::Unbounded);
        Ok(TypedRange { range, types: PhantomData })
    }

    /// The entries whose keys lie within `bounds`, in order from either end.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn range<'t, Q: AsKey<K>>(
        &self,
        txn: &'t impl Read,
        bounds: impl RangeBounds<Q>,
    ) -> Result<TypedRange<'t, K, V>> {
        let range = Range::new(txn.layers(&self.table)?, encoded(bounds.start_bound()), encoded(bounds.end_bound()));
        Ok(TypedRange { range, types: PhantomData })
    }

    /// The entries whose keys begin with `prefix`: the first elements of a tuple, or the beginning of a string.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn prefix<'t>(
        &self,
        txn: &'t impl Read,
        prefix: &(impl KeyPrefix<K> + ?Sized),
    ) -> Result<TypedRange<'t, K, V>> {
        let mut bytes = KeyBuffer::new();
        prefix.encode_prefix(&mut bytes);
        let low = Bound::Included(Box::from(bytes.as_slice()));
        let range = Range::new(txn.layers(&self.table)?, low, prefix_end(bytes.as_slice()));
        Ok(TypedRange { range, types: PhantomData })
    }

    /// The exact number of entries within `bounds`.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn count<Q: AsKey<K>>(&self, txn: &impl Read, bounds: impl RangeBounds<Q>) -> Result<u64> {
        let (low, high): (OwnedBound, OwnedBound) = (encoded(bounds.start_bound()), encoded(bounds.end_bound()));
        txn.layers(&self.table)?.count(low.as_ref().map(|key| &**key), high.as_ref().map(|key| &**key))
    }

    /// Stores `value` under `key`.
    ///
    /// # Errors
    /// As [`WriteTxn::put`].
    pub fn put(&self, txn: &mut WriteTxn, key: impl AsKey<K>, value: impl AsValue<V>) -> Result<()> {
        txn.put(&self.table, &key.encode(), &value.encode_value())
    }

    /// Merges `operand` into the value of `key` by the table's merge operator. Concurrent merges of one key do not
    /// conflict.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// use fulgurite::{MergeOperator, TableOptions};
    ///
    /// let options = TableOptions::new().merge(MergeOperator::Add);
    /// let balances = db.typed_table_with::<String, i64>("balances", options)?;
    /// db.update(|txn| {
    ///     balances.merge(txn, "alice", -5)?;
    ///     balances.merge(txn, "bob", 5)
    /// })?;
    /// assert_eq!(balances.get(&db.read()?, "alice")?, Some(-5));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::merge`].
    pub fn merge(&self, txn: &mut WriteTxn, key: impl AsKey<K>, operand: impl AsValue<V>) -> Result<()> {
        txn.merge(&self.table, &key.encode(), &operand.encode_value())
    }

    /// As [`TypedTable::merge`], with an operand that is not a `V`, such as an element that a merge function adds to a
    /// set ([`TableOptions::merge_function`]). The function must return encoded values of `V`.
    ///
    /// # Errors
    /// As [`WriteTxn::merge`].
    pub fn merge_bytes(&self, txn: &mut WriteTxn, key: impl AsKey<K>, operand: impl AsRef<[u8]>) -> Result<()> {
        txn.merge(&self.table, &key.encode(), operand)
    }

    /// Stores `value` under `key` unless the key exists. Returns whether it was stored.
    ///
    /// # Errors
    /// As [`WriteTxn::insert`].
    pub fn insert(&self, txn: &mut WriteTxn, key: impl AsKey<K>, value: impl AsValue<V>) -> Result<bool> {
        txn.insert(&self.table, &key.encode(), &value.encode_value())
    }

    /// Deletes `key`. Returns whether it existed.
    ///
    /// # Errors
    /// As [`WriteTxn::delete`].
    pub fn delete(&self, txn: &mut WriteTxn, key: impl AsKey<K>) -> Result<bool> {
        txn.delete(&self.table, &key.encode())
    }

    /// Stores `value` under `key`, and returns the previous value.
    ///
    /// # Errors
    /// As [`WriteTxn::replace`]; [`Error::Decode`] if the bytes stored before are no `V`: nothing is put then.
    pub fn replace(&self, txn: &mut WriteTxn, key: impl AsKey<K>, value: impl AsValue<V>) -> Result<Option<V>> {
        let key = key.encode();
        let before =
            txn.get(&self.table, &key)?.map(|value| V::decode_value(&value).map_err(decode_error)).transpose()?;
        txn.put(&self.table, &key, &value.encode_value())?;
        Ok(before)
    }

    /// Deletes `key`, and returns its value.
    ///
    /// # Errors
    /// As [`WriteTxn::remove`]; [`Error::Decode`] if the stored bytes are no `V`: nothing is deleted then.
    pub fn remove(&self, txn: &mut WriteTxn, key: impl AsKey<K>) -> Result<Option<V>> {
        let key = key.encode();
        let before =
            txn.get(&self.table, &key)?.map(|value| V::decode_value(&value).map_err(decode_error)).transpose()?;
        if before.is_some() {
            txn.mark_deleted(&self.table, &key)?;
        }
        Ok(before)
    }

    /// Deletes the first entry, and returns it.
    ///
    /// # Errors
    /// As [`WriteTxn::pop_first`]; [`Error::Decode`] if the stored bytes are no entry of these types: it is deleted
    /// nonetheless.
    pub fn pop_first(&self, txn: &mut WriteTxn) -> Result<Option<(K, V)>> {
        txn.pop_first(&self.table)?.map(|(key, value)| decoded(&key, &value)).transpose()
    }

    /// Deletes the last entry, and returns it.
    ///
    /// # Errors
    /// As [`TypedTable::pop_first`].
    pub fn pop_last(&self, txn: &mut WriteTxn) -> Result<Option<(K, V)>> {
        txn.pop_last(&self.table)?.map(|(key, value)| decoded(&key, &value)).transpose()
    }

    /// Deletes every entry for which `is_retained` returns false. Returns how many entries were deleted.
    ///
    /// # Errors
    /// As [`WriteTxn::retain`]; [`Error::Decode`] at bytes that are no entry of these types.
    pub fn retain(&self, txn: &mut WriteTxn, mut is_retained: impl FnMut(K, V) -> bool) -> Result<u64> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        txn.retain_within(&self.table, all, |key, value| {
            decoded(key, value).map(|(key, value)| is_retained(key, value))
        })
    }

    /// As [`TypedTable::retain`], of the entries whose keys lie within `bounds`: others stay.
    ///
    /// # Errors
    /// As [`TypedTable::retain`].
    pub fn retain_in<Q: AsKey<K>>(
        &self,
        txn: &mut WriteTxn,
        bounds: impl RangeBounds<Q>,
        mut is_retained: impl FnMut(K, V) -> bool,
    ) -> Result<u64> {
        let bounds = (encoded(bounds.start_bound()), encoded(bounds.end_bound()));
        txn.retain_within(&self.table, bounds, |key, value| {
            decoded(key, value).map(|(key, value)| is_retained(key, value))
        })
    }
}

impl<K, V> Clone for TypedTable<K, V> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), types: PhantomData }
    }
}

impl<K, V> fmt::Debug for TypedTable<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("TypedTable").field(&self.table).finish()
    }
}

/// Decoded entries of a typed table, in order from either end.
#[derive(Debug)]
pub struct TypedRange<'t, K, V> {
    range: Range<'t>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Key, V: ValueCodec> TypedRange<'_, K, V> {
    fn decode(entry: Result<(Value<'_>, Value<'_>)>) -> Result<(K, V)> {
        let (key, value) = entry?;
        decoded(&key, &value)
    }
}

impl<K: Key, V: ValueCodec> Iterator for TypedRange<'_, K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.range.next().map(Self::decode)
    }
}

impl<K: Key, V: ValueCodec> DoubleEndedIterator for TypedRange<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.range.next_back().map(Self::decode)
    }
}

fn decoded<K: Key, V: ValueCodec>(key: &[u8], value: &[u8]) -> Result<(K, V)> {
    Ok((K::decode(key).map_err(decode_error)?, V::decode_value(value).map_err(decode_error)?))
}

fn encoded<K>(bound: Bound<&impl AsKey<K>>) -> OwnedBound {
    bound.map(|key| Box::from(key.encode().as_slice()))
}

pub(crate) fn decode_error(error: fulgurite_keys::Error) -> Error {
    Error::Decode { message: error.to_string() }
}
