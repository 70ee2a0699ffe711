//! One snapshot's view of the file: references to verified bytes, behind guards. All bytes that a guard shows were
//! verified.
//!
//! Invariants: (1) a [`Page`] holds a whole page that `verify_page`, or `verify_own_page` if this process built it,
//! accepted for its place and birth, so its view needs no checks. (2) The bytes behind a guard do not change or move
//! while it lives: they are in a part of the file that no live snapshot's writer touches (mapped), or in an immutable
//! [`Frame`] that the guard holds. (3) Every offset into the file comes from an [`ExtentMap`] that was checked
//! against the file's length.
//!
//! Callers: `tree` (pages), all layers above (values). The hot path is [`Pages::page`]: one load of the extent's
//! entry, a test of its verified bit, an addition.
#![allow(unsafe_code)] // Slices of the map.

use std::cmp::Ordering;

use crate::error::{Error, Place, Result};
use crate::format::{
    ExtentKind, Identity, LINE_BYTES, Leaf, LongKeys, Offence, OverflowRef, PageKind, verify_own_page, verify_page,
};
use crate::ids::{Birth, PageNumber, PageRef};
use crate::io::Map;
use crate::sync::Arc;

use super::cache::{Frame, FrameKey};
use super::filters::MappedFilters;
use super::page::Page;
use super::source::Source;
use super::value::Value;
use super::verified::VerifiedPages;
use crate::pager::extents::ExtentMap;
use crate::pager::file::PageFile;

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

impl PageFile {
    /// The snapshot whose extents these are.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file ends before its extents do; [`Error::Io`] if it cannot be mapped.
    pub fn pages(self: &Arc<Self>, extents: Arc<ExtentMap>) -> Result<Pages> {
        let source = self.source_of(extents.page_count())?;
        Ok(Pages::new(Arc::clone(self), extents, source))
    }
}

impl Pages {
    /// Requires: `extents` passed its checks against a file of at least its page count, and a map in `source` covers
    /// it.
    pub(in crate::pager) fn new(file: Arc<PageFile>, extents: Arc<ExtentMap>, source: Source) -> Self {
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
        self.page_slow(at)
    }

    /// The pages that were verified before, if the file is mapped.
    #[inline(always)]
    pub fn verified(&self) -> Option<VerifiedPages<'_>> {
        match &self.source {
            Source::Map(map) => Some(VerifiedPages::new(self.extents.verified(), map, self.page_bits)),
            Source::Cache(_) => None,
        }
    }

    /// Prefetches the first lines of a page, if it was verified before.
    #[inline(always)]
    pub fn prefetch(&self, at: PageRef) {
        if let Some(bytes) = self.verified().and_then(|pages| pages.bytes(at)) {
            Leaf::prefetch_page(bytes);
        }
    }

    /// Prefetches a whole page that will be read from its beginning to its end, if it was verified before.
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
            // A hint: where it is refused, pages are loaded by faults.
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
        let value = self.ensured(map, number, at.length as usize)?;
        if !self.extents.is_value_verified(at.page()) {
            self.check_value(at, number, value)?;
            self.extents.set_value_verified(at.page());
        }
        Ok(Some(value))
    }

    /// Filters in the map; `None` if the file is not mapped, or one of them is damaged or has no line.
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

    /// Whether a value of this snapshot is at the same place in a later one.
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
            Source::Map(map) => self.ensured(map, first_page.0, length).ok().map(Value::from),
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

    /// Verifies a page again, whatever was verified before: for `check`.
    ///
    /// # Errors
    /// As [`Pages::page`].
    pub fn verify_again(&self, at: PageRef) -> Result<()> {
        self.page_fresh(at, verify_page).map(drop)
    }

    /// Verifies the bytes of a long key or value again.
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
    fn page_slow(&self, at: PageRef) -> Result<Page<'_>> {
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
                let bytes = self.ensured(map, number, 1 << self.page_bits)?;
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
    fn ensured<'a>(&self, map: &'a Map, number: u64, length: usize) -> Result<&'a [u8]> {
        let offset = number << self.page_bits;
        if map.is_filled_on_demand() {
            self.fill(map, number, length)?;
        }
        // SAFETY: the extent map gave the place, and its extents were checked against the file's length (invariant
        // 3). Pages of live extents are never written while a snapshot that shows them lives (`Space`, invariant 1),
        // and the snapshot lives as long as `self`. If the window is filled on demand, it has them since `ensure`.
        unsafe { map.slice(offset, length) }.ok_or_else(|| self.outside_window(number))
    }

    #[cold]
    #[inline(never)]
    fn fill(&self, map: &Map, number: u64, length: usize) -> Result<()> {
        let filled = map.ensure(number << self.page_bits, length);
        filled.map_err(|source| self.file.unreadable(PageNumber(number), source))
    }

    fn value_place(&self, at: &OverflowRef) -> Result<u64> {
        let number = self.extents.run(at.page(), self.file.pages_of(at.length), ExtentKind::Values);
        number.map_err(|fault| self.bad_reference(at.page(), fault))
    }

    /// Requires: `value_place` gave `number`.
    fn value_unverified(&self, at: &OverflowRef, number: u64) -> Result<Value<'_>> {
        let length = at.length as usize;
        match &self.source {
            Source::Map(map) => self.ensured(map, number, length).map(Value::from),
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
        Error::corrupt(self.file.path(), Place::Page(PageNumber(number)), "is outside of the mapped file")
    }
}

impl LongKeys for Pages {
    type Error = Error;

    fn compare(&self, stored: &OverflowRef, key: &[u8]) -> Result<Ordering> {
        Ok((*self.value(stored)?).cmp(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_cross_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Value<'_>>();
        shared::<Page<'_>>();
        shared::<Pages>();
    }
}
