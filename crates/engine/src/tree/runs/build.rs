//! Building a run from changes.

use crate::error::Result;
use crate::format::{LeafForm, Op, ValueAlign, build_filter};
use crate::pager::{PageWriter, Pages};
use crate::planted::{Fault, planted};
use crate::tree::build::{Action, Builder, Change, Changes};

use super::layers_below::LayersBelow;
use super::run::Run;

/// Builds a run of all remaining `changes`. `None` if there is none.
///
/// With the layers `below`, its entries state what they add to the count of those layers, and deletes of absent keys
/// are omitted.
///
/// # Errors
/// As [`merge`](crate::tree::merge()): abort the writer's operation then.
pub fn build_run<C: Changes>(
    pages: &Pages,
    changes: &mut C,
    writer: &mut PageWriter<'_>,
    align: ValueAlign,
    below: Option<&LayersBelow<'_>>,
) -> Result<Option<Run>> {
    let mut builder = Builder::new(pages, writer, LeafForm::Tagged(align));
    let mut hashes = Vec::new();
    while let Some(change) = changes.peek()? {
        let hash = change.hash.unwrap_or_else(|| builder.hash(change.key));
        let is_below = below.map(|below| below.has(change.key, hash)).transpose()?;
        if let Some(op) = operation(&change.action, is_below) {
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
        Some(builder.store_overflow(&build_filter(known))?)
    };
    Ok(builder.finish_run()?.map(|root| Run { root, entries, filter }))
}

/// The operation of a run's entry, given whether its key is in the layers below, if that is known; `None` if no entry
/// is needed.
fn operation(action: &Action<'_>, is_below: Option<bool>) -> Option<Op> {
    let is_delete = matches!(action, Action::Delete);
    match is_below {
        None if is_delete => Some(Op::Delete),
        None => Some(Op::PutReplace),
        Some(true) if is_delete => Some(Op::DeleteCounted),
        Some(true) => Some(Op::PutReplace),
        Some(false) if is_delete => None,
        Some(false) if planted(Fault::NewKeyUncounted) => Some(Op::PutReplace),
        Some(false) => Some(Op::PutNew),
    }
}

/// The remaining changes of another stream whose keys are below `end`.
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
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        let end = self.end;
        Ok(self.changes.peek()?.filter(|change| end.is_none_or(|end| change.key < end)))
    }

    #[inline]
    fn advance(&mut self) {
        self.changes.advance();
    }
}

/// A run of fewer entries is searched as fast without a filter, which would use a page.
const FILTERED_ENTRIES_MIN: usize = 64;
