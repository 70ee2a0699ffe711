//! Owns the set of free page ranges and the choice of one for an allocation. Pure: it knows no file.
//!
//! Invariants: (1) ranges are non-empty, disjoint, and no two touch (neighbours are joined).  (2) `by_size` holds
//! exactly the ranges of `by_start`.  Called only by [`Space`](super::Space).

use std::collections::{BTreeMap, BTreeSet};

/// Free page ranges, joined where they touch.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeRanges {
    by_start: BTreeMap<u64, u64>,
    by_size: BTreeSet<(u64, u64)>,
    pages: u64,
}

impl FreeRanges {
    /// Number of free pages.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The ranges as (first page, page count), lowest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.by_start.iter().map(|(&start, &count)| (start, count))
    }

    /// Adds `count` pages from `start`, joining them with their neighbours.
    ///
    /// # Panics
    /// If one of them is free already: it would be handed out twice.
    pub fn insert(&mut self, start: u64, count: u64) {
        if count == 0 {
            return;
        }
        let (mut first, mut end) = (start, start + count);
        if let Some((&before, &length)) = self.by_start.range(..=start).next_back() {
            assert!(before + length <= start, "a page was freed twice");
            if before + length == start {
                self.remove(before, length);
                first = before;
            }
        }
        if let Some((&after, &length)) = self.by_start.range(start..).next() {
            assert!(end <= after, "a page was freed twice");
            if end == after {
                self.remove(after, length);
                end = after + length;
            }
        }
        self.add(first, end - first);
    }

    /// Takes these pages. `false`, and nothing taken, unless all of them are free.
    pub fn take_at(&mut self, start: u64, count: u64) -> bool {
        let Some((&first, &length)) = self.by_start.range(..=start).next_back() else { return false };
        let (end, range_end) = (start + count, first + length);
        if end > range_end {
            return false;
        }
        self.remove(first, length);
        for (first, end) in [(first, start), (end, range_end)] {
            if first < end {
                self.add(first, end - first);
            }
        }
        true
    }

    /// Takes `count` pages from the lowest range that holds them, if they end at `below` or before.
    pub fn take_lowest(&mut self, count: u64, below: u64) -> Option<u64> {
        let (start, length) = self.iter().find(|&(_, length)| length >= count)?;
        if start.saturating_add(count) > below {
            return None;
        }
        self.remove(start, length);
        if length > count {
            self.add(start + count, length - count);
        }
        Some(start)
    }

    /// Pages of the largest range, as far as it is before a page.
    pub fn largest_below(&self, below: u64) -> u64 {
        let before = self.by_start.range(..below);
        before.map(|(&start, &length)| length.min(below - start)).max().unwrap_or(0)
    }

    /// Whether [`FreeRanges::take`] would find `count` pages.
    pub fn holds(&self, count: u64, align: u64) -> bool {
        self.find(count, align).is_some()
    }

    /// Takes `count` pages: the smallest range that holds them at a multiple of `align`, lowest first among equals.
    pub fn take(&mut self, count: u64, align: u64) -> Option<u64> {
        let (start, length, at) = self.find(count, align)?;
        self.remove(start, length);
        self.add(start, at - start);
        self.add(at + count, start + length - (at + count));
        Some(at)
    }

    /// First page of the free range that ends at `end`, or `end` itself: what a file of `end` pages could shrink to.
    pub fn trailing(&self, end: u64) -> u64 {
        match self.by_start.range(..end).next_back() {
            Some((&start, &length)) if start + length == end => start,
            _ => end,
        }
    }

    /// Forgets the range that ends at `end`, if one does, and returns its first page (or `end`).
    pub fn cut_trailing(&mut self, end: u64) -> u64 {
        let start = self.trailing(end);
        if start < end {
            self.remove(start, end - start);
        }
        start
    }

    /// The range that serves an allocation, as start and length, and where in it that begins.
    fn find(&self, count: u64, align: u64) -> Option<(u64, u64, u64)> {
        assert!(count > 0, "an allocation has at least one page");
        assert!(align > 0, "an alignment is at least one page");
        self.by_size.range((count, 0)..).find_map(|&(length, start)| {
            let at = start.next_multiple_of(align);
            (at + count <= start + length).then_some((start, length, at))
        })
    }

    fn add(&mut self, start: u64, count: u64) {
        if count > 0 {
            self.by_start.insert(start, count);
            self.by_size.insert((count, start));
            self.pages += count;
        }
    }

    fn remove(&mut self, start: u64, count: u64) {
        self.by_start.remove(&start);
        self.by_size.remove(&(count, start));
        self.pages -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_ranges_are_joined() {
        let mut free = FreeRanges::default();
        free.insert(10, 2);
        free.insert(14, 2);
        free.insert(12, 2);
        assert_eq!(free.iter().collect::<Vec<_>>(), [(10, 6)]);
        assert_eq!(free.pages(), 6);
    }

    #[test]
    fn the_smallest_range_that_fits_is_taken() {
        let mut free = FreeRanges::default();
        free.insert(100, 50);
        free.insert(10, 5);
        free.insert(30, 8);
        assert_eq!(free.take(6, 1), Some(30));
        assert_eq!(free.take(5, 1), Some(10));
        assert!(free.holds(50, 1) && !free.holds(51, 1) && !free.holds(50, 16));
        assert_eq!(free.take(60, 1), None);
        assert_eq!(free.iter().collect::<Vec<_>>(), [(36, 2), (100, 50)]);
    }

    #[test]
    fn an_aligned_allocation_leaves_both_sides_free() {
        let mut free = FreeRanges::default();
        free.insert(100, 300);
        assert_eq!(free.take(128, 128), Some(128));
        assert_eq!(free.iter().collect::<Vec<_>>(), [(100, 28), (256, 144)]);
        assert_eq!(free.cut_trailing(400), 256);
        assert_eq!(free.cut_trailing(400), 400);
        assert_eq!(free.pages(), 28);
    }

    #[test]
    #[should_panic(expected = "freed twice")]
    fn freeing_a_free_page_panics() {
        let mut free = FreeRanges::default();
        free.insert(10, 5);
        free.insert(14, 1);
    }
}
