//! Changing entries while a transaction goes through them: `retain`, `delete_range`, `replace`, `remove`, and the
//! pass that iterators and cursors of other files use.
//!
//! Invariants: (1) A walk continues although entries behind it change: it changes the entry that it has just passed.
//! Only a spill, which moves the transaction's changes, makes it begin again after the last key. (2) The keys up to
//! the last one passed count as read. While an iterator or cursor exists, or if it is leaked, everything that it may
//! reach counts. (3) Memory is bounded by one entry, beside the changes themselves.

use crate::error::Result;
use crate::txn::reads::bounds::{OwnedBound, as_bound, is_left_back, is_left_front, owned};
use crate::txn::reads::key_range::KeyRange;
use crate::txn::reads::range::Pair;
use crate::txn::reads::read_methods::sealed::Layered;
use crate::txn::reads::read_set::GoneThrough;
use crate::txn::reads::walk::Walk;
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::write_txn::WriteTxn;
use crate::txn::writes::run_walk::Start;

/// An entry that was taken out of a table.
pub(super) type OwnedPair = (Vec<u8>, Vec<u8>);

impl WriteTxn {
    /// Deletes all entries whose keys are within `bounds`. Returns their number.
    ///
    /// # Errors
    /// As [`WriteTxn::get`] and [`WriteTxn::put`]. Some of the entries may be deleted by then; roll back to a
    /// [`savepoint`](WriteTxn::savepoint) to restore them.
    pub fn delete_range(&mut self, table: &Table, bounds: impl KeyRange) -> Result<u64> {
        self.retain_within(table, (owned(bounds.low()), owned(bounds.high())), |_, _| Ok(false))
    }

    /// Deletes every entry for which `is_retained` returns false. Returns how many entries were deleted.
    ///
    /// It scans the table once, with bounded memory. All scanned keys count as read.
    ///
    /// ```
    /// use fulgurite::Read;
    ///
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let sessions = db.create_table("sessions", Default::default())?;
    /// db.update(|txn| (0..10u8).try_for_each(|number| txn.put(&sessions, &[number], &[number % 2])))?;
    /// let ended = db.update(|txn| txn.retain(&sessions, |_, value| value == [1]))?;
    /// assert_eq!((ended, db.read()?.len(&sessions)?), (5, 5));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::delete_range`].
    pub fn retain(&mut self, table: &Table, is_retained: impl FnMut(&[u8], &[u8]) -> bool) -> Result<u64> {
        self.retain_in(table, .., is_retained)
    }

    /// As [`WriteTxn::retain`], but only for entries whose keys are within `bounds`.
    ///
    /// # Errors
    /// As [`WriteTxn::delete_range`].
    pub fn retain_in(
        &mut self,
        table: &Table,
        bounds: impl KeyRange,
        mut is_retained: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64> {
        let bounds = (owned(bounds.low()), owned(bounds.high()));
        self.retain_within(table, bounds, |key, value| Ok(is_retained(key, value)))
    }

    /// As [`WriteTxn::retain_in`], with a choice that may fail.
    pub(crate) fn retain_within(
        &mut self,
        table: &Table,
        bounds: (OwnedBound, OwnedBound),
        mut is_retained: impl FnMut(&[u8], &[u8]) -> Result<bool>,
    ) -> Result<u64> {
        let mut edit = Edit::new(self, table, bounds)?;
        let mut deleted = 0;
        while let Some((key, value)) = edit.next(false)? {
            if !is_retained(&key, &value)? {
                edit.delete_last(false)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    /// Stores `value` under `key`, and returns the previous value.
    ///
    /// The previous value is read and copied, and counts as read. [`WriteTxn::put`] does not read it.
    ///
    /// # Errors
    /// As [`WriteTxn::put`] and [`WriteTxn::get`].
    pub fn replace(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        let key = key.as_ref();
        let before = self.get(table, key)?.map(|value| value.to_vec());
        self.put(table, key, value)?;
        Ok(before)
    }

    /// Deletes `key`, and returns its value.
    ///
    /// The value is copied. [`WriteTxn::delete`] only checks that it exists.
    ///
    /// # Errors
    /// As [`WriteTxn::get`] and [`WriteTxn::put`].
    pub fn remove(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let key = key.as_ref();
        let before = self.get(table, key)?.map(|value| value.to_vec());
        if before.is_some() {
            self.mark_deleted(table, key)?;
        }
        Ok(before)
    }
}

/// One pass through a table whose transaction changes the entries behind it.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub(super) walk: Option<Walk<'static>>,
    /// Spills of the transaction when the walk began.
    pub(super) spills: u64,
    /// The last key passed, while there is one.
    pub(super) last: Vec<u8>,
    pub(super) has_passed: bool,
}

impl Pass {
    pub(super) fn last(&self) -> Option<&[u8]> {
        self.has_passed.then_some(&*self.last)
    }

    /// The next entry, from `start` on if none was passed yet, as long as keys are `within` what is gone through.
    pub(super) fn next<'t>(
        &mut self,
        txn: &'t WriteTxn,
        table: &Table,
        start: Start<'_>,
        within: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Pair<'t>>> {
        let layers = txn.layers(table)?;
        if self.spills != txn.spills() {
            (self.walk, self.spills) = (None, txn.spills());
        }
        let walk = match &mut self.walk {
            Some(walk) => walk,
            None => {
                let start = match self.has_passed {
                    true if start.is_upward() => Start::Above(&self.last),
                    true => Start::Below(&self.last),
                    false => start,
                };
                self.walk.insert(Walk::detached(&layers, start)?)
            }
        };
        let entry = match walk.next_if(&layers, within) {
            Ok(entry) => entry,
            Err(error) => {
                // Its place is not known.
                self.walk = None;
                return Err(error);
            }
        };
        if let Some((key, _)) = &entry {
            self.last.clear();
            self.last.extend_from_slice(key);
            self.has_passed = true;
        }
        Ok(entry)
    }
}

/// A range that is gone through from both ends, whose entries may be deleted as they are passed.
pub(super) struct Edit<'w> {
    pub(super) txn: &'w mut WriteTxn,
    pub(super) table: Table,
    low: OwnedBound,
    high: OwnedBound,
    front: Pass,
    back: Pass,
    /// The ends have met, or an error hides how far they went.
    ended: bool,
    /// The range in the read set, if reads are checked.
    reading: Option<u64>,
}

impl<'w> Edit<'w> {
    pub(super) fn new(txn: &'w mut WriteTxn, table: &Table, (low, high): (OwnedBound, OwnedBound)) -> Result<Self> {
        txn.layers(table)?;
        let reads = txn.read_set();
        let reading = reads.map(|reads| reads.begin_range(table.info.id, as_bound(&low), as_bound(&high)));
        let (front, back) = (Pass::default(), Pass::default());
        Ok(Self { txn, table: table.clone(), low, high, front, back, ended: false, reading })
    }

    /// The next entry from an end.
    pub(super) fn next(&mut self, back: bool) -> Result<Option<Pair<'_>>> {
        if self.ended {
            return Ok(None);
        }
        // Unless everything succeeds.
        self.ended = true;
        let (txn, table, low, high) = (&*self.txn, &self.table, &self.low, &self.high);
        let entry = match back {
            false => {
                let other = self.back.last();
                self.front.next(txn, table, Start::from_low(as_bound(low)), |key| is_left_front(key, high, other))?
            }
            true => {
                let other = self.front.last();
                self.back.next(txn, table, Start::from_high(as_bound(high)), |key| is_left_back(key, low, other))?
            }
        };
        self.ended = entry.is_none();
        Ok(entry)
    }

    /// Deletes the entry that [`Edit::next`] returned last from this end.
    pub(super) fn delete_last(&mut self, back: bool) -> Result<()> {
        let pass = if back { &self.back } else { &self.front };
        let deleted = self.txn.mark_deleted(&self.table, &pass.last);
        self.ended |= deleted.is_err();
        deleted
    }
}

impl Drop for Edit<'_> {
    fn drop(&mut self) {
        let (Some(reading), Some(reads)) = (self.reading, self.txn.read_set()) else { return };
        let gone_through = match self.ended {
            true => GoneThrough::Whole,
            false => GoneThrough::To { front: self.front.last(), back: self.back.last() },
        };
        reads.end_range(reading, gone_through);
    }
}
