//! What a checkpoint merges: the deltas that a rotation froze, and what was committed beside them.

use crate::delta::Delta;
use crate::format::LargeValue;
use crate::ids::{Sequence, TableId};
use crate::sync::Arc;
use crate::txn::commit::journal::LogStart;
use crate::txn::snapshot::table::TableInfo;
use crate::txn::writes::schema::{Schema, SchemaChange};
use crate::txn::writes::write_set::WriteSet;

/// Changes since the last rotation that are not in the deltas.
#[derive(Debug, Default)]
pub struct Since {
    /// Tables that were created.
    pub created: Vec<Arc<TableInfo>>,
    /// Tables that were dropped; they may be in `created` too.
    pub dropped: Vec<Arc<TableInfo>>,
    /// Tables that were renamed, with their new names, in this order; they may be in both others too.
    pub renamed: Vec<Arc<TableInfo>>,
    /// Large values that were committed.
    pub large: Vec<(TableId, Box<[u8]>, LargeValue)>,
    /// Bulk loads were noted.
    pub loads: bool,
}

/// What a checkpoint merges: everything up to a commit.
#[derive(Debug)]
pub struct Rotation {
    /// The last commit in it.
    pub sequence: Sequence,
    /// Where the log of later commits begins.
    pub start: LogStart,
    /// The deltas that were active until then and are frozen now.
    pub frozen: Vec<(TableId, Arc<Delta>)>,
    /// What is not in the deltas.
    pub since: Since,
}

impl Since {
    /// Whether nothing was committed beside the deltas.
    pub fn is_empty(&self) -> bool {
        let same_tables = self.created.is_empty() && self.dropped.is_empty() && self.renamed.is_empty();
        same_tables && self.large.is_empty() && !self.loads
    }

    /// Adds the part of a commit that is not in the deltas.
    pub fn note(&mut self, set: &WriteSet, schema: &Schema) {
        for change in schema.changes() {
            match change {
                SchemaChange::Created(view) => self.created.push(Arc::clone(&view.info)),
                SchemaChange::Dropped(info) => self.dropped.push(Arc::clone(info)),
                SchemaChange::Renamed { after, .. } => self.renamed.push(Arc::clone(after)),
            }
        }
        self.note_large(set.large());
    }

    /// Adds large values that were committed.
    pub fn note_large<'s>(&mut self, values: impl Iterator<Item = (TableId, &'s [u8], &'s LargeValue)>) {
        self.large.extend(values.map(|(table, key, large)| (table, key.into(), *large)));
    }
}
