//! Popping entries from either end of a table, as from a queue.

use crate::txn::reads::read_methods::sealed::Layered;
use std::ops::Bound;

use crate::error::Result;
use crate::txn::reads::bounds::{OwnedBound, owned};
use crate::txn::reads::key_range::KeyRange;
use crate::txn::reads::range::Range;
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::edit::OwnedPair;
use crate::txn::transaction::write_txn::{Popped, WriteTxn};

impl WriteTxn {
    /// Deletes the first entry, and returns it. Returns `None` if the table is empty.
    ///
    /// It counts as a read of all keys up to the first one. If several transactions pop the same entry, one of them
    /// commits and the others conflict. A transaction that puts a greater key does not conflict.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let queue = db.create_table("queue", Default::default())?;
    /// db.update(|txn| (0..3u64).try_for_each(|number| txn.put(&queue, &number.to_be_bytes(), b"job")))?;
    /// let first = db.update(|txn| txn.pop_first(&queue))?;
    /// assert_eq!(first, Some((0u64.to_be_bytes().to_vec(), b"job".to_vec())));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::get`] and [`WriteTxn::put`]; nothing is deleted.
    pub fn pop_first(&mut self, table: &Table) -> Result<Option<OwnedPair>> {
        self.pop_first_in(table, ..)
    }

    /// As [`WriteTxn::pop_first`], but only for entries whose keys are within `bounds`.
    ///
    /// # Errors
    /// As [`WriteTxn::pop_first`].
    pub fn pop_first_in(&mut self, table: &Table, bounds: impl KeyRange) -> Result<Option<OwnedPair>> {
        self.pop(table, (owned(bounds.low()), owned(bounds.high())), false)
    }

    /// Deletes the last entry, and returns it. Returns `None` if the table is empty. See [`WriteTxn::pop_first`].
    ///
    /// # Errors
    /// As [`WriteTxn::pop_first`].
    pub fn pop_last(&mut self, table: &Table) -> Result<Option<OwnedPair>> {
        self.pop_last_in(table, ..)
    }

    /// As [`WriteTxn::pop_last`], but only for entries whose keys are within `bounds`.
    ///
    /// # Errors
    /// As [`WriteTxn::pop_first`].
    pub fn pop_last_in(&mut self, table: &Table, bounds: impl KeyRange) -> Result<Option<OwnedPair>> {
        self.pop(table, (owned(bounds.low()), owned(bounds.high())), true)
    }

    fn pop(&mut self, table: &Table, bounds: (OwnedBound, OwnedBound), back: bool) -> Result<Option<OwnedPair>> {
        let id = table.info.id;
        let (mut low, mut high) = bounds.clone();
        let (end, from) = if back { (&mut high, bounds.1) } else { (&mut low, bounds.0) };
        if let Some(popped) = self.popped[usize::from(back)].as_ref().filter(|popped| popped.is_of(id, &from)) {
            *end = Bound::Excluded(popped.to.clone());
        }
        let mut range = Range::new(self.layers(table)?, low, high);
        let first = if back { range.next_back() } else { range.next() };
        let entry = first.transpose()?.map(|(key, value)| (key.to_vec(), value.to_vec()));
        drop(range);
        if let Some((key, _)) = &entry {
            self.mark_deleted(table, key)?;
            self.popped[usize::from(back)] = Some(Popped { table: id, from, to: key.as_slice().into() });
        }
        Ok(entry)
    }
}
