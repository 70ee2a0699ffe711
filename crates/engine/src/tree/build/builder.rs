//! Builds a tree bottom-up from entries and whole subtrees in key order.
//!
//! Invariants: (1) each level holds back at most two pages' worth: a full one, and the one being filled, so that the
//! last two before an adopted subtree can share evenly. (2) A subtree is adopted only if every level below its place
//! can be closed with well-filled pages; else the caller opens it, and its parts fill them. (3) Each separator is
//! above all keys before it and at most the least key after it. One too long for a page is stored when its child is
//! staged, and stays with the child.
//!
//! At the end of the tree the last pages are not evened out: entries that are appended next time fill the last one.

use std::ops::Range;

use crate::error::{Error, Place, Result};
use crate::format::{
    BranchBuilder, Cell, CellKey, CellValue, Child, INLINE_KEY_BYTES_MAX, Identity, LEVEL_MAX, LeafBuilder, LeafForm,
    Op, OverflowRef, PackedBuilder, PageSize, PlainEntries, ValueAlign,
};
use crate::ids::PageNumber;
use crate::pager::{PageWriter, Pages};
use crate::tree::root::Root;

use super::changes::Action;
use super::staging::Staging;

/// Builds one tree.
#[derive(Debug)]
pub(in crate::tree) struct Builder<'w, 's> {
    pub(in crate::tree) writer: &'w mut PageWriter<'s>,
    base: &'w Pages,
    identity: Identity,
    form: LeafForm,
    leaves: Pair<Staging>,
    /// The branches of level 1 and up.
    levels: Vec<Pair<BranchBuilder>>,
    before: Before,
}

/// A full page's worth, if there is one, and the one being filled.
#[derive(Debug)]
struct Pair<B> {
    full: B,
    open: B,
}

/// What is before the leaf being filled: its separator divides the two.
#[derive(Debug)]
enum Before {
    /// Nothing: the first leaf has no separator.
    Nothing,
    /// A leaf that ends with this key.
    Key(OwnedKey),
    /// A subtree whose keys all are below this.
    Fence(Vec<u8>),
}

/// An owned key as cells hold it.
#[derive(Clone, Debug, Default)]
struct OwnedKey {
    part: Vec<u8>,
    long: Option<OverflowRef>,
}

impl OwnedKey {
    fn new(key: &CellKey<'_>) -> Self {
        let long = match key {
            CellKey::Inline(_) => None,
            CellKey::Overflow { at, .. } => Some(*at),
        };
        Self { part: key.part().to_vec(), long }
    }

    fn as_cell_key(&self) -> CellKey<'_> {
        match self.long {
            None => CellKey::Inline(&self.part),
            Some(at) => long_key(&self.part, at),
        }
    }
}

/// A subtree that could be adopted.
#[derive(Clone, Copy, Debug)]
pub(in crate::tree) struct Subtree<'k> {
    pub child: Child,
    /// Its height above the leaves.
    pub level: u8,
    /// Net number of its entries.
    pub count: i64,
    /// At most its least key; `None` if nothing comes before it in the base.
    pub low: Option<&'k [u8]>,
    /// Above its greatest key; `None` if nothing comes after it in the base.
    pub high: Option<&'k [u8]>,
}

impl<'w, 's> Builder<'w, 's> {
    /// A builder that writes to `writer`. `base` has the long keys and values that entries pass on by reference.
    pub(in crate::tree) fn new(base: &'w Pages, writer: &'w mut PageWriter<'s>, form: LeafForm) -> Self {
        let page_size = writer.page_size();
        let identity = *writer.file().identity();
        let staging = || match form {
            LeafForm::Tagged(align) => Staging::tagged(page_size, align),
            LeafForm::Packed => Staging::packed(page_size),
        };
        let leaves = Pair { full: staging(), open: staging() };
        Self { writer, base, identity, form, leaves, levels: Vec::new(), before: Before::Nothing }
    }

    /// The hash of a whole key; 0 where leaves are packed, which need none.
    #[inline]
    pub(in crate::tree) fn hash(&self, key: &[u8]) -> u64 {
        if self.form == LeafForm::Packed { 0 } else { self.identity.hash(key) }
    }

    /// Adds an entry with a new key: key and value are stored in full, as overflow where they are long.
    #[inline]
    pub(in crate::tree) fn push_new(&mut self, key: &[u8], hash: u64, value: &[u8]) -> Result<()> {
        if key.len() > INLINE_KEY_BYTES_MAX {
            return self.push_new_long(key, hash, value);
        }
        let stored = self.store_value(key.len(), value)?;
        self.push(CellKey::Inline(key), stored, hash)
    }

    /// The long key as a cell holds it, stored.
    pub(in crate::tree) fn store_key<'k>(&mut self, key: &'k [u8]) -> Result<CellKey<'k>> {
        if key.len() <= INLINE_KEY_BYTES_MAX {
            return Ok(CellKey::Inline(key));
        }
        let at = self.writer.add_value(key)?;
        Ok(long_key(&key[..INLINE_KEY_BYTES_MAX], at))
    }

    /// The value as a cell holds it beside a key of this length: stored, if it is long.
    #[inline]
    pub(in crate::tree) fn store_value<'v>(&mut self, key_length: usize, value: &'v [u8]) -> Result<CellValue<'v>> {
        if LeafBuilder::value_is_inline(self.writer.page_size(), self.form.align(), key_length, value.len()) {
            return Ok(CellValue::Inline(value));
        }
        Ok(CellValue::Overflow(self.writer.add_value(value)?))
    }

    /// Adds an entry whose long parts are stored. Requires: its key is above all keys before it.
    #[inline]
    pub(in crate::tree) fn push(&mut self, key: CellKey<'_>, value: CellValue<'_>, hash: u64) -> Result<()> {
        self.push_as(Op::PutNew, key, value, hash)
    }

    #[inline]
    fn push_as(&mut self, op: Op, key: CellKey<'_>, value: CellValue<'_>, hash: u64) -> Result<()> {
        if self.form == LeafForm::Packed {
            return self.push_packed(op, key, value);
        }
        if !self.leaves.open.fits(&key, &value) {
            self.begin_next_leaf()?;
        }
        self.leaves.open.push(op, key, value, hash);
        Ok(())
    }

    /// Adds an entry of a table whose leaves are packed: to a leaf with tags, if no packed leaf can hold it.
    #[inline]
    fn push_packed(&mut self, op: Op, key: CellKey<'_>, value: CellValue<'_>) -> Result<()> {
        let packs = PackedBuilder::can_hold(self.writer.page_size(), op, &key, &value);
        // A leaf with tags is always filled: a leaf for each entry that needs one would be nearly empty.
        let can_take = packs || !self.leaves.open.is_packed();
        if !can_take || !self.leaves.open.fits(&key, &value) {
            self.begin_next_leaf()?;
            if self.leaves.open.is_packed() != packs {
                let page_size = self.writer.page_size();
                self.leaves.open =
                    if packs { Staging::packed(page_size) } else { Staging::tagged(page_size, self.form.align()) };
            }
        }
        let hash = if self.leaves.open.is_packed() { 0 } else { key.hash(&self.identity) };
        self.leaves.open.push(op, key, value, hash);
        Ok(())
    }

    /// Adds an entry of a run: the change of a key that the layers below may have. Requires: as [`Builder::push`].
    #[inline]
    pub(in crate::tree) fn push_change(&mut self, op: Op, key: &[u8], hash: u64, action: Action<'_>) -> Result<()> {
        let stored_key = self.store_key(key)?;
        let value = match action {
            Action::Put(value) => self.store_value(key.len(), value)?,
            Action::PutLarge(at) => CellValue::Overflow(at),
            Action::Delete => CellValue::Inline(&[]),
        };
        self.push_as(op, stored_key, value, hash)
    }

    /// Stores bytes of any length in pages of their own.
    pub(in crate::tree) fn store_overflow(&mut self, bytes: &[u8]) -> Result<OverflowRef> {
        self.writer.add_value(bytes)
    }

    /// The hash of a key as a cell holds it; 0 where leaves are packed.
    pub(in crate::tree) fn hash_of(&self, key: &CellKey<'_>) -> u64 {
        if self.form == LeafForm::Packed { 0 } else { key.hash(&self.identity) }
    }

    /// Where a long key or value of the base is from now on: if it is moved, it is copied, and the old one marked as
    /// dead.
    pub(in crate::tree) fn move_value(&mut self, base: &Pages, at: OverflowRef) -> Result<OverflowRef> {
        if !self.writer.moves(base, at.page()) {
            return Ok(at);
        }
        let moved = self.writer.add_value(&base.value(&at)?)?;
        if moved.checksum != at.checksum {
            // It was valid when it was first read. Moving must not give damaged bytes a valid checksum.
            return Err(base.misfit(at.page(), "checksum of a long key or value does not match"));
        }
        self.writer.kill_value(&at)?;
        Ok(moved)
    }

    /// Adds an entry of a page of the base. Requires: as [`Builder::push`].
    #[inline]
    pub(in crate::tree) fn push_cell(&mut self, cell: &Cell<'_>) -> Result<()> {
        let hash = self.hash_of(&cell.key);
        self.push(cell.key, cell.value, hash)
    }

    /// Adds entries of a page of the base as they are stored there. Returns those that must be added one by one: from
    /// an entry on that is larger than a cell may be, or all of them. Requires: as [`Builder::push`].
    pub(in crate::tree) fn push_plain(
        &mut self,
        from: &PlainEntries<'_>,
        mut range: Range<usize>,
    ) -> Result<Range<usize>> {
        if self.form != LeafForm::Tagged(ValueAlign::One) {
            return Ok(range);
        }
        while !range.is_empty() {
            let Staging::Tagged(open) = &mut self.leaves.open else { return Ok(range) };
            range.start += open.push_plain(from, range.clone());
            if range.is_empty() || self.leaves.open.is_empty() {
                break;
            }
            self.begin_next_leaf()?;
        }
        Ok(range)
    }

    /// Whether an entry of a page of the base has a form in which this table's leaves can store it.
    pub(in crate::tree) fn can_store(&self, cell: &Cell<'_>) -> bool {
        match (&cell.key, &cell.value) {
            (CellKey::Inline(key), _) if key.len() > INLINE_KEY_BYTES_MAX => false,
            (_, CellValue::Overflow(_)) => true,
            (key, CellValue::Inline(value)) => {
                LeafBuilder::value_is_inline(self.writer.page_size(), self.form.align(), key.key_length(), value.len())
            }
        }
    }

    /// Adopts a subtree of the base, if that leaves no page too empty; `false` means that the caller must open it.
    ///
    /// Requires: its keys are above all keys before it.
    pub(in crate::tree) fn adopt(&mut self, subtree: &Subtree<'_>) -> Result<bool> {
        if !self.can_close(subtree.level) {
            return Ok(false);
        }
        self.close_leaves()?;
        for level in 1..=subtree.level {
            self.close_branches(level)?;
        }
        let separator = match (&self.before, subtree.low) {
            (Before::Nothing, _) | (_, None) => OwnedKey::default(),
            (_, Some(low)) => OwnedKey::new(&self.store_key(low)?),
        };
        self.stage(subtree.level + 1, &separator, subtree.child, subtree.count)?;
        self.before = Before::Fence(subtree.high.unwrap_or_default().to_vec());
        Ok(true)
    }

    /// Completes the tree. `None` if nothing was added.
    pub(in crate::tree) fn finish(self) -> Result<Option<Root>> {
        let impossible_count = self.impossible_count();
        match self.finish_counting()? {
            Some((root, count)) => {
                Ok(Some(Root { entries: u64::try_from(count).map_err(|_| impossible_count)?, ..root }))
            }
            None => Ok(None),
        }
    }

    /// Completes the tree of a run, whose root has no number of entries. `None` if nothing was added.
    pub(in crate::tree) fn finish_run(self) -> Result<Option<Root>> {
        Ok(self.finish_counting()?.map(|(root, _)| root))
    }

    /// Completes the tree. Returns the sum of its entries beside its root.
    fn finish_counting(mut self) -> Result<Option<(Root, i64)>> {
        if !self.leaves.full.is_empty() {
            self.write_leaf(|leaves| &mut leaves.full, None)?;
        }
        if !self.leaves.open.is_empty() {
            self.write_leaf(|leaves| &mut leaves.open, None)?;
        }
        let mut level = 1;
        while let Some(pair) = self.levels.get(usize::from(level) - 1) {
            let is_top = self.levels[usize::from(level)..].iter().all(|above| above.open.is_empty());
            if is_top && pair.full.is_empty() && pair.open.count() == 1 {
                let (child, count) = pair.open.child(0);
                let has_overflow = child.has_overflow;
                return Ok(Some((Root { page: child.page, level: level - 1, entries: 0, has_overflow }, count)));
            }
            if !pair.full.is_empty() {
                self.write_branch(level, |pair| &mut pair.full)?;
            }
            if !self.pair(level).open.is_empty() {
                self.write_branch(level, |pair| &mut pair.open)?;
            }
            level += 1;
        }
        Ok(None)
    }

    #[cold]
    fn push_new_long(&mut self, key: &[u8], hash: u64, value: &[u8]) -> Result<()> {
        let stored_key = self.store_key(key)?;
        let stored = self.store_value(key.len(), value)?;
        self.push(stored_key, stored, hash)
    }

    /// The leaf being filled is full: writes the one before it, and begins another.
    fn begin_next_leaf(&mut self) -> Result<()> {
        if self.leaves.open.is_empty() {
            return Ok(());
        }
        if !self.leaves.full.is_empty() {
            self.write_leaf(|leaves| &mut leaves.full, None)?;
        }
        let Pair { full, open } = &mut self.leaves;
        std::mem::swap(full, open);
        Ok(())
    }

    /// Whether all levels up to this one are empty, or would end in well-filled pages.
    fn can_close(&self, level: u8) -> bool {
        let Pair { full, open } = &self.leaves;
        let body = self.writer.page_size().body_bytes();
        // Two forms of leaves cannot share.
        let is_alone = full.is_empty() || full.is_packed() != open.is_packed();
        if is_alone && !open.is_empty() && open.bytes_used() * 100 < body * LEAF_ALONE_PERCENT {
            return false;
        }
        // Closing a level adds a child to the next.
        let mut rising = !open.is_empty();
        for pair in self.levels.iter().take(usize::from(level)) {
            if pair.open.is_empty() && !rising {
                continue;
            }
            if pair.full.is_empty() && pair.open.bytes_used() * 100 < body * BRANCH_MIN_PERCENT {
                return false;
            }
            rising = true;
        }
        !rising || usize::from(level) <= self.levels.len()
    }

    fn close_leaves(&mut self) -> Result<()> {
        let body = self.writer.page_size().body_bytes();
        let Pair { full, open } = &mut self.leaves;
        let is_small = open.bytes_used() * 100 < body * LEAF_MIN_PERCENT;
        if !full.is_empty() && is_small && full.is_packed() == open.is_packed() {
            let whole = full.count();
            for index in 0..open.count() {
                let cell = open.cell(index);
                let hash = if full.is_packed() { 0 } else { cell.key.hash(&self.identity) };
                full.push(cell.op, cell.key, cell.value, hash);
            }
            open.clear();
            // Divided as before, both parts would fit.
            let half = full.split_point(whole);
            self.write_leaf(|leaves| &mut leaves.full, Some(half))?;
            return self.write_leaf(|leaves| &mut leaves.full, None);
        }
        if !self.leaves.full.is_empty() {
            self.write_leaf(|leaves| &mut leaves.full, None)?;
        }
        if !self.leaves.open.is_empty() {
            self.write_leaf(|leaves| &mut leaves.open, None)?;
        }
        Ok(())
    }

    fn close_branches(&mut self, level: u8) -> Result<()> {
        let body = self.writer.page_size().body_bytes();
        let Some(Pair { full, open }) = self.levels.get_mut(usize::from(level) - 1) else { return Ok(()) };
        if !full.is_empty() && open.bytes_used() * 100 < body * BRANCH_MIN_PERCENT {
            (*full, *open) = shared_evenly(full, open, self.writer.page_size());
        }
        if !self.pair(level).full.is_empty() {
            self.write_branch(level, |pair| &mut pair.full)?;
        }
        if !self.pair(level).open.is_empty() {
            self.write_branch(level, |pair| &mut pair.open)?;
        }
        Ok(())
    }

    /// Writes the first `count` entries (or all) of a leaf builder as a leaf.
    fn write_leaf(&mut self, which: impl Fn(&mut Pair<Staging>) -> &mut Staging, count: Option<usize>) -> Result<()> {
        let builder = which(&mut self.leaves);
        let count = count.unwrap_or(builder.count());
        let last = OwnedKey::new(&builder.key(count - 1));
        let separator = match &self.before {
            Before::Nothing => OwnedKey::default(),
            Before::Fence(fence) => {
                let fence = fence.clone();
                OwnedKey::new(&self.store_key(&fence)?)
            }
            Before::Key(before) => {
                let first = builder.key(0);
                match divider(&before.part, first.part()) {
                    Some(divider) => OwnedKey { part: divider.to_vec(), long: None },
                    None => {
                        let (before, first) = (before.clone(), OwnedKey::new(&first));
                        self.long_divider(&before, &first)?
                    }
                }
            }
        };
        let builder = which(&mut self.leaves);
        let (page, summary) = self.writer.add_leaf(|page| builder.finish_first(count, page))?;
        self.before = Before::Key(last);
        let child = Child { page, has_overflow: summary.has_overflow };
        self.stage(1, &separator, child, summary.net_count)
    }

    /// Writes the children of a branch builder as a branch.
    fn write_branch(
        &mut self,
        level: u8,
        which: impl Fn(&mut Pair<BranchBuilder>) -> &mut BranchBuilder,
    ) -> Result<()> {
        let builder = which(&mut self.levels[usize::from(level) - 1]);
        let separator = OwnedKey::new(&builder.separator(0));
        let (page, summary) = self.writer.add_branch(|page| builder.finish(page))?;
        let child = Child { page, has_overflow: summary.has_overflow };
        self.stage(level + 1, &separator, child, summary.net_count)
    }

    /// Adds a child to the branches of a level.
    fn stage(&mut self, level: u8, separator: &OwnedKey, child: Child, count: i64) -> Result<()> {
        if level > LEVEL_MAX || !(-COUNT_MAX..=COUNT_MAX).contains(&count) {
            return Err(self.impossible_count());
        }
        while self.levels.len() < usize::from(level) {
            let next = self.levels.len() as u8 + 1;
            let page_size = self.writer.page_size();
            let new = || BranchBuilder::new(page_size, next);
            self.levels.push(Pair { full: new(), open: new() });
        }
        if !self.pair(level).open.fits(separator.as_cell_key()) {
            if !self.pair(level).full.is_empty() {
                self.write_branch(level, |pair| &mut pair.full)?;
            }
            let Pair { full, open } = self.pair(level);
            std::mem::swap(full, open);
        }
        self.pair(level).open.push(separator.as_cell_key(), child, count);
        Ok(())
    }

    /// Requires: something was staged at this level.
    fn pair(&mut self, level: u8) -> &mut Pair<BranchBuilder> {
        &mut self.levels[usize::from(level) - 1]
    }

    /// The shortest separator of two long keys whose stored parts are equal; stored itself if it is long.
    #[cold]
    fn long_divider(&mut self, before: &OwnedKey, first: &OwnedKey) -> Result<OwnedKey> {
        let whole = |key: &OwnedKey| match key.long {
            None => Ok(key.part.clone()),
            Some(at) => match self.writer.value(self.base, &at)? {
                whole if whole.starts_with(&key.part) => Ok(whole.to_vec()),
                _ => Err(self.disorder()),
            },
        };
        let (before, first) = (whole(before)?, whole(first)?);
        let divider = divider(&before, &first).filter(|divider| before.as_slice() < *divider);
        let divider = divider.map(<[u8]>::to_vec).ok_or_else(|| self.disorder())?;
        Ok(OwnedKey::new(&self.store_key(&divider)?))
    }

    #[cold]
    fn disorder(&self) -> Error {
        let place = Place::Page(PageNumber(0));
        Error::corrupt(self.writer.file().path(), place, "long keys of its trees are out of order")
    }

    #[cold]
    fn impossible_count(&self) -> Error {
        let place = Place::Page(PageNumber(0));
        Error::corrupt(self.writer.file().path(), place, "a tree in it has an impossible depth or count")
    }
}

/// The shortest bytes that are above `before` and at most `first`; `None` if no prefix of `first` is.
fn divider<'k>(before: &[u8], first: &'k [u8]) -> Option<&'k [u8]> {
    let common = before.iter().zip(first).take_while(|(before, first)| before == first).count();
    first.get(..=common)
}

fn long_key(prefix: &[u8], at: OverflowRef) -> CellKey<'_> {
    CellKey::Overflow { prefix, hash: at.checksum, at }
}

/// Redistributes two branches so that both are about equally full. The first keeps more than half if the rest would
/// not fit the second, whose separators may share a shorter prefix.
fn shared_evenly(full: &BranchBuilder, open: &BranchBuilder, page_size: PageSize) -> (BranchBuilder, BranchBuilder) {
    let mut keep = full.count().min((full.count() + open.count()).div_ceil(2));
    loop {
        let mut second = BranchBuilder::new(page_size, full.level());
        stage_again(full, keep..full.count(), &mut second);
        stage_again(open, 0..open.count(), &mut second);
        if second.bytes_used() <= page_size.body_bytes() || keep == full.count() {
            let mut first = BranchBuilder::new(page_size, full.level());
            stage_again(full, 0..keep, &mut first);
            return (first, second);
        }
        keep = (keep + full.count()).div_ceil(2);
    }
}

/// Stages children of `from` in `to` as well.
fn stage_again(from: &BranchBuilder, children: Range<usize>, to: &mut BranchBuilder) {
    for index in children {
        let (child, count) = from.child(index);
        to.push(from.separator(index), child, count);
    }
}

/// A lone leaf before an adopted subtree is at least this full, or the subtree's first leaf is merged with it.
const LEAF_ALONE_PERCENT: usize = 60;
/// The last two leaves before such a subtree both are at least this full: else they share evenly.
const LEAF_MIN_PERCENT: usize = 50;
/// The same for branches.
const BRANCH_MIN_PERCENT: usize = 40;

/// Most entries that a branch counts below one child.
const COUNT_MAX: i64 = 1 << 48;
