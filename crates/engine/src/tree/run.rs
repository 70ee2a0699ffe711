//! Runs: what was committed over a stretch of time to a range of a table's keys, as a tree of its own above the table's tree.
//!
//! A run has the format of any tree, and says of each of its keys what became of it: a value, or that there is none any more. It
//! counts nothing: its entries do not say whether the key is below.

use crate::error::Result;
use crate::format::{
    CellValue, Leaf, OverflowRef, ValueAlign, build_filter, filter_line, filter_passes, prefetch, with_search,
};
use crate::ids::PageRef;
use crate::pager::{PageWriter, Pages, Value};
use crate::planted::{Fault, planted};

use super::build::Builder;
use super::changes::Changes;
use super::check::{CheckVisitor, TreeSummary, check_between};
use super::get::FindCell;
use super::remove::{remove, remove_but_values};
use super::root::Root;

/// A run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The tree; its net number of entries is 0.
    pub root: Root,
    /// Entries in it, deletes among them.
    pub entries: u64,
    /// Tells of most keys that are not in it; a small run has none.
    pub filter: Option<OverflowRef>,
}

/// What a run says of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said<'p> {
    /// Nothing: older layers know.
    Nothing,
    /// It has no value.
    Gone,
    /// It has this value.
    Put(Value<'p>),
}

/// Builds a run of all that is left of `changes`. None if that is nothing.
///
/// # Errors
/// As [`merge`](super::merge()): abort the writer's operation then.
pub fn build_run<C: Changes>(
    pages: &Pages,
    changes: &mut C,
    writer: &mut PageWriter<'_>,
    align: ValueAlign,
) -> Result<Option<Run>> {
    let mut builder = Builder::new(pages, writer, align);
    let mut hashes = Vec::new();
    while let Some(change) = changes.peek()? {
        let hash = change.hash.unwrap_or_else(|| builder.hash(change.key));
        builder.push_change(change.key, hash, change.action)?;
        hashes.push(hash);
        changes.advance();
    }
    let entries = hashes.len() as u64;
    let filter = if hashes.len() < FILTERED_ENTRIES_MIN {
        None
    } else {
        let known = if planted(Fault::StaleFilter) { &hashes[1..] } else { &hashes[..] };
        Some(builder.store_apart(&build_filter(known))?)
    };
    Ok(builder.finish()?.map(|root| Run { root, entries, filter }))
}

impl Run {
    /// What it says of `key`, whose hash is `hash`, if `filter` is what [`Run::filter_at_hand`] gave.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io).
    #[inline]
    pub fn get<'p>(&self, pages: &'p Pages, filter: Option<&[u8]>, key: &[u8], hash: u64) -> Result<Said<'p>> {
        if filter.is_some_and(|filter| !filter_passes(filter, hash)) {
            return Ok(Said::Nothing);
        }
        self.find(pages, key, hash)
    }

    /// The filter, with the line that tells of `hash` on its way, where it costs nothing to have it at hand. Where pages are read
    /// one by one it would be read whole each time.
    ///
    /// # Errors
    /// As [`Run::get`].
    #[inline]
    pub fn filter_at_hand<'p>(&self, pages: &'p Pages, hash: u64) -> Result<Option<&'p [u8]>> {
        let Some(at) = &self.filter else { return Ok(None) };
        let filter = pages.mapped_value(at)?;
        if let Some(filter) = filter {
            prefetch(filter, filter_line(filter.len(), hash));
        }
        Ok(filter)
    }

    fn find<'p>(&self, pages: &'p Pages, key: &[u8], hash: u64) -> Result<Said<'p>> {
        let root = &self.root;
        with_search(FindCell {
            pages,
            root,
            key,
            hash,
            then: |leaf: &crate::pager::Page<'p>, cell: Option<crate::format::Cell<'_>>| {
                Ok(match cell {
                    None => Said::Nothing,
                    Some(cell) if cell.op.is_delete() => Said::Gone,
                    Some(cell) => Said::Put(match cell.value {
                        CellValue::Inline(value) => leaf.value(value),
                        CellValue::Overflow(at) => pages.value(&at)?,
                    }),
                })
            },
        })
    }

    /// Marks all its pages as dead from the writer's operation on, those of its values included.
    ///
    /// # Errors
    /// As [`remove`].
    pub fn remove(&self, pages: &Pages, writer: &mut PageWriter<'_>) -> Result<()> {
        self.remove_filter(writer)?;
        remove(pages, &self.root, writer, &mut || Ok(()))
    }

    /// As [`Run::remove`], but for its long values: whoever merged it has taken them over, or removed them.
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

    /// Checks it: its tree, whose keys are at least the first of `bounds` and below the second, and that its filter passes all of
    /// them.
    pub fn check(
        &self,
        pages: &Pages,
        bounds: (Option<&[u8]>, Option<&[u8]>),
        visitor: &mut dyn CheckVisitor,
    ) -> TreeSummary {
        let mut filter = None;
        let mut value_pages = 0;
        if let Some(at) = &self.filter {
            value_pages = pages.file().pages_of(at.length);
            match pages.verify_value_again(at).and_then(|()| pages.value(at)) {
                Ok(bytes) => filter = Some(bytes),
                Err(error) => visitor.fault(error),
            }
            if !visitor.reached(at.page(), value_pages) {
                visitor.fault(pages.misfit(at.page(), "the pages of a filter are referred to more than once"));
            }
        }
        let mut filtered = Filtered { pages, filter, entries: 0, missed: 0, below: visitor };
        let mut summary = check_between(pages, &self.root, bounds, &mut filtered);
        let Filtered { entries, missed, .. } = filtered;
        if entries != self.entries {
            visitor.fault(pages.misfit(self.root.page, "a run has not as many entries as the catalog says"));
        }
        if missed > 0 {
            let what = format!("the filter of a run holds back {missed} of its keys");
            visitor.fault(pages.misfit(self.root.page, what));
        }
        summary.value_pages += u64::from(value_pages);
        summary
    }
}

/// Looks at the leaves of a run on their way to another visitor.
struct Filtered<'a> {
    pages: &'a Pages,
    filter: Option<Value<'a>>,
    entries: u64,
    /// Keys that the filter does not pass.
    missed: u64,
    below: &'a mut dyn CheckVisitor,
}

impl CheckVisitor for Filtered<'_> {
    fn reached(&mut self, at: PageRef, pages: u32) -> bool {
        self.below.reached(at, pages)
    }

    fn fault(&mut self, error: crate::Error) {
        self.below.fault(error);
    }

    fn leaf(&mut self, leaf: Leaf<'_>) {
        self.entries += leaf.count() as u64;
        if let Some(filter) = &self.filter {
            let identity = self.pages.identity();
            let missed = (0..leaf.count()).filter(|&index| !filter_passes(filter, leaf.key(index).hash(identity)));
            self.missed += missed.count() as u64;
        }
        self.below.leaf(leaf);
    }
}

/// Changes whose keys are below `end`, of those that are left of others.
#[derive(Debug)]
pub struct Until<'c, C> {
    changes: &'c mut C,
    end: Option<&'c [u8]>,
}

impl<'c, C: Changes> Until<'c, C> {
    /// `None` is above all keys.
    pub fn new(changes: &'c mut C, end: Option<&'c [u8]>) -> Self {
        Self { changes, end }
    }
}

impl<C: Changes> Changes for Until<'_, C> {
    #[inline]
    fn peek(&mut self) -> Result<Option<super::Change<'_>>> {
        let end = self.end;
        Ok(self.changes.peek()?.filter(|change| end.is_none_or(|end| change.key < end)))
    }

    #[inline]
    fn advance(&mut self) {
        self.changes.advance();
    }
}

/// A run of fewer entries is found through as fast without a filter, which would take a page.
const FILTERED_ENTRIES_MIN: usize = 64;
