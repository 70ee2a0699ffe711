//! The tables as a checkpoint has them, and how commits create, drop and rename them there.

use std::collections::BTreeMap;

use crate::ids::TableId;
use crate::sync::Arc;
use crate::txn::commit::rotation::Since;
use crate::txn::snapshot::state::Trees;
use crate::txn::snapshot::table::TableInfo;
use crate::txn::writes::schema::{Schema, SchemaChange};

/// A table as the newest checkpoint has it.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Name, number and options.
    pub info: Arc<TableInfo>,
    /// The tree, and the runs above it.
    pub trees: Trees,
}

impl Stored {
    fn empty(info: &Arc<TableInfo>) -> Self {
        Self { info: Arc::clone(info), trees: Trees::default() }
    }

    /// Whether the table has another name in `later`.
    pub fn is_renamed(&self, later: &Self) -> bool {
        self.info.name != later.info.name
    }
}

/// Does to the tables what commits did. Returns those that they dropped.
pub fn change_since(since: &Since, stored: &mut BTreeMap<TableId, Stored>) -> Vec<Stored> {
    for info in &since.created {
        stored.insert(info.id, Stored::empty(info));
    }
    since.renamed.iter().for_each(|info| rename(stored, info));
    since.dropped.iter().filter_map(|info| stored.remove(&info.id)).collect()
}

/// Does to the tables what a transaction did. Returns those that it dropped.
pub fn change_as(schema: &Schema, stored: &mut BTreeMap<TableId, Stored>) -> Vec<Stored> {
    let mut dropped = Vec::new();
    for change in schema.changes() {
        match change {
            SchemaChange::Created(view) => drop(stored.insert(view.info.id, Stored::empty(&view.info))),
            SchemaChange::Dropped(info) => dropped.extend(stored.remove(&info.id)),
            SchemaChange::Renamed { after, .. } => rename(stored, after),
        }
    }
    dropped
}

/// Gives a table the name that it has here.
fn rename(stored: &mut BTreeMap<TableId, Stored>, info: &Arc<TableInfo>) {
    if let Some(table) = stored.get_mut(&info.id) {
        table.info = Arc::clone(info);
    }
}
