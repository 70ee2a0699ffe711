//! Which end of the file can be emptied by moving its pages to free places.

use std::cmp::Reverse;

use crate::format::{ExtentEntry, ExtentKind};
use crate::ids::PageNumber;

use super::extent_sizes::EXTENT_PAGES_MIN;
use super::extents::{is_live, live_pages};
use super::space::Space;

impl Space {
    /// The first page of a part of the file that could be emptied, what lives there moved to free pages before it;
    /// none if that would not make the file much smaller: by one part in `gain_share`.
    pub fn emptiable_from(&self, gain_share: u64) -> Option<PageNumber> {
        let mut extents: Vec<_> = self.extents.iter().filter(|entry| entry.kind != ExtentKind::Unused).collect();
        extents.sort_unstable_by_key(|entry| Reverse(entry.first_page));
        let mut free: Vec<_> = self.free.iter().collect();
        // Extents that are moved take no smaller places.
        let takeable = |count: u64| if count >= u64::from(EXTENT_PAGES_MIN) { count } else { 0 };
        let mut takeable_before: u64 = free.iter().map(|&(_, count)| takeable(count)).sum();
        let (mut free_before, mut moved) = (self.free.pages(), 0);
        // Free pages at the end are cut off without moving anything.
        let mut from = self.used_end();
        let (mut moved_until, mut free_before_from) = (0, free_before - (self.end - from.0));
        for (first_page, pages) in extents.into_iter().flat_map(movable_parts) {
            moved += pages;
            while let Some((start, count)) = free.pop_if(|(start, count)| *start + *count > first_page) {
                free_before -= count;
                takeable_before -= takeable(count);
                if start < first_page {
                    free.push((start, first_page - start));
                    free_before += first_page - start;
                    takeable_before += takeable(first_page - start);
                }
            }
            // A merge that moves rewrites all branches too.
            if moved + moved / MOVED_SLACK_DIVISOR + self.file_pages / BRANCH_DIVISOR > takeable_before {
                break;
            }
            (from, moved_until, free_before_from) = (PageNumber(first_page), moved, free_before);
        }
        // Pages of operations in progress, and of large values in the log, stay where they are.
        let gain = moved_until + (self.free.pages() - free_before_from) + (self.file_pages - self.end);
        (gain * gain_share > self.file_pages).then_some(from)
    }

    /// The first page behind all that are in use.
    pub fn used_end(&self) -> PageNumber {
        PageNumber(self.free.trailing(self.end))
    }
}

/// What of an extent is moved each by itself, the last first, as (first page, live pages): pages of trees, all values
/// together.
fn movable_parts(entry: &ExtentEntry) -> impl Iterator<Item = (u64, u64)> {
    let is_whole = entry.kind != ExtentKind::Nodes;
    let whole = is_whole.then(|| (entry.first_page.0, u64::from(live_pages(entry))));
    let slots = (0..if is_whole { 0 } else { entry.page_count }).rev().filter(|&slot| is_live(entry, slot, 1));
    whole.into_iter().chain(slots.map(|slot| (entry.first_page.0 + u64::from(slot), 1)))
}

/// Pages that are moved may need some more than they had, one in so many: extents do not fit what is free exactly.
const MOVED_SLACK_DIVISOR: u64 = 16;
/// Pages of branches, at most one in so many of a file.
const BRANCH_DIVISOR: u64 = 32;
