//! The changes of a transaction that has spilled, as a checkpoint flushes them into a table.

use crate::db::checkpoint::flush_source::{Slice, Source};
use crate::error::Result;
use crate::ids::ExtentId;
use crate::pager::Value;
use crate::tree::{Change, Changes};
use crate::txn::commit::spilled_proposal::{SpilledTable, SpilledTableChanges};

/// What the transaction did to a table.
pub struct SpilledSource<'s> {
    table: SpilledTable<'s>,
    /// The extents of the large values that the trees have now.
    kept: Vec<ExtentId>,
}

/// Its changes within some slices.
pub struct SpilledSlices<'s> {
    changes: SpilledTableChanges<'s>,
    end: Option<Box<[u8]>>,
    /// The slices that are left, the next first.
    slices: std::vec::IntoIter<Slice>,
}

impl<'s> SpilledSource<'s> {
    pub fn new(table: SpilledTable<'s>) -> Self {
        Self { table, kept: Vec::new() }
    }

    /// The extents of the large values that the trees have now.
    pub fn into_kept(self) -> Vec<ExtentId> {
        self.kept
    }
}

impl<'s> Source for SpilledSource<'s> {
    type Changes = SpilledSlices<'s>;
    type Key = Value<'s>;

    fn entries(&self) -> u64 {
        self.table.entries()
    }

    fn bytes(&self) -> u64 {
        self.table.bytes()
    }

    fn ends(&self, (low, high): Slice) -> Result<Option<(Value<'s>, Value<'s>)>> {
        self.table.ends(low.as_deref(), high.as_deref())
    }

    fn changes(&self, slices: Vec<Slice>) -> Result<SpilledSlices<'s>> {
        let mut slices = slices.into_iter();
        let (low, end) = slices.next().unwrap_or_default();
        Ok(SpilledSlices { changes: self.table.changes(low.as_deref())?, end, slices })
    }

    fn finish(&mut self, changes: SpilledSlices<'s>) {
        self.kept.extend(changes.changes.into_kept());
    }
}

impl Changes for SpilledSlices<'_> {
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        loop {
            let Some(change) = self.changes.peek()? else { return Ok(None) };
            if self.end.as_ref().is_none_or(|end| *change.key < **end) {
                return self.changes.peek();
            }
            let Some((low, end)) = self.slices.next() else { return Ok(None) };
            self.end = end;
            // Slices that lie side by side need no search.
            if let Some(low) = low.filter(|low| *change.key < **low) {
                self.changes.seek(&low)?;
            }
        }
    }

    fn advance(&mut self) {
        self.changes.advance();
    }
}
