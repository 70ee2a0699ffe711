//! Write transactions: private changes over a snapshot, committed together or not at all.

use std::mem;

use crate::delta::Approach;
use crate::error::{Error, Result};
use crate::format::LargeValue;
use crate::ids::{Sequence, TableId};
use crate::metrics;
use crate::options::{Isolation, KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::pager::Value;
use crate::planted::{Fault, planted};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::txn::commit::begin::Writing;
use crate::txn::commit::core::Core;
use crate::txn::commit::exclusive::Exclusive;
use crate::txn::reads::bounds::OwnedBound;
use crate::txn::reads::layers::Layers;
use crate::txn::reads::read_methods::Read;
use crate::txn::reads::read_methods::sealed::Layered;
use crate::txn::reads::read_set::ReadSet;
use crate::txn::snapshot::state::TableView;
use crate::txn::snapshot::table::Table;
use crate::txn::writes::pending::Pending;
use crate::txn::writes::schema::Schema;
use crate::txn::writes::small_bytes::ChangedKey;
use crate::txn::writes::spilled::{Spilled, entry_bytes_max};
use crate::txn::writes::undo::Mark;
use crate::txn::writes::write_set::{ENTRY_BYTES, WriteSet};

/// A write transaction: a set of changes that is committed atomically, or discarded. It can be of any size: changes
/// beyond [`Options::write_set_bytes`](crate::Options::write_set_bytes) of memory are spilled to free space of the
/// file.
///
/// It reads a snapshot and its own changes. Any number of write transactions run concurrently, on any threads. None
/// waits for uncommitted changes of another, and none blocks a reader. If another transaction has committed a
/// conflicting change, the commit fails with [`Error::Conflict`] or [`Error::TransactionTooOld`]. Both are
/// [retryable](Error::is_retryable): run the transaction again, or use [`crate::Database::update`], which does so.
/// Dropping a transaction aborts it.
///
/// ```
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let db = fulgurite::Database::options().create(true).open(directory.path().join("a.ful"))?;
/// let accounts = db.create_table("accounts", Default::default())?;
/// let mut txn = db.write()?;
/// txn.put(&accounts, b"alice", b"10")?;
/// let before = txn.savepoint();
/// txn.put(&accounts, b"bob", b"20")?;
/// txn.rollback_to(before)?;
/// assert!(txn.get(&accounts, b"bob")?.is_none());
/// txn.commit()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct WriteTxn {
    pub(super) held: Writing,
    pub(super) set: WriteSet,
    pub(super) schema: Schema,
    pub(super) savepoints: Vec<(Mark, usize)>,
    /// The place of the last change's key in its delta, if the change was the first and nothing was undone since.
    pub(super) begun: Option<Approach>,
    /// Values written to the data file already; dropped unless they are committed.
    pub(super) large: Vec<LargeValue>,
    /// What it has read, if that is checked.
    pub(super) reads: Option<ReadSet>,
    /// What it has guarded, if what it reads is not checked.
    pub(super) guarded: Option<Box<ReadSet>>,
    pub(super) exclusive: Option<Exclusive>,
    /// See [`crate::Options::write_set_bytes`].
    pub(super) memory_bytes_max: usize,
    /// Where the next pops from either end begin. Reset by the next change that is not a pop.
    pub(super) popped: [Option<Popped>; 2],
}

/// A state of a [`WriteTxn`] that it can roll back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(pub(super) Mark);

impl WriteTxn {
    /// A transaction that is checked as `isolation` says.
    pub(crate) fn new(core: &Arc<Core>, isolation: Isolation) -> Result<Self> {
        let reads = (isolation == Isolation::Serializable).then(ReadSet::default);
        Self::begin(core, reads, None)
    }

    /// A transaction beside which no other commits, so that nothing is checked.
    pub(crate) fn new_exclusive(core: &Arc<Core>, exclusive: Exclusive) -> Result<Self> {
        Self::begin(core, None, Some(exclusive))
    }

    fn begin(core: &Arc<Core>, reads: Option<ReadSet>, exclusive: Option<Exclusive>) -> Result<Self> {
        Ok(Self {
            held: Writing::begin(core)?,
            set: WriteSet::default(),
            schema: Schema::default(),
            savepoints: Vec::new(),
            begun: None,
            large: Vec::new(),
            reads,
            guarded: None,
            exclusive,
            popped: [None, None],
            memory_bytes_max: core.writer.as_ref().map_or(usize::MAX, |writer| writer.write_set_bytes),
        })
    }

    /// The table as this transaction sees it. That it is not there is a read too.
    pub(super) fn view(&self, table: &Table) -> Result<&TableView> {
        self.schema.view(&self.held.snapshot.state, table).inspect_err(|_| self.note_names())
    }

    /// The sequence of the newest commit that this transaction sees.
    pub fn sequence(&self) -> Sequence {
        self.held.snapshot.sequence
    }

    /// Bytes of the file that spilled changes use. 0 if all changes are in memory (see
    /// [`Options::write_set_bytes`](crate::Options::write_set_bytes)).
    pub fn spilled_bytes(&self) -> u64 {
        self.set.spilled().map_or(0, Spilled::bytes)
    }

    /// As [`Read::get`], without an import of the trait.
    ///
    /// # Errors
    /// [`Error::Corrupt`] and errors of the disk; [`Error::TableNotFound`] if `table` is not part of the snapshot.
    #[inline(always)]
    pub fn get(&self, table: &Table, key: impl AsRef<[u8]>) -> Result<Option<Value<'_>>> {
        Read::get(self, table, key)
    }

    /// Stores `value` under `key`, and replaces an existing value.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`] above 64 MiB, [`Error::ValueTooLong`] above 4 GiB − 1. Values of 64 KiB and more are
    /// written to the file immediately, and changes may be spilled: this can return [`Error::QuotaExceeded`] and errors
    /// of the disk, such as [`Error::DiskFull`]. After an error this change was not made, and the transaction can
    /// continue.
    pub fn put(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.put_bytes(table, key.as_ref(), value.as_ref())
    }

    pub(super) fn put_bytes(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.begin_put(table, key, value.len())?;
        self.finish_put(table, key, value, |value| Pending::put(value, table.value_align() > 1))
    }

    /// What comes before a change that gives `key` a value of so many bytes.
    #[inline]
    fn begin_put(&mut self, table: &Table, key: &[u8], value_bytes: usize) -> Result<()> {
        self.make_room()?;
        self.popped = [None, None];
        let view = self.view(table)?;
        check_lengths(table, key, value_bytes)?;
        self.begun = self.begin_insert(view, key);
        Ok(())
    }

    /// Stores many entries, as repeated calls of [`WriteTxn::put`] do. It takes a fraction of the time if the keys are
    /// in strictly ascending order.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let squares = db.create_table("squares", Default::default())?;
    /// let mut txn = db.write()?;
    /// txn.put_many(&squares, (0..1000_u32).map(|number| (number.to_be_bytes(), (number * number).to_be_bytes())))?;
    /// assert_eq!(txn.get(&squares, &7_u32.to_be_bytes())?.as_deref(), Some(&49_u32.to_be_bytes()[..]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::put`]. Some of the entries may be stored by then; roll back to a
    /// [`savepoint`](WriteTxn::savepoint) from before the call to remove them, or call [`WriteTxn::put_all_or_none`].
    pub fn put_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        table: &Table,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<()> {
        self.put_parts(table, entries, |_| {})
    }

    /// Stores many entries as [`WriteTxn::put_many`] does, or none of them. If the entries and the changes before them
    /// fit into [`Options::write_set_bytes`](crate::Options::write_set_bytes), the call costs no more than `put_many`.
    /// A [`savepoint`](WriteTxn::savepoint) before `put_many` would cost more.
    ///
    /// # Errors
    /// As [`WriteTxn::put`]. The transaction is then as it was before the call.
    pub fn put_all_or_none<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        table: &Table,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<()> {
        let mut before = None;
        let put = self.put_parts(table, entries, |txn| {
            if before.is_none() {
                before = Some(txn.savepoint());
            }
        });
        if put.is_err()
            && let Some(before) = before
        {
            self.rollback_to(before)?;
        }
        put
    }

    /// Stores many entries: all at the end, or in several parts if they take too much memory. Calls `before_part`
    /// before each part but the last.
    fn put_parts<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        table: &Table,
        entries: impl IntoIterator<Item = (K, V)>,
        mut before_part: impl FnMut(&mut Self),
    ) -> Result<()> {
        self.view(table)?;
        let large_value_bytes = self.held.core.writer()?.large_value_bytes();
        let is_aligned = table.value_align() > 1;
        let entries = entries.into_iter();
        let puts_at_first = PUTS_AT_FIRST.min(self.memory_bytes_max / ENTRY_BYTES);
        let (mut puts, mut memory_bytes) = (Vec::with_capacity(entries.size_hint().0.min(puts_at_first)), 0);
        for (key, value) in entries {
            let (key, value) = (key.as_ref(), value.as_ref());
            check_lengths(table, key, value.len())?;
            let pending = if value.len() < large_value_bytes {
                Pending::put(value, is_aligned)
            } else {
                self.write_large(value)?
            };
            memory_bytes += key.len() + pending.weight() + ENTRY_BYTES;
            puts.push((ChangedKey::from(key), pending));
            if self.set.memory_bytes() + memory_bytes > self.memory_bytes_max {
                before_part(self);
                self.put_all(table, mem::take(&mut puts))?;
                memory_bytes = 0;
            }
        }
        self.put_all(table, puts)
    }

    fn put_all(&mut self, table: &Table, puts: Vec<(ChangedKey, Pending)>) -> Result<()> {
        if puts.is_empty() {
            return Ok(());
        }
        self.make_room()?;
        (self.begun, self.popped) = (None, [None, None]);
        self.set.extend(table.info.id, puts);
        Ok(())
    }

    /// Stores a value of `length_bytes` under `key`. `fill` writes the value in place, into zeroed bytes.
    ///
    /// # Errors
    /// As [`WriteTxn::put`].
    pub fn reserve(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        length_bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let key = key.as_ref();
        self.begin_put(table, key, length_bytes)?;
        let mut value = vec![0; length_bytes].into_boxed_slice();
        fill(&mut value);
        self.finish_put(table, key, value, |value| Pending::Put(value.into()))
    }

    /// Records the value for which [`WriteTxn::begin_put`] was called.
    #[inline]
    fn finish_put<V: AsRef<[u8]>>(
        &mut self,
        table: &Table,
        key: &[u8],
        value: V,
        put: impl FnOnce(V) -> Pending,
    ) -> Result<()> {
        let is_large = value.as_ref().len() >= self.held.core.writer()?.large_value_bytes();
        let pending = if is_large { self.write_large(value.as_ref())? } else { put(value) };
        self.set.set(table.info.id, key, pending);
        Ok(())
    }

    /// Guards `key`: if another transaction has changed or deleted it since this one began, this one conflicts when it
    /// commits, at every isolation level, as if it had read the key at [`Isolation::Serializable`]. Transactions that
    /// guard the same key do not conflict with each other.
    ///
    /// A transaction at [`Isolation::Snapshot`] can use it for references: the key still exists when the reference is
    /// committed. A transaction without changes always commits. A rollback to a savepoint keeps guards. With tens of
    /// thousands of guards, neighbouring ones are combined into ranges, and any change within a range is a conflict.
    ///
    /// ```
    /// use fulgurite::Read;
    ///
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// use fulgurite::Isolation;
    ///
    /// let people = db.create_table("people", Default::default())?;
    /// let letters = db.create_table("letters", Default::default())?;
    /// db.update(|txn| txn.put(&people, b"bob", b"here"))?;
    /// let mut letter = db.write_with(Isolation::Snapshot)?;
    /// letter.guard(&people, b"bob")?;
    /// assert!(letter.contains_key(&people, b"bob")?);
    /// letter.put(&letters, b"1", b"to bob")?;
    /// db.update(|txn| txn.delete(&people, b"bob"))?;
    /// assert!(letter.commit().is_err_and(|error| error.is_retryable()));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::TableNotFound`].
    pub fn guard(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<()> {
        let key = key.as_ref();
        self.view(table)?;
        if self.exclusive.is_some() {
            return Ok(());
        }
        let hash = self.held.snapshot.state.pages.identity().hash(key);
        match &self.reads {
            Some(reads) => reads.note_key(table.info.id, key, hash),
            None => self.guarded.get_or_insert_default().note_key(table.info.id, key, hash),
        }
        Ok(())
    }

    /// Calls `read` with this transaction. The commit does not check what `read` has read, at any isolation level.
    ///
    /// Use it for reads on which no change depends, such as counts that only choose the order of some work.
    ///
    /// ```
    /// use fulgurite::Read;
    ///
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let people = db.create_table("people", Default::default())?;
    /// let letters = db.create_table("letters", Default::default())?;
    /// let mut txn = db.write()?;
    /// assert!(!txn.unchecked(|txn| txn.contains_key(&people, b"bob"))?);
    /// txn.put(&letters, b"1", b"to bob")?;
    /// db.update(|txn| txn.put(&people, b"bob", b"here"))?;
    /// txn.commit()?;
    /// # Ok(()) }
    /// ```
    pub fn unchecked<T>(&mut self, read: impl FnOnce(&Self) -> T) -> T {
        let apart = ReadsApart { reads: self.reads.take(), txn: self };
        read(apart.txn)
    }

    /// Stores `value` under `key` unless the key exists. Returns whether it was stored.
    ///
    /// # Errors
    /// As [`WriteTxn::put`] and [`WriteTxn::get`].
    pub fn insert(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        let absent = !self.contains_key(table, key)?;
        if absent {
            self.put(table, key, value)?;
        }
        Ok(absent)
    }

    /// Sets the value of `key` to `value` if its current value is `expected`. Returns whether it was set. `expected:
    /// None` requires that the key does not exist; `value: None` deletes it.
    ///
    /// # Errors
    /// As [`WriteTxn::put`] and [`WriteTxn::get`].
    pub fn compare_and_set(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<bool> {
        let key = key.as_ref();
        if self.get(table, key)?.as_deref() != expected {
            return Ok(false);
        }
        match value {
            Some(value) => self.put(table, key, value)?,
            None => self.mark_deleted(table, key)?,
        }
        Ok(true)
    }

    /// Deletes `key`. Returns whether it existed.
    ///
    /// # Errors
    /// As [`WriteTxn::get`] and [`WriteTxn::put`].
    pub fn delete(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        let present = self.contains_key(table, key)?;
        if present {
            self.mark_deleted(table, key)?;
        }
        Ok(present)
    }

    /// Notes that `key` has no value from now on. Requires: the table is there.
    pub(crate) fn mark_deleted(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        self.make_room()?;
        self.begun = None;
        self.set.set(table.info.id, key, Pending::Delete);
        Ok(())
    }

    /// What it has read, if that is checked.
    pub(super) fn read_set(&self) -> Option<&ReadSet> {
        self.reads.as_ref()
    }

    /// How often its changes were spilled or returned to a savepoint before a spill: then a walk through them must
    /// begin again.
    pub(super) fn spills(&self) -> u64 {
        self.set.spills()
    }

    /// Spills the changes in memory if they take too much of it.
    #[inline]
    pub(super) fn make_room(&mut self) -> Result<()> {
        if self.set.memory_bytes() <= self.memory_bytes_max { Ok(()) } else { self.spill() }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn spill(&mut self) -> Result<()> {
        // Savepoints alone leave nothing to write.
        if !self.set.has_memory() {
            return Ok(());
        }
        let writer = self.held.core.writer()?;
        let entry_bytes_max = entry_bytes_max(self.memory_bytes_max);
        let spilled = self.set.spill(&self.held.snapshot.state.pages, writer.large.space(), entry_bytes_max)?;
        self.begun = None;
        // Relaxed: see there.
        writer.spilled_bytes.fetch_add(spilled, Ordering::Relaxed);
        metrics::spilled(spilled);
        Ok(())
    }

    /// Begins the insert of the first change. If it stays the only one, its commit is near, and the prefetched memory
    /// arrives meanwhile. With many changes it would be evicted again.
    pub(super) fn begin_insert(&self, view: &TableView, key: &[u8]) -> Option<Approach> {
        let identity = self.held.snapshot.state.pages.identity();
        self.set.is_empty().then(|| view.active.approach(key, identity.hash(key))).flatten()
    }

    pub(super) fn write_large(&mut self, value: &[u8]) -> Result<Pending> {
        let large = self.held.core.writer()?.large.write(value)?;
        self.large.push(large);
        Ok(Pending::PutLarge(Box::new(large)))
    }

    pub(super) fn note_names(&self) {
        if let Some(reads) = &self.reads {
            reads.note_names();
        }
    }

    /// Returns a savepoint: the current state of the transaction.
    ///
    /// Changes after a savepoint keep the earlier state, which counts towards
    /// [`Options::write_set_bytes`](crate::Options::write_set_bytes), as does the savepoint itself. Each
    /// [`WriteTxn::merge`] after it copies the pending operands of its key once, so combine many short appends to one
    /// key into one operand.
    pub fn savepoint(&mut self) -> Savepoint {
        let mark = self.set.mark();
        self.savepoints.push((mark, self.schema.len()));
        Savepoint(mark)
    }

    /// Undoes all changes since `savepoint`. It can be used again; later savepoints become invalid.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the transaction was rolled back to an earlier savepoint, or `savepoint` belongs to another
    /// transaction.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let known = self.savepoints.iter().rposition(|(mark, _)| *mark == savepoint.0);
        let Some(at) = known.filter(|_| planted(Fault::RollbackIgnored) || self.set.roll_back(savepoint.0)) else {
            return Err(Error::Invalid {
                message: "this savepoint is not valid: the transaction was rolled back to an earlier one, or it belongs to another \
                          transaction".into(),
            });
        };
        self.begun = None;
        self.popped = [None, None];
        self.return_table_numbers(self.savepoints[at].1);
        self.schema.truncate(self.savepoints[at].1);
        self.savepoints.truncate(at + 1);
        Ok(())
    }
}

impl Layered for WriteTxn {
    fn layers(&self, table: &Table) -> Result<Layers<'_>> {
        let view = self.view(table)?;
        let set = self.set.touches(table.info.id).then_some(&self.set);
        let (state, at, reads) = (&self.held.snapshot.state, self.held.snapshot.sequence, self.reads.as_ref());
        Ok(Layers { state, view, at, set, reads })
    }

    fn at_hand(&self, table: &Table) -> Option<Layers<'_>> {
        // Noted reads are recorded by `layers` only.
        if self.reads.is_some() {
            return None;
        }
        self.layers(table).ok()
    }
}

impl Read for WriteTxn {}

pub(super) fn check_lengths(table: &Table, key: &[u8], value_bytes: usize) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::KeyTooLong { length_bytes: key.len() as u64, limit_bytes: KEY_BYTES_MAX as u64 });
    }
    if value_bytes > VALUE_BYTES_MAX {
        return Err(Error::ValueTooLong { length_bytes: value_bytes as u64, limit_bytes: VALUE_BYTES_MAX as u64 });
    }
    table.info.check_width(value_bytes)
}

/// Holds the read set of a transaction apart from it. When dropped, also by a panic, it puts the read set back.
struct ReadsApart<'t> {
    txn: &'t mut WriteTxn,
    reads: Option<ReadSet>,
}

impl Drop for ReadsApart<'_> {
    fn drop(&mut self) {
        self.txn.reads = self.reads.take();
    }
}

/// Where pops began and how far they came: the keys in between are deleted.
///
/// Without it each pop of a transaction would pass all entries that earlier pops deleted.
#[derive(Debug)]
pub(super) struct Popped {
    pub(super) table: TableId,
    pub(super) from: OwnedBound,
    pub(super) to: Box<[u8]>,
}

impl Popped {
    pub(super) fn is_of(&self, table: TableId, from: &OwnedBound) -> bool {
        self.table == table && self.from == *from
    }
}

/// Entries that a call for many makes room for before it has seen them.
const PUTS_AT_FIRST: usize = 1 << 16;
