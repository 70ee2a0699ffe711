//! Reads of the keys of indexes, for snapshots and transactions.

use std::ops::Bound;

use fulgurite::{KeySuffix, Read, ReadTxn, Table, WriteTxn};

use crate::model::id::IdKey;

/// A consumer of the keys of a scan. Functions of one key implement it. An implementation that takes all keys of a leaf
/// in one loop is faster.
pub trait KeySink {
    /// Takes the next keys, in order.
    fn take<'k>(&mut self, keys: impl Iterator<Item = KeySuffix<'k>>);
}

impl<F: FnMut(KeySuffix<'_>)> KeySink for F {
    #[inline]
    fn take<'k>(&mut self, keys: impl Iterator<Item = KeySuffix<'k>>) {
        keys.for_each(self);
    }
}

/// Reads of the keys of indexes, for snapshots and transactions.
pub trait Reads: Read {
    /// The number of keys that begin with `prefix`.
    fn count_prefix(&self, table: &Table, prefix: &IdKey) -> fulgurite::Result<u64> {
        let end = prefix.end();
        self.count(table, range_of(prefix, end.as_ref()))
    }

    /// As [`Reads::count_prefix`]; faster if there are few keys.
    fn count_narrow(&self, table: &Table, prefix: &IdKey) -> fulgurite::Result<u64> {
        self.count_prefix(table, prefix)
    }

    /// Passes the keys that begin with `prefix` to `sink`, in order and the first one whole, until it has had at least
    /// `keys_min`. Returns `false` if there may be more.
    fn scan_prefix(
        &self,
        table: &Table,
        prefix: &IdKey,
        keys_min: usize,
        sink: impl KeySink,
    ) -> fulgurite::Result<bool> {
        let end = prefix.end();
        let (low, high) = range_of(prefix, end.as_ref());
        self.scan(table, low, high, keys_min, sink)
    }

    /// Passes keys to `sink`, in order and the first one whole, until it has had at least `keys_min` or the range ends.
    /// Returns whether the range has ended.
    fn scan(
        &self,
        table: &Table,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
        keys_min: usize,
        mut sink: impl KeySink,
    ) -> fulgurite::Result<bool> {
        let mut keys = 0;
        for entry in self.range(table, (low, high))? {
            sink.take(std::iter::once(KeySuffix::whole(&entry?.0)));
            keys += 1;
            if keys == keys_min {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Reads for ReadTxn {
    fn count_narrow(&self, table: &Table, prefix: &IdKey) -> fulgurite::Result<u64> {
        // Visiting a few keys costs one descent, counting a range two.
        let mut keys = 0;
        let are_all = self.prefix_keys(table, prefix.as_bytes(), NARROW_KEYS, |_| keys += 1)?;
        if are_all { Ok(keys) } else { self.count_prefix(table, prefix) }
    }

    fn scan_prefix(
        &self,
        table: &Table,
        prefix: &IdKey,
        keys_min: usize,
        mut sink: impl KeySink,
    ) -> fulgurite::Result<bool> {
        self.prefix_keys(table, prefix.as_bytes(), keys_min, |key| sink.take(std::iter::once(key)))
    }

    fn scan(
        &self,
        table: &Table,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
        keys_min: usize,
        mut sink: impl KeySink,
    ) -> fulgurite::Result<bool> {
        let mut keys = 0;
        let most = if keys_min < WHOLE_LEAVES_FROM_KEYS { keys_min } else { usize::MAX };
        let mut batches = self.key_batches(table, (low, high))?;
        while let Some(batch) = batches.next_of(most)? {
            sink.take(batch.iter());
            keys += batch.len();
            if keys >= keys_min {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Reads for WriteTxn {}

/// The keys from a prefix to its end.
fn range_of<'k>(prefix: &'k IdKey, end: Option<&'k IdKey>) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    let high = end.map_or(Bound::Unbounded, |end| Bound::Excluded(end.as_bytes()));
    (Bound::Included(prefix.as_bytes()), high)
}

/// Up to this number, keys are visited instead of counted.
const NARROW_KEYS: usize = 16;
/// Scans for fewer keys do not read whole leaves.
const WHOLE_LEAVES_FROM_KEYS: usize = 64;
