//! An iterator that deletes the entries that a closure chooses, and returns them.

use std::fmt;

use crate::error::Result;
use crate::txn::reads::bounds::owned;
use crate::txn::reads::key_range::KeyRange;
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::edit::{Edit, OwnedPair};
use crate::txn::transaction::write_txn::WriteTxn;

impl WriteTxn {
    /// Returns an iterator that deletes and yields the entries for which `is_extracted` returns true. Entries that it
    /// has not reached when it is dropped are kept.
    ///
    /// ```
    /// use fulgurite::Read;
    ///
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
    /// As [`WriteTxn::get`]. Errors of a deletion are items of the iterator, and end it.
    pub fn extract_if<F: FnMut(&[u8], &[u8]) -> bool>(
        &mut self,
        table: &Table,
        is_extracted: F,
    ) -> Result<ExtractIf<'_, F>> {
        self.extract_from_if(table, .., is_extracted)
    }

    /// As [`WriteTxn::extract_if`], but only for entries whose keys are within `bounds`, from either end.
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
}

/// An iterator that deletes and yields the entries that a closure selects, in order from either end: see
/// [`WriteTxn::extract_if`].
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
