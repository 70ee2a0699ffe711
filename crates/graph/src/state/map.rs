//! [`MapState`]: a map for each key.

use fulgurite::keys::{AsKey, AsValue, Key, KeyBuffer, Reader, ValueCodec};
use fulgurite::{Database, Read, Result, TypedTable, WriteTxn};

use crate::edges::iter::decode_error;
use crate::edges::layout::{all_with, prefix_of};

/// A map for each key. One entry is read or written without the others.
///
/// ```
/// # use fulgurite::Database;
/// # use fulgurite_graph::MapState;
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let db = Database::options().create(true).open(directory.path().join("a.ful"))?;
/// let stock: MapState<String, u32, u64> = MapState::open(&db, "stock")?;
/// db.update(|txn| {
///     stock.put(txn, "Graz", 7, 120)?;
///     stock.put(txn, "Graz", 3, 40)
/// })?;
/// let snapshot = db.read()?;
/// assert_eq!(stock.get(&snapshot, "Graz", 7)?, Some(120));
/// assert_eq!(stock.entries(&snapshot, "Graz")?, [(3, 40), (7, 120)]);
/// # Ok(()) }
/// ```
pub struct MapState<K, U, V>(TypedTable<(K, U), V>);

impl<K, U, V> Clone for MapState<K, U, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Key, U: Key, V: ValueCodec> MapState<K, U, V> {
    /// Opens the maps with this name, and creates the table if it does not exist.
    ///
    /// # Errors
    /// As [`Database::typed_table`].
    pub fn open(db: &Database, name: &str) -> Result<Self> {
        Ok(Self(db.typed_table(name)?))
    }

    fn place(key: &impl AsKey<K>, entry: &impl AsKey<U>) -> KeyBuffer {
        let mut place = prefix_of(key);
        entry.encode_last(&mut place);
        place
    }

    /// The value of an entry of a map.
    ///
    /// # Errors
    /// As [`Read::get`]; [`Error::Decode`](fulgurite::Error::Decode).
    pub fn get(&self, txn: &impl Read, key: impl AsKey<K>, entry: impl AsKey<U>) -> Result<Option<V>> {
        let value = txn.get(self.0.as_bytes(), Self::place(&key, &entry))?;
        value.map(|value| V::decode_value(&value).map_err(decode_error)).transpose()
    }

    /// The entries of a map, in the order of their keys. A map that does not exist is empty.
    ///
    /// # Errors
    /// As [`Read::range`]; [`Error::Decode`](fulgurite::Error::Decode).
    pub fn entries(&self, txn: &impl Read, key: impl AsKey<K>) -> Result<Vec<(U, V)>> {
        let prefix = prefix_of(&key);
        let length = prefix.as_slice().len();
        let mut entries = Vec::new();
        for entry in txn.prefix(self.0.as_bytes(), prefix)? {
            let (key, value) = entry?;
            let mut reader = Reader::new(&key[length..]);
            let entry = U::decode_last(&mut reader).and_then(|entry| reader.finish().map(|()| entry));
            entries.push((entry.map_err(decode_error)?, V::decode_value(&value).map_err(decode_error)?));
        }
        Ok(entries)
    }

    /// The number of entries of a map.
    ///
    /// # Errors
    /// As [`Read::count`].
    pub fn len(&self, txn: &impl Read, key: impl AsKey<K>) -> Result<u64> {
        txn.count(self.0.as_bytes(), all_with(prefix_of(&key).as_slice()))
    }

    /// Stores an entry of a map.
    ///
    /// # Errors
    /// As [`WriteTxn::put`].
    pub fn put(
        &self,
        txn: &mut WriteTxn,
        key: impl AsKey<K>,
        entry: impl AsKey<U>,
        value: impl AsValue<V>,
    ) -> Result<()> {
        txn.put(self.0.as_bytes(), Self::place(&key, &entry), value.encode_value())
    }

    /// Removes an entry of a map. Returns whether it existed.
    ///
    /// # Errors
    /// As [`WriteTxn::delete`].
    pub fn remove_entry(&self, txn: &mut WriteTxn, key: impl AsKey<K>, entry: impl AsKey<U>) -> Result<bool> {
        txn.delete(self.0.as_bytes(), Self::place(&key, &entry))
    }

    /// Removes a map. Returns the number of its entries.
    ///
    /// # Errors
    /// As [`WriteTxn::delete_range`].
    pub fn remove(&self, txn: &mut WriteTxn, key: impl AsKey<K>) -> Result<u64> {
        txn.delete_range(self.0.as_bytes(), all_with(prefix_of(&key).as_slice()))
    }
}
