//! What a transaction has spilled: layers of sorted runs in free space of the data file. No meta refers to them.
//!
//! A layer has what was in memory when it was spilled, each key with its [versions](crate::txn::writes::versions).
//! Its extents belong to an operation that is never finished, so nothing else is written there while it lasts. When
//! it ends, the extents are free again: because the transaction committed, was dropped or was rolled back past the
//! layer, or because the process died.
//!
//! Invariants: (1) `pages` shows the extents of every layer, and the extents of a layer do not change while it lives.
//! (2) A later layer hides the earlier ones. When there are many layers of one tier, they are joined into one layer
//! of the next tier, so that reads have few layers to search. They are not joined where savepoints need more versions
//! of one key than memory should hold. (3) No entry is ever changed. Versions that were rolled back are skipped. A
//! table is removed from a layer when all its versions there were rolled back, and a layer is removed when it has no
//! table.

use crate::error::Result;
use crate::format::{ExtentEntry, ValueAlign};
use crate::ids::{PageRef, TableId};
use crate::pager::{ExtentMap, Need, Operation, PageWriter, Pages, Space, Value};
use crate::sync::{Arc, Mutex};
use crate::tree::{Change, Changes, RunValue, Stack, StackRange, build_run};
use crate::txn::writes::spill_source::SpillSource;
use crate::txn::writes::versions::{OwnChange, Undone, versions};

/// See the module.
#[derive(Debug)]
pub struct Spilled {
    /// The pages of all layers.
    pub(super) pages: Pages,
    pub(super) space: Arc<Mutex<Space>>,
    /// The oldest first.
    pub(super) layers: Vec<Layer>,
    pub(super) undone: Undone,
    /// Upper bound of the bytes of several versions of a key within one layer.
    pub(super) entry_bytes_max: usize,
}

/// A layer.
#[derive(Debug)]
pub struct Layer {
    /// By number.
    pub(super) tables: Vec<LayerTable>,
    /// How many times its parts were joined. None: it is joined no more.
    pub(super) tier: Option<u32>,
    pub(super) extents: Placed,
}

/// What a layer has of a table.
#[derive(Debug)]
pub(super) struct LayerTable {
    pub(super) id: TableId,
    /// One run above each range.
    pub(super) stack: Stack,
    /// Whether a version is not a merge, and so overwrites what other transactions did.
    pub(super) overwrites: bool,
    /// No version is older.
    pub(super) first_stage: u64,
}

/// Extents that are placed as long as this lives.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) space: Arc<Mutex<Space>>,
    pub(super) operation: Option<Operation>,
}

impl Spilled {
    /// Nothing yet. `pages` are those of any state.
    pub fn new(pages: &Pages, space: &Arc<Mutex<Space>>, entry_bytes_max: usize) -> Self {
        let (pages, space, undone) = (pages.clone(), Arc::clone(space), Undone::default());
        Self { pages, space, layers: Vec::new(), undone, entry_bytes_max }
    }

    /// Whether there is no layer.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Adds layers above the others. Returns how many bytes of the file they take.
    ///
    /// # Errors
    /// What the disk reports. Nothing has changed then, nor if this panics.
    pub fn push(&mut self, pages: &Pages, layers: Vec<Layer>) -> Result<u64> {
        let bytes = layers.iter().map(|layer| layer.extents.bytes()).sum();
        self.replace(self.layers.len(), pages, layers)?;
        Ok(bytes)
    }

    /// Puts layers in the place of all from one on. Before the last steps nothing has changed, whatever happens.
    pub(super) fn replace(&mut self, from: usize, pages: &Pages, layers: Vec<Layer>) -> Result<()> {
        let shown = pages_of(self.layers[..from].iter().chain(&layers), pages, &self.pages)?;
        self.layers.reserve(layers.len());
        let replaced = from..self.layers.len();
        self.pages = shown;
        self.layers.extend(layers);
        self.layers.drain(replaced);
        Ok(())
    }

    /// Undoes the stages from `first` to `last`, which is that of now.
    pub fn undo(&mut self, first: u64, last: u64) {
        self.undone.add(first, last);
        self.layers.iter_mut().for_each(|layer| layer.tables.retain(|table| table.first_stage < first));
        self.layers.retain(|layer| !layer.tables.is_empty());
    }

    /// The last change of `key` that was spilled.
    ///
    /// # Errors
    /// What the disk reports; damage to what was spilled.
    pub fn get(&self, table: TableId, key: &[u8]) -> Result<Option<OwnChange<'_>>> {
        let hash = self.pages.identity().hash(key);
        for layer in self.layers.iter().rev() {
            let Some(table) = layer.table(table) else { continue };
            for run in table.stack.runs_of(key) {
                let filter = run.mapped_filter(&self.pages, hash)?;
                if let RunValue::Present(entry) = run.get(&self.pages, filter, key, hash)?
                    && let Some(own) = self.newest(&entry, run.root.page)?
                {
                    return Ok(Some(own));
                }
            }
        }
        Ok(None)
    }

    /// The newest version of an entry of the run at `root` that was not rolled back.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) if the entry is none that was spilled.
    pub fn newest<'a>(&self, entry: &Value<'a>, root: PageRef) -> Result<Option<OwnChange<'a>>> {
        let damaged = || self.pages.misfit(root, "what a transaction has spilled is not what it wrote");
        let mut found = versions(entry).peekable();
        found.peek().ok_or_else(damaged)?;
        match found.find(|version| !self.undone.holds(version.stage)) {
            Some(version) => version.own(entry).ok_or_else(damaged).map(Some),
            None => Ok(None),
        }
    }

    /// The pages of all layers.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    /// The numbers of the layers that have something of a table, the newest first, from one on.
    pub fn layers_of(&self, table: TableId, from: usize) -> impl Iterator<Item = usize> {
        (from..self.layers.len()).rev().filter(move |&layer| self.layers[layer].table(table).is_some())
    }

    /// What a layer has of a table.
    pub fn stack(&self, layer: usize, table: TableId) -> Option<&Stack> {
        self.layers.get(layer)?.table(table).map(|table| &table.stack)
    }

    /// The tables of all layers, some several times.
    pub fn tables(&self) -> impl Iterator<Item = TableId> {
        self.layers.iter().flat_map(|layer| &layer.tables).map(|table| table.id)
    }

    /// Whether a layer has something of a table.
    pub fn touches(&self, table: TableId) -> bool {
        self.layers.iter().any(|layer| layer.table(table).is_some())
    }

    /// Entries of a table in all layers.
    pub fn entries_of(&self, table: TableId) -> u64 {
        let stacks = self.layers.iter().filter_map(|layer| layer.table(table)).map(|table| &table.stack);
        stacks.flat_map(Stack::runs).map(|run| run.entries).sum()
    }

    /// Whether a change of a table is not a merge, and so overwrites what other transactions did.
    pub fn overwrites(&self, table: TableId) -> bool {
        self.layers.iter().filter_map(|layer| layer.table(table)).any(|table| table.overwrites)
    }

    /// As [`Spilled::overwrites`], of any table.
    pub fn overwrites_any(&self) -> bool {
        self.layers.iter().flat_map(|layer| &layer.tables).any(|table| table.overwrites)
    }

    /// Bytes of the file that all layers take.
    pub fn bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.extents.bytes()).sum()
    }
}

/// Pages that show the extents of layers. `before` are those that did so far.
fn pages_of<'l>(layers: impl Iterator<Item = &'l Layer>, pages: &Pages, before: &Pages) -> Result<Pages> {
    let placed = layers.flat_map(|layer| layer.extents.operation.iter().flat_map(Operation::placed));
    let (mut entries, mut page_count) = (Vec::new(), 0);
    for (id, entry) in placed {
        let index = id.0 as usize;
        if entries.len() <= index {
            entries.resize(index + 1, ExtentEntry::default());
        }
        entries[index] = *entry;
        page_count = page_count.max(entry.first_page.0 + u64::from(entry.page_count));
    }
    let extents = ExtentMap::new(entries, page_count, Some(before.extents()));
    pages.file().pages(Arc::new(extents))
}

impl Layer {
    /// Writes what is in memory, as one layer, or as several where the versions of a key take too much for one layer;
    /// the oldest first. Dropping a layer frees its space.
    ///
    /// # Errors
    /// What the disk reports; [`Error::QuotaExceeded`](crate::Error::QuotaExceeded).
    pub fn write(pages: &Pages, space: &Arc<Mutex<Space>>, source: &SpillSource<'_>) -> Result<Vec<Self>> {
        let mut layers = Vec::new();
        let mut has_more = true;
        while std::mem::take(&mut has_more) {
            let mut writer = PageWriter::new(space);
            writer.set_need(Need::Addition);
            let mut tables = Vec::new();
            for id in source.tables() {
                let mut versions = source.versions_of(id, layers.len());
                if let Some(stack) = build_stack(pages, &mut versions, &mut writer)? {
                    let (overwrites, first_stage) = (versions.overwrites(), versions.first_stage());
                    tables.push(LayerTable { id, stack, overwrites, first_stage });
                }
                has_more |= versions.has_more();
            }
            let extents = Placed { operation: Some(writer.finish()?), space: Arc::clone(space) };
            layers.push(Self { tables, tier: Some(0), extents });
        }
        Ok(layers)
    }

    pub(super) fn table(&self, id: TableId) -> Option<&LayerTable> {
        let at = self.tables.binary_search_by_key(&id, |table| table.id).ok()?;
        Some(&self.tables[at])
    }
}

impl Placed {
    fn bytes(&self) -> u64 {
        let pages: u64 =
            self.operation.iter().flat_map(Operation::placed).map(|(_, entry)| u64::from(entry.page_count)).sum();
        pages * self.space.lock().file().page_size().bytes() as u64
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        if let Some(operation) = self.operation.take() {
            self.space.lock_after_panic().abort(operation);
        }
    }
}

/// Runs of all of `changes`, each of so many entries that what is in memory for its filter is little.
pub(super) fn build_stack(
    pages: &Pages,
    changes: &mut impl Changes,
    writer: &mut PageWriter<'_>,
) -> Result<Option<Stack>> {
    let mut ranges = Vec::new();
    while let Some(first) = changes.peek()? {
        let low = if ranges.is_empty() { Box::default() } else { Box::from(first.key) };
        let mut few = Few { changes: &mut *changes, left: RUN_ENTRIES };
        let run = build_run(pages, &mut few, writer, ValueAlign::One, None)?;
        ranges.push(StackRange { low, runs: run.into_iter().collect() });
    }
    Ok(Stack::new(ranges, false))
}

/// A few of the changes that are left of others.
struct Few<'c, C> {
    changes: &'c mut C,
    left: usize,
}

impl<C: Changes> Changes for Few<'_, C> {
    fn peek(&mut self) -> Result<Option<Change<'_>>> {
        if self.left == 0 { Ok(None) } else { self.changes.peek() }
    }

    fn advance(&mut self) {
        self.left -= 1;
        self.changes.advance();
    }
}

/// Upper bound of the bytes of several versions of a key within one layer, for a transaction that may use
/// `memory_bytes_max`. Joining layers holds several such entries in memory at once.
pub fn entry_bytes_max(memory_bytes_max: usize) -> usize {
    (memory_bytes_max / 4).clamp(ENTRY_BYTES_FLOOR, ENTRY_BYTES_CEILING)
}

/// Bounds of [`entry_bytes_max`]: half a page or so, and far below what a run takes.
const ENTRY_BYTES_FLOOR: usize = 4 << 10;

const ENTRY_BYTES_CEILING: usize = 256 << 20;

/// Entries of one run: eight bytes of memory each while it is written.
const RUN_ENTRIES: usize = 1 << 20;
