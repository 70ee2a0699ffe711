//! Recovery: what the log has beyond the newest checkpoint, brought into a form that can be merged or shown.
//!
//! Nothing of the database is written here. Opening for writing checkpoints what [`recover`] sorted before anybody
//! sees it; opening for reading shows what [`show`] has in deltas.

use std::collections::BTreeSet;
use std::path::Path;

use crate::db::recovery::replayed::{Gathered, Replayed};
use crate::db::storage::catalog;
use crate::db::storage::metas;
use crate::delta::Change;
use crate::error::Result;
use crate::format::{DescriptorFault, Identity, LargeValue, Operation};
use crate::ids::{Sequence, TableId};
use crate::io::{Disk, memory_bytes};
use crate::log::{Commit, Keep, LogEnd, OperationPlace, ReplayFrom, read_back, read_back_keeping};
use crate::options::Options;
use crate::pager::Space;
use crate::sort::{SortOptions, Sorter};
use crate::sync::{Arc, Mutex};
use crate::txn::commit::journal::LogStart;
use crate::txn::commit::rotation::{Rotation, Since};
use crate::txn::snapshot::state::{State, TableView};
use crate::txn::snapshot::table::TableInfo;
use crate::txn::writes::schema::{SchemaChange, empty_view, with_schema};

/// The database after its log was read back for writing.
pub struct Recovered {
    /// The state. Its tables are those after the last commit, their content still that of the checkpoint.
    pub state: State,
    /// Where the log ended.
    pub end: LogEnd,
    /// What has to be checkpointed, if anything was replayed.
    pub replayed: Option<(Rotation, Replayed)>,
}

/// Reads the log above the checkpoint of `found`, whose tables are those of `opened`, and sorts its changes. Large
/// values that it refers to are reserved in `space`. Requires: no other process can write the database.
///
/// # Errors
/// [`Error::Corrupt`](crate::Error::Corrupt) if the log is damaged where it was durable, or does not belong to the
/// meta; and the disk's.
pub fn recover(
    options: &Options,
    path: &Path,
    found: &metas::NewestMeta,
    opened: &State,
    space: &Mutex<Space>,
) -> Result<Recovered> {
    let disk = &options.disk;
    let sort_bytes = options.delta_bytes.saturating_mul(SORT_DELTAS);
    let keep_bytes = if options.map { memory_bytes() / KEPT_SHARE } else { 0 };
    let keep = Keep { bytes_max: keep_bytes.max(sort_bytes), map: options.map };
    let mut log = read_back_keeping(disk, path, found.meta.uuid, from(found), keep)?;
    let gathered = if log.keeps() {
        Gathered::in_place(path)
    } else {
        let memory_bytes = usize::try_from(sort_bytes).unwrap_or(usize::MAX);
        Gathered::apart(path, Sorter::new(Arc::clone(disk), path, SortOptions { memory_bytes }))
    };
    let mut sorting = Sorting { space, gathered };
    let mut tables = Tables::new(opened);
    while let Some(commit) = log.next_commit()? {
        tables.apply(commit, &mut sorting)?;
    }
    let images = log.take_images();
    let end = log.finish();
    let Tables { state, since, .. } = tables;
    if end.sequence == found.meta.sequence {
        return Ok(Recovered { state, end, replayed: None });
    }
    let start = LogStart { segment: end.next_segment, exists: false };
    let rotation = Rotation { sequence: end.sequence, start, frozen: Vec::new(), since };
    Ok(Recovered { state, end, replayed: Some((rotation, sorting.gathered.sort(images)?)) })
}

/// The state after the log above the checkpoint of `found`, in memory.
///
/// # Errors
/// As [`recover`].
pub fn show(disk: &Arc<dyn Disk>, path: &Path, found: &metas::NewestMeta, opened: &State) -> Result<State> {
    let mut showing = Showing { identity: *opened.pages.identity() };
    let mut log = read_back(disk, path, found.meta.uuid, from(found))?;
    let mut tables = Tables::new(opened);
    while let Some(commit) = log.next_commit()? {
        tables.apply(commit, &mut showing)?;
    }
    Ok(tables.state)
}

fn from(found: &metas::NewestMeta) -> ReplayFrom {
    let meta = &found.meta;
    ReplayFrom { sequence: meta.sequence, first_segment: meta.log_first_segment, first_segment_exists: meta.log_exists }
}

/// Receives what the commits of a log did, in their order.
trait Listener {
    /// A commit changed a key of a table.
    fn changed(&mut self, view: &TableView, changed: &Changed<'_>) -> Result<()>;

    /// A commit refers to a large value; the change of its key follows.
    fn found_large(&mut self, state: &State, large: &LargeValue) -> Result<()>;
}

/// What a commit did to a key.
struct Changed<'r> {
    sequence: Sequence,
    place: OperationPlace,
    key: &'r [u8],
    change: Change<'r>,
}

/// Gathers changes for a checkpoint.
struct Sorting<'r> {
    space: &'r Mutex<Space>,
    gathered: Gathered,
}

impl Listener for Sorting<'_> {
    #[inline]
    fn changed(&mut self, view: &TableView, changed: &Changed<'_>) -> Result<()> {
        self.gathered.push(view.info.id, changed.key, changed.change, changed.place)
    }

    fn found_large(&mut self, _: &State, large: &LargeValue) -> Result<()> {
        let taken = self.space.lock().take_logged(large)?;
        self.gathered.note_large(large, taken)
    }
}

/// Puts changes into deltas.
struct Showing {
    identity: Identity,
}

impl Listener for Showing {
    fn changed(&mut self, view: &TableView, changed: &Changed<'_>) -> Result<()> {
        view.active.insert(changed.key, self.identity.hash(changed.key), changed.sequence, changed.change);
        Ok(())
    }

    fn found_large(&mut self, state: &State, large: &LargeValue) -> Result<()> {
        state.active_large.note(large);
        Ok(())
    }
}

/// The tables there are, as commits create and drop them.
struct Tables<'o> {
    /// Those of the checkpoint.
    opened: &'o State,
    state: State,
    /// Without large values.
    since: Since,
    /// All that were created.
    created: BTreeSet<TableId>,
}

impl<'o> Tables<'o> {
    fn new(opened: &'o State) -> Self {
        Self { opened, state: opened.clone(), since: Since::default(), created: BTreeSet::new() }
    }

    /// Does what a commit did: to the tables itself, and to their content by telling the listener.
    fn apply(&mut self, commit: Commit<'_>, listener: &mut impl Listener) -> Result<()> {
        let sequence = commit.sequence();
        let damaged = |offence: &str| commit.damaged(offence);
        let mut operations = commit.operations();
        while let Some(operation) = operations.next() {
            let place = operations.place();
            let (table, key, change) = match operation? {
                Operation::Put { table: TableId::CATALOG, key, value } => {
                    let created = self.create(key, value, sequence);
                    created.map_err(|fault| catalog::error_of(fault, &self.opened.pages, damaged))?;
                    continue;
                }
                Operation::Delete { table: TableId::CATALOG, key } => {
                    self.drop_table(key, sequence).map_err(damaged)?;
                    continue;
                }
                Operation::Renamed { table, before, after } => {
                    self.rename_table(table, before, after, sequence).map_err(damaged)?;
                    continue;
                }
                // The load is in the trees, or it never came about.
                Operation::Loaded { .. } => continue,
                Operation::Put { table, key, value } => (table, key, Change::Put(value)),
                Operation::Delete { table, key } => (table, key, Change::Delete),
                Operation::PutLarge { table, key, large } => {
                    self.find(table).map_err(damaged)?;
                    listener.found_large(&self.state, &large)?;
                    (table, key, Change::PutLarge(large.value))
                }
            };
            listener.changed(self.find(table).map_err(damaged)?, &Changed { sequence, place, key, change })?;
        }
        self.state.floor = sequence;
        Ok(())
    }

    fn create(&mut self, name: &[u8], descriptor: &[u8], sequence: Sequence) -> Result<(), DescriptorFault> {
        // A logged table may have any number: the meta's next one is older.
        let table = catalog::decode(name, descriptor, TableId::END)?;
        let TableInfo { id, name, descriptor, .. } = &*table.info;
        // What was logged of another table of that number would become this one's.
        if self.opened.view_of(*id).is_some() || !self.created.insert(*id) {
            return Err("it creates a table with the number of another".into());
        }
        let view = empty_view(TableInfo::new(Arc::clone(name), descriptor.clone()));
        self.since.created.push(Arc::clone(&view.info));
        self.state = with_schema(&self.state, &[SchemaChange::Created(Arc::new(view))], sequence);
        Ok(())
    }

    fn drop_table(&mut self, name: &[u8], sequence: Sequence) -> Result<(), &'static str> {
        let id = std::str::from_utf8(name).ok().and_then(|name| self.state.names.get(name));
        let view = id.and_then(|id| self.state.view_of(*id)).ok_or("it drops a table that is not there")?;
        let info = Arc::clone(&view.info);
        self.since.dropped.push(Arc::clone(&info));
        self.state = with_schema(&self.state, &[SchemaChange::Dropped(info)], sequence);
        Ok(())
    }

    fn rename_table(
        &mut self,
        table: TableId,
        before: &[u8],
        after: &[u8],
        sequence: Sequence,
    ) -> Result<(), &'static str> {
        let view = self.state.view_of(table).filter(|view| view.info.name.as_bytes() == before);
        let before = Arc::clone(&view.ok_or("it renames a table that is not there")?.info);
        let name = catalog::name_of(after)?;
        if self.state.names.contains_key(name) {
            return Err("it gives a table the name of another");
        }
        let after = Arc::new(before.renamed(name));
        self.since.renamed.push(Arc::clone(&after));
        self.state = with_schema(&self.state, &[SchemaChange::Renamed { before, after }], sequence);
        Ok(())
    }

    #[inline]
    fn find(&self, table: TableId) -> Result<&TableView, &'static str> {
        self.state.view_of(table).map(|view| &**view).ok_or("it changes a table that is not there")
    }
}

/// The changes in a log are sorted apart in so many times the memory that a delta may take. Those of a delta that is
/// merged, of one that fills meanwhile, and of as much again before commits wait, always fit; what failed checkpoints
/// piled up may not.
const SORT_DELTAS: u64 = 4;

/// A log of up to this share of the machine's memory, one fourth, is mapped and sorted in place: the page cache holds
/// it anyway.
const KEPT_SHARE: u64 = 4;
