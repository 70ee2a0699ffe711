//! Owns the guards through which stored bytes are read, and the promise behind them: what a guard shows has been verified.
//!
//! Invariants: (1) a [`Page`] holds a whole page that `verify_page`, or `verify_own_page` if this process built it, accepted
//! for its place and birth, so its view needs no checks.  (2) The bytes behind a guard do not change or move while it lives:
//! they lie in a part of the file that no live snapshot's writer touches (mapped), or in an immutable [`Frame`] that the
//! guard holds.  (3) Every offset into the file comes from an [`ExtentMap`] that was checked against the file's length.
//!
//! Callers: `tree` (pages), everybody above (values). The hot path is [`Pages::page`]: one load of the extent's entry, a
//! test of its verified bit, an addition.
#![allow(unsafe_code)] // Slices of the map, and views of pages that were verified.

use std::cmp::Ordering;
use std::fmt;
use std::hint::assert_unchecked;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use crate::error::{Error, Place, Result};
use crate::format::{
    Branch, BranchStart, ExtentKind, Identity, LINE_BYTES, Leaf, LeafView, LongKeys, Offence, OverflowRef, PackedLeaf,
    PageKind, PageSize, filter_line, verify_own_page, verify_page,
};
use crate::ids::{Birth, PageNumber, PageRef};
use crate::io::Map;
use crate::sync::Arc;

use super::cache::{Frame, FrameCache, FrameKey};
use super::extents::{ExtentMap, VerifiedNodes};
use super::file::PageFile;

/// One snapshot's view of the file: turns references into verified bytes. Clones share everything.
#[derive(Clone, Debug)]
pub struct Pages {
    extents: Arc<ExtentMap>,
    source: Source,
    page_bits: u32,
    file: Arc<PageFile>,
}

/// [`verify_page`], or what is enough for some pages.
type Verify = fn(&[u8], &Identity, PageRef, Birth) -> std::result::Result<PageKind, Offence>;

/// Where bytes come from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A window that reaches past every extent of the snapshot.
    Map(Arc<Map>),
    /// `pread`, through a cache of verified pages.
    Cache(Arc<FrameCache>),
}

/// Filters that the map has: see [`Pages::mapped_filters`].
#[derive(Clone, Debug)]
pub struct MappedFilters {
    map: Arc<Map>,
    /// Offset in the map, and length in bytes, of each. Within the map.
    places: Box<[(usize, usize)]>,
    /// Dropped after the map: a file that is not trusted any more is forgotten with its last holder, when nothing of it is mapped.
    _file: Arc<PageFile>,
}

impl MappedFilters {
    /// Of each filter the line that tells of a key with this hash.
    #[inline(always)]
    pub fn lines(&self, hash: u64) -> impl Iterator<Item = &[u8; LINE_BYTES]> {
        let base = self.map.base();
        self.places.iter().map(move |&(offset, length)| {
            // SAFETY: `mapped_filters` saw that the map has the filter, and that this has a line; all its lines are within it.
            let line = unsafe { base.add(offset + filter_line(length, hash)) };
            // SAFETY: nobody writes to it: who has this has a snapshot that shows the filter, as is said there.
            unsafe { line.cast().as_ref() }
        })
    }
}

impl Pages {
    /// Requires: `extents` passed its checks against a file of at least its page count, and a map in `source` covers it.
    pub(super) fn new(file: Arc<PageFile>, extents: Arc<ExtentMap>, source: Source) -> Self {
        let page_bits = file.page_size().bytes().trailing_zeros();
        Self { extents, source, page_bits, file }
    }

    /// The page at `at`, verified.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if there is no such page in this snapshot, or its bytes are not what was written there;
    /// [`Error::Io`] if it cannot be read.
    #[inline(always)]
    pub fn page(&self, at: PageRef) -> Result<Page<'_>> {
        if let Some(bytes) = self.verified().and_then(|pages| pages.bytes(at)) {
            return Ok(Page::from_map(bytes));
        }
        self.page_slowly(at)
    }

    /// The pages that can be read without any doubt, if the file is mapped.
    #[inline(always)]
    pub fn verified(&self) -> Option<VerifiedPages<'_>> {
        match &self.source {
            Source::Map(map) => Some(VerifiedPages::new(self.extents.verified(), map, self.page_bits)),
            Source::Cache(_) => None,
        }
    }

    /// Asks for the first lines of a page, if it was verified before.
    #[inline(always)]
    pub fn prefetch(&self, at: PageRef) {
        if let Some(bytes) = self.verified().and_then(|pages| pages.bytes(at)) {
            Leaf::prefetch_page(bytes);
        }
    }

    /// Asks for all of a page that will be read from its beginning to its end, if it was verified before.
    pub fn prefetch_whole(&self, at: PageRef) {
        if let Some(bytes) = self.verified().and_then(|pages| pages.bytes(at)) {
            Leaf::prefetch_whole_page(bytes);
        }
    }

    /// Maps what was born at `birth`, all at once: far cheaper than a fault for each page.
    pub fn populate(&self, birth: Birth) {
        let Source::Map(map) = &self.source else { return };
        let mut born: Vec<_> =
            self.extents.iter().map(|(_, entry)| entry).filter(|entry| entry.birth == birth).collect();
        born.sort_unstable_by_key(|entry| entry.first_page);
        for extents in born.chunk_by(|a, b| a.first_page.0 + u64::from(a.page_count) == b.first_page.0) {
            let pages = extents.iter().map(|entry| u64::from(entry.page_count)).sum::<u64>();
            // A hint: whoever refuses it has the faults.
            let _ = map.populate(extents[0].first_page.0 << self.page_bits, pages << self.page_bits);
        }
    }

    /// The bytes of a long key or value, verified.
    ///
    /// # Errors
    /// As [`Pages::page`].
    pub fn value(&self, at: &OverflowRef) -> Result<Value<'_>> {
        let number = self.value_place(at)?;
        let value = self.value_unverified(at, number)?;
        // What is read by `pread` is another copy each time, and any of them may be bad.
        if matches!(self.source, Source::Cache(_)) || !self.extents.is_value_verified(at.page()) {
            self.check_value(at, number, &value)?;
            self.extents.set_value_verified(at.page());
        }
        Ok(value)
    }

    /// As [`Pages::value`], if the file is mapped; nothing if it is not.
    ///
    /// # Errors
    /// As [`Pages::page`].
    #[inline]
    pub fn mapped_value(&self, at: &OverflowRef) -> Result<Option<&[u8]>> {
        let Source::Map(map) = &self.source else { return Ok(None) };
        let number = self.value_place(at)?;
        let value = self.mapped(map, number, at.length as usize).ok_or_else(|| self.outside_window(number))?;
        if !self.extents.is_value_verified(at.page()) {
            self.check_value(at, number, value)?;
            self.extents.set_value_verified(at.page());
        }
        Ok(Some(value))
    }

    /// Filters at hand; nothing if the file is not mapped, or one of them is damaged or has no line.
    ///
    /// Requires: what is returned is used only while a snapshot lives that shows these values.
    pub fn mapped_filters<'o>(&self, filters: impl Iterator<Item = &'o OverflowRef>) -> Option<MappedFilters> {
        let Source::Map(map) = &self.source else { return None };
        let place = |at: &OverflowRef| {
            let filter = self.mapped_value(at).ok()??;
            let offset = filter.as_ptr().addr() - map.base().addr().get();
            (filter.len() >= LINE_BYTES).then_some((offset, filter.len()))
        };
        let places = filters.map(place).collect::<Option<_>>()?;
        Some(MappedFilters { map: Arc::clone(map), places, _file: Arc::clone(&self.file) })
    }

    /// Whether a value of this snapshot lies at the same place in a later one.
    pub fn has_same_value(&self, later: &Self, at: &OverflowRef) -> bool {
        let birth = |pages: &Self| pages.extents.birth(at.extent);
        birth(self) == birth(later) && later.value_place(at).is_ok()
    }

    /// The bytes of a large value that no extent of this snapshot has yet: its commit is in a delta.
    ///
    /// # Errors
    /// As [`Pages::page`].
    pub fn value_at(&self, first_page: PageNumber, at: &OverflowRef) -> Result<Value<'_>> {
        let length = at.length as usize;
        let end = first_page.0.saturating_mul(1 << self.page_bits).saturating_add(length as u64);
        if first_page.0 == 0 || end > self.file.length_bytes()? {
            let what = "the log refers to a large value outside of the file";
            return Err(Error::corrupt(self.file.path(), Place::Page(first_page), what));
        }
        let mapped = match &self.source {
            Source::Map(map) => self.mapped(map, first_page.0, length).map(Value::from),
            Source::Cache(_) => None,
        };
        let value = match mapped {
            Some(value) => value,
            None => Value::from(self.file.read(first_page, length)?.into_vec()),
        };
        self.check_value(at, first_page.0, &value)?;
        Ok(value)
    }

    /// The identity of the database.
    #[inline(always)]
    pub fn identity(&self) -> &Identity {
        self.file.identity()
    }

    /// Verifies a page anew, whatever was verified before: for `check`.
    ///
    /// # Errors
    /// As [`Pages::page`].
    pub fn verify_again(&self, at: PageRef) -> Result<()> {
        self.page_fresh(at, verify_page).map(drop)
    }

    /// Verifies the bytes of a long key or value anew.
    ///
    /// # Errors
    /// As [`Pages::page`].
    pub fn verify_value_again(&self, at: &OverflowRef) -> Result<()> {
        let number = self.value_place(at)?;
        self.check_value(at, number, &self.value_unverified(at, number)?)
    }

    /// The extents of this snapshot.
    pub fn extents(&self) -> &Arc<ExtentMap> {
        &self.extents
    }

    /// The file that the pages are in.
    pub fn file(&self) -> &Arc<PageFile> {
        &self.file
    }

    /// The error for a page that is well-formed but contradicts what refers to it.
    #[cold]
    pub fn misfit(&self, at: PageRef, what: impl Into<String>) -> Error {
        match self.extents.page_number(at) {
            Some(number) => Error::corrupt(self.file.path(), Place::Page(PageNumber(number)), what),
            None => Error::corrupt(self.file.path(), Place::Extent(at.extent), what),
        }
    }

    #[cold]
    #[inline(never)]
    fn page_slowly(&self, at: PageRef) -> Result<Page<'_>> {
        if let Source::Cache(cache) = &self.source
            && let Ok(_) = self.extents.run(at, 1, ExtentKind::Nodes)
            && let Some(birth) = self.extents.birth(at.extent)
            && let Some(frame) = cache.get(FrameKey { at, birth })
        {
            return Ok(Page::from_frame(frame));
        }
        let is_own = self.extents.birth(at.extent).is_some_and(|birth| self.file.is_written_here(birth));
        self.page_fresh(at, if is_own { verify_own_page } else { verify_page })
    }

    /// Reads the page, verifies it and notes so.
    fn page_fresh(&self, at: PageRef, verify: Verify) -> Result<Page<'_>> {
        let number = self.extents.run(at, 1, ExtentKind::Nodes).map_err(|fault| self.bad_reference(at, fault))?;
        let page = match &self.source {
            Source::Map(map) => {
                let bytes = self.mapped(map, number, 1 << self.page_bits);
                let bytes = bytes.ok_or_else(|| self.outside_window(number))?;
                self.check_page(at, number, bytes, verify)?;
                Page::from_map(bytes)
            }
            Source::Cache(cache) => {
                let frame = Frame::new(self.file.read(PageNumber(number), 1 << self.page_bits)?);
                self.check_page(at, number, frame.bytes(), verify)?;
                if let Some(birth) = self.extents.birth(at.extent) {
                    cache.insert(FrameKey { at, birth }, &frame);
                }
                Page::from_frame(frame)
            }
        };
        self.extents.set_node_verified(at);
        Ok(page)
    }

    /// `length` bytes of the map from a page's start.
    ///
    /// Requires: the extent map gave `number`, for a run that holds `length` bytes.
    #[inline(always)]
    fn mapped<'a>(&self, map: &'a Map, number: u64, length: usize) -> Option<&'a [u8]> {
        // SAFETY: the extent map gave the place, and its extents were checked against the file's length (invariant 3).
        // Pages of live extents are never written while a snapshot that shows them lives (`Space`, invariant 1), and the
        // snapshot lives as long as `self`.
        unsafe { map.slice(number << self.page_bits, length) }
    }

    fn value_place(&self, at: &OverflowRef) -> Result<u64> {
        let number = self.extents.run(at.page(), self.file.pages_of(at.length), ExtentKind::Values);
        number.map_err(|fault| self.bad_reference(at.page(), fault))
    }

    /// Requires: `value_place` gave `number`.
    fn value_unverified(&self, at: &OverflowRef, number: u64) -> Result<Value<'_>> {
        let length = at.length as usize;
        match &self.source {
            Source::Map(map) => {
                self.mapped(map, number, length).map(Value::from).ok_or_else(|| self.outside_window(number))
            }
            Source::Cache(_) => Ok(Value::from_frame(Frame::new(self.file.read(PageNumber(number), length)?))),
        }
    }

    fn check_page(&self, at: PageRef, number: u64, bytes: &[u8], verify: Verify) -> Result<()> {
        let birth = self.extents.birth(at.extent).ok_or_else(|| self.bad_reference(at, "there is no such extent"))?;
        let kind = verify(bytes, self.file.identity(), at, birth).map_err(|offence| {
            Error::corrupt(self.file.path(), Place::Page(PageNumber(number)), offence.to_string())
        })?;
        match kind {
            PageKind::Leaf | PageKind::Packed | PageKind::Branch => Ok(()),
            _ => Err(self.misfit(at, "a page of another kind than leaf or branch is in a tree")),
        }
    }

    fn check_value(&self, at: &OverflowRef, number: u64, bytes: &[u8]) -> Result<()> {
        if self.file.identity().hash(bytes) == at.checksum {
            return Ok(());
        }
        let what = "checksum of a long key or value does not match";
        Err(Error::corrupt(self.file.path(), Place::Page(PageNumber(number)), what))
    }

    #[cold]
    fn bad_reference(&self, at: PageRef, fault: &str) -> Error {
        Error::corrupt(self.file.path(), Place::Extent(at.extent), format!("a reference to slot {}: {fault}", at.slot))
    }

    #[cold]
    fn outside_window(&self, number: u64) -> Error {
        Error::corrupt(self.file.path(), Place::Page(PageNumber(number)), "lies outside of the mapped file")
    }
}

/// The pages of a mapped snapshot that were verified before: the short way to bytes, which never fails but may not know.
#[derive(Clone, Copy, Debug)]
pub struct VerifiedPages<'a> {
    extents: VerifiedNodes<'a>,
    /// Where the file's first byte is mapped.
    base: NonNull<u8>,
    page_bits: u32,
}

impl<'a> VerifiedPages<'a> {
    #[inline(always)]
    fn new(extents: VerifiedNodes<'a>, map: &'a Map, page_bits: u32) -> Self {
        Self { extents, base: map.base(), page_bits }
    }

    /// The page at `at` as a branch of the level that belongs to `start`, if it was verified and is one.
    #[inline(always)]
    pub fn branch(self, at: PageRef, start: BranchStart) -> Option<Branch<'a>> {
        let bytes = self.bytes(at)?;
        // SAFETY: the page was verified, and it is a branch.
        Branch::begins_with(bytes, start).then(|| unsafe { Branch::new_unchecked(bytes) })
    }

    /// The page at `at`, with its first lines on their way, as a leaf with tags, if it was verified and is one.
    #[inline(always)]
    pub fn leaf(self, at: PageRef) -> Option<Leaf<'a>> {
        let bytes = self.bytes(at)?;
        Leaf::prefetch_page(bytes);
        // SAFETY: the page was verified, and it is a leaf.
        (bytes[0] == PageKind::Leaf as u8).then(|| unsafe { Leaf::new_unchecked(bytes) })
    }

    /// As [`VerifiedPages::leaf`], as a packed leaf.
    #[inline(always)]
    pub fn packed_leaf(self, at: PageRef) -> Option<PackedLeaf<'a>> {
        let bytes = self.bytes(at)?;
        Leaf::prefetch_page(bytes);
        (bytes[0] == PageKind::Packed as u8).then(|| PackedLeaf::of(bytes))
    }

    /// The bytes of the page at `at`, if it was verified.
    #[inline(always)]
    pub fn bytes(self, at: PageRef) -> Option<&'a [u8]> {
        let number = self.extents.page(at)?;
        // SAFETY: a verified node is live, live pages are below the extent map's page count, and the window, which `'a`
        // borrows, reaches past that (`PageFile`, invariant 1).
        let start = unsafe { self.base.add((number << self.page_bits) as usize) };
        // SAFETY: the whole page is in the window as its start is; its bytes stay as they are as in `Pages::mapped`.
        let bytes = unsafe { std::slice::from_raw_parts(start.as_ptr(), 1 << self.page_bits) };
        // SAFETY: no page is smaller. Without this every look at a page's kind would first compare its length.
        unsafe { assert_unchecked(bytes.len() >= PageSize::KiB8.bytes()) };
        Some(bytes)
    }
}

impl LongKeys for Pages {
    type Error = Error;

    fn compare(&self, stored: &OverflowRef, key: &[u8]) -> Result<Ordering> {
        Ok((*self.value(stored)?).cmp(key))
    }
}

/// A verified page, readable while the guard lives.
#[derive(Debug)]
pub struct Page<'a> {
    bytes: NonNull<[u8]>,
    /// What keeps the bytes, if they are not mapped.
    owner: Owner,
    lifetime: PhantomData<&'a [u8]>,
}

// SAFETY: a page is immutable bytes and a reference count that threads may share.
unsafe impl Send for Page<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Page<'_> {}

impl<'a> Page<'a> {
    /// The page's bytes, trailer included.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes live for `'a` or as long as the frame, which both outlast this borrow (invariant 2).
        unsafe { self.bytes.as_ref() }
    }

    /// The page as a leaf, if it is one.
    #[inline(always)]
    pub fn leaf(&self) -> Option<LeafView<'_>> {
        // SAFETY: the page was verified (invariant 1).
        unsafe { view(self.bytes()) }
    }

    /// The page as a branch, if it is one.
    #[inline(always)]
    pub fn branch(&self) -> Option<Branch<'_>> {
        // SAFETY: the page was verified (invariant 1), and it is a branch.
        (self.bytes()[0] == PageKind::Branch as u8).then(|| unsafe { Branch::new_unchecked(self.bytes()) })
    }

    /// The page as a guard that knows that it is a leaf, if it is one.
    #[inline(always)]
    pub fn into_leaf(self) -> Option<LeafPage<'a>> {
        self.leaf().is_some().then_some(LeafPage { page: self })
    }

    /// Keeps a part of the page readable on its own.
    ///
    /// # Panics
    /// If `part` does not lie in this page.
    #[inline(always)]
    pub fn value(&self, part: &[u8]) -> Value<'a> {
        let page = self.bytes().as_ptr_range();
        let range = part.as_ptr_range();
        assert!(page.start <= range.start && range.end <= page.end, "a value lies in its page");
        Value { bytes: NonNull::from(part), owner: self.owner.clone(), lifetime: PhantomData }
    }

    #[inline(always)]
    fn from_map(bytes: &'a [u8]) -> Self {
        Self { bytes: NonNull::from(bytes), owner: Owner::none(), lifetime: PhantomData }
    }

    fn from_frame(frame: Arc<Frame>) -> Self {
        Self { bytes: NonNull::from(frame.bytes()), owner: Owner::of(frame), lifetime: PhantomData }
    }
}

/// A page as a leaf, if it is one.
///
/// # Safety
/// The page was verified, and its bytes do not change during `'p`.
#[inline(always)]
unsafe fn view(page: &[u8]) -> Option<LeafView<'_>> {
    if page[0] == PageKind::Leaf as u8 {
        // SAFETY: this function's contract, and the page is a leaf.
        return Some(LeafView::Tagged(unsafe { Leaf::new_unchecked(page) }));
    }
    (page[0] == PageKind::Packed as u8).then(|| LeafView::Packed(PackedLeaf::of(page)))
}

/// A verified page that is a leaf.
#[derive(Debug)]
pub struct LeafPage<'a> {
    page: Page<'a>,
}

impl<'a> LeafPage<'a> {
    /// The leaf.
    #[inline(always)]
    pub fn leaf(&self) -> LeafView<'_> {
        // SAFETY: the page was verified (invariant 1).
        unsafe { view(self.page.bytes()) }.expect("`into_leaf` saw that it is a leaf")
    }

    /// The leaf for as long as the snapshot lives, if it is mapped.
    #[inline(always)]
    pub fn mapped(&self) -> Option<LeafView<'a>> {
        if !self.page.owner.is_none() {
            return None;
        }
        // SAFETY: without an owner the bytes are those of the map, which live for `'a` (invariant 2).
        let bytes = unsafe { self.page.bytes.as_ref() };
        // SAFETY: the page was verified (invariant 1).
        unsafe { view(bytes) }
    }

    /// The page.
    #[inline(always)]
    pub fn page(&self) -> &Page<'a> {
        &self.page
    }

    /// As [`Page::value`].
    #[inline(always)]
    pub fn value(&self, part: &[u8]) -> Value<'a> {
        self.page.value(part)
    }
}

/// Bytes of a database, borrowed for the transaction's life `'a` where they can be, and kept by the value itself where not.
///
/// Dereferences to `[u8]`. Of a mapped file it is two words and pins nothing.
pub struct Value<'a> {
    bytes: NonNull<[u8]>,
    /// What keeps the bytes, if they are not borrowed.
    owner: Owner,
    lifetime: PhantomData<&'a [u8]>,
}

// SAFETY: a value is immutable bytes and a reference count that threads may share.
unsafe impl Send for Value<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Value<'_> {}

impl Value<'_> {
    fn from_frame(frame: Arc<Frame>) -> Self {
        Self { bytes: NonNull::from(frame.bytes()), owner: Owner::of(frame), lifetime: PhantomData }
    }

    /// A part of the bytes, kept or borrowed as the whole is.
    ///
    /// # Panics
    /// If `range` is not within the bytes.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self { bytes: NonNull::from(&self[range]), owner: self.owner.clone(), lifetime: PhantomData }
    }

    /// The same bytes, kept by the value itself: copied if they were borrowed.
    pub fn into_owned(self) -> Value<'static> {
        if self.owner.is_none() {
            return Value::from(self.to_vec());
        }
        Value { bytes: self.bytes, owner: self.owner, lifetime: PhantomData }
    }
}

impl Deref for Value<'_> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are borrowed for `'a` or lie in the owner; both outlast this borrow (invariant 2).
        unsafe { self.bytes.as_ref() }
    }
}

impl AsRef<[u8]> for Value<'_> {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Clone for Value<'_> {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes, owner: self.owner.clone(), lifetime: PhantomData }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "b\"{}\"", self.escape_ascii())
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    #[inline(always)]
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes: NonNull::from(bytes), owner: Owner::none(), lifetime: PhantomData }
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from_frame(Frame::new(bytes.into_boxed_slice()))
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Value<'_> {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Value<'_> {}

/// Keeps a frame, or nothing.
///
/// An `Option<Arc<Frame>>` whose release is a call that takes it by value: plain drop glue passes its address, which would
/// keep every guard, and so every entry of a scan, in memory instead of registers.
#[derive(Debug)]
struct Owner(ManuallyDrop<Option<Arc<Frame>>>);

impl Owner {
    #[inline(always)]
    fn none() -> Self {
        Self(ManuallyDrop::new(None))
    }

    fn of(frame: Arc<Frame>) -> Self {
        Self(ManuallyDrop::new(Some(frame)))
    }

    #[inline(always)]
    fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl Clone for Owner {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl Drop for Owner {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0.is_some() {
            // SAFETY: `self.0` is not used again: this is its owner's drop.
            release(unsafe { ManuallyDrop::take(&mut self.0) });
        }
    }
}

#[cold]
#[inline(never)]
fn release(frame: Option<Arc<Frame>>) {
    drop(frame);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_equals_its_bytes_borrowed_or_owned() {
        let borrowed = Value::from(b"abc".as_slice());
        let owned = Value::from(b"abc".to_vec());
        assert_eq!(borrowed, owned);
        assert_eq!(borrowed, b"abc");
        assert_ne!(owned, b"abd".as_slice());
        let kept = { Value::from(b"gone".to_vec().as_slice()).into_owned() };
        assert_eq!(kept, b"gone");
        assert_eq!(format!("{:?}", kept.clone()), "b\"gone\"");
    }

    #[test]
    fn a_value_may_cross_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Value<'_>>();
        shared::<Page<'_>>();
        shared::<Pages>();
    }
}
