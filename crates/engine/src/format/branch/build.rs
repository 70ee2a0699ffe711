//! Builder of branches: stages children with the separators before them, and cuts pages off the front.

use std::collections::VecDeque;

use crate::format::branch::child::Child;
use crate::format::branch::layout::{
    CHILD_BYTES, CHILDREN_OFFSET, COUNT_MAX, COUNTS_OFFSET, FLAGS, HAS_LONG_SEPARATOR, HEADS_OFFSET, HINT_COUNT, HINTS,
    LEVEL, LEVEL_MAX, LINE_HEADS, Layout, PREFIX_LENGTH, PREFIX_OFFSET, PREFIX_START, PREFIX_START_BYTES,
    SEPARATOR_COUNT, SEPARATOR_HEADER_BYTES, SEPARATORS_OFFSET, SLOTS_OFFSET,
};
use crate::format::bytes::{common_prefix, head4, put};
use crate::format::cell::{CellKey, LONG_KEY_BYTES, OVERFLOW_BIT, OverflowRef, Separator};
use crate::format::page::{INLINE_KEY_BYTES_MAX, PageKind, PageSize};
use crate::ids::PageRef;

/// One staged child.
#[derive(Clone, Debug)]
struct Staged {
    /// The ordering part of the separator before it.
    part: Box<[u8]>,
    /// Hash and reference of the separator, if it is long.
    long: Option<OverflowRef>,
    child: Child,
    count: i64,
}

/// What a page that was cut off holds, for its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchSummary {
    /// Number of children.
    pub children: usize,
    /// Sum of the children's counts.
    pub net_count: i64,
    /// Whether some key or value below lives in an overflow.
    pub has_overflow: bool,
}

/// Bytes that separators take together, given their prefix.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    separators: usize,
    long: usize,
    parts: usize,
}

impl Size {
    fn add(&mut self, part: usize, is_long: bool) {
        self.separators += 1;
        if is_long {
            self.long += 1;
        } else {
            self.parts += part;
        }
    }

    fn page_bytes(&self, level: u8, prefix: usize) -> usize {
        let inline = self.separators - self.long;
        Layout::new(level, self.separators, prefix).separators
            + SEPARATOR_HEADER_BYTES * self.separators
            + LONG_KEY_BYTES * self.long
            + (self.parts - prefix * inline)
    }
}

/// Builder of branches of one level. Children may be staged past one page, so that the last two pages can share evenly.
///
/// Each child comes with the separator before it; the first child's belongs to the parent, and is not written.
#[derive(Debug)]
pub struct BranchBuilder {
    page_size: PageSize,
    level: u8,
    staged: VecDeque<Staged>,
    /// Of all separators but the first.
    size: Size,
}

impl BranchBuilder {
    /// An empty builder of branches of this level: 1 if the children are leaves.
    ///
    /// # Panics
    /// Unless the level is between 1 and [`LEVEL_MAX`].
    pub fn new(page_size: PageSize, level: u8) -> Self {
        assert!((1..=LEVEL_MAX).contains(&level), "a branch has a level of 1 to 63");
        Self { page_size, level, staged: VecDeque::new(), size: Size::default() }
    }

    /// The level of the branches built.
    pub fn level(&self) -> u8 {
        self.level
    }

    /// Number of staged children.
    pub fn count(&self) -> usize {
        self.staged.len()
    }

    /// Whether nothing is staged.
    pub fn is_empty(&self) -> bool {
        self.staged.is_empty()
    }

    /// Stages a child. `separator` is above every key of the child before, and at most the least key of this one.
    ///
    /// # Panics
    /// If the separator is longer than an inline key may be, if the slot is out of range, or if the count is more
    /// than a child of this level can have. That separators rise is checked in debug builds.
    pub fn push(&mut self, separator: Separator<'_>, child: Child, count: i64) {
        let long = match separator {
            CellKey::Inline(bytes) => {
                assert!(bytes.len() <= INLINE_KEY_BYTES_MAX, "a separator this long needs an overflow");
                None
            }
            CellKey::Overflow { prefix, hash, at } => {
                assert!(prefix.len() == INLINE_KEY_BYTES_MAX, "a long separator is stored by its first 1,024 bytes");
                assert!(hash == at.checksum, "the hash of a long separator is its checksum");
                Some(at)
            }
        };
        assert!(child.page.slot < PageRef::SLOTS_MAX, "slot of a child is out of range");
        // An entry of a packed leaf takes two bytes at least.
        let limit = if self.level == 1 { (self.page_size.bytes() / 2) as i64 } else { COUNT_MAX };
        assert!((-limit..=limit).contains(&count), "count of a child is out of range");
        let part: Box<[u8]> = separator.part().into();
        debug_assert!(
            // The first of a tree has no separator before it: an empty one stands for it.
            self.staged.len() < 2
                || self.staged.back().is_some_and(|last| last.part < part || (long.is_some() && last.part == part)),
            "separators must rise"
        );
        if !self.staged.is_empty() {
            self.size.add(part.len(), long.is_some());
        }
        self.staged.push_back(Staged { part, long, child, count });
    }

    /// Whether all that is staged and one more child fit one page.
    pub fn fits(&self, separator: Separator<'_>) -> bool {
        let mut size = self.size;
        if !self.staged.is_empty() {
            size.add(separator.part().len(), separator.is_overflow());
        }
        let prefix = self.staged.get(1).map_or(0, |first| common_prefix(&first.part, separator.part()));
        size.page_bytes(self.level, prefix) <= self.page_size.body_bytes()
    }

    /// Bytes that a page of all staged children takes, of [`PageSize::body_bytes`].
    pub fn bytes_used(&self) -> usize {
        self.size.page_bytes(self.level, self.prefix_of(self.staged.len()))
    }

    /// Bytes that a page of the first `count` staged children takes.
    ///
    /// # Panics
    /// Unless `1 <= count <= self.count()`.
    #[cfg(test)]
    pub fn bytes_of(&self, count: usize) -> usize {
        assert!((1..=self.staged.len()).contains(&count), "not a number of staged children");
        let mut size = Size::default();
        for staged in self.staged.range(1..count) {
            size.add(staged.part.len(), staged.long.is_some());
        }
        size.page_bytes(self.level, self.prefix_of(count))
    }

    /// Most of the first staged children that fit one page: the cut for full pages.
    #[cfg(test)]
    pub fn fill_point(&self) -> usize {
        let mut size = Size::default();
        for count in 2..=self.staged.len() {
            let last = &self.staged[count - 1];
            size.add(last.part.len(), last.long.is_some());
            if size.page_bytes(self.level, self.prefix_of(count)) > self.page_size.body_bytes() {
                return count - 1;
            }
        }
        self.staged.len()
    }

    /// The separator before a staged child. That of the first is the parent's.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    pub fn separator(&self, index: usize) -> Separator<'_> {
        let staged = &self.staged[index];
        match staged.long {
            None => CellKey::Inline(&staged.part),
            Some(at) => CellKey::Overflow { prefix: &staged.part, hash: at.checksum, at },
        }
    }

    /// A staged child and its count.
    ///
    /// # Panics
    /// Unless `index < self.count()`.
    pub fn child(&self, index: usize) -> (Child, i64) {
        (self.staged[index].child, self.staged[index].count)
    }

    /// Writes the first `count` staged children as the body of a branch, and forgets them.
    ///
    /// # Panics
    /// If `count` is 0 or more than is staged, if they take more than a page, or if `page` is not of the builder's
    /// size.
    pub fn finish_first(&mut self, count: usize, page: &mut [u8]) -> BranchSummary {
        assert!((1..=self.staged.len()).contains(&count), "not a number of staged children");
        assert!(page.len() == self.page_size.bytes(), "the page is not of the builder's size");
        let summary = self.write(count, page);
        self.staged.drain(..count);
        self.size = Size::default();
        for staged in self.staged.iter().skip(1) {
            self.size.add(staged.part.len(), staged.long.is_some());
        }
        summary
    }

    /// [`BranchBuilder::finish_first`] of all staged children.
    ///
    /// # Panics
    /// As it does.
    pub fn finish(&mut self, page: &mut [u8]) -> BranchSummary {
        self.finish_first(self.staged.len(), page)
    }

    /// Length of the prefix that the separators of the first `count` children share, the first separator left out.
    fn prefix_of(&self, count: usize) -> usize {
        if count < 3 { 0 } else { common_prefix(&self.staged[1].part, &self.staged[count - 1].part) }
    }

    fn write(&self, count: usize, page: &mut [u8]) -> BranchSummary {
        let separators = count - 1;
        let prefix_length = self.prefix_of(count);
        let layout = Layout::new(self.level, separators, prefix_length);
        assert!(layout.separators <= self.page_size.body_bytes(), "the children take more than a page");
        page.fill(0);
        page[HINTS..layout.children].fill(0xFF);
        let prefix = if count > 1 { &self.staged[1].part[..prefix_length] } else { &[] };
        write_header(page, self.level, separators, &layout, prefix);
        let mut at = layout.separators;
        for (index, staged) in self.staged.range(1..count).enumerate() {
            let head = head4(&staged.part, prefix_length).to_le_bytes();
            put(page, layout.heads + 4 * index, head);
            // Each head overwrites the hint of its line, so that the line's last one stays.
            put(page, HINTS + 4 * (index / LINE_HEADS), head);
            put(page, layout.slots + 2 * index, (at as u16).to_le_bytes());
            at = write_separator(page, at, staged, prefix_length, self.page_size.body_bytes());
            if staged.long.is_some() {
                page[FLAGS] |= HAS_LONG_SEPARATOR;
            }
        }
        let mut summary = BranchSummary { children: count, net_count: 0, has_overflow: false };
        for (index, staged) in self.staged.range(..count).enumerate() {
            put(page, layout.children + CHILD_BYTES * index, staged.child.to_bits().to_le_bytes());
            if self.level == 1 {
                put(page, layout.counts + 2 * index, (staged.count as i16).to_le_bytes());
            } else {
                put(page, layout.counts + 8 * index, staged.count.to_le_bytes());
            }
            summary.net_count += staged.count;
            summary.has_overflow |= staged.child.has_overflow;
        }
        summary
    }
}

fn write_header(page: &mut [u8], level: u8, separators: usize, layout: &Layout, prefix: &[u8]) {
    page[0] = PageKind::Branch as u8;
    page[LEVEL] = level;
    let fields = [
        (SEPARATOR_COUNT, separators),
        (PREFIX_LENGTH, prefix.len()),
        (HINT_COUNT, layout.hint_count),
        (HEADS_OFFSET, layout.heads),
        (CHILDREN_OFFSET, layout.children),
        (COUNTS_OFFSET, layout.counts),
        (SLOTS_OFFSET, layout.slots),
        (PREFIX_OFFSET, layout.prefix),
        (SEPARATORS_OFFSET, layout.separators),
    ];
    for (at, value) in fields {
        put(page, at, (value as u16).to_le_bytes());
    }
    let repeated = prefix.len().min(PREFIX_START_BYTES);
    page[PREFIX_START..PREFIX_START + repeated].copy_from_slice(&prefix[..repeated]);
    page[layout.prefix..layout.separators].copy_from_slice(prefix);
}

/// Writes a separator at `at`, and returns where it ends.
fn write_separator(page: &mut [u8], at: usize, staged: &Staged, prefix_length: usize, body_end: usize) -> usize {
    let start = at + SEPARATOR_HEADER_BYTES;
    let length = if staged.long.is_some() { LONG_KEY_BYTES } else { staged.part.len() - prefix_length };
    assert!(start + length <= body_end, "the children take more than a page");
    match staged.long {
        None => {
            put(page, at, (length as u16).to_le_bytes());
            page[start..start + length].copy_from_slice(&staged.part[prefix_length..]);
        }
        Some(reference) => {
            put(page, at, (length as u16 | OVERFLOW_BIT).to_le_bytes());
            page[start..start + INLINE_KEY_BYTES_MAX].copy_from_slice(&staged.part);
            put(page, start + INLINE_KEY_BYTES_MAX, reference.checksum.to_le_bytes());
            put(page, start + INLINE_KEY_BYTES_MAX + 8, reference.to_bytes());
        }
    }
    start + length
}
