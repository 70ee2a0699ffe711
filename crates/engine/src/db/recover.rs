//! Recovery: what the log has beyond the newest checkpoint, brought into a form that can be merged or shown.
//!
//! Nothing of the database is written here. Opening for writing checkpoints what [`recover`] sorted before anybody sees it;
//! opening for reading shows what [`show`] has in deltas.

use std::collections::BTreeSet;
use std::path::Path;

use crate::db::metas;
use crate::db::replayed::{Gathered, Replayed};
use crate::db::tables;
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

/// Reads the log above the checkpoint of `found`, whose tables are those of `opened`, and sorts its changes. Large values that
/// it refers to are taken in `space`. Requires: nobody else may write the database.
///
/// # Errors
/// [`Error::Corrupt`](crate::Error::Corrupt) if the log is damaged where it was durable, or does not belong to the meta; and
/// the disk's.
pub fn recover(
    options: &Options,
    path: &Path,
    found: &metas::Found,
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
pub fn show(disk: &Arc<dyn Disk>, path: &Path, found: &metas::Found, opened: &State) -> Result<State> {
    let mut showing = Showing { identity: *opened.pages.identity() };
    let mut log = read_back(disk, path, found.meta.uuid, from(found))?;
    let mut tables = Tables::new(opened);
    while let Some(commit) = log.next_commit()? {
        tables.apply(commit, &mut showing)?;
    }
    Ok(tables.state)
}

fn from(found: &metas::Found) -> ReplayFrom {
    let meta = &found.meta;
    ReplayFrom { sequence: meta.sequence, first_segment: meta.log_first_segment, first_segment_exists: meta.log_exists }
}

/// Whoever wants to know what the commits of a log did, in their order.
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
        self.space.lock().take_logged(large)?;
        self.gathered.note_large(*large);
        Ok(())
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
                    created.map_err(|fault| tables::error_of(fault, &self.opened.pages, damaged))?;
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
        let table = tables::decode(name, descriptor, TableId::END)?;
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
        let name = tables::name_of(after)?;
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

/// The changes in a log are sorted apart in so many times the memory that a delta may take. Those of a delta that is merged, of
/// one that fills meanwhile, and of as much again before commits wait, always fit; what failed checkpoints piled up may not.
const SORT_DELTAS: u64 = 4;

/// A log of up to this share of the machine's memory, one fourth, is mapped and sorted in place: the page cache holds it anyway.
const KEPT_SHARE: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Database;
    use crate::error::Error;
    use crate::format::RecordEncoder;
    use crate::io::{Access, MemoryDisk};
    use crate::log::Log;
    use crate::options::TableOptions;

    /// What opening says to a log with this commit after a database with the tables `old` (which is number 1) and `gone`.
    fn error_of(encode: impl Fn(&mut RecordEncoder, &[u8])) -> String {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let options = || Database::options().background(false).disk(Arc::clone(&disk));
        let db = options().create(true).open("a.ful").unwrap();
        let old = db.create_table("old", TableOptions::new()).unwrap();
        let gone = db.create_table("gone", TableOptions::new()).unwrap();
        let mut txn = db.write().unwrap();
        txn.drop_table(&gone).unwrap();
        txn.commit().unwrap();
        let descriptor = old.info.descriptor.encode();
        db.close().unwrap();
        let path = disk.canonical(Path::new("a.ful")).unwrap();
        let file = disk.open(&path, Access::Read).unwrap();
        let meta = metas::read(&*file, &path).unwrap().meta;
        let from = ReplayFrom {
            sequence: meta.sequence,
            first_segment: meta.log_first_segment,
            first_segment_exists: meta.log_exists,
        };
        let mut replay = read_back(&disk, &path, meta.uuid, from).unwrap();
        assert!(replay.next_commit().unwrap().is_none());
        let mut log = Log::create(&disk, &path, meta.uuid, replay.finish()).unwrap();
        let mut encoder = RecordEncoder::new();
        encoder.begin();
        encode(&mut encoder, &descriptor);
        encoder.finish();
        log.append(&mut encoder, Sequence(meta.sequence.0 + 1)).unwrap();
        log.write().unwrap();
        let told = [false, true].map(|read_only| options().read_only(read_only).open("a.ful").unwrap_err());
        assert!(told.iter().all(Error::is_corruption));
        assert_eq!(told[0].to_string(), told[1].to_string(), "a reader hears the same");
        told[0].to_string()
    }

    #[test]
    fn a_log_that_contradicts_the_tables_there_are_is_refused() {
        let says = |what: &str, encode: fn(&mut RecordEncoder, &[u8])| {
            let error = error_of(encode);
            assert!(error.contains(what), "{error}");
        };
        says("it creates a table with the number of another", |commit, old| commit.put(TableId::CATALOG, b"new", old));
        says("it drops a table that is not there", |commit, _| commit.delete(TableId::CATALOG, b"gone"));
        says("it renames a table that is not there", |commit, _| commit.renamed(TableId(2), b"gone", b"new"));
        says("it renames a table that is not there", |commit, _| commit.renamed(TableId(1), b"other", b"new"));
        says("it gives a table the name of another", |commit, _| commit.renamed(TableId(1), b"old", b"old"));
        says("the name of a table is not UTF-8", |commit, _| commit.renamed(TableId(1), b"old", b"\xff"));
        says("it changes a table that is not there", |commit, _| commit.put(TableId(2), b"k", b"v"));
        says("it changes a table that is not there", |commit, _| commit.delete(TableId(77), b"k"));
        says("the name of a table has an impossible length", |commit, old| commit.put(TableId::CATALOG, b"", old));
        says("it creates a table with the number of another", |commit, old| {
            commit.delete(TableId::CATALOG, b"old");
            commit.put(TableId::CATALOG, b"new", old);
        });
    }
}
