//! Changing entries while a transaction goes through them: `retain`, `extract_if`, `pop_first`, a cursor that deletes and replaces.
//!
//! Invariants: (1) A walk goes on over changes behind it: what it changes is the entry that it has just passed. Only a spill, which
//! moves the transaction's changes, makes it begin again after the last key.  (2) What was gone through counts as read, up to the
//! last key passed; while an iterator or cursor is there, or if it is leaked, all that it may reach counts.  (3) Memory is bounded by one entry,
//! beside what the changes themselves take.

use std::fmt;
use std::ops::Bound;

use crate::error::Result;
use crate::pager::Value;
use crate::txn::reads::bounds::{OwnedBound, as_bound, is_left_back, is_left_front, owned};
use crate::txn::reads::key_range::KeyRange;
use crate::txn::reads::range::{Pair, Range};
use crate::txn::reads::read_set::{CursorPath, GoneThrough};
use crate::txn::reads::walk::Walk;
use crate::txn::snapshot::table::Table;
use crate::txn::write_txn::{Popped, WriteTxn};
use crate::txn::writes::run_walk::Start;

/// An entry that was taken out of a table.
type OwnedPair = (Vec<u8>, Vec<u8>);

impl WriteTxn {
    /// Deletes all entries whose keys lie within `bounds`. Returns how many.
    ///
    /// # Errors
    /// As [`WriteTxn::get`] and [`WriteTxn::put`]; some of the entries may have been deleted then. Return to a
    /// [`savepoint`](WriteTxn::savepoint) to have them all.
    pub fn delete_range(&mut self, table: &Table, bounds: impl KeyRange) -> Result<u64> {
        self.retain_within(table, (owned(bounds.low()), owned(bounds.high())), |_, _| Ok(false))
    }

    /// Deletes every entry for which `is_retained` returns false. Returns how many entries were deleted.
    ///
    /// It goes through the table once, in bounded memory, however large the table is. What it has gone through counts as read.
    ///
    /// ```
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

    /// As [`WriteTxn::retain`], of the entries whose keys lie within `bounds`: others stay.
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

    /// An iterator that deletes the entries for which `is_extracted` returns true, and returns them. What it does not reach stays:
    /// dropping it early leaves the rest of the table as it was.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let jobs = db.create_table("jobs", Default::default())?;
    /// db.update(|txn| [b"a1", b"b2", b"c1"].into_iter().try_for_each(|key| txn.put(&jobs, key, b"")))?;
    /// let mut txn = db.write()?;
    /// let first = txn.extract_if(&jobs, |key, _| key.ends_with(b"1"))?.next().transpose()?;
    /// assert_eq!(first, Some((b"a1".to_vec(), Vec::new())));
    /// assert_eq!(txn.len(&jobs)?, 2);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::get`]; those of deleting are errors of the iterator's items, and end it.
    pub fn extract_if<F: FnMut(&[u8], &[u8]) -> bool>(
        &mut self,
        table: &Table,
        is_extracted: F,
    ) -> Result<ExtractIf<'_, F>> {
        self.extract_from_if(table, .., is_extracted)
    }

    /// As [`WriteTxn::extract_if`], of the entries whose keys lie within `bounds`, from either end.
    ///
    /// # Errors
    /// As [`WriteTxn::extract_if`].
    pub fn extract_from_if<F: FnMut(&[u8], &[u8]) -> bool>(
        &mut self,
        table: &Table,
        bounds: impl KeyRange,
        is_extracted: F,
    ) -> Result<ExtractIf<'_, F>> {
        let bounds = (owned(bounds.low()), owned(bounds.high()));
        Ok(ExtractIf { edit: Edit::new(self, table, bounds)?, is_extracted })
    }

    /// Deletes the first entry, and returns it. `None` if the table is empty.
    ///
    /// It counts as a read of all keys up to the first one. So of several transactions that pop the same entry one commits, and
    /// the others conflict with it; one that puts a greater key does not.
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
    /// As [`WriteTxn::get`] and [`WriteTxn::put`]; nothing was deleted then.
    pub fn pop_first(&mut self, table: &Table) -> Result<Option<OwnedPair>> {
        self.pop_first_in(table, ..)
    }

    /// As [`WriteTxn::pop_first`], of the entries whose keys lie within `bounds`.
    ///
    /// # Errors
    /// As [`WriteTxn::pop_first`].
    pub fn pop_first_in(&mut self, table: &Table, bounds: impl KeyRange) -> Result<Option<OwnedPair>> {
        self.pop(table, (owned(bounds.low()), owned(bounds.high())), false)
    }

    /// Deletes the last entry, and returns it. `None` if the table is empty. See [`WriteTxn::pop_first`].
    ///
    /// # Errors
    /// As [`WriteTxn::pop_first`].
    pub fn pop_last(&mut self, table: &Table) -> Result<Option<OwnedPair>> {
        self.pop_last_in(table, ..)
    }

    /// As [`WriteTxn::pop_last`], of the entries whose keys lie within `bounds`.
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

    /// Gives `key` this value, as [`WriteTxn::put`], and returns the value that it had before.
    ///
    /// The value before is looked up and copied, and counts as read; `put` does neither.
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

    /// Deletes `key`, as [`WriteTxn::delete`], and returns the value that it had.
    ///
    /// The value is copied; `delete` only looks whether there is one.
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

    /// A cursor before the first entry that can delete and replace the entry at which it stands.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let stock = db.create_table("stock", Default::default())?;
    /// db.update(|txn| (0..4u8).try_for_each(|number| txn.put(&stock, &[number], &[number])))?;
    /// let mut txn = db.write()?;
    /// let mut cursor = txn.cursor_mut(&stock)?;
    /// while let Some((_, count)) = cursor.next()? {
    ///     match count[0] {
    ///         0 => cursor.delete_current()?,
    ///         count => cursor.put_current(&[count - 1])?,
    ///     };
    /// }
    /// drop(cursor);
    /// assert_eq!(txn.get(&stock, &[3])?.as_deref(), Some(&[2][..]));
    /// assert_eq!(txn.len(&stock)?, 3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::get`].
    pub fn cursor_mut(&mut self, table: &Table) -> Result<CursorMut<'_>> {
        self.layers(table)?;
        let path = self.read_set().map(|reads| CursorPath::new(reads, table.info.id));
        let (pass, place) = (Pass::default(), Place::BeforeFirst);
        Ok(CursorMut { txn: self, table: table.clone(), pass, upward: true, place, path })
    }
}

/// One way through a table whose transaction changes what it has passed.
#[derive(Debug, Default)]
struct Pass {
    walk: Option<Walk>,
    /// Spills of the transaction when the walk began.
    spills: u64,
    /// The last key passed, while there is one.
    last: Vec<u8>,
    has_passed: bool,
}

impl Pass {
    fn last(&self) -> Option<&[u8]> {
        self.has_passed.then_some(&*self.last)
    }

    /// The next entry, from `start` on if none was passed yet, as long as keys are `within` what is gone through.
    fn next<'t>(
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
                self.walk.insert(Walk::new(&layers, start)?)
            }
        };
        let entry = match walk.next_if(&layers, within) {
            Ok(entry) => entry,
            Err(error) => {
                // Where it stands is not known.
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
struct Edit<'w> {
    txn: &'w mut WriteTxn,
    table: Table,
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
    fn new(txn: &'w mut WriteTxn, table: &Table, (low, high): (OwnedBound, OwnedBound)) -> Result<Self> {
        txn.layers(table)?;
        let reads = txn.read_set();
        let reading = reads.map(|reads| reads.begin_range(table.info.id, as_bound(&low), as_bound(&high)));
        let (front, back) = (Pass::default(), Pass::default());
        Ok(Self { txn, table: table.clone(), low, high, front, back, ended: false, reading })
    }

    /// The next entry from an end.
    fn next(&mut self, back: bool) -> Result<Option<Pair<'_>>> {
        if self.ended {
            return Ok(None);
        }
        // Until it is known that all went well.
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
    fn delete_last(&mut self, back: bool) -> Result<()> {
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

/// Deletes the entries that a closure chooses, and returns them, in order from either end: see [`WriteTxn::extract_if`].
///
/// The first error ends it.
pub struct ExtractIf<'w, F> {
    edit: Edit<'w>,
    is_extracted: F,
}

impl<F: FnMut(&[u8], &[u8]) -> bool> ExtractIf<'_, F> {
    fn extract(&mut self, back: bool) -> Result<Option<OwnedPair>> {
        while let Some((key, value)) = self.edit.next(back)? {
            if (self.is_extracted)(&key, &value) {
                let entry = (key.to_vec(), value.to_vec());
                self.edit.delete_last(back)?;
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

impl<F: FnMut(&[u8], &[u8]) -> bool> Iterator for ExtractIf<'_, F> {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.extract(false).transpose()
    }
}

impl<F: FnMut(&[u8], &[u8]) -> bool> DoubleEndedIterator for ExtractIf<'_, F> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.extract(true).transpose()
    }
}

impl<F> fmt::Debug for ExtractIf<'_, F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ExtractIf").field("table", &self.edit.table).finish_non_exhaustive()
    }
}

/// A place in a table that moves both ways, and at which the entry may be deleted or replaced: see [`WriteTxn::cursor_mut`].
///
/// It stands at an entry, before the first, or after the last; it begins before the first. What it has gone over counts as read.
pub struct CursorMut<'w> {
    txn: &'w mut WriteTxn,
    table: Table,
    /// Its last key is that of the entry at which the cursor stands.
    pass: Pass,
    upward: bool,
    place: Place,
    path: Option<CursorPath>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    BeforeFirst,
    At,
    /// Where an entry was that is deleted.
    Deleted,
    AfterLast,
}

impl CursorMut<'_> {
    /// Moves to the first entry whose key is at least `key`, and returns it; after the last if there is none.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`]; so for the other moves.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) -> Result<Option<(Value<'_>, Value<'_>)>> {
        self.start(Start::From(key.as_ref()))
    }

    /// Moves to the first entry.
    ///
    /// # Errors
    /// As [`CursorMut::seek`].
    pub fn first(&mut self) -> Result<Option<(Value<'_>, Value<'_>)>> {
        self.start(Start::First)
    }

    /// Moves to the last entry.
    ///
    /// # Errors
    /// As [`CursorMut::seek`].
    pub fn last(&mut self) -> Result<Option<(Value<'_>, Value<'_>)>> {
        self.start(Start::Last)
    }

    /// Moves to the next entry, and returns it; after the last if there is none.
    ///
    /// # Errors
    /// As [`CursorMut::seek`].
    #[allow(clippy::should_implement_trait)] // It moves both ways, and lends what it returns, which no iterator does.
    pub fn next(&mut self) -> Result<Option<(Value<'_>, Value<'_>)>> {
        match self.place {
            Place::AfterLast => Ok(None),
            Place::BeforeFirst => self.start(Start::First),
            Place::At | Place::Deleted if self.upward => self.go(Start::First),
            Place::At | Place::Deleted => {
                let key = std::mem::take(&mut self.pass.last);
                self.start(Start::Above(&key))
            }
        }
    }

    /// Moves to the entry before, and returns it; before the first if there is none.
    ///
    /// # Errors
    /// As [`CursorMut::seek`].
    pub fn previous(&mut self) -> Result<Option<(Value<'_>, Value<'_>)>> {
        match self.place {
            Place::BeforeFirst => Ok(None),
            Place::AfterLast => self.start(Start::Last),
            Place::At | Place::Deleted if !self.upward => self.go(Start::Last),
            Place::At | Place::Deleted => {
                let key = std::mem::take(&mut self.pass.last);
                self.start(Start::Below(&key))
            }
        }
    }

    /// Deletes the entry at which the cursor stands, and stays between its neighbours. Returns whether there was one: not before the first
    /// entry, after the last, or where one was deleted.
    ///
    /// # Errors
    /// As [`WriteTxn::put`].
    pub fn delete_current(&mut self) -> Result<bool> {
        let is_at_entry = self.place == Place::At;
        if is_at_entry {
            self.txn.mark_deleted(&self.table, &self.pass.last)?;
            self.place = Place::Deleted;
        }
        Ok(is_at_entry)
    }

    /// Gives the key at which the cursor stands this value. Returns whether there was an entry, as [`CursorMut::delete_current`]; nothing is
    /// put otherwise.
    ///
    /// # Errors
    /// As [`WriteTxn::put`].
    pub fn put_current(&mut self, value: impl AsRef<[u8]>) -> Result<bool> {
        let is_at_entry = self.place == Place::At;
        if is_at_entry {
            self.txn.put(&self.table, &self.pass.last, value)?;
        }
        Ok(is_at_entry)
    }

    /// Begins a new way through the table, and takes its first step.
    fn start(&mut self, start: Start<'_>) -> Result<Option<(Value<'_>, Value<'_>)>> {
        self.upward = start.is_upward();
        self.pass = Pass { spills: self.txn.spills(), ..Pass::default() };
        self.place = if self.upward { Place::BeforeFirst } else { Place::AfterLast };
        if let (Some(path), Some(reads)) = (&mut self.path, self.txn.read_set()) {
            // Should what follows fail, it counts as gone over whole.
            path.jump(reads, start.bound(), self.upward, None);
        }
        self.go(start)
    }

    /// Takes a step: the first one of a way from `start`.
    fn go(&mut self, start: Start<'_>) -> Result<Option<(Value<'_>, Value<'_>)>> {
        let entry = self.pass.next(self.txn, &self.table, start, |_| true)?;
        if let Some(path) = &mut self.path {
            path.step(self.upward, entry.as_ref().map(|(key, _)| &**key));
        }
        self.place = match &entry {
            Some(_) => Place::At,
            None if self.upward => Place::AfterLast,
            None => Place::BeforeFirst,
        };
        Ok(entry)
    }
}

impl Drop for CursorMut<'_> {
    fn drop(&mut self) {
        if let (Some(path), Some(reads)) = (&mut self.path, self.txn.read_set()) {
            path.end(reads);
        }
    }
}

impl fmt::Debug for CursorMut<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CursorMut").field("table", &self.table).field("place", &self.place).finish_non_exhaustive()
    }
}
