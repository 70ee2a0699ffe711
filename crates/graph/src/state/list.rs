//! [`ListState`]: a list for each key.

use fulgurite::keys::{AsKey, AsValue, Key, ValueCodec};
use fulgurite::{Database, Read, Result, TypedTable, WriteTxn};

use crate::edges::iter::decode_error;
use crate::edges::layout::{ByRef, all_with, prefix_of};

/// A list for each key. Elements are appended without reading the list.
///
/// ```
/// # use fulgurite::Database;
/// # use fulgurite_graph::ListState;
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let db = Database::options().create(true).open(directory.path().join("a.ful"))?;
/// let events: ListState<String, u32> = ListState::open(&db, "events")?;
/// db.update(|txn| {
///     events.push(txn, "ann", 3)?;
///     events.push(txn, "ann", 1)
/// })?;
/// assert_eq!(events.get(&db.read()?, "ann")?, [3, 1]);
/// # Ok(()) }
/// ```
pub struct ListState<K, V>(TypedTable<(K, u64), V>);

impl<K, V> Clone for ListState<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Key, V: ValueCodec> ListState<K, V> {
    /// Opens the lists with this name, and creates the table if it does not exist.
    ///
    /// # Errors
    /// As [`Database::typed_table`].
    pub fn open(db: &Database, name: &str) -> Result<Self> {
        Ok(Self(db.typed_table(name)?))
    }

    /// The elements of a list, in the order in which they were appended. A list that does not exist is empty.
    ///
    /// # Errors
    /// As [`Read::range`]; [`Error::Decode`](fulgurite::Error::Decode).
    pub fn get(&self, txn: &impl Read, key: impl AsKey<K>) -> Result<Vec<V>> {
        let mut elements = Vec::new();
        for entry in txn.prefix(self.0.as_bytes(), prefix_of(&key))? {
            elements.push(V::decode_value(&entry?.1).map_err(decode_error)?);
        }
        Ok(elements)
    }

    /// The number of elements of a list.
    ///
    /// # Errors
    /// As [`Read::count`].
    pub fn len(&self, txn: &impl Read, key: impl AsKey<K>) -> Result<u64> {
        let prefix = prefix_of(&key);
        let (low, high) = all_with(prefix.as_slice());
        txn.count(self.0.as_bytes(), (low, high))
    }

    /// Appends an element.
    ///
    /// # Errors
    /// As [`WriteTxn::put`].
    pub fn push(&self, txn: &mut WriteTxn, key: impl AsKey<K>, element: impl AsValue<V>) -> Result<()> {
        let mut place = prefix_of(&key);
        let last = txn.prefix(self.0.as_bytes(), place.as_slice())?.next_back().transpose()?;
        let number = match last {
            None => 0,
            Some((last, _)) => {
                let bytes = last.last_chunk().copied().unwrap_or_default();
                u64::from_be_bytes(bytes) + 1
            }
        };
        number.encode_inner(&mut place);
        txn.put(self.0.as_bytes(), place, element.encode_value())
    }

    /// Appends several elements, in their order.
    ///
    /// # Errors
    /// As [`WriteTxn::put`].
    pub fn extend<Q: AsValue<V>>(
        &self,
        txn: &mut WriteTxn,
        key: impl AsKey<K>,
        elements: impl IntoIterator<Item = Q>,
    ) -> Result<()> {
        for element in elements {
            self.push(txn, ByRef(&key), element)?;
        }
        Ok(())
    }

    /// Removes a list. Returns the number of its elements.
    ///
    /// # Errors
    /// As [`WriteTxn::delete_range`].
    pub fn remove(&self, txn: &mut WriteTxn, key: impl AsKey<K>) -> Result<u64> {
        let prefix = prefix_of(&key);
        txn.delete_range(self.0.as_bytes(), all_with(prefix.as_slice()))
    }
}
