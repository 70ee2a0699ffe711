//! Whether what lies beneath a run has a key: by that its entries tell what they add to a count.

use crate::error::Result;
use crate::format::{Cell, with_search};
use crate::pager::Pages;

use super::get::FindCell;
use super::root::Root;
use super::run::Run;

/// The older runs of a range, and the tree.
#[derive(Clone, Copy, Debug)]
pub struct Beneath<'b> {
    pages: &'b Pages,
    runs: &'b [Run],
    base: Option<&'b Root>,
}

impl<'b> Beneath<'b> {
    /// Beneath a run that comes above `runs`, the newest of which is the first, and a tree.
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
                && let Some(has_value) = says(self.pages, &run.root, key, hash)?
            {
                return Ok(has_value);
            }
        }
        match self.base {
            Some(root) => Ok(says(self.pages, root, key, hash)? == Some(true)),
            None => Ok(false),
        }
    }
}

/// Whether a tree has a value for `key`; none if it does not know the key. Values in pages of their own are not looked at.
fn says(pages: &Pages, root: &Root, key: &[u8], hash: u64) -> Result<Option<bool>> {
    let then = |_: &_, cell: Option<Cell<'_>>| Ok(cell.map(|cell| !cell.op.is_delete()));
    with_search(FindCell { pages, root, key, hash, then })
}
