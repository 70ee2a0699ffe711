//! Runs: what was committed over a stretch of time to a range of a table's keys, as a tree of its own above the table's tree.
//!
//! A run has the format of any tree, and says of each of its keys what became of it: a value, or that there is none any more. Those
//! of a counted table also say what that adds to the count of what lies beneath, and count that as trees count their entries.

use std::ops::Bound;

use crate::error::Result;
use crate::format::{
    Cell, CellKey, CellValue, Leaf, LeafForm, Op, OverflowRef, ValueAlign, build_filter, filter_line, filter_passes,
    prefetch, with_search,
};
use crate::ids::PageRef;
use crate::pager::{PageWriter, Pages, Value};
use crate::planted::{Fault, planted};

use super::beneath::Beneath;
use super::build::Builder;
use super::changes::{Action, Changes};
use super::check::{CheckVisitor, TreeSummary, check_between};
use super::count::count_net;
use super::get::FindCell;
use super::remove::{remove, remove_but_values};
use super::root::Root;

/// A run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The tree. What it adds to a count is not told here, and may be less than nothing: its number of entries is 0.
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
/// If it is told what lies `beneath`, its entries say what they add to the count of that; deletes of keys that are not there are left
/// out.
///
/// # Errors
/// As [`merge`](super::merge()): abort the writer's operation then.
pub fn build_run<C: Changes>(
    pages: &Pages,
    changes: &mut C,
    writer: &mut PageWriter<'_>,
    align: ValueAlign,
    beneath: Option<&Beneath<'_>>,
) -> Result<Option<Run>> {
    let mut builder = Builder::new(pages, writer, LeafForm::Tagged(align));
    let mut hashes = Vec::new();
    while let Some(change) = changes.peek()? {
        let hash = change.hash.unwrap_or_else(|| builder.hash(change.key));
        let is_beneath = beneath.map(|beneath| beneath.has(change.key, hash)).transpose()?;
        if let Some(op) = operation(&change.action, is_beneath) {
            builder.push_change(op, change.key, hash, change.action)?;
            hashes.push(hash);
        }
        changes.advance();
    }
    let entries = hashes.len() as u64;
    let filter = if hashes.len() < FILTERED_ENTRIES_MIN {
        None
    } else {
        let known = if planted(Fault::StaleFilter) { &hashes[1..] } else { &hashes[..] };
        Some(builder.store_apart(&build_filter(known))?)
    };
    Ok(builder.finish_run()?.map(|root| Run { root, entries, filter }))
}

/// What an entry of a run is to say, if it is known whether its key is beneath; none if there is nothing to say.
fn operation(action: &Action<'_>, is_beneath: Option<bool>) -> Option<Op> {
    let is_delete = matches!(action, Action::Delete);
    match is_beneath {
        None if is_delete => Some(Op::Delete),
        None => Some(Op::PutReplace),
        Some(true) if is_delete => Some(Op::DeleteCounted),
        Some(true) => Some(Op::PutReplace),
        Some(false) if is_delete => None,
        Some(false) if planted(Fault::NewKeyUncounted) => Some(Op::PutReplace),
        Some(false) => Some(Op::PutNew),
    }
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

    /// Whether it may say something of a key with this hash.
    ///
    /// # Errors
    /// As [`Run::get`].
    pub(super) fn may_have(&self, pages: &Pages, hash: u64) -> Result<bool> {
        let filter = self.filter_at_hand(pages, hash)?;
        Ok(filter.is_none_or(|filter| filter_passes(filter, hash)))
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

    /// Checks it: its tree, whose keys are at least the first of `bounds` and below the second, that its filter passes all of
    /// them, and, if it is told what lies `beneath`, that it counts what its entries add to that.
    pub fn check(
        &self,
        pages: &Pages,
        bounds: (Option<&[u8]>, Option<&[u8]>),
        beneath: Option<&Beneath<'_>>,
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
        // Nobody else says what it adds; that it is the sum of what its parts add is checked from here on down.
        let net = beneath.map_or(Ok(0), |_| count_net(pages, &self.root, Bound::Unbounded, Bound::Unbounded));
        let mut looked_at = LookedAt {
            pages,
            filter,
            beneath,
            entries: 0,
            missed: 0,
            miscounted: 0,
            is_beneath_damaged: false,
            below: visitor,
        };
        let mut summary = check_between(pages, &self.root, net.unwrap_or(0), bounds, &mut looked_at);
        let LookedAt { entries, missed, miscounted, .. } = looked_at;
        if entries != self.entries {
            visitor.fault(pages.misfit(self.root.page, "a run has not as many entries as the catalog says"));
        }
        if missed > 0 {
            let what = format!("the filter of a run holds back {missed} of its keys");
            visitor.fault(pages.misfit(self.root.page, what));
        }
        if miscounted > 0 {
            let what = format!("a run says wrongly of {miscounted} of its keys whether they are beneath it");
            visitor.fault(pages.misfit(self.root.page, what));
        }
        summary.value_pages += u64::from(value_pages);
        summary
    }
}

/// Looks at the leaves of a run on their way to another visitor.
struct LookedAt<'a> {
    pages: &'a Pages,
    filter: Option<Value<'a>>,
    beneath: Option<&'a Beneath<'a>>,
    entries: u64,
    /// Keys that the filter does not pass.
    missed: u64,
    /// Keys that are beneath it, and are counted as if they were not, or the other way round.
    miscounted: u64,
    /// Something beneath it could not be read.
    is_beneath_damaged: bool,
    below: &'a mut dyn CheckVisitor,
}

impl CheckVisitor for LookedAt<'_> {
    fn reached(&mut self, at: PageRef, pages: u32) -> bool {
        self.below.reached(at, pages)
    }

    fn fault(&mut self, error: crate::Error) {
        self.below.fault(error);
    }

    fn packed_leaf(&mut self, at: PageRef) {
        self.below.fault(self.pages.misfit(at, "a run has a packed leaf"));
    }

    fn leaf(&mut self, leaf: Leaf<'_>) {
        self.entries += leaf.count() as u64;
        if let Some(filter) = &self.filter {
            let identity = self.pages.identity();
            let missed = (0..leaf.count()).filter(|&index| !filter_passes(filter, leaf.key(index).hash(identity)));
            self.missed += missed.count() as u64;
        }
        if let Some(beneath) = self.beneath {
            for cell in leaf.cells(0..leaf.count()) {
                match is_counted_rightly(self.pages, &cell, beneath) {
                    Ok(is_right) => self.miscounted += u64::from(!is_right),
                    // What is damaged beneath is found there, too: here one is enough, not one for each key.
                    Err(error) if !std::mem::replace(&mut self.is_beneath_damaged, true) => self.below.fault(error),
                    Err(_) => {}
                }
            }
        }
        self.below.leaf(leaf);
    }
}

/// Whether an entry of a run says rightly whether its key is beneath.
fn is_counted_rightly(pages: &Pages, cell: &Cell<'_>, beneath: &Beneath<'_>) -> Result<bool> {
    let hash = cell.key.hash(pages.identity());
    let is_beneath = match &cell.key {
        CellKey::Inline(key) => beneath.has(key, hash)?,
        CellKey::Overflow { at, .. } => beneath.has(&pages.value(at)?, hash)?,
    };
    Ok(match cell.op {
        Op::PutNew => !is_beneath,
        Op::PutReplace | Op::DeleteCounted => is_beneath,
        Op::Delete => false,
    })
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
