//! Runs: the commits of a stretch of time to a range of a table's keys, as a tree of its own above the table's tree.
//!
//! A run has the format of any tree, and has for each of its keys a value or a delete. Runs of a counted table also
//! state what each entry adds to the count of the layers below, and sum that as trees count their entries.

use crate::error::Result;
use crate::format::{
    Cell, CellValue, OverflowRef, StoredRoot, StoredRun, filter_line, filter_passes, prefetch, with_search,
};
use crate::pager::{Page, PageWriter, Pages, Value};
use crate::tree::build::{remove, remove_but_values};
use crate::tree::get::FindCell;
use crate::tree::root::Root;

/// A run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The tree. Its number of entries is 0: what the run adds to a count may be negative, and is not stored here.
    pub root: Root,
    /// Entries in it, deletes among them.
    pub entries: u64,
    /// Rejects most keys that are not in it; a small run has none.
    pub filter: Option<OverflowRef>,
}

/// What a run has for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunValue<'p> {
    /// The run does not have the key: older layers decide.
    Unknown,
    /// The key has no value.
    Deleted,
    /// The key has this value.
    Present(Value<'p>),
}

impl Run {
    /// What it has for `key`, whose hash is `hash`. `filter` is the result of [`Run::mapped_filter`].
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io).
    #[inline]
    pub fn get<'p>(&self, pages: &'p Pages, filter: Option<&[u8]>, key: &[u8], hash: u64) -> Result<RunValue<'p>> {
        if filter.is_some_and(|filter| !filter_passes(filter, hash)) {
            return Ok(RunValue::Unknown);
        }
        self.find(pages, key, hash)
    }

    /// The filter, if it is mapped. Prefetches its line for `hash`. Where pages are read one by one, it would be read
    /// whole each time.
    ///
    /// # Errors
    /// As [`Run::get`].
    #[inline]
    pub fn mapped_filter<'p>(&self, pages: &'p Pages, hash: u64) -> Result<Option<&'p [u8]>> {
        let Some(at) = &self.filter else { return Ok(None) };
        let filter = pages.mapped_value(at)?;
        if let Some(filter) = filter {
            prefetch(filter, filter_line(filter.len(), hash));
        }
        Ok(filter)
    }

    /// Whether it may have a key with this hash.
    ///
    /// # Errors
    /// As [`Run::get`].
    pub(in crate::tree) fn may_have(&self, pages: &Pages, hash: u64) -> Result<bool> {
        let filter = self.mapped_filter(pages, hash)?;
        Ok(filter.is_none_or(|filter| filter_passes(filter, hash)))
    }

    fn find<'p>(&self, pages: &'p Pages, key: &[u8], hash: u64) -> Result<RunValue<'p>> {
        let root = &self.root;
        with_search(FindCell {
            pages,
            root,
            key,
            hash,
            then: |leaf: &Page<'p>, cell: Option<Cell<'_>>| {
                Ok(match cell {
                    None => RunValue::Unknown,
                    Some(cell) if cell.op.is_delete() => RunValue::Deleted,
                    Some(cell) => RunValue::Present(match cell.value {
                        CellValue::Inline(value) => leaf.value(value),
                        CellValue::Overflow(at) => pages.value(&at)?,
                    }),
                })
            },
        })
    }

    /// Marks all its pages, and those of its values, as dead from the writer's operation on.
    ///
    /// # Errors
    /// As [`remove`].
    pub fn remove(&self, pages: &Pages, writer: &mut PageWriter<'_>) -> Result<()> {
        self.remove_filter(writer)?;
        remove(pages, &self.root, writer, &mut || Ok(()))
    }

    /// As [`Run::remove`], except for its long values: the merge has adopted or removed them.
    ///
    /// # Errors
    /// As [`remove`].
    pub fn remove_but_values(&self, pages: &Pages, writer: &mut PageWriter<'_>) -> Result<()> {
        self.remove_filter(writer)?;
        remove_but_values(pages, &self.root, writer, &mut || Ok(()))
    }

    fn remove_filter(&self, writer: &mut PageWriter<'_>) -> Result<()> {
        self.filter.as_ref().map_or(Ok(()), |filter| writer.kill_value(filter))
    }

    pub(in crate::tree) fn load(stored: &StoredRun) -> Self {
        let StoredRoot { page, level, entries, has_overflow } = stored.root;
        Self { root: Root { page, level, entries: 0, has_overflow }, entries, filter: stored.filter }
    }

    pub(in crate::tree) fn store(&self) -> StoredRun {
        let Root { page, level, has_overflow, .. } = self.root;
        StoredRun { root: StoredRoot { page, level, entries: self.entries, has_overflow }, filter: self.filter }
    }
}
