//! The check of a run: its tree, its filter, and what it adds to a count.

use std::ops::Bound;

use crate::error::{Error, Result};
use crate::format::{Cell, CellKey, Leaf, Op, filter_passes};
use crate::ids::PageRef;
use crate::pager::{Pages, Value};
use crate::tree::check::{CheckVisitor, TreeSummary, check_between};
use crate::tree::scan::count_net;

use super::layers_below::LayersBelow;
use super::run::Run;

impl Run {
    /// Checks its tree, whose keys are at least the first of `bounds` and below the second, that its filter passes
    /// all of them, and, given the layers `below`, that it counts what its entries add to them.
    pub fn check(
        &self,
        pages: &Pages,
        bounds: (Option<&[u8]>, Option<&[u8]>),
        below: Option<&LayersBelow<'_>>,
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
        // The total is stored nowhere else. The walk checks that it is the sum of the parts.
        let net = below.map_or(Ok(0), |_| count_net(pages, &self.root, Bound::Unbounded, Bound::Unbounded));
        let mut checked_leaves = CheckedLeaves {
            pages,
            filter,
            below,
            entries: 0,
            missed: 0,
            miscounted: 0,
            is_below_damaged: false,
            visitor,
        };
        let mut summary = check_between(pages, &self.root, net.unwrap_or(0), bounds, &mut checked_leaves);
        let CheckedLeaves { entries, missed, miscounted, .. } = checked_leaves;
        if entries != self.entries {
            visitor.fault(pages.misfit(self.root.page, "a run has not as many entries as the catalog says"));
        }
        if missed > 0 {
            let what = format!("the filter of a run holds back {missed} of its keys");
            visitor.fault(pages.misfit(self.root.page, what));
        }
        if miscounted > 0 {
            let what = format!("a run says wrongly of {miscounted} of its keys whether they are below it");
            visitor.fault(pages.misfit(self.root.page, what));
        }
        summary.value_pages += u64::from(value_pages);
        summary
    }
}

/// Checks the leaves of a run, and passes them to another visitor.
struct CheckedLeaves<'a> {
    pages: &'a Pages,
    filter: Option<Value<'a>>,
    below: Option<&'a LayersBelow<'a>>,
    entries: u64,
    /// Keys that the filter does not pass.
    missed: u64,
    /// Keys that are in the layers below, and are counted as if they were not, or the other way round.
    miscounted: u64,
    /// Something in the layers below could not be read.
    is_below_damaged: bool,
    visitor: &'a mut dyn CheckVisitor,
}

impl CheckVisitor for CheckedLeaves<'_> {
    fn reached(&mut self, at: PageRef, pages: u32) -> bool {
        self.visitor.reached(at, pages)
    }

    fn fault(&mut self, error: Error) {
        self.visitor.fault(error);
    }

    fn packed_leaf(&mut self, at: PageRef) {
        self.visitor.fault(self.pages.misfit(at, "a run has a packed leaf"));
    }

    fn leaf(&mut self, leaf: Leaf<'_>) {
        self.entries += leaf.count() as u64;
        if let Some(filter) = &self.filter {
            let identity = self.pages.identity();
            let missed = (0..leaf.count()).filter(|&index| !filter_passes(filter, leaf.key(index).hash(identity)));
            self.missed += missed.count() as u64;
        }
        if let Some(below) = self.below {
            for cell in leaf.cells(0..leaf.count()) {
                match is_counted_rightly(self.pages, &cell, below) {
                    Ok(is_right) => self.miscounted += u64::from(!is_right),
                    // The checks of the layers below report their damage: here one fault is enough, not one for each
                    // key.
                    Err(error) if !std::mem::replace(&mut self.is_below_damaged, true) => self.visitor.fault(error),
                    Err(_) => {}
                }
            }
        }
        self.visitor.leaf(leaf);
    }
}

/// Whether an entry of a run states correctly whether its key is in the layers below.
fn is_counted_rightly(pages: &Pages, cell: &Cell<'_>, below: &LayersBelow<'_>) -> Result<bool> {
    let hash = cell.key.hash(pages.identity());
    let is_below = match &cell.key {
        CellKey::Inline(key) => below.has(key, hash)?,
        CellKey::Overflow { at, .. } => below.has(&pages.value(at)?, hash)?,
    };
    Ok(match cell.op {
        Op::PutNew => !is_below,
        Op::PutReplace | Op::DeleteCounted => is_below,
        Op::Delete => false,
    })
}
