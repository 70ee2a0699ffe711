//! Recovery: what the log has beyond the newest checkpoint, brought into frozen deltas for the next one to merge.
//!
//! Nothing is written here. Opening for writing checkpoints what is returned before anybody sees it; opening for
//! reading shows it from memory.

use std::path::Path;

use crate::db::metas;
use crate::db::tables;
use crate::delta::Delta;
use crate::error::Result;
use crate::format::Operation;
use crate::ids::{Sequence, TableId};
use crate::io::Disk;
use crate::log::{Commit, LogEnd, ReplayFrom, read_back};
use crate::pager::Space;
use crate::sync::{Arc, Mutex};
use crate::txn::commit::with_schema;
use crate::txn::core::{Rotation, Since};
use crate::txn::journal::LogStart;
use crate::txn::schema::{SchemaChange, empty_view};
use crate::txn::state::{State, TableInfo, TableView};
use crate::txn::write_set::Pending;

/// The database after its log was read back.
pub struct Recovered {
    /// The state, with what was replayed in its frozen deltas.
    pub state: State,
    /// Where the log ended.
    pub end: LogEnd,
    /// What has to be checkpointed, if anything was replayed.
    pub rotation: Option<Rotation>,
}

/// Replays the log above the checkpoint of `found`, whose tables are those of `opened`. With `space`, large values that
/// the log refers to are taken there.
///
/// # Errors
/// [`Error::Corrupt`] if the log is damaged where it was durable, or does not belong to the meta; and the disk's.
pub fn recover(
    disk: &Arc<dyn Disk>,
    path: &Path,
    found: &metas::Found,
    opened: &State,
    space: Option<&Mutex<Space>>,
) -> Result<Recovered> {
    let meta = &found.meta;
    let from = ReplayFrom {
        sequence: meta.sequence,
        first_segment: meta.log_first_segment,
        first_segment_exists: meta.log_exists,
    };
    let mut replay = read_back(disk, path, meta.uuid, from)?;
    let mut state = opened.clone();
    let mut since = Since::default();
    while let Some(commit) = replay.next_commit()? {
        let sequence = commit.sequence();
        apply(&mut state, &mut since, commit, space)?;
        state.floor = sequence;
    }
    let end = replay.finish();
    let sequence = end.sequence;
    if sequence == meta.sequence {
        return Ok(Recovered { state: opened.clone(), end, rotation: None });
    }
    let frozen = freeze(&mut state);
    let rotation = Rotation { sequence, start: LogStart { segment: end.next_segment, exists: false }, frozen, since };
    Ok(Recovered { state, end, rotation: Some(rotation) })
}

/// Turns the active deltas, which replay has filled, into frozen ones.
fn freeze(state: &mut State) -> Vec<(TableId, Arc<Delta>)> {
    let mut frozen = Vec::new();
    for view in state.tables.iter_mut().flatten().filter(|view| !view.active.is_empty()) {
        frozen.push((view.info.id, Arc::clone(&view.active)));
        *view = Arc::new(view.rotated());
    }
    state.frozen_large = std::mem::take(&mut state.active_large);
    frozen
}

fn apply(state: &mut State, since: &mut Since, commit: Commit<'_>, space: Option<&Mutex<Space>>) -> Result<()> {
    let sequence = commit.sequence();
    let damaged = |offence: &str| commit.damaged(offence);
    for operation in commit.operations() {
        match operation? {
            Operation::Put { table: TableId::CATALOG, key, value } => {
                let view = created(key, value).map_err(damaged)?;
                since.created.push(Arc::clone(&view.info));
                *state = with_schema(state, &[SchemaChange::Created(Arc::new(view))], sequence);
            }
            Operation::Delete { table: TableId::CATALOG, key } => {
                let info = dropped(state, key).ok_or_else(|| damaged("it drops a table that is not there"))?;
                since.dropped.push(Arc::clone(&info));
                *state = with_schema(state, &[SchemaChange::Dropped(info)], sequence);
            }
            Operation::Put { table, key, value } => {
                let view = state.view_of(table).ok_or_else(|| damaged("it changes a table that is not there"))?;
                insert(state, view, sequence, key, &Pending::Put(value.into()));
            }
            Operation::Delete { table, key } => {
                let view = state.view_of(table).ok_or_else(|| damaged("it changes a table that is not there"))?;
                insert(state, view, sequence, key, &Pending::Delete);
            }
            Operation::PutLarge { table, key, large } => {
                let view = state.view_of(table).ok_or_else(|| damaged("it changes a table that is not there"))?;
                if let Some(space) = space {
                    space.lock().take_logged(&large)?;
                }
                state.active_large.note(&large);
                insert(state, view, sequence, key, &Pending::PutLarge(large));
                since.large.push((table, key.into(), large));
            }
        }
    }
    Ok(())
}

fn insert(state: &State, view: &TableView, sequence: Sequence, key: &[u8], pending: &Pending) {
    crate::txn::commit::insert_one(&view.active, state.pages.identity(), sequence, key, pending);
}

fn created(name: &[u8], descriptor: &[u8]) -> Result<TableView, &'static str> {
    // A logged table may have any number: the meta's next one is older.
    let table = tables::decode(name, descriptor, TableId::END)?;
    let info =
        TableInfo { id: table.info.id, name: Arc::clone(&table.info.name), descriptor: table.info.descriptor.clone() };
    Ok(empty_view(info))
}

fn dropped(state: &State, name: &[u8]) -> Option<Arc<TableInfo>> {
    let id = state.names.get(std::str::from_utf8(name).ok()?)?;
    Some(Arc::clone(&state.view_of(*id)?.info))
}
