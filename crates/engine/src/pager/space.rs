//! Owns the decision which pages are written: every page of the file is in exactly one of these states, always.
//!
//! - live: a slot of an extent that the newest checkpoint shows, or that an operation in progress has placed;
//! - pending: dead since a checkpoint, but still shown by some snapshot;
//! - free: anybody's.
//!
//! ```text
//!          place                   commit                kill + commit               reclaim
//!  free ──────────▶ placed by an ──────────▶ live ─────────────────────▶ pending ──────────────▶ free
//!    ▲               operation
//!    └───── abort ───────┘
//! ```
//!
//! Invariants:
//! 1. A page of a live snapshot or of the newest durable checkpoint is never given out. A page that dies at a
//!    checkpoint becomes free only after that checkpoint is durable and no older snapshot shows the page.
//! 2. Pages that an operation placed or killed change nothing before its commit, and nothing at all if it is aborted.
//! 3. A page that is given out is inside the file, with disk space behind it.
//!
//! Callers: `PageWriter` places and kills, `db` begins, commits, aborts and reclaims, all behind one lock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;

use crate::error::{Error, Place, Result};
use crate::format::{ExtentEntry, ExtentFlags, ExtentKind, ExtentTableRef, LIVE_SLOTS_MAX};
use crate::ids::{Birth, ExtentId, PageNumber, PageRef};
use crate::io::FreeSpace;
use crate::planted::{Fault, planted};
use crate::sync::Arc;

use super::extents::{is_live, live_pages, live_runs, slots_mask};
use super::file::PageFile;
use super::free::FreeRanges;
use super::table;

/// Which pages of the file are whose.
#[derive(Debug)]
pub struct Space {
    pub(super) file: Arc<PageFile>,
    /// By number. What the newest checkpoint shows.
    pub(super) extents: Vec<ExtentEntry>,
    /// Extents that the log knows, and the extent table does not.
    pub(super) logged: BTreeMap<ExtentId, ExtentEntry>,
    /// Numbers that operations in progress, and logged extents, hold.
    pub(super) reserved: BTreeSet<u32>,
    /// Numbers below `extents.len()` that nobody holds.
    pub(super) unused: BTreeSet<u32>,
    pub(super) free: FreeRanges,
    pub(super) pending: Vec<Pending>,
    /// All pages from here on were never given out, or were cut off.
    pub(super) end: u64,
    /// Pages that the file has room for; at least `end`.
    pub(super) file_pages: u64,
    /// End that the newest checkpoint states: the file must not be cut below it.
    committed_end: u64,
    max_size_bytes: Option<u64>,
    /// The disk is nearly full: small extents find room where large ones do not.
    pub(super) is_cramped: bool,
    last_birth: Birth,
    /// Birth that the newest checkpoint states.
    committed_birth: Birth,
    /// Birth of the newest checkpoint that snapshots may begin with.
    pub(super) shown_birth: Birth,
}

/// Where what is written is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// Where it fits best among what is free, full extents where huge pages can map them.
    Usual,
    /// As low as it fits, all of it before this page; behind all that there is if it does not fit there.
    Low(PageNumber),
    /// Behind all that there is.
    AtEnd,
}

/// Pages that died.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) born: Birth,
    pub(super) died: Birth,
}

/// What one checkpoint or bulk load has placed and killed so far. Give it back to [`Space::commit`] or
/// [`Space::abort`]: what is dropped instead stays taken until the database is reopened.
#[derive(Debug)]
#[must_use = "commit or abort it, or its space stays taken until the database is reopened"]
pub struct Operation {
    birth: Birth,
    reserved: Vec<ExtentId>,
    placed: BTreeMap<ExtentId, ExtentEntry>,
    /// Slots of committed extents that die at this operation's commit.
    killed: HashMap<ExtentId, u128>,
    /// Logged extents that become committed ones.
    pub(super) adopted: Vec<ExtentId>,
    /// Logged extents that die.
    pub(super) retired: Vec<ExtentId>,
    /// Where it places what it writes.
    pub(super) placing: Placing,
    /// What it is for.
    pub(super) need: Need,
}

/// What space is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To flush what was committed, after which the log can be removed: it may take all.
    Rescue,
    /// To compact, and to flush a transaction that has spilled: enough is left for a log of deletions.
    Upkeep,
    /// To merge runs, which can wait: enough is left for upkeep.
    Merging,
    /// For more than was there before: enough is left for all of these.
    Addition,
}

impl Need {
    /// What is left of so much headroom.
    fn kept_bytes(self, headroom_bytes: u64) -> u64 {
        match self {
            Self::Rescue => 0,
            Self::Upkeep => headroom_bytes / 8,
            Self::Merging => headroom_bytes / 4,
            Self::Addition => headroom_bytes,
        }
    }
}

/// How much room there is for additions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes in the file and on its disk, less those that are kept for upkeep.
    pub bytes: u64,
    /// Bytes of these that the log may take: what is free within the file is of no use to it.
    pub log_bytes: u64,
}

impl Operation {
    /// The birth of everything that this operation writes.
    pub fn birth(&self) -> Birth {
        self.birth
    }

    /// The extents that this operation has placed so far.
    pub fn placed(&self) -> impl Iterator<Item = (ExtentId, &ExtentEntry)> {
        self.placed.iter().map(|(&extent, entry)| (extent, entry))
    }

    /// Where an extent that this operation placed begins, and its length in pages.
    pub(super) fn placed_at(&self, extent: ExtentId) -> Option<(PageNumber, u32)> {
        self.placed.get(&extent).map(|entry| (entry.first_page, entry.page_count))
    }
}

/// A checkpoint whose data is written and whose table is placed: what the meta must say, and the map of its snapshots.
#[derive(Debug)]
pub struct Prepared {
    /// The table, for the meta.
    pub table: ExtentTableRef,
    /// Last birth used, for the meta; snapshots of this checkpoint pin this number.
    pub birth: Birth,
    /// Number of pages of the file, for the meta.
    pub page_count: u64,
    /// Extent entries after the commit, by number.
    pub entries: Vec<ExtentEntry>,
}

/// Which snapshots may still read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pins<'a> {
    /// Births of the checkpoints that snapshots of this process show, in any order.
    pub births: &'a [Birth],
    /// Oldest checkpoint that any other process may show: it may show any younger one too.
    pub oldest_elsewhere: Option<Birth>,
}

impl Pins<'_> {
    /// Whether some snapshot may show what was born and died at these checkpoints.
    fn show(&self, born: Birth, died: Birth) -> bool {
        self.oldest_elsewhere.is_some_and(|oldest| oldest < died)
            || self.births.iter().any(|&pin| born <= pin && pin < died)
    }
}

/// Every page of the file, by what it is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceStats {
    /// The page of the metas.
    pub meta_pages: u64,
    /// Live pages of trees.
    pub node_pages: u64,
    /// Live pages of long keys and values.
    pub value_pages: u64,
    /// Pages of the extent table.
    pub table_pages: u64,
    /// Pages that operations in progress have placed.
    pub placed_pages: u64,
    /// Dead pages that wait for a snapshot to end.
    pub pending_pages: u64,
    /// Free pages.
    pub free_pages: u64,
    /// Pages past the end that were reserved ahead of need.
    pub reserve_pages: u64,
    /// Extents in use.
    pub extents: u64,
}

impl SpaceStats {
    /// All pages of the file.
    pub fn total_pages(&self) -> u64 {
        self.meta_pages
            + self.node_pages
            + self.value_pages
            + self.table_pages
            + self.placed_pages
            + self.pending_pages
            + self.free_pages
            + self.reserve_pages
    }
}

impl Space {
    /// The space of a file whose newest checkpoint has these extents and this many pages. `last_birth` is the last
    /// that any checkpoint of it used.
    ///
    /// Who opened the file before may have left readers behind that still show older checkpoints: whatever is not
    /// live is pending at first. Call [`Space::reclaim`] with what is pinned.
    ///
    /// Requires: the entries passed [`check_extents`](super::extents::check_extents).
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file is shorter than that.
    pub fn open(
        file: Arc<PageFile>,
        entries: Vec<ExtentEntry>,
        page_count: u64,
        last_birth: Birth,
        max_size_bytes: Option<u64>,
    ) -> Result<Self> {
        let file_pages = file.whole_pages()?;
        let end = page_count.max(META_PAGES);
        file.refuse_cut_off(end)?;
        let mut runs: Vec<_> = entries.iter().flat_map(live_runs).collect();
        runs.sort_unstable();
        let (mut pending, mut at) = (Vec::new(), META_PAGES);
        for (first, count) in runs.into_iter().chain([(end, 0)]) {
            assert!(at <= first && first + count <= end, "extents were checked when the table was read");
            if at < first {
                pending.push(Pending { first: at, count: first - at, born: Birth(0), died: last_birth });
            }
            at = first + count;
        }
        let unused = (0..entries.len() as u32).filter(|&id| entries[id as usize].kind == ExtentKind::Unused).collect();
        Ok(Self {
            file,
            extents: entries,
            logged: BTreeMap::new(),
            reserved: BTreeSet::new(),
            unused,
            free: FreeRanges::default(),
            pending,
            end,
            file_pages,
            committed_end: page_count,
            max_size_bytes,
            is_cramped: false,
            last_birth,
            committed_birth: last_birth,
            shown_birth: last_birth,
        })
    }

    /// Begins an operation. Several may be in progress.
    pub fn begin(&mut self) -> Operation {
        self.last_birth.0 += 1;
        self.file.note_own(self.last_birth);
        Operation {
            birth: self.last_birth,
            reserved: Vec::new(),
            placed: BTreeMap::new(),
            killed: HashMap::new(),
            adopted: Vec::new(),
            retired: Vec::new(),
            placing: Placing::Usual,
            need: Need::Upkeep,
        }
    }

    /// A number for an extent that the operation will place.
    pub fn reserve_id(&mut self, operation: &mut Operation) -> ExtentId {
        let id = self.take_id();
        operation.reserved.push(id);
        id
    }

    /// A number that nobody holds.
    pub(super) fn take_id(&mut self) -> ExtentId {
        let id = self.unused.pop_first().unwrap_or_else(|| {
            let newest = self.reserved.last().map_or(0, |&last| last + 1);
            newest.max(self.extents.len() as u32)
        });
        self.reserved.insert(id);
        ExtentId(id)
    }

    /// Gives an extent its pages, all live, and returns the first. Full extents begin at a multiple of their size, so
    /// that each can be mapped by one huge page.
    ///
    /// # Errors
    /// [`Error::QuotaExceeded`], [`Error::DiskFull`], [`Error::Io`]; nothing is placed then.
    ///
    /// # Panics
    /// If the operation did not reserve `id`, or placed it already.
    pub fn place(
        &mut self,
        operation: &mut Operation,
        id: ExtentId,
        kind: ExtentKind,
        pages: u32,
        single: bool,
    ) -> Result<PageNumber> {
        assert!(operation.reserved.contains(&id), "an extent's number is reserved first");
        assert!(single || (1..=LIVE_SLOTS_MAX).contains(&pages), "an extent has 1 to 128 pages");
        let first_page = self.allocate(u64::from(pages), alignment(pages), operation.placing, operation.need)?;
        let live = if single { 1 } else { slots_mask(0, pages) };
        let first_page = PageNumber(first_page);
        let flags = ExtentFlags { single };
        let entry = ExtentEntry { first_page, page_count: pages, kind, flags, birth: operation.birth, live };
        let before = operation.placed.insert(id, entry);
        assert!(before.is_none(), "an extent is placed once");
        Ok(first_page)
    }

    /// Marks `pages` slots of an extent of this kind as dead from the operation's commit on.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if they are not live: only a damaged tree refers to a page that is not, or twice to one
    /// that is.
    pub fn kill(&mut self, operation: &mut Operation, at: PageRef, pages: u32, kind: ExtentKind) -> Result<()> {
        let entry = self.extents.get(at.extent.0 as usize);
        let Some(entry) = entry.filter(|entry| entry.kind == kind && is_live(entry, at.slot, pages)) else {
            return Err(self.not_live(at));
        };
        let mask = if entry.flags.single { 1 } else { slots_mask(at.slot, pages) };
        if planted(Fault::SpaceReusedTooEarly) {
            self.make_pending(at.extent, mask, operation.birth);
            self.reclaim(Pins::default());
            return Ok(());
        }
        let killed = operation.killed.entry(at.extent).or_default();
        if *killed & mask != 0 {
            return Err(self.not_live(at));
        }
        *killed |= mask;
        Ok(())
    }

    /// Places and writes the table of extents as it will be after the commit. The operation's own pages must be
    /// written.
    ///
    /// After this, make the file durable, publish a meta that says what is returned, make that durable, and commit.
    ///
    /// # Errors
    /// As [`Space::place`], or from writing; abort the operation then.
    pub fn prepare(&mut self, operation: &mut Operation) -> Result<Prepared> {
        // Snapshots of two checkpoints must not look alike, even if both operations had begun before the first commit.
        if self.last_birth == self.committed_birth {
            self.last_birth.0 += 1;
        }
        let birth = self.last_birth;
        for id in self.table_extents() {
            self.kill(operation, PageRef { extent: id, slot: 0 }, 1, ExtentKind::ExtentTable)?;
        }
        let table_id = self.reserve_id(operation);
        let count = self.entries_after(operation).len().max(table_id.0 as usize + 1);
        let pages = table::pages_for(self.file.page_size(), count);
        // It is one stretch, which there may not be among what is free.
        let need = std::mem::replace(&mut operation.need, Need::Rescue);
        let placed = self.place(operation, table_id, ExtentKind::ExtentTable, pages, true);
        operation.need = need;
        let first_page = placed?;
        let entries = self.entries_after(operation);
        let table = table::write(&self.file, &entries, first_page, operation.birth)?;
        let page_count = self.free.trailing(self.end);
        Ok(Prepared { table, birth, page_count, entries })
    }

    /// Makes the operation's effects those of the newest checkpoint. Requires: its meta is durable.
    pub fn commit(&mut self, operation: Operation, prepared: &Prepared) {
        for (id, mask) in &operation.killed {
            self.make_pending(*id, *mask, prepared.birth);
        }
        for id in &operation.reserved {
            self.reserved.remove(&id.0);
        }
        self.commit_logged(&operation, prepared.birth);
        for (id, entry) in operation.placed {
            self.insert_extent(id, entry);
        }
        for id in operation.reserved {
            self.release_id(id.0);
        }
        self.unused.retain(|id| !self.reserved.contains(id));
        self.committed_end = prepared.page_count;
        self.committed_birth = prepared.birth;
    }

    /// Notes that snapshots begin with a checkpoint of this birth from now on.
    pub fn note_shown(&mut self, birth: Birth) {
        self.shown_birth = birth;
    }

    /// Frees all pages that the operation placed, as if it had never begun.
    pub fn abort(&mut self, operation: Operation) {
        for entry in operation.placed.values() {
            self.free.insert(entry.first_page.0, u64::from(entry.page_count));
        }
        for id in operation.reserved {
            self.reserved.remove(&id.0);
            self.release_id(id.0);
        }
        self.end = self.free.cut_trailing(self.end);
    }

    /// Frees the dead pages that no snapshot shows any more, and returns their number.
    pub fn reclaim(&mut self, pins: Pins<'_>) -> u64 {
        let before = self.free.pages();
        let pending = std::mem::take(&mut self.pending);
        for run in pending {
            if pins.show(run.born, run.died) {
                self.pending.push(run);
            } else {
                self.free.insert(run.first, run.count);
            }
        }
        self.free.pages() - before
    }

    /// Cuts the file behind its last page in use, as far as the newest checkpoint allows, and returns the bytes freed.
    ///
    /// # Errors
    /// [`Error::Io`]; the file is as it was then.
    pub fn truncate_to_used(&mut self) -> Result<u64> {
        self.end = self.free.cut_trailing(self.end);
        let keep = self.end.max(self.committed_end).max(META_PAGES);
        let keep_bytes = keep * self.file.page_size().bytes() as u64;
        // An attempt to grow that failed may have left more than is known.
        let length = self.file.length_bytes()?;
        if keep_bytes >= length {
            return Ok(0);
        }
        let cut = self.file.file().set_len(keep_bytes);
        cut.map_err(|source| Error::io("cut", self.file.path(), source))?;
        self.file_pages = keep;
        Ok(length - keep_bytes)
    }

    /// Whether so much of the file's end is unused that cutting it is worth the work of growing again.
    pub fn slack_is_large(&self) -> bool {
        let page_bytes = self.file.page_size().bytes() as u64;
        let slack = (self.file_pages - self.free.trailing(self.end)) * page_bytes;
        slack > 2 * GROWTH_BYTES_MAX && slack > self.file_pages * page_bytes / 2
    }

    /// Accounts for every page of the file.
    pub fn stats(&self) -> SpaceStats {
        let mut stats = SpaceStats { meta_pages: META_PAGES, ..SpaceStats::default() };
        for entry in &self.extents {
            stats.extents += u64::from(entry.kind != ExtentKind::Unused);
            let pages = u64::from(live_pages(entry));
            match entry.kind {
                ExtentKind::Unused => {}
                ExtentKind::Nodes => stats.node_pages += pages,
                ExtentKind::Values => stats.value_pages += pages,
                ExtentKind::ExtentTable => stats.table_pages += pages,
            }
        }
        stats.pending_pages = self.pending.iter().map(|run| run.count).sum();
        stats.free_pages = self.free.pages();
        stats.reserve_pages = self.file_pages - self.end;
        let known = stats.total_pages();
        stats.placed_pages = self.file_pages - known;
        stats
    }

    /// The file whose space this is.
    pub fn file(&self) -> &Arc<PageFile> {
        &self.file
    }

    /// Whether the disk was nearly full when it was measured last.
    pub fn is_cramped(&self) -> bool {
        self.is_cramped
    }

    /// Last birth given out.
    #[cfg(test)]
    pub fn last_birth(&self) -> Birth {
        self.last_birth
    }

    fn table_extents(&self) -> Vec<ExtentId> {
        let tables = self.extents.iter().enumerate();
        let tables = tables.filter(|(_, entry)| entry.kind == ExtentKind::ExtentTable);
        tables.map(|(index, _)| ExtentId(index as u32)).collect()
    }

    /// The entries as they will be after the commit, without trailing unused numbers.
    fn entries_after(&self, operation: &Operation) -> Vec<ExtentEntry> {
        let mut entries = self.extents.clone();
        for (id, mask) in &operation.killed {
            entries[id.0 as usize] = without(entries[id.0 as usize], *mask);
        }
        let adopted = operation.adopted.iter().filter_map(|id| Some((id, self.logged.get(id)?)));
        for (id, entry) in operation.placed.iter().chain(adopted) {
            if entries.len() <= id.0 as usize {
                entries.resize(id.0 as usize + 1, ExtentEntry::default());
            }
            entries[id.0 as usize] = *entry;
        }
        while entries.last().is_some_and(|entry| entry.kind == ExtentKind::Unused) {
            entries.pop();
        }
        entries
    }

    /// Takes dead slots out of a committed extent.
    fn make_pending(&mut self, id: ExtentId, mask: u128, died: Birth) {
        let entry = self.extents[id.0 as usize];
        assert!(entry.kind != ExtentKind::Unused, "only live pages are killed");
        let dead = if entry.flags.single { entry } else { ExtentEntry { live: mask, ..entry } };
        self.pending.extend(live_runs(&dead).map(|(first, count)| Pending { first, count, born: entry.birth, died }));
        self.extents[id.0 as usize] = without(entry, mask);
        self.release_id(id.0);
    }

    /// Shows an extent from now on.
    pub(super) fn insert_extent(&mut self, id: ExtentId, entry: ExtentEntry) {
        let index = id.0 as usize;
        if self.extents.len() <= index {
            self.unused.extend(self.extents.len() as u32..id.0);
            self.extents.resize(index + 1, ExtentEntry::default());
        }
        assert!(self.extents[index].kind == ExtentKind::Unused, "an extent's number is used once at a time");
        self.extents[index] = entry;
        // An extent with a higher number may have come first, and have left this one among those that nobody has.
        self.unused.remove(&id.0);
    }

    /// Makes a number usable again unless an extent has it.
    pub(super) fn release_id(&mut self, id: u32) {
        if self.extents.get(id as usize).is_some_and(|entry| entry.kind == ExtentKind::Unused) {
            self.unused.insert(id);
        }
    }

    /// How much may be written that adds to the database. `None` if that has no end, or is not known.
    pub fn room(&self) -> Option<Room> {
        let free = self.file.file().free_space().ok()??;
        let page_bytes = self.file.page_size().bytes() as u64;
        let own_bytes = (self.free.pages() + self.file_pages - self.end) * page_bytes;
        let headroom_bytes = self.headroom_bytes(free);
        Some(Room {
            bytes: (free.available_bytes + own_bytes).saturating_sub(headroom_bytes),
            log_bytes: free.available_bytes.saturating_sub(Need::Upkeep.kept_bytes(headroom_bytes) / 2),
        })
    }

    /// What is kept of a disk for upkeep: for logs and flushes, and to merge a part of the largest tree that there
    /// may be.
    fn headroom_bytes(&self, disk: FreeSpace) -> u64 {
        let fixed = (disk.total_bytes / HEADROOM_DIVISOR).clamp(HEADROOM_BYTES_MIN, HEADROOM_BYTES_MAX);
        fixed + self.end * self.file.page_size().bytes() as u64 / MERGED_DIVISOR
    }

    pub(super) fn allocate(&mut self, count: u64, align: u64, placing: Placing, need: Need) -> Result<u64> {
        let taken = match placing {
            Placing::Usual => self.free.take(count, align),
            Placing::Low(below) => self.free.take_lowest(count, below.0),
            Placing::AtEnd => None,
        };
        if let Some(first) = taken {
            return Ok(first);
        }
        let used = self.free.trailing(self.end);
        let first = used.next_multiple_of(align);
        let end = first + count;
        self.grow(end, need)?;
        self.free.cut_trailing(self.end);
        self.free.insert(used, first - used);
        self.end = end;
        Ok(first)
    }

    /// Sees to it that the file has `end` pages with space behind them, and some more for next time.
    fn grow(&mut self, end: u64, need: Need) -> Result<()> {
        if end <= self.file_pages {
            return Ok(());
        }
        let page_bytes = self.file.page_size().bytes() as u64;
        let needed_bytes = end * page_bytes;
        let limit_bytes = self.max_size_bytes.unwrap_or(u64::MAX);
        if needed_bytes > limit_bytes {
            return Err(Error::QuotaExceeded { path: self.file.path().to_path_buf(), limit_bytes, needed_bytes });
        }
        let file_bytes = self.file_pages * page_bytes;
        let mut step = (needed_bytes / GROWTH_DIVISOR).clamp(GROWTH_BYTES_MIN, GROWTH_BYTES_MAX);
        if let Ok(Some(free)) = self.file.file().free_space() {
            let left_bytes = free.available_bytes.saturating_sub(needed_bytes - file_bytes);
            if left_bytes < need.kept_bytes(self.headroom_bytes(free)) {
                return Err(no_room(self.file.path()));
            }
            // What is left of a disk that is nearly full is the log's as well.
            step = step.min(left_bytes / GROWTH_DIVISOR);
        }
        let wanted = (needed_bytes + step).min(limit_bytes) / page_bytes;
        if self.allocate_file(wanted).is_ok() {
            self.file_pages = wanted;
            return Ok(());
        }
        // There may still be room for just what is needed.
        self.allocate_file(end)?;
        self.file_pages = end;
        Ok(())
    }

    fn allocate_file(&self, pages: u64) -> Result<()> {
        let page_bytes = self.file.page_size().bytes() as u64;
        let offset = self.file_pages * page_bytes;
        let grown = self.file.file().allocate(offset, pages * page_bytes - offset);
        grown.map_err(|source| Error::io("grow", self.file.path(), source))
    }

    #[cold]
    fn not_live(&self, at: PageRef) -> Error {
        let what = format!("slot {} is referred to twice, or is not live, or is of another kind", at.slot);
        Error::corrupt(self.file.path(), Place::Extent(at.extent), what)
    }
}

/// The error of what would take the last of a disk.
#[cold]
pub fn no_room(path: &Path) -> Error {
    let reason = "what is left is kept for deleting, checkpoints and compaction";
    Error::DiskFull { path: path.to_path_buf(), source: io::Error::new(io::ErrorKind::StorageFull, reason) }
}

/// What the first page of an extent of so many pages is a multiple of, as far as it can be chosen.
pub(super) fn alignment(pages: u32) -> u64 {
    if pages >= LIVE_SLOTS_MAX { u64::from(LIVE_SLOTS_MAX) } else { 1 }
}

/// The extent without some slots; unused if nothing of it is left.
fn without(entry: ExtentEntry, mask: u128) -> ExtentEntry {
    match entry.live & !mask {
        0 => ExtentEntry::default(),
        live => ExtentEntry { live, ..entry },
    }
}

/// The metas have a page of their own.
const META_PAGES: u64 = 1;

/// The file grows ahead of need by this share of itself, within the bounds below.
const GROWTH_DIVISOR: u64 = 8;
const GROWTH_BYTES_MIN: u64 = 64 << 10;
const GROWTH_BYTES_MAX: u64 = 64 << 20;

/// This share of a disk is kept for upkeep, within the bounds below.
const HEADROOM_DIVISOR: u64 = 8;
const HEADROOM_BYTES_MIN: u64 = 512 << 10;
const HEADROOM_BYTES_MAX: u64 = 32 << 20;
/// And this share of the file.
const MERGED_DIVISOR: u64 = 16;
