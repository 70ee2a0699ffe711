//! Proves that every live page of a snapshot belongs to exactly one tree.

use crate::error::{Error, Place};
use crate::format::{ExtentEntry, ExtentKind};
use crate::ids::PageRef;
use crate::pager::{ExtentMap, Pages};
use crate::sync::Arc;

use super::walk::CheckVisitor;

/// Counts the pages of all trees of a snapshot, and gathers what is wrong with them.
#[derive(Debug)]
pub struct Census {
    extents: Arc<ExtentMap>,
    /// For each extent, the slots that were reached; of a single extent, its first.
    reached: Vec<u128>,
    faults: Vec<Error>,
}

impl Census {
    /// A census of a snapshot, with nothing reached yet.
    pub fn new(pages: &Pages) -> Self {
        let extents = Arc::clone(pages.extents());
        let count = extents.iter().last().map_or(0, |(id, _)| id.0 as usize + 1);
        Self { extents, reached: vec![0; count], faults: Vec::new() }
    }

    /// All that is wrong, once all trees were checked: live pages that no tree reaches are among it.
    pub fn finish(mut self, pages: &Pages) -> Vec<Error> {
        for (id, entry) in self.extents.iter() {
            if entry.kind == ExtentKind::ExtentTable {
                continue;
            }
            let lost = entry.live & !self.reached[id.0 as usize];
            if lost != 0 {
                let what = format!("live pages belong to no tree: slots {lost:#x}");
                self.faults.push(Error::corrupt(pages.file().path(), Place::Extent(id), what));
            }
        }
        self.faults
    }
}

impl CheckVisitor for Census {
    fn reached(&mut self, at: PageRef, pages: u32) -> bool {
        let Some(entry) = self.extents.entry(at.extent) else { return true };
        let slots = &mut self.reached[at.extent.0 as usize];
        // References past an extent's end are refused when their pages are read.
        let mask = mask_of(entry, at.slot, pages);
        let is_new = *slots & mask == 0;
        *slots |= mask;
        is_new
    }

    fn fault(&mut self, error: Error) {
        self.faults.push(error);
    }
}

fn mask_of(entry: &ExtentEntry, slot: u32, pages: u32) -> u128 {
    if entry.flags.single {
        return 1;
    }
    let run = 1u128.checked_shl(pages).map_or(u128::MAX, |end| end - 1);
    run.checked_shl(slot).unwrap_or(0)
}
