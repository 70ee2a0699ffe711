//! `stats`: what every byte of a database's files is used for.

use std::time::Duration;

use crate::db::handle::database::Database;
use crate::db::storage::create::with_suffix;
use crate::error::{Error, Result};
use crate::format::{Isa, MergeOperator};
use crate::ids::Sequence;
use crate::io::Access;
use crate::merge_functions::check_not_merging;
use crate::metrics::Conflicts;
use crate::pager::{Pins, Space, SpaceStats};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::txn::commit::core::Writer;
use crate::txn::coordination::group_sync::Flushes;
use crate::txn::snapshot::state::State;

/// Statistics of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The length of the data file in bytes.
    pub file_bytes: u64,
    /// The size of a page in bytes.
    pub page_size_bytes: u64,
    /// Bytes of the page with the two metas.
    pub meta_bytes: u64,
    /// Bytes of live pages of trees and of runs.
    pub tree_bytes: u64,
    /// Bytes of live pages with long keys, large values and filters of runs.
    pub value_bytes: u64,
    /// Bytes of the extent table.
    pub extent_table_bytes: u64,
    /// Bytes of pages in use by a running checkpoint, by a transaction that has spilled, or by a commit that is not in
    /// a tree yet.
    pub placed_bytes: u64,
    /// Bytes of pages that only open snapshots still need.
    pub pinned_bytes: u64,
    /// Bytes of free pages.
    pub free_bytes: u64,
    /// Bytes at the end of the file that are allocated in advance.
    pub reserve_bytes: u64,
    /// The number of extents in use.
    pub extents: u64,
    /// The length of all segments of the log in bytes, including a spare one.
    pub log_bytes: u64,
    /// The part of `log_bytes` that is kept for [`Database::changes`] and not needed by recovery: see
    /// [`crate::Options::keep_log`].
    pub log_kept_bytes: u64,
    /// The part of `log_kept_bytes` above the limit, kept because a [`crate::Changes`] that has not ended may read it.
    pub log_held_bytes: u64,
    /// The oldest commit that [`Database::changes`] can return. `None` if the log is not kept or has no commit.
    pub oldest_change: Option<u64>,
    /// The approximate memory of commits that are not in a tree yet, in bytes.
    pub delta_bytes: u64,
    /// The sequence of the newest visible commit.
    pub sequence: u64,
    /// The sequence of the newest commit that is known to be durable.
    pub durable_sequence: u64,
    /// Conflicts since this process opened the database.
    pub conflicts: Conflicts,
    /// Flushes of the log since this process opened the database.
    pub flushes: u64,
    /// Commits that these flushes made durable. With concurrent threads, one flush serves several commits.
    pub flushed_commits: u64,
    /// Bytes written to the log since this process opened the database.
    pub log_written_bytes: u64,
    /// Bytes that transactions have spilled to the file since this process opened the database: see
    /// [`crate::Options::write_set_bytes`].
    pub spilled_bytes: u64,
    /// The time since a checkpoint replaced the state that the oldest snapshot of this process reads. `None` if no
    /// snapshot keeps pages from being reused.
    pub oldest_snapshot: Option<Duration>,
    /// The number of the newest meta. It rises by one or two with each checkpoint, each load and each merge of runs.
    pub checkpoints: u64,
    /// The sequence of the newest commit that is in the trees or in runs.
    pub checkpoint_sequence: u64,
    /// Whether pages are read through a memory map.
    pub mapped: bool,
    /// The instruction set that searches use.
    pub search: &'static str,
    /// The tables, sorted by name.
    pub tables: Vec<TableStats>,
}

/// Memory of the map through which pages are read: see [`Database::map_memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapMemory {
    /// Bytes of the map that are in memory.
    pub resident_bytes: u64,
    /// The part of `resident_bytes` that is in huge pages.
    pub huge_page_bytes: u64,
}

/// Statistics of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableStats {
    /// The table's name.
    pub name: String,
    /// The table's merge operator.
    pub merge_operator: Option<MergeOperator>,
    /// The name of the table's merge function.
    pub merge_function: Option<String>,
    /// The number of entries in the tree.
    pub entries: u64,
    /// The number of runs, which are merged into the tree later.
    pub runs: u64,
    /// The largest number of runs above one key. A read of it may have to search all of them.
    pub runs_deep: u64,
    /// The number of entries in the runs: puts and deletes.
    pub run_entries: u64,
    /// The number of levels of branches above the leaves.
    pub levels: u8,
    /// The number of keys that were changed by commits that are not in the tree or in runs yet.
    pub delta_entries: u64,
}

impl Stats {
    /// Checks that the sizes of the parts of the file add up to its length.
    ///
    /// # Errors
    /// A text with both sums.
    pub fn accounts_for_every_byte(&self) -> Result<(), String> {
        let parts = [
            self.meta_bytes,
            self.tree_bytes,
            self.value_bytes,
            self.extent_table_bytes,
            self.placed_bytes,
            self.pinned_bytes,
            self.free_bytes,
            self.reserve_bytes,
        ];
        let sum: u64 = parts.iter().sum();
        if sum == self.file_bytes {
            return Ok(());
        }
        Err(format!("the parts of the file sum up to {sum} bytes, the file has {}", self.file_bytes))
    }
}

impl Database {
    /// Returns statistics of the database, with the use of every byte of its file.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn stats(&self) -> Result<Stats> {
        check_not_merging()?;
        let snapshot = self.inner.core.snapshot()?;
        let state = &snapshot.state;
        let file = state.pages.file();
        let (space, file_bytes) = self.space_stats(state)?;
        let writing = self.inner.core.writer.as_ref().map(WritingStats::of).unwrap_or_default();
        let deltas = state.tables.iter().flatten().flat_map(|view| [Some(&view.active), view.frozen.as_ref()]);
        let page = file.page_size().bytes() as u64;
        let (kept, oldest_change) = self.kept_log()?;
        Ok(Stats {
            file_bytes,
            page_size_bytes: page,
            meta_bytes: space.meta_pages * page,
            tree_bytes: space.node_pages * page,
            value_bytes: space.value_pages * page,
            extent_table_bytes: space.table_pages * page,
            placed_bytes: space.placed_pages * page,
            pinned_bytes: space.pending_pages * page,
            free_bytes: space.free_pages * page,
            // A file that is not a whole number of pages long has a tail that belongs to the reserve.
            reserve_bytes: space.reserve_pages * page + file_bytes % page,
            extents: space.extents,
            log_bytes: self.log_bytes()?,
            log_kept_bytes: kept.bytes,
            log_held_bytes: kept.held_bytes,
            oldest_change: oldest_change.map(|oldest| oldest.0),
            delta_bytes: deltas
                .flatten()
                .filter(|delta| !delta.is_empty())
                .map(|delta| delta.memory_bytes() as u64)
                .sum(),
            sequence: snapshot.sequence.0,
            durable_sequence: writing.durable.map_or(snapshot.sequence.0, |durable| durable.0.min(snapshot.sequence.0)),
            conflicts: writing.conflicts,
            flushes: writing.flushes.count,
            flushed_commits: writing.flushes.commits,
            log_written_bytes: writing.log_bytes,
            spilled_bytes: writing.spilled_bytes,
            oldest_snapshot: state.pin.oldest_age(),
            // Relaxed: it orders nothing.
            checkpoints: self.inner.meta_number.load(Ordering::Relaxed),
            checkpoint_sequence: state.checkpoint.0,
            mapped: file.window().is_some(),
            search: crate::format::selected().map_or("none", Isa::name),
            tables: table_stats(state),
        })
    }

    /// Returns how much of the map is in memory, and how much of that is in huge pages. `None` if pages are not read
    /// through a map.
    ///
    /// This reads `/proc/self/smaps`. Its cost rises with the number of mappings of the process and their sizes, so it
    /// is not part of [`Database::stats`].
    ///
    /// # Errors
    /// Errors of the system.
    pub fn map_memory(&self) -> Result<Option<MapMemory>> {
        check_not_merging()?;
        let snapshot = self.inner.core.snapshot()?;
        let file = snapshot.state.pages.file();
        let Some(map) = file.window() else { return Ok(None) };
        let pages = map.huge_pages().map_err(|error| Error::io("look at the map of", file.path(), error))?;
        Ok(Some(MapMemory { resident_bytes: pages.resident_bytes, huge_page_bytes: pages.huge_bytes }))
    }

    /// The pages of the file by use, and its length. It does not wait for checkpoints and loads.
    fn space_stats(&self, state: &State) -> Result<(SpaceStats, u64)> {
        let file = state.pages.file();
        let Some(writer) = &self.inner.core.writer else {
            let meta = &self.inner.meta;
            let extents = state.pages.extents();
            let open = |end| Space::open(Arc::clone(file), extents.entries().to_vec(), end, meta.birth, None);
            // A writer may have cut off what this checkpoint had behind its last page in use.
            let mut space = open(meta.page_count).or_else(|_| open(extents.live_end()))?;
            // Pages that are not live count as free: a reader does not know which other readers keep them.
            space.reclaim(Pins::default());
            return Ok((space.stats(), file.length_bytes()?));
        };
        // The file changes its length under this lock alone.
        let space = writer.large.space().lock();
        Ok((space.stats(), file.length_bytes()?))
    }

    /// Length of all segments of the log.
    fn log_bytes(&self) -> Result<u64> {
        let disk = &self.inner.options.disk;
        let path = self.path();
        let directory = path.parent().unwrap_or(std::path::Path::new(""));
        let prefix = with_suffix(path, "-log.");
        let files = disk.list(directory).map_err(|error| Error::io("list", directory, error))?;
        let mut bytes = 0;
        for file in files {
            let is_segment = file.as_os_str().as_encoded_bytes().starts_with(prefix.as_os_str().as_encoded_bytes());
            // A segment that a checkpoint removes meanwhile counts nothing.
            if is_segment && let Ok(segment) = disk.open(&file, Access::Read) {
                bytes += segment.len().unwrap_or(0);
            }
        }
        Ok(bytes)
    }
}

/// What only the writing process knows.
#[derive(Default)]
struct WritingStats {
    durable: Option<Sequence>,
    conflicts: Conflicts,
    flushes: Flushes,
    log_bytes: u64,
    spilled_bytes: u64,
}

impl WritingStats {
    fn of(writer: &Writer) -> Self {
        // One after the other: no lock is held while the next is taken.
        let conflicts = *writer.conflicts.lock();
        let log_bytes = writer.log.lock().bytes;
        let (durable, flushes) = (Some(writer.group.durable()), writer.group.flushes());
        let spilled_bytes = writer.spilled_bytes.load(Ordering::Relaxed);
        Self { durable, conflicts, flushes, log_bytes, spilled_bytes }
    }
}

/// The tables by name.
fn table_stats(state: &State) -> Vec<TableStats> {
    let mut tables: Vec<TableStats> = state
        .tables
        .iter()
        .flatten()
        .map(|view| TableStats {
            name: view.info.name.to_string(),
            merge_operator: view.info.merge_operator(),
            merge_function: view.info.merge_function().map(str::to_owned),
            entries: view.trees.base.as_ref().map_or(0, |root| root.entries),
            runs: view.trees.stack.as_ref().map_or(0, |stack| stack.runs().count() as u64),
            runs_deep: view.trees.stack.as_ref().map_or(0, |stack| stack.depth() as u64),
            run_entries: view.trees.stack.iter().flat_map(|stack| stack.runs()).map(|run| run.entries).sum(),
            levels: view.trees.base.as_ref().map_or(0, |root| root.level),
            delta_entries: view.active.entries() as u64
                + view.frozen.as_ref().map_or(0, |delta| delta.entries() as u64),
        })
        .collect();
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    tables
}
