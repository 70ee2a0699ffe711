//! Whether the layers below a run have a key. This decides what the run's entries add to a count.

use crate::error::Result;
use crate::format::{Cell, with_search};
use crate::pager::Pages;
use crate::tree::get::FindCell;
use crate::tree::root::Root;

use super::run::Run;

/// The older runs of a range, and the tree.
#[derive(Clone, Copy, Debug)]
pub struct LayersBelow<'b> {
    pages: &'b Pages,
    runs: &'b [Run],
    base: Option<&'b Root>,
}

impl<'b> LayersBelow<'b> {
    /// The layers below a run that is built above `runs`, newest first, and a tree.
    pub fn new(pages: &'b Pages, runs: &'b [Run], base: Option<&'b Root>) -> Self {
        Self { pages, runs, base }
    }

    /// Whether `key`, whose hash is `hash`, has a value there.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io).
    pub fn has(&self, key: &[u8], hash: u64) -> Result<bool> {
        for run in self.runs {
            if run.may_have(self.pages, hash)?
                && let Some(found) = has_value(self.pages, &run.root, key, hash)?
            {
                return Ok(found);
            }
        }
        match self.base {
            Some(root) => Ok(has_value(self.pages, root, key, hash)? == Some(true)),
            None => Ok(false),
        }
    }
}

/// Whether a tree has a value for `key`; `None` if it does not have the key. Values in pages of their own are not read.
fn has_value(pages: &Pages, root: &Root, key: &[u8], hash: u64) -> Result<Option<bool>> {
    let then = |_: &_, cell: Option<Cell<'_>>| Ok(cell.map(|cell| !cell.op.is_delete()));
    with_search(FindCell { pages, root, key, hash, then })
}
