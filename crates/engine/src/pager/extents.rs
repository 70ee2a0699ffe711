//! Owns the map from extents to pages that one snapshot reads through, and which of its pages were verified.
//!
//! Invariants: (1) a map is never changed after it was built, but for its verified bits, which only ever gain.  (2) A
//! verified bit is set only for a live slot whose bytes were verified for this extent and birth; the next map takes the
//! bits over where extent and birth are the same.  (3) Every live page is below `page_count`.
//! Callers: the pager reads and builds it, `db` hands it from checkpoint to checkpoint.

use crate::format::{ExtentEntry, ExtentKind, LIVE_SLOTS_MAX};
use crate::ids::{Birth, ExtentId, PageRef};
use crate::sync::atomic::{AtomicU64, Ordering};

/// Extent → pages, for one snapshot. Immutable; shared by `Arc`.
#[derive(Debug)]
pub struct ExtentMap {
    hot: Box<[Hot]>,
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
    /// A bit for each slot that is live and was verified. Relaxed: the bits say that bytes, which do not change, are good;
    /// they publish no other memory.
    verified: [AtomicU64; 2],
}

impl ExtentMap {
    /// The map of these extents, by number, with what `previous` knows to be verified.
    ///
    /// Requires: the entries passed [`check_extents`], or come from the writer itself.
    pub fn new(entries: Vec<ExtentEntry>, page_count: u64, previous: Option<&Self>) -> Self {
        let hot = entries.iter().enumerate().map(|(index, entry)| {
            let known = previous.and_then(|map| map.known_verified(index, entry)).unwrap_or([0; 2]);
            let live = live_words(entry);
            let verified = [AtomicU64::new(known[0] & live[0]), AtomicU64::new(known[1] & live[1])];
            Hot { first_page: entry.first_page.0, verified }
        });
        let in_use = entries.iter().filter(|entry| entry.kind != ExtentKind::Unused).count() as u64;
        let pages: u64 = entries.iter().map(|entry| u64::from(live_pages(entry))).sum();
        let crowded = in_use > CROWD_EXTENTS_MIN + pages / u64::from(SMALL_EXTENT_PAGES);
        Self { hot: hot.collect(), entries: entries.into(), page_count, crowded }
    }

    /// A map without extents, over a file of this many pages.
    pub fn empty(page_count: u64) -> Self {
        Self::new(Vec::new(), page_count, None)
    }

    /// Number of pages of the file, as far as this snapshot knows it.
    pub fn page_count(&self) -> u64 {
        self.page_count
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

    /// The page in the file, if its slot is verified. The hot path.
    #[inline(always)]
    pub(super) fn verified_page(&self, at: PageRef) -> Option<u64> {
        let hot = self.hot.get(at.extent.0 as usize)?;
        let word = hot.verified.get((at.slot >> 6) as usize)?;
        (word.load(Ordering::Relaxed) >> (at.slot & 63) & 1 != 0).then(|| hot.first_page + u64::from(at.slot))
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
            return Err("the extent has no such live pages");
        }
        Ok(entry.first_page.0 + u64::from(at.slot))
    }

    /// Whether a merge should copy what it meets of an extent, to empty it: less than half of its pages are live, or it is one
    /// of too many small ones, which many small checkpoints leave behind. The holes of a few small ones do no harm.
    pub fn is_sparse(&self, extent: ExtentId) -> bool {
        let Some(entry) = self.entry(extent) else { return false };
        let is_small = entry.page_count < SMALL_EXTENT_PAGES;
        if is_small { self.crowded } else { live_pages(entry) * 2 < entry.page_count }
    }

    /// Notes that a slot's bytes were verified. Slots past those that have a bit are verified each time.
    pub(super) fn set_verified(&self, at: PageRef) {
        if let Some(hot) = self.hot.get(at.extent.0 as usize)
            && let Some(word) = hot.verified.get((at.slot >> 6) as usize)
        {
            word.fetch_or(1 << (at.slot & 63), Ordering::Relaxed);
        }
    }

    fn known_verified(&self, index: usize, entry: &ExtentEntry) -> Option<[u64; 2]> {
        let old = self.entries.get(index)?;
        let same = old.birth == entry.birth && old.first_page == entry.first_page;
        same.then(|| self.hot[index].verified.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }
}

/// The slots from `slot` on, as a mask over the live bits. Requires: they end at or before [`LIVE_SLOTS_MAX`].
pub(super) fn slots_mask(slot: u32, pages: u32) -> u128 {
    assert!(pages > 0, "a run has at least one page");
    assert!(slot.saturating_add(pages) <= LIVE_SLOTS_MAX, "only a single extent has more slots");
    u128::MAX >> (LIVE_SLOTS_MAX - pages) << slot
}

/// Whether a run of slots is inside the extent and live. A single extent lives as a whole: only its first slot is named.
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

/// Refuses extents that a sound file cannot have: past its end, or sharing a live page. That each by itself is possible
/// was checked when its entry was read.
///
/// # Errors
/// An extent and what is wrong with it.
pub fn check_extents(entries: &[ExtentEntry], page_count: u64) -> Result<(), (ExtentId, &'static str)> {
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
