//! Bulk loads: a sorted stream merged straight into a table's tree, past log and delta.
//!
//! A load is one checkpoint: all of it is there after it, or nothing. No transaction commits beside it.

use std::error::Error as StdError;

use crate::db::checkpoint::{Job, LoadJob, LoadSource};
use crate::db::database::Database;
use crate::error::{Error, Result};
use crate::format::ValueAlign;
use crate::options::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::pager::{PageWriter, Pages};
use crate::sort::{SortOptions, Sorted, Sorter};
use crate::sync::Arc;
use crate::tree::{self, Action, Change, Changes, MergeOutcome, Root};
use crate::txn::exclusive::Exclusive;
use crate::txn::state::Table;

/// What a bulk load did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadSummary {
    /// Keys that had no value before.
    pub inserted: u64,
    /// Keys whose value was replaced.
    pub replaced: u64,
}

/// An input that cannot fail.
type Infallible<K, V> = std::result::Result<(K, V), std::convert::Infallible>;

impl Database {
    /// Puts all of `entries`, whose keys must rise, into a table: several times faster than transactions, in constant
    /// memory, all or nothing. The load is durable when this returns. Commits wait for its end; so `entries` must not come from a
    /// write transaction of the same database that is still to commit.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let squares = db.create_table("squares", Default::default())?;
    /// let loaded = db.bulk_load(&squares, (0u64..1000).map(|n| (n.to_be_bytes(), (n * n).to_le_bytes())))?;
    /// assert_eq!(loaded.inserted, 1000);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfOrder`]; [`Error::KeyTooLong`], [`Error::ValueTooLong`]; what the disk reports. Nothing is loaded then, unless
    /// the error is [`Error::Indeterminate`]: then it is not known, and reopening the database tells.
    pub fn bulk_load<K, V>(&self, table: &Table, entries: impl IntoIterator<Item = (K, V)>) -> Result<LoadSummary>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.try_bulk_load(table, entries.into_iter().map(|entry| -> Infallible<K, V> { Ok(entry) }))
    }

    /// As [`Database::bulk_load`], from an input that may fail.
    ///
    /// # Errors
    /// [`Error::Input`] with the input's own error, and as [`Database::bulk_load`].
    pub fn try_bulk_load<K, V, E>(
        &self,
        table: &Table,
        entries: impl IntoIterator<Item = std::result::Result<(K, V), E>>,
    ) -> Result<LoadSummary>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        E: StdError + Send + Sync + 'static,
    {
        let checked = entries.into_iter().map(|entry| {
            let (key, value) = entry.map_err(input_error)?;
            check_lengths(table, key.as_ref(), value.as_ref())?;
            Ok((key, value))
        });
        self.load(table, tree::Sorted::new(checked))
    }

    /// Puts all of `entries`, in any order, into a table: sorts them in bounded memory, through files beside the database
    /// if need be. Of equal keys the last counts. All or nothing; durable when this returns.
    ///
    /// # Errors
    /// As [`Database::bulk_load`].
    pub fn bulk_load_unsorted<K, V>(
        &self,
        table: &Table,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<LoadSummary>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let entries = entries.into_iter().map(|entry| -> Infallible<K, V> { Ok(entry) });
        self.try_bulk_load_unsorted(table, entries, SORT_MEMORY_BYTES)
    }

    /// As [`Database::bulk_load_unsorted`], from an input that may fail, with a bound for the memory of sorting.
    ///
    /// # Errors
    /// [`Error::Input`] with the input's own error, and as [`Database::bulk_load`].
    pub fn try_bulk_load_unsorted<K, V, E>(
        &self,
        table: &Table,
        entries: impl IntoIterator<Item = std::result::Result<(K, V), E>>,
        memory_bytes: usize,
    ) -> Result<LoadSummary>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        E: StdError + Send + Sync + 'static,
    {
        self.inner.core.writer()?;
        let options = SortOptions { memory_bytes };
        let mut sorter = Sorter::new(Arc::clone(&self.inner.options.disk), self.path(), options);
        for entry in entries {
            let (key, value) = entry.map_err(input_error)?;
            check_lengths(table, key.as_ref(), value.as_ref())?;
            sorter.push(key.as_ref(), value.as_ref())?;
        }
        let source = sorter.finish()?;
        self.load(table, SortedChanges(source))
    }

    /// Makes the file as small as it gets, beside readers and writers. Returns the bytes given back.
    ///
    /// It merges all runs into their trees, fills leaves that are not full, and moves what lies last to free places before it. If
    /// large values do not fit into what is free, the file may grow by all that it holds before it shrinks; where the disk is too
    /// full for that, it is left as it is. What open snapshots read stays until they end. Commits wait when more is committed
    /// meanwhile than deltas may hold.
    ///
    /// # Errors
    /// What the disk reports; nothing is lost then.
    pub fn compact(&self) -> Result<u64> {
        self.checkpointer()?.lock().compact()
    }

    fn load<C: Changes>(&self, table: &Table, changes: C) -> Result<LoadSummary> {
        let core = &self.inner.core;
        core.writer()?;
        // Nothing may be committed between the checkpoint of what was, and the load over it.
        let _exclusive = Exclusive::wait(core, None)?;
        core.published.state().view(table)?;
        let mut source = Load { changes, align: table.info.align(), outcome: MergeOutcome::default() };
        self.checkpointer()?.lock().run_with(Job::Load(LoadJob::new(table.info.id, &mut source)))?;
        Ok(LoadSummary { inserted: source.outcome.inserted, replaced: source.outcome.replaced })
    }
}

struct Load<C> {
    changes: C,
    align: ValueAlign,
    outcome: MergeOutcome,
}

impl<C: Changes> LoadSource for Load<C> {
    fn merge(&mut self, pages: &Pages, root: Option<&Root>, writer: &mut PageWriter<'_>) -> Result<Option<Root>> {
        self.outcome = tree::merge(pages, root, &mut self.changes, writer, self.align, &mut || Ok(()))?;
        Ok(self.outcome.root)
    }
}

/// Changes from an external sort.
struct SortedChanges(Sorted);

impl Changes for SortedChanges {
    #[inline]
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        Ok(self.0.peek()?.map(|(key, value)| Change { key, hash: None, action: Action::Put(value) }))
    }

    #[inline]
    fn advance(&mut self) {
        self.0.advance();
    }
}

fn input_error(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::Input { source: Box::new(error) }
}

fn check_lengths(table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::KeyTooLong { length_bytes: key.len() as u64, limit_bytes: KEY_BYTES_MAX as u64 });
    }
    if value.len() > VALUE_BYTES_MAX {
        return Err(Error::ValueTooLong { length_bytes: value.len() as u64, limit_bytes: VALUE_BYTES_MAX as u64 });
    }
    table.info.check_width(value.len())
}

/// Memory for sorting, unless another bound is given.
const SORT_MEMORY_BYTES: usize = 256 << 20;
