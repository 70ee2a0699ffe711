//! Read transactions: a snapshot, and every way to read it.

use crate::error::Result;
use crate::format::KeySuffix;
use crate::ids::Sequence;
use crate::pager::Value;
use crate::sync::Arc;
use crate::txn::commit::begin::Reading;
use crate::txn::reads::bounds::owned;
use crate::txn::reads::key_batches;
use crate::txn::reads::key_batches::KeyBatches;
use crate::txn::reads::key_range::KeyRange;
use crate::txn::reads::layers::Layers;
use crate::txn::reads::leaf_batches::LeafBatches;
use crate::txn::reads::owned_range::OwnedRange;
use crate::txn::reads::read_methods::Read;
use crate::txn::reads::read_methods::sealed::Layered;
use crate::txn::reads::salvage::Salvage;
use crate::txn::snapshot::state::{Snapshot, TableView};
use crate::txn::snapshot::table::Table;

/// A read transaction: a snapshot of the database. Later commits do not change what it reads. It never blocks a writer
/// and never waits for one.
///
/// It is `Send` and `Sync`, so threads can share it. Pages of its snapshot are not reused while it exists: drop it when
/// it is no longer needed.
///
/// ```
/// use fulgurite::Read;
///
/// # fn main() -> fulgurite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// let db = fulgurite::Database::options().create(true).open(directory.path().join("fruit.ful"))?;
/// let fruit = db.create_table("fruit", Default::default())?;
/// db.update(|txn| {
///     txn.put(&fruit, b"apple", b"red")?;
///     txn.put(&fruit, b"banana", b"yellow")
/// })?;
/// let txn = db.read()?;
/// assert_eq!(txn.get(&fruit, b"apple")?.as_deref(), Some(&b"red"[..]));
/// for entry in txn.prefix(&fruit, b"b")? {
///     let (key, value) = entry?;
///     assert_eq!((&*key, &*value), (&b"banana"[..], &b"yellow"[..]));
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ReadTxn {
    pub(crate) snapshot: Reading,
}

impl ReadTxn {
    pub(crate) fn new(snapshot: Reading) -> Self {
        Self { snapshot }
    }

    /// Whether another transaction is known to see the same commits and bulk loads. After a checkpoint this is `false`
    /// for a transaction from before it, even if nothing was committed.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let table = db.open_or_create_table("t", Default::default())?;
    /// let before = db.read()?;
    /// assert!(before.sees_the_same_as(&db.read()?));
    /// db.update(|txn| txn.put(&table, "key", "value"))?;
    /// assert!(!before.sees_the_same_as(&db.read()?));
    /// # Ok(()) }
    /// ```
    pub fn sees_the_same_as(&self, other: &Self) -> bool {
        self.snapshot.sequence == other.snapshot.sequence && Arc::ptr_eq(&self.snapshot.state, &other.snapshot.state)
    }

    /// The sequence of the newest commit that this transaction sees.
    pub fn sequence(&self) -> Sequence {
        self.snapshot.sequence
    }

    #[inline(always)]
    fn layers_of_view<'a>(&'a self, view: &'a TableView) -> Layers<'a> {
        Layers { state: &self.snapshot.state, view, at: self.snapshot.sequence, set: None, reads: None }
    }

    /// As [`Read::get`], without an import of the trait.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) and errors of the disk;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if `table` is not part of the snapshot.
    #[inline(always)]
    pub fn get(&self, table: &Table, key: impl AsRef<[u8]>) -> Result<Option<Value<'_>>> {
        Read::get(self, table, key)
    }

    /// Returns the table with this name.
    ///
    /// # Errors
    /// [`crate::Error::TableNotFound`].
    pub fn open_table(&self, name: &str) -> Result<Table> {
        self.snapshot.open_table(name)
    }

    /// Returns all tables, sorted by name.
    pub fn tables(&self) -> Vec<Table> {
        self.snapshot.tables()
    }

    /// As [`Read::range`], but the iterator owns its snapshot, so it can be stored and sent to other threads.
    ///
    /// # Errors
    /// As [`ReadTxn::get`].
    pub fn owned_range(self: &Arc<Self>, table: &Table, bounds: impl KeyRange) -> Result<OwnedRange> {
        OwnedRange::new(Snapshot::clone(&self.snapshot), table, owned(bounds.low()), owned(bounds.high()))
    }

    /// Returns the entries within `bounds` in batches, from either end. This is the fastest way to scan many entries. A
    /// batch is the entries of one leaf. Where changes are not merged into the tree yet, or entries are too large for
    /// its pages, a batch has about 1 MiB.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn leaf_batches(&self, table: &Table, bounds: impl KeyRange) -> Result<LeafBatches<'_>> {
        Ok(LeafBatches::new(self.range(table, bounds)?))
    }

    /// Returns the keys within `bounds` in batches, without values. This is the fastest way to scan many keys,
    /// especially in packed tables.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    #[inline]
    pub fn key_batches(&self, table: &Table, bounds: impl KeyRange) -> Result<KeyBatches<'_>> {
        KeyBatches::new(self.layers(table)?, bounds.low(), bounds.high())
    }

    /// Passes the keys that begin with `prefix` to `each`, in order, at most `keys_max` of them. The first key is
    /// passed in full, the others by their suffixes. Returns true if there are no more such keys, and false if there
    /// may be more. For many lookups of a few keys each in a packed table this is the fastest way.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::options().create(true).open(directory.path().join("fruit.ful"))?;
    /// # let fruit = db.create_table("fruit", fulgurite::TableOptions::new().packed(true))?;
    /// # let keys = [&b"apple"[..], b"apply", b"pear"];
    /// # db.update(|txn| keys.into_iter().try_for_each(|key| txn.put(&fruit, key, b"")))?;
    /// let txn = db.read()?;
    /// let (mut keys, mut key) = (Vec::new(), Vec::new());
    /// let are_all = txn.prefix_keys(&fruit, b"app", usize::MAX, |suffix| {
    ///     suffix.complete(&mut key);
    ///     keys.push(key.clone());
    /// })?;
    /// assert!(are_all);
    /// assert_eq!(keys, [b"apple", b"apply"]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`]; some keys may have been passed before the error.
    #[inline]
    pub fn prefix_keys(
        &self,
        table: &Table,
        prefix: impl AsRef<[u8]>,
        keys_max: usize,
        each: impl FnMut(KeySuffix<'_>),
    ) -> Result<bool> {
        key_batches::prefix_keys(self.layers(table)?, prefix.as_ref(), keys_max, each)
    }

    /// Returns the entries within `bounds` of a damaged table that can still be read, in order: copy them to another
    /// database if there is no backup. An error that [is damage](crate::Error::is_corruption) stands for what cannot be
    /// read: an entry, or all entries of a page or below it. The iterator continues behind it; one page may cause
    /// several errors. Any other error ends it. Each entry is looked up by itself, so scans of sound tables by
    /// [`Read::range`] are faster.
    ///
    /// # Errors
    /// As [`ReadTxn::get`], but no damage.
    pub fn salvage(&self, table: &Table, bounds: impl KeyRange) -> Result<Salvage<'_>> {
        Ok(Salvage::new(self.layers(table)?, owned(bounds.low()), owned(bounds.high())))
    }
}

impl Layered for ReadTxn {
    #[inline]
    fn layers(&self, table: &Table) -> Result<Layers<'_>> {
        self.snapshot.state.view(table).map(|view| self.layers_of_view(view))
    }

    #[inline(always)]
    fn at_hand(&self, table: &Table) -> Option<Layers<'_>> {
        self.snapshot.state.find(table).map(|view| self.layers_of_view(view))
    }
}

impl Read for ReadTxn {}
