//! Owns the map from extents to pages that one snapshot reads through, and which of its pages were verified.
//!
//! Invariants: (1) a map is never changed after it was built, except for its verified bits, which are only ever set.
//! (2) A verified bit is set only for a live slot whose bytes were verified for this extent and birth: those of a
//! node by `verify_page` or `verify_own_page`, those of a value by its checksum; or whose bytes this process wrote
//! and made durable a moment ago. The two kinds never share a word, for only a node may be read unchecked. The next
//! map keeps the bits where extent, birth and kind are the same. (3) Every live page is below `page_count`. Callers:
//! the pager reads and builds it, `db` passes it from checkpoint to checkpoint.

use crate::format::{ExtentEntry, ExtentKind, LIVE_SLOTS_MAX};
use crate::ids::{Birth, ExtentId, PageRef};
use crate::sync::atomic::{AtomicU64, Ordering};

/// Extent → pages, for one snapshot. Immutable; shared by `Arc`.
#[derive(Debug)]
pub struct ExtentMap {
    hot: Box<[Hot]>,
    /// A bit for each slot of an extent of values that was verified.
    values: Box<[VerifiedWords]>,
    entries: Box<[ExtentEntry]>,
    page_count: u64,
    /// There are so many extents for so few pages that the small ones should go.
    crowded: bool,
}

/// What the hot path reads of an extent: two to a cache line.
#[derive(Debug, Default)]
#[repr(C, align(32))]
struct Hot {
    first_page: u64,
    /// A bit for each slot of an extent of nodes that was verified.
    nodes: VerifiedWords,
}

/// A bit for each slot that is live and was verified. A bit is set (Release) after the bytes are in memory, and read
/// (Acquire) before they are: a window that is filled on demand is written to just before they are verified.
type VerifiedWords = [AtomicU64; 2];

impl ExtentMap {
    /// The map of these extents, by number, with what `previous` knows to be verified.
    ///
    /// Requires: the entries passed [`check_extents`], or come from the writer itself.
    pub fn new(entries: Vec<ExtentEntry>, page_count: u64, previous: Option<&Self>) -> Self {
        let verified = |kind| {
            let entries = entries.iter().enumerate();
            entries.map(move |(index, entry)| {
                let known =
                    previous.filter(|_| entry.kind == kind).map_or([0; 2], |map| map.known_verified(index, entry));
                let live = live_words(entry);
                [AtomicU64::new(known[0] & live[0]), AtomicU64::new(known[1] & live[1])]
            })
        };
        let nodes = entries.iter().zip(verified(ExtentKind::Nodes));
        let hot = nodes.map(|(entry, nodes)| Hot { first_page: entry.first_page.0, nodes }).collect();
        let values = verified(ExtentKind::Values).collect();
        let in_use = entries.iter().filter(|entry| entry.kind != ExtentKind::Unused).count() as u64;
        let pages: u64 = entries.iter().map(|entry| u64::from(live_pages(entry))).sum();
        let crowded = in_use > CROWD_EXTENTS_MIN + pages / u64::from(SMALL_EXTENT_PAGES);
        Self { hot, values, entries: entries.into(), page_count, crowded }
    }

    /// The same map, which takes all that was born at `birth` for verified.
    ///
    /// Requires: this process wrote that, and nobody reads through the map before it is durable: what a failed sync
    /// leaves in a file may be anything.
    pub fn trusting(mut self, birth: Birth) -> Self {
        let extents = self.entries.iter().zip(&mut self.hot).zip(&mut self.values);
        for ((entry, hot), values) in extents.filter(|((entry, ..), _)| entry.birth == birth) {
            let words = match entry.kind {
                ExtentKind::Nodes => &mut hot.nodes,
                ExtentKind::Values => values,
                ExtentKind::Unused | ExtentKind::ExtentTable => continue,
            };
            *words = live_words(entry).map(AtomicU64::new);
        }
        self
    }

    /// A map without extents, over a file of this many pages.
    pub fn empty(page_count: u64) -> Self {
        Self::new(Vec::new(), page_count, None)
    }

    /// Number of pages of the file, as far as this snapshot knows it.
    pub fn page_count(&self) -> u64 {
        self.page_count
    }

    /// Number of pages up to the last live one: a reader keeps only these from being cut off.
    pub fn live_end(&self) -> u64 {
        self.entries.iter().flat_map(live_runs).map(|(first, count)| first + count).max().unwrap_or(0)
    }

    /// All entries, by number.
    pub fn entries(&self) -> &[ExtentEntry] {
        &self.entries
    }

    /// The extents that are in use, by number.
    pub fn iter(&self) -> impl Iterator<Item = (ExtentId, &ExtentEntry)> + '_ {
        let all = self.entries.iter().enumerate().map(|(index, entry)| (ExtentId(index as u32), entry));
        all.filter(|(_, entry)| entry.kind != ExtentKind::Unused)
    }

    /// An extent's entry, if it is in use.
    pub fn entry(&self, extent: ExtentId) -> Option<&ExtentEntry> {
        self.entries.get(extent.0 as usize).filter(|entry| entry.kind != ExtentKind::Unused)
    }

    /// The operation that wrote an extent.
    pub fn birth(&self, extent: ExtentId) -> Option<Birth> {
        self.entry(extent).map(|entry| entry.birth)
    }

    /// What the hot path reads.
    #[inline(always)]
    pub(super) fn verified(&self) -> VerifiedNodes<'_> {
        VerifiedNodes(&self.hot)
    }

    /// The page in the file, live or not, if the extent has this slot.
    pub fn page_number(&self, at: PageRef) -> Option<u64> {
        let entry = self.entry(at.extent)?;
        (at.slot < entry.page_count).then(|| entry.first_page.0 + u64::from(at.slot))
    }

    /// First page of a run of `pages` live slots in an extent of this kind, or what is wrong with it.
    pub(super) fn run(&self, at: PageRef, pages: u32, kind: ExtentKind) -> Result<u64, &'static str> {
        let entry = self.entry(at.extent).ok_or("there is no such extent")?;
        if entry.kind != kind {
            return Err("the extent is of another kind");
        }
        if !is_live(entry, at.slot, pages) {
            let end = at.slot.checked_add(pages).filter(|end| *end <= entry.page_count);
            // Only of a file that was cut off.
            let is_missing = end.is_some_and(|end| entry.first_page.0 + u64::from(end) > self.page_count);
            return Err(if is_missing { "the file ends before it" } else { "the extent has no such live pages" });
        }
        Ok(entry.first_page.0 + u64::from(at.slot))
    }

    /// Whether a merge should copy what it meets of an extent, to empty it: less than half of its pages are live, or
    /// it is one of too many small ones, which many small checkpoints leave behind. The holes of a few small ones do
    /// no harm.
    pub fn is_sparse(&self, extent: ExtentId) -> bool {
        let Some(entry) = self.entry(extent) else { return false };
        let is_small = entry.page_count < SMALL_EXTENT_PAGES;
        if is_small { self.crowded } else { live_pages(entry) * 2 < entry.page_count }
    }

    /// Notes that a node was accepted by `verify_page` or `verify_own_page`, in an extent of nodes. Slots past those
    /// that have a bit are verified each time.
    pub(super) fn set_node_verified(&self, at: PageRef) {
        if let Some(hot) = self.hot.get(at.extent.0 as usize) {
            set_bit(&hot.nodes, at.slot);
        }
    }

    /// Notes that the checksum of a value was right. Slots past those that have a bit are verified each time.
    pub(super) fn set_value_verified(&self, at: PageRef) {
        if let Some(words) = self.values.get(at.extent.0 as usize) {
            set_bit(words, at.slot);
        }
    }

    /// Whether the value that begins there was verified.
    pub(super) fn is_value_verified(&self, at: PageRef) -> bool {
        self.values.get(at.extent.0 as usize).is_some_and(|words| has_bit(words, at.slot))
    }

    fn known_verified(&self, index: usize, entry: &ExtentEntry) -> [u64; 2] {
        let same = |old: &&ExtentEntry| {
            old.birth == entry.birth && old.first_page == entry.first_page && old.kind == entry.kind
        };
        if self.entries.get(index).filter(same).is_none() {
            return [0; 2];
        }
        let words = if entry.kind == ExtentKind::Nodes { &self.hot[index].nodes } else { &self.values[index] };
        words.each_ref().map(|word| word.load(Ordering::Acquire))
    }
}

fn set_bit(words: &VerifiedWords, slot: u32) {
    if let Some(word) = words.get((slot >> 6) as usize) {
        word.fetch_or(1 << (slot & 63), Ordering::Release);
    }
}

#[inline(always)]
fn has_bit(words: &VerifiedWords, slot: u32) -> bool {
    words.get((slot >> 6) as usize).is_some_and(|word| word.load(Ordering::Acquire) >> (slot & 63) & 1 != 0)
}

/// The nodes of a map that were verified.
#[derive(Clone, Copy, Debug)]
pub(super) struct VerifiedNodes<'a>(&'a [Hot]);

impl VerifiedNodes<'_> {
    /// The page in the file, if it is a verified node.
    #[inline(always)]
    pub fn page(self, at: PageRef) -> Option<u64> {
        let hot = self.0.get(at.extent.0 as usize)?;
        has_bit(&hot.nodes, at.slot).then(|| hot.first_page + u64::from(at.slot))
    }
}

/// The slots from `slot` on, as a mask over the live bits. Requires: they end at or before [`LIVE_SLOTS_MAX`].
pub(super) fn slots_mask(slot: u32, pages: u32) -> u128 {
    assert!(pages > 0, "a run has at least one page");
    assert!(slot.saturating_add(pages) <= LIVE_SLOTS_MAX, "only a single extent has more slots");
    u128::MAX >> (LIVE_SLOTS_MAX - pages) << slot
}

/// Whether a run of slots is inside the extent and live. A single extent lives as a whole: only its first slot is
/// named.
pub(super) fn is_live(entry: &ExtentEntry, slot: u32, pages: u32) -> bool {
    if pages == 0 || slot.checked_add(pages).is_none_or(|end| end > entry.page_count) {
        return false;
    }
    if entry.flags.single {
        return slot == 0 && entry.live & 1 != 0;
    }
    let mask = slots_mask(slot, pages);
    entry.live & mask == mask
}

/// Number of live pages.
pub(super) fn live_pages(entry: &ExtentEntry) -> u32 {
    match entry.flags.single {
        true => entry.page_count,
        false => entry.live.count_ones(),
    }
}

/// The runs of live pages, as (first page, page count).
pub(super) fn live_runs(entry: &ExtentEntry) -> impl Iterator<Item = (u64, u64)> {
    let first_page = entry.first_page.0;
    let whole = entry.flags.single.then_some((first_page, u64::from(entry.page_count)));
    let mut rest = if entry.flags.single { 0 } else { entry.live };
    whole.into_iter().chain(std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let start = rest.trailing_zeros();
        let length = (!(rest >> start)).trailing_zeros();
        rest &= !slots_mask(start, length);
        Some((first_page + u64::from(start), u64::from(length)))
    }))
}

/// Refuses extents that a sound file cannot have: past its end, younger than its `newest` birth, or sharing a live
/// page. That each by itself is possible was checked when its entry was read.
///
/// # Errors
/// An extent and what is wrong with it.
pub fn check_extents(entries: &[ExtentEntry], page_count: u64, newest: Birth) -> Result<(), (ExtentId, &'static str)> {
    // Births from the next one on are those of the process that writes: what has them is taken for its own.
    if let Some(index) = entries.iter().position(|entry| entry.birth > newest) {
        return Err((ExtentId(index as u32), "is younger than the newest checkpoint"));
    }
    let mut runs = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let id = ExtentId(index as u32);
        runs.extend(live_runs(entry).map(|(first, count)| (first, count, id)));
    }
    runs.sort_unstable_by_key(|&(first, ..)| first);
    // Dead slots may lie behind the end: the file was cut since they died.
    if let Some(&(_, _, id)) = runs.last().filter(|&&(first, count, _)| first + count > page_count) {
        return Err((id, "reaches past the end of the file"));
    }
    match runs.windows(2).find(|pair| pair[0].0 + pair[0].1 > pair[1].0) {
        Some(pair) => Err((pair[1].2, "shares pages with another extent")),
        None => Ok(()),
    }
}

/// Takes the pages that a file of `file_pages` pages lacks out of the extents. A single extent goes as a whole.
pub fn leave_out_missing(entries: &mut [ExtentEntry], file_pages: u64) {
    for entry in entries.iter_mut().filter(|entry| entry.first_page.0 + u64::from(entry.page_count) > file_pages) {
        let kept = file_pages.saturating_sub(entry.first_page.0) as u32;
        match (entry.flags.single, kept) {
            (true, _) => *entry = ExtentEntry::default(),
            (false, 0) => entry.live = 0,
            (false, kept) => entry.live &= slots_mask(0, kept),
        }
    }
}

/// The live bits of slots that have a verified bit.
fn live_words(entry: &ExtentEntry) -> [u64; 2] {
    [entry.live as u64, (entry.live >> 64) as u64]
}

/// An extent with fewer pages is small. A file is crowded if its extents have fewer on average.
const SMALL_EXTENT_PAGES: u32 = 32;
/// A file with no more extents is never crowded.
const CROWD_EXTENTS_MIN: u64 = 64;

const _: () = assert!(LIVE_SLOTS_MAX == 128, "the verified words of an extent are 128 bits");
const _: () = assert!(size_of::<Hot>() == 32, "two extents share a cache line");
