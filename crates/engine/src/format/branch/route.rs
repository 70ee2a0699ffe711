//! Routing: to which child of a branch a key belongs.
//!
//! Nothing is assumed about the range of keys that a parent sends here: routing compares the node's prefix, so that a
//! subtree may be adopted under a parent whose range is wider. SAFETY comments here name what verification proved:
//! see `view`.
#![allow(unsafe_code)] // Reads of a verified page without bounds checks.

use std::cmp::Ordering;
use std::hint::select_unpredictable;

use crate::format::branch::child::Child;
use crate::format::branch::layout::{
    CHILD_BYTES, CHILDREN_OFFSET, HEADS_OFFSET, HINT_COUNT, HINTS, LINE_BYTES, LINE_HEADS, PREFIX_OFFSET, PREFIX_START,
    PREFIX_START_BYTES, SEPARATOR_HEADER_BYTES,
};
use crate::format::branch::view::Branch;
use crate::format::bytes::{array_at, at_most, equal, head4, head8, slice_at, u16_at, u32_at, u64_at};
use crate::format::cell::{LongKeys, OVERFLOW_BIT, OverflowRef, long_key_at};
use crate::format::page::INLINE_KEY_BYTES_MAX;
use crate::format::search::{HeadLine, Isa, Search, prefetch};
use crate::ids::PageRef;

/// Where a head is in a branch.
#[derive(Clone, Copy)]
struct HeadPlace {
    /// Which line of heads it is in.
    line: usize,
    /// Where that line begins in the page.
    heads_at: usize,
    /// Where the references to the children of that line begin.
    children_at: usize,
    /// Which head of the line it is.
    in_line: usize,
}

impl HeadPlace {
    #[inline(always)]
    fn index(self) -> usize {
        LINE_HEADS * self.line + self.in_line
    }

    #[inline(always)]
    fn head_at(self) -> usize {
        self.heads_at + 4 * self.in_line
    }

    /// Whether no separator has this head, so that the heads alone route. Requires: `branch` found the place for it.
    #[inline(always)]
    fn is_free_of(self, branch: Branch<'_>, head: u32) -> bool {
        // SAFETY: the line's last head is at least `head`, as its hint is, so that the place is within the line.
        unsafe { u32_at(branch.page, self.head_at()) != head }
    }
}

/// Takes the place of the pages of long keys where routing must not read them.
struct WithoutLongKeys;

/// Only the page of a long key can decide.
struct NeedsLongKey;

impl LongKeys for WithoutLongKeys {
    type Error = NeedsLongKey;

    fn compare(&self, _: &OverflowRef, _: &[u8]) -> Result<Ordering, NeedsLongKey> {
        Err(NeedsLongKey)
    }
}

impl<'p> Branch<'p> {
    /// Index of the child to which `key` belongs: the number of separators that are at most `key`.
    ///
    /// # Errors
    /// Those of `long_keys`.
    #[inline(always)]
    pub fn route<S: Search, L: LongKeys>(self, key: &[u8], long_keys: &L) -> Result<usize, L::Error> {
        let part = &key[..key.len().min(INLINE_KEY_BYTES_MAX)];
        self.route_part::<S, L>(part, key, long_keys)
    }

    /// The child to which `key` belongs, or [`PageRef::NOWHERE`] if only the pages of long keys can decide.
    ///
    /// The key must not be longer than [`INLINE_KEY_BYTES_MAX`]; `start` is its [`key_start`](super::key_start). An
    /// `Option` would add a branch instruction at each level of each get; a lookup at [`PageRef::NOWHERE`] finds no
    /// page instead.
    #[inline(always)]
    pub fn child_of_short<S: Search>(self, key: &[u8], start: u64) -> PageRef {
        let prefix_length = self.prefix_length();
        let Some(head) = self.head_of::<S>(key, start, prefix_length) else {
            return self.child_at(self.route_outside(key));
        };
        let Some(place) = self.place_of_head::<S>(head) else { return self.child_at(self.separator_count()) };
        if place.is_free_of(self, head) {
            // SAFETY: verification placed a reference for each child inside the page.
            return Child::from_bits(unsafe { u64_at(self.page, place.children_at + CHILD_BYTES * place.in_line) })
                .page;
        }
        match self.route_tied::<S, WithoutLongKeys>(key, key, head, place, &WithoutLongKeys) {
            Ok(index) => self.child_at(index),
            Err(NeedsLongKey) => PageRef::NOWHERE,
        }
    }

    /// The head of a key that begins with the node's prefix.
    #[inline(always)]
    fn head_of<S: Search>(self, key: &[u8], start: u64, prefix_length: usize) -> Option<u32> {
        if S::ISA == Isa::Avx512 {
            // It masks what it loads, and so needs no cases.
            return self.has_prefix::<S>(key, prefix_length).then(|| S::head4(key, prefix_length as u16));
        }
        let head = if prefix_length + 4 <= key.len() {
            // SAFETY: just compared.
            u32::from_be_bytes(*unsafe { array_at(key, prefix_length) })
        } else if key.len() <= 8 && prefix_length <= key.len() {
            // All of the key is in its start.
            (start.swap_bytes().unbounded_shl(8 * prefix_length as u32) >> 32) as u32
        } else {
            return self.head_after_long_prefix(key, prefix_length);
        };
        if prefix_length >= 8 {
            return self.head_after_long_prefix(key, prefix_length);
        }
        // Comparing one word needs no branch on the prefix's length, which differs from page to page.
        // SAFETY: the header has room for the prefix's first word.
        let differ = unsafe { u64_at(self.page, PREFIX_START) } ^ start;
        (differ & ((1 << (8 * prefix_length)) - 1) == 0).then_some(head)
    }

    /// [`Branch::head_of`] for long prefixes. A function of its own leaves registers to the rest.
    #[inline(never)]
    fn head_after_long_prefix(self, key: &[u8], prefix_length: usize) -> Option<u32> {
        // SAFETY: verification placed the prefix inside the page.
        let prefix = unsafe { slice_at(self.page, self.header_u16(PREFIX_OFFSET), prefix_length) };
        let has_prefix = key.len() >= prefix_length && equal(prefix, &key[..prefix_length]);
        has_prefix.then(|| head4(key, prefix_length))
    }

    /// Where the child is that routing has chosen.
    #[inline(always)]
    fn child_at(self, index: usize) -> PageRef {
        debug_assert!(index <= self.separator_count(), "child index out of range");
        // SAFETY: verification placed a reference for each child inside the page, and routing counts separators.
        let bits = unsafe { u64_at(self.page, self.header_u16(CHILDREN_OFFSET) + CHILD_BYTES * index) };
        Child::from_bits(bits).page
    }

    /// [`Branch::route`], given the part of `key` that a page could hold.
    #[inline(always)]
    fn route_part<S: Search, L: LongKeys>(self, part: &[u8], key: &[u8], long_keys: &L) -> Result<usize, L::Error> {
        let prefix_length = self.prefix_length();
        if !self.has_prefix::<S>(key, prefix_length) {
            return Ok(self.route_outside(key));
        }
        let head = S::head4(part, prefix_length as u16);
        let Some(place) = self.place_of_head::<S>(head) else { return Ok(self.separator_count()) };
        if place.is_free_of(self, head) {
            return Ok(place.index());
        }
        self.route_tied::<S, L>(part, key, head, place, long_keys)
    }

    /// Where the first head is that is not below `head`; `None` if all are. Prefetches the line of children there.
    #[inline(always)]
    fn place_of_head<S: Search>(self, head: u32) -> Option<HeadPlace> {
        let hint_count = self.header_u16(HINT_COUNT);
        // SAFETY: a page is longer than its header and the most lines of hints that a branch can have.
        let line = S::hints_below(unsafe { array_at(self.page, HINTS) }, hint_count, head);
        if line >= hint_count {
            return None;
        }
        let heads_at = self.header_u16(HEADS_OFFSET) + LINE_BYTES * line;
        // The child is one of sixteen now: their two lines can be loaded while the heads are.
        let children_at = self.header_u16(CHILDREN_OFFSET) + CHILD_BYTES * LINE_HEADS * line;
        prefetch(self.page, children_at);
        prefetch(self.page, children_at + LINE_BYTES);
        // SAFETY: verification placed `hint_count` lines of heads inside the page; `line < hint_count`.
        let in_line = S::count_below(unsafe { array_at(self.page, heads_at) }, head);
        Some(HeadPlace { line, heads_at, children_at, in_line })
    }

    /// Routes a key whose head is that of the separator at `place`.
    #[inline(always)]
    fn route_tied<S: Search, L: LongKeys>(
        self,
        part: &[u8],
        key: &[u8],
        head: u32,
        place: HeadPlace,
        long_keys: &L,
    ) -> Result<usize, L::Error> {
        let index = place.index();
        // Mostly it is one separator, and a few more bytes decide. The next number may be no head, which costs a
        // longer look.
        // SAFETY: after the heads come the references to children, one at least.
        if unsafe { u32_at(self.page, place.head_at() + 4) } != head
            && let Some(is_at_most) = self.tied_at_most::<S>(index, part, self.prefix_length())
        {
            return Ok(select_unpredictable(is_at_most, index + 1, index));
        }
        self.route_ties(key, long_keys, index, self.ties_end::<S>(head) - index)
    }

    /// Whether a separator is at most a key that has its head, if the eight bytes after the head decide.
    ///
    /// Requires: `index < separator_count`, and `part` is that of the key that a page could hold.
    #[inline(always)]
    fn tied_at_most<S: Search>(self, index: usize, part: &[u8], prefix_length: usize) -> Option<bool> {
        let at = self.separator_offset(index);
        // SAFETY: verification proved that a separator's slot leads to its length field.
        let field = unsafe { u16_at(self.page, at) };
        if field & OVERFLOW_BIT as usize != 0 {
            return None;
        }
        // SAFETY: verification proved that a separator ends inside the body.
        let suffix = unsafe { slice_at(self.page, at + SEPARATOR_HEADER_BYTES, field) };
        let (stored, wanted) = (S::head8(suffix, 4), S::head8(part, prefix_length as u16 + 4));
        if stored == wanted { None } else { Some(stored < wanted) }
    }

    /// Whether `key` begins with the node's prefix.
    #[inline(always)]
    fn has_prefix<S: Search>(self, key: &[u8], prefix_length: usize) -> bool {
        if key.len() < prefix_length {
            return false;
        }
        // SAFETY: `prefix_length <= key.len()`.
        let key_start = unsafe { slice_at(key, 0, prefix_length) };
        if prefix_length <= PREFIX_START_BYTES {
            // SAFETY: the header has room for a prefix of this length, and verification found it there.
            return S::equal_short(unsafe { slice_at(self.page, PREFIX_START, prefix_length) }, key_start);
        }
        // SAFETY: verification placed the prefix inside the page.
        S::equal(unsafe { slice_at(self.page, self.header_u16(PREFIX_OFFSET), prefix_length) }, key_start)
    }

    /// Routes a key that does not begin with the prefix: below all separators, or above.
    #[cold]
    #[inline(never)]
    fn route_outside(self, key: &[u8]) -> usize {
        // SAFETY: verification placed the prefix inside the page.
        let prefix = unsafe { slice_at(self.page, self.header_u16(PREFIX_OFFSET), self.prefix_length()) };
        if key < prefix { 0 } else { self.separator_count() }
    }

    /// Sums what `count` finds in the lines of hints. Hints past the last are the largest number.
    ///
    /// Written out, because a loop over so few lines costs more to set up than it does.
    #[inline(always)]
    fn hints_counted(self, hint_count: usize, count: impl Fn(&HeadLine) -> usize) -> usize {
        let mut total = count(self.hint_line(0));
        if hint_count > LINE_HEADS {
            total += count(self.hint_line(1));
            if hint_count > 2 * LINE_HEADS {
                total += count(self.hint_line(2));
                if hint_count > 3 * LINE_HEADS {
                    total += count(self.hint_line(3));
                }
            }
        }
        total
    }

    /// A line of hints. Requires: it is the first, or begins before the last hint's end.
    #[inline(always)]
    fn hint_line(self, line: usize) -> &'p HeadLine {
        // SAFETY: verification placed whole lines for all hints before the heads, and at least one line.
        unsafe { array_at(self.page, HINTS + LINE_BYTES * line) }
    }

    /// Bisects `size` separators from `from` on, whose heads are that of `key`. A function of its own leaves
    /// registers to the rest.
    #[inline(never)]
    fn route_ties<L: LongKeys>(self, key: &[u8], long_keys: &L, from: usize, size: usize) -> Result<usize, L::Error> {
        let mut low = from;
        let mut size = size;
        // SAFETY: `route` found that `key` begins with the prefix.
        let key_suffix = unsafe { slice_at(key, self.prefix_length(), key.len() - self.prefix_length()) };
        let wanted = head8(key_suffix, 4);
        while size > 0 {
            let middle = low + size / 2;
            let at = self.separator_offset(middle);
            // SAFETY: verification proved that a separator's slot leads to its length field.
            let field = unsafe { u16_at(self.page, at) };
            let is_at_most = if field & OVERFLOW_BIT as usize != 0 {
                self.long_separator_at_most(middle, key, long_keys)?
            } else {
                // SAFETY: a separator ends inside the body, and after that come the 48 bytes of the trailer.
                let word = unsafe { u64_at(self.page, at + SEPARATOR_HEADER_BYTES + 4) };
                // The eight bytes after the head mostly decide, without a loop. Bytes after the separator count as
                // zeros.
                let word = (word & u64::MAX.unbounded_shr(8 * 12u32.saturating_sub(field as u32))).swap_bytes();
                if word != wanted {
                    word < wanted
                } else {
                    // SAFETY: verification proved that a separator ends inside the body.
                    at_most(unsafe { slice_at(self.page, at + SEPARATOR_HEADER_BYTES, field) }, key_suffix)
                }
            };
            // Both results are equally likely: a branch would be mispredicted half of the time.
            low = select_unpredictable(is_at_most, middle + 1, low);
            size = select_unpredictable(is_at_most, size - size / 2 - 1, size / 2);
        }
        Ok(low)
    }

    /// How many separators have a head of at most `head`.
    #[inline(always)]
    fn ties_end<S: Search>(self, head: u32) -> usize {
        let hint_count = self.header_u16(HINT_COUNT);
        let line = self.hints_counted(hint_count, |hints| S::count_at_most(hints, head));
        // Padding counts too if `head` is the largest number.
        if line >= hint_count {
            return self.separator_count();
        }
        let heads_at = self.header_u16(HEADS_OFFSET) + LINE_BYTES * line;
        // SAFETY: verification placed `hint_count` lines of heads inside the page; `line < hint_count`.
        let place = S::count_at_most(unsafe { array_at(self.page, heads_at) }, head);
        (line * LINE_HEADS + place).min(self.separator_count())
    }

    #[cold]
    #[inline(never)]
    fn long_separator_at_most<L: LongKeys>(self, index: usize, key: &[u8], long_keys: &L) -> Result<bool, L::Error> {
        // SAFETY: callers found the overflow bit in this separator's length field.
        let separator = unsafe { long_key_at(self.page, self.separator_offset(index) + SEPARATOR_HEADER_BYTES) };
        Ok(separator.compare(key, long_keys)?.is_le())
    }
}
