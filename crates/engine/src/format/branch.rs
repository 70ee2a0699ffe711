//! The branch: layout, and the view over a verified page.
//!
//! Invariant: a [`Branch`] stands for a page that `branch_verify` accepted, so that every offset in it is in bounds. SAFETY
//! comments here name what that proved. Nothing is assumed about the range of keys that a parent sends here: routing
//! compares the node's prefix, so that a subtree may be adopted under a parent whose range is wider.
#![allow(unsafe_code)] // Reads of a verified page without bounds checks.

use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::mem::offset_of;

use crate::format::bytes::{array_at, at_most, equal, head4, head8, slice_at, u16_at, u32_at, u64_at};
use crate::format::cell::{CellKey, LENGTH_MASK, LongKeys, OVERFLOW_BIT, Separator};
use crate::format::hash::Identity;
use crate::format::leaf::long_key_at;
use crate::format::overflow::{INLINE_KEY_BYTES_MAX, OverflowRef};
use crate::format::page::{Offence, PageKind, PageSize, verify_page};
use crate::format::search::{HeadLine, HintLines, Isa, Search, prefetch};
use crate::ids::{Birth, ExtentId, PageRef};

/// The header as stored, for its offsets only: it is never read as a whole.
#[repr(C)]
struct Header {
    kind: u8,
    level: u8,
    separator_count: u16,
    prefix_length: u16,
    hint_count: u16,
    heads_offset: u16,
    children_offset: u16,
    counts_offset: u16,
    slots_offset: u16,
    prefix_offset: u16,
    separators_offset: u16,
    flags: u8,
    reserved: [u8; 3],
    prefix_start: [u8; PREFIX_START_BYTES],
}

pub(super) const LEVEL: usize = offset_of!(Header, level);
pub(super) const SEPARATOR_COUNT: usize = offset_of!(Header, separator_count);
pub(super) const PREFIX_LENGTH: usize = offset_of!(Header, prefix_length);
pub(super) const HINT_COUNT: usize = offset_of!(Header, hint_count);
pub(super) const HEADS_OFFSET: usize = offset_of!(Header, heads_offset);
pub(super) const CHILDREN_OFFSET: usize = offset_of!(Header, children_offset);
pub(super) const COUNTS_OFFSET: usize = offset_of!(Header, counts_offset);
pub(super) const SLOTS_OFFSET: usize = offset_of!(Header, slots_offset);
pub(super) const PREFIX_OFFSET: usize = offset_of!(Header, prefix_offset);
pub(super) const SEPARATORS_OFFSET: usize = offset_of!(Header, separators_offset);
pub(super) const FLAGS: usize = offset_of!(Header, flags);
pub(super) const RESERVED: usize = offset_of!(Header, reserved);
/// The prefix begins here; what is too long stands at `prefix_offset` only.
pub(super) const PREFIX_START: usize = offset_of!(Header, prefix_start);
/// As much of the prefix as the header's cache line holds.
pub(super) const PREFIX_START_BYTES: usize = 40;
/// Hints begin here, in whole cache lines.
pub(super) const HINTS: usize = 64;

const _: () = assert!(size_of::<Header>() == HINTS && offset_of!(Header, kind) == 0 && LEVEL == 1);
const _: () = assert!(SEPARATOR_COUNT == 2 && PREFIX_LENGTH == 4 && HINT_COUNT == 6 && HEADS_OFFSET == 8);
const _: () = assert!(CHILDREN_OFFSET == 10 && COUNTS_OFFSET == 12 && SLOTS_OFFSET == 14 && PREFIX_OFFSET == 16);
const _: () = assert!(SEPARATORS_OFFSET == 18 && FLAGS == 20 && RESERVED == 21 && PREFIX_START == 24);

/// Flag: some separator is an overflow.
pub(super) const HAS_LONG_SEPARATOR: u8 = 1;
/// Highest level of a branch: trees are at most 64 pages deep.
pub const LEVEL_MAX: u8 = 63;
/// Heads in a cache line.
pub(super) const LINE_HEADS: usize = 16;
/// A cache line.
pub(super) const LINE_BYTES: usize = 64;
/// Bytes of a child reference.
pub(super) const CHILD_BYTES: usize = 8;
/// Bytes of a separator's length field.
pub(super) const SEPARATOR_HEADER_BYTES: usize = 2;
/// In a child reference: the subtree has overflow keys or values.
pub(super) const CHILD_OVERFLOW: u64 = 1 << 56;
/// Bits of a child reference that are zero.
pub(super) const CHILD_RESERVED: u64 = !0 << 57;
/// Counts of a child stay within this, so that a branch's sum cannot overflow.
pub(super) const COUNT_MAX: i64 = 1 << 48;
/// Lines of hints in the largest branch: a separator takes a head, a child, a count, a slot and a field at least.
const HINT_LINES_MAX: usize = (PageSize::KiB16.body_bytes() / (4 + CHILD_BYTES + 2 + 2 + SEPARATOR_HEADER_BYTES))
    .div_ceil(LINE_HEADS * LINE_HEADS);
const _: () = assert!(HINT_LINES_MAX * LINE_BYTES == size_of::<HintLines>());

/// Where the parts of a branch begin that follow from its level, separator count and prefix length.
pub(super) struct Layout {
    pub hint_count: usize,
    pub heads: usize,
    pub children: usize,
    pub counts: usize,
    pub slots: usize,
    pub prefix: usize,
    pub separators: usize,
}

impl Layout {
    pub(super) const fn new(level: u8, separator_count: usize, prefix_length: usize) -> Self {
        let hint_count = separator_count.div_ceil(LINE_HEADS);
        let hint_lines = if hint_count == 0 { 1 } else { hint_count.div_ceil(LINE_HEADS) };
        let heads = HINTS + LINE_BYTES * hint_lines;
        let children = heads + LINE_BYTES * hint_count;
        let counts = children + CHILD_BYTES * (separator_count + 1);
        let slots = counts + count_bytes(level) * (separator_count + 1);
        let prefix = slots + 2 * separator_count;
        Self { hint_count, heads, children, counts, slots, prefix, separators: prefix + prefix_length }
    }
}

/// Bytes of a child's count.
pub(super) const fn count_bytes(level: u8) -> usize {
    if level == 1 { 2 } else { 8 }
}

/// A reference to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// The child.
    pub page: PageRef,
    /// Whether some key or value below it lives in an overflow.
    pub has_overflow: bool,
}

impl Child {
    pub(super) fn to_bits(self) -> u64 {
        let flags = if self.has_overflow { CHILD_OVERFLOW } else { 0 };
        self.page.extent.0 as u64 | (self.page.slot as u64) << 32 | flags
    }

    #[inline(always)]
    pub(super) fn from_bits(bits: u64) -> Self {
        let page = PageRef { extent: ExtentId(bits as u32), slot: (bits >> 32) as u32 & (PageRef::SLOTS_MAX - 1) };
        Self { page, has_overflow: bits & CHILD_OVERFLOW != 0 }
    }
}

/// What a branch of some level begins with, kind and level, as one number: a descent counts it down.
#[derive(Clone, Copy, Debug)]
pub struct BranchStart(u16);

impl BranchStart {
    /// That of a level; [`BranchStart::is_branch`] is false if it is 0, which leaves have.
    #[inline(always)]
    pub fn of_level(level: u8) -> Self {
        Self(u16::from_le_bytes([PageKind::Branch as u8, level]))
    }

    /// Whether it is of a level that branches have.
    #[inline(always)]
    pub fn is_branch(self) -> bool {
        self.0 > u8::MAX.into()
    }

    /// Whether it is of a level whose children are leaves.
    #[inline(always)]
    pub fn is_lowest(self) -> bool {
        self.0 == Self::of_level(1).0
    }

    /// That of the level below.
    ///
    /// Requires: `self.is_branch()`.
    #[inline(always)]
    pub fn below(self) -> Self {
        debug_assert!(self.is_branch(), "nothing is below leaves");
        Self(self.0 - (1 << 8))
    }
}

/// The first eight bytes of a key as a little-endian number, with zeros past its end.
#[inline(always)]
pub fn key_start(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(start) => u64::from_le_bytes(*start),
        None => head8(key, 0).swap_bytes(),
    }
}

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

/// Stands in for the pages of long keys where nobody waits for them.
struct NoLongKeys;

/// The pages of long keys were not asked.
struct Unasked;

impl LongKeys for NoLongKeys {
    type Error = Unasked;

    fn compare(&self, _: &OverflowRef, _: &[u8]) -> Result<Ordering, Unasked> {
        Err(Unasked)
    }
}

/// A verified branch.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'p> {
    page: &'p [u8],
}

impl<'p> Branch<'p> {
    /// A view over a page.
    ///
    /// # Safety
    /// `verify_page` or `verify_own_page` accepted `page` as a branch, and its bytes do not change during `'p`.
    #[inline(always)]
    pub const unsafe fn new_unchecked(page: &'p [u8]) -> Self {
        Self { page }
    }

    /// Whether a verified page is a branch of this level.
    #[inline(always)]
    pub fn is_of_level(page: &[u8], level: u8) -> bool {
        Self::begins_with(page, BranchStart::of_level(level))
    }

    /// Whether a verified page is a branch of the level that belongs to `start`.
    #[inline(always)]
    pub fn begins_with(page: &[u8], start: BranchStart) -> bool {
        u16::from_le_bytes([page[0], page[LEVEL]]) == start.0
    }

    /// Verifies a page, and returns the view over it.
    ///
    /// # Errors
    /// The first offence found; a page of another kind is one too.
    pub fn verify(page: &'p [u8], identity: &Identity, at: PageRef, birth: Birth) -> Result<Self, Offence> {
        match verify_page(page, identity, at, birth)? {
            // SAFETY: just verified, and the shared borrow keeps its bytes as they are.
            PageKind::Branch => Ok(unsafe { Self::new_unchecked(page) }),
            _ => Err(Offence::new(0, "not a branch")),
        }
    }

    /// Height above the leaves: 1 if the children are leaves.
    #[inline(always)]
    pub fn level(self) -> u8 {
        // SAFETY: a page is longer than its header.
        unsafe { array_at::<1>(self.page, LEVEL)[0] }
    }

    /// Number of children, at least 1.
    #[inline(always)]
    pub fn children(self) -> usize {
        self.separator_count() + 1
    }

    /// Number of separators: one less than children.
    #[inline(always)]
    pub fn separator_count(self) -> usize {
        self.header_u16(SEPARATOR_COUNT)
    }

    /// A child.
    ///
    /// # Panics
    /// Unless `index < self.children()`.
    #[inline(always)]
    pub fn child(self, index: usize) -> Child {
        assert!(index <= self.separator_count(), "child index out of range");
        // SAFETY: verification placed a reference for each child inside the page.
        Child::from_bits(unsafe { u64_at(self.page, self.header_u16(CHILDREN_OFFSET) + CHILD_BYTES * index) })
    }

    /// Net count of a child's entries.
    ///
    /// # Panics
    /// Unless `index < self.children()`.
    #[inline]
    pub fn count(self, index: usize) -> i64 {
        assert!(index <= self.separator_count(), "child index out of range");
        let counts = self.header_u16(COUNTS_OFFSET);
        if self.level() == 1 {
            // SAFETY: verification placed a u16 for each child of a branch of level 1 inside the page.
            unsafe { u16_at(self.page, counts + 2 * index) as u16 as i16 as i64 }
        } else {
            // SAFETY: verification placed a u64 for each child of a higher branch inside the page.
            unsafe { u64_at(self.page, counts + 8 * index) as i64 }
        }
    }

    /// Sum of the counts of the children in `range`.
    ///
    /// # Panics
    /// Unless `range.end <= self.children()`.
    pub fn count_of(self, range: std::ops::Range<usize>) -> i64 {
        range.map(|index| self.count(index)).sum()
    }

    /// The bytes that all separators begin with, and the rest of one separator's part that orders it.
    ///
    /// # Panics
    /// Unless `index < self.separator_count()`.
    pub fn separator_parts(self, index: usize) -> (&'p [u8], &'p [u8]) {
        assert!(index < self.separator_count(), "separator index out of range");
        // SAFETY: verification placed the prefix inside the page.
        let prefix = unsafe { slice_at(self.page, self.header_u16(PREFIX_OFFSET), self.prefix_length()) };
        (prefix, self.suffix(index))
    }

    /// A separator: the smallest key that belongs to child `index + 1`. One that is stored without the node's prefix is put
    /// together in `buffer`.
    ///
    /// # Panics
    /// Unless `index < self.separator_count()`.
    pub fn separator<'b>(self, index: usize, buffer: &'b mut Vec<u8>) -> Separator<'b>
    where
        'p: 'b,
    {
        let (prefix, suffix) = self.separator_parts(index);
        if self.is_long(index) {
            // SAFETY: the length field before it says that a long separator is stored there.
            return unsafe { long_key_at(self.page, self.separator_offset(index) + SEPARATOR_HEADER_BYTES) };
        }
        buffer.clear();
        buffer.extend_from_slice(prefix);
        buffer.extend_from_slice(suffix);
        CellKey::Inline(buffer)
    }

    /// Index of the child to which `key` belongs: the number of separators that are at most `key`.
    ///
    /// # Errors
    /// Those of `long_keys`.
    #[inline(always)]
    pub fn route<S: Search, L: LongKeys>(self, key: &[u8], long_keys: &L) -> Result<usize, L::Error> {
        let part = &key[..key.len().min(INLINE_KEY_BYTES_MAX)];
        self.route_part::<S, L>(part, key, long_keys)
    }

    /// The child to which `key` belongs, or [`PageRef::NOWHERE`] if the pages of long keys would have to tell.
    ///
    /// The key must not be longer than [`INLINE_KEY_BYTES_MAX`]; `start` is what [`key_start`] gives for it. An `Option` would add a branch instruction
    /// at each level of each get; a look-up at [`PageRef::NOWHERE`] finds no page instead.
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
        match self.route_tied::<S, NoLongKeys>(key, key, head, place, &NoLongKeys) {
            Ok(index) => self.child_at(index),
            Err(Unasked) => PageRef::NOWHERE,
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
            return self.head_far_behind(key, prefix_length);
        };
        if prefix_length >= 8 {
            return self.head_far_behind(key, prefix_length);
        }
        // One word tells without a branch on the prefix's length, which differs from page to page.
        // SAFETY: the header has room for the prefix's first word.
        let differ = unsafe { u64_at(self.page, PREFIX_START) } ^ start;
        (differ & ((1 << (8 * prefix_length)) - 1) == 0).then_some(head)
    }

    /// [`Branch::head_of`] for long prefixes. Apart, to leave registers to the rest.
    #[inline(never)]
    fn head_far_behind(self, key: &[u8], prefix_length: usize) -> Option<u32> {
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

    /// Where the first head is that is not below `head`; `None` if all are. The line of children there is on its way.
    #[inline(always)]
    fn place_of_head<S: Search>(self, head: u32) -> Option<HeadPlace> {
        let hint_count = self.header_u16(HINT_COUNT);
        // SAFETY: a page is longer than its header and the most lines of hints that a branch can have.
        let line = S::hints_below(unsafe { array_at(self.page, HINTS) }, hint_count, head);
        if line >= hint_count {
            return None;
        }
        let heads_at = self.header_u16(HEADS_OFFSET) + LINE_BYTES * line;
        // The child is one of sixteen now: their two lines can be on their way while the heads are.
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
        // Mostly it is one separator, of which a few more bytes tell. What is next may be no head, which costs a longer look.
        // SAFETY: after the heads come the references to children, one at least.
        if unsafe { u32_at(self.page, place.head_at() + 4) } != head
            && let Some(is_at_most) = self.tied_at_most::<S>(index, part, self.prefix_length())
        {
            return Ok(select_unpredictable(is_at_most, index + 1, index));
        }
        self.route_ties(key, long_keys, index, self.ties_end::<S>(head) - index)
    }

    /// Whether a separator is at most a key, whose head it has, if the eight bytes after the head tell.
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

    #[inline(always)]
    fn header_u16(self, at: usize) -> usize {
        // SAFETY: `at` is a field of the header, and a page is longer than its header.
        unsafe { u16_at(self.page, at) }
    }

    #[inline(always)]
    fn prefix_length(self) -> usize {
        self.header_u16(PREFIX_LENGTH)
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

    /// Bisects `size` separators from `from` on, whose heads are that of `key`. Apart, to leave registers to the rest.
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
                // The eight bytes after the head mostly tell, without a loop. What comes after the separator counts as zeros.
                let word = (word & u64::MAX.unbounded_shr(8 * 12u32.saturating_sub(field as u32))).swap_bytes();
                if word != wanted {
                    word < wanted
                } else {
                    // SAFETY: verification proved that a separator ends inside the body.
                    at_most(unsafe { slice_at(self.page, at + SEPARATOR_HEADER_BYTES, field) }, key_suffix)
                }
            };
            // Both ways are as likely: a branch would be guessed wrongly half of the time.
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

    /// Where a separator's length field is. Requires: `index < separator_count`.
    #[inline(always)]
    fn separator_offset(self, index: usize) -> usize {
        // SAFETY: verification placed a slot for each separator inside the page.
        unsafe { u16_at(self.page, self.header_u16(SLOTS_OFFSET) + 2 * index) }
    }

    /// Requires: `index < separator_count`.
    fn is_long(self, index: usize) -> bool {
        // SAFETY: verification proved that a separator's slot leads to its length field.
        unsafe { u16_at(self.page, self.separator_offset(index)) & OVERFLOW_BIT as usize != 0 }
    }

    /// A separator's ordering part after the prefix. Requires: `index < separator_count`.
    fn suffix(self, index: usize) -> &'p [u8] {
        let at = self.separator_offset(index) + SEPARATOR_HEADER_BYTES;
        if self.is_long(index) {
            let prefix_length = self.prefix_length();
            // SAFETY: verification proved that a long separator stores its first 1,024 bytes, the prefix included.
            return unsafe { slice_at(self.page, at + prefix_length, INLINE_KEY_BYTES_MAX - prefix_length) };
        }
        // SAFETY: verification proved that a separator's slot leads to its length field.
        let length = unsafe { u16_at(self.page, at - SEPARATOR_HEADER_BYTES) } & LENGTH_MASK as usize;
        // SAFETY: verification proved that a separator ends inside the body.
        unsafe { slice_at(self.page, at, length) }
    }
}
