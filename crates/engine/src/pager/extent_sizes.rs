//! How many pages an extent gets: a share of the file, limited by the free ranges.

use crate::format::LIVE_SLOTS_MAX;
use crate::ids::PageNumber;

use super::space::{Placing, Space, alignment};

impl Space {
    /// How many pages an operation's first extents should have: few in a small file, where large ones would find no
    /// room among what is free.
    ///
    /// The disk is measured first.
    pub(super) fn first_extent_pages(&mut self) -> u32 {
        self.is_cramped = self.room().is_some_and(|room| room.bytes < CRAMPED_BYTES);
        let share = self.file_pages / EXTENT_DIVISOR;
        u32::try_from(share).unwrap_or(LIVE_SLOTS_MAX).clamp(EXTENT_PAGES_MIN, LIVE_SLOTS_MAX)
    }

    /// How many pages an extent should have that is to have `pages`: this many, if they are free; else it is placed
    /// at the file's end, and reaches from there to where a full extent can begin. So full ones leave no hole before
    /// them.
    pub(super) fn extent_pages(&self, pages: u32, placing: Placing) -> u32 {
        if self.is_cramped {
            // Several extents are gathered at once, and each must still fit when it is placed.
            let has_stretches = self.largest_below(PageNumber(self.end)) >= CRAMPED_STRETCH_PAGES;
            return pages.min(if has_stretches || self.free.pages() == 0 { EXTENT_PAGES_MIN } else { 1 });
        }
        let found = match placing {
            Placing::Usual => self.free.holds(u64::from(pages), alignment(pages)).then_some(pages),
            // Extents at low places take what is free.
            Placing::Low(below) => {
                Some(self.largest_below(below).min(pages)).filter(|&pages| pages >= EXTENT_PAGES_MIN)
            }
            Placing::AtEnd => None,
        };
        found.unwrap_or_else(|| self.gap_pages())
    }

    /// How many pages an extent should have at last that has gathered as many as it can hold, when it was to have
    /// `wanted`.
    ///
    /// At the file's end it goes on to where a full extent can begin. It takes a free place only if it is large
    /// enough: at the file's end all extents would be as small as the gap there, one after the other, until no place
    /// is left for them.
    pub(super) fn extent_pages_at_last(&self, gathered: u32, wanted: u32, placing: Placing) -> u32 {
        if self.is_cramped {
            return gathered;
        }
        let found = match placing {
            Placing::Usual if self.free.holds(u64::from(gathered), alignment(gathered)) => Some(gathered.max(wanted)),
            Placing::Low(below) if self.largest_below(below) >= gathered => Some(gathered),
            _ => None,
        };
        found.unwrap_or_else(|| {
            // Since it began, another extent may have been placed where this one would have been.
            let gap = self.gap_pages();
            if gap < gathered { LIVE_SLOTS_MAX } else { gap }
        })
    }

    /// Pages of the largest free range before a page.
    fn largest_below(&self, page: PageNumber) -> u32 {
        u32::try_from(self.free.largest_below(page.0)).unwrap_or(u32::MAX)
    }

    /// Pages from the file's end to where a full extent can begin, which is never here.
    fn gap_pages(&self) -> u32 {
        let full = u64::from(LIVE_SLOTS_MAX);
        (full - self.free.trailing(self.end) % full) as u32
    }
}

/// An operation's first extents are at most this share of the file.
const EXTENT_DIVISOR: u64 = 64;
pub(super) const EXTENT_PAGES_MIN: u32 = 4;
/// Where no free pages in a row are as many, an extent has one page.
const CRAMPED_STRETCH_PAGES: u32 = 16;
/// A disk with less room for additions is nearly full.
const CRAMPED_BYTES: u64 = 16 << 20;
