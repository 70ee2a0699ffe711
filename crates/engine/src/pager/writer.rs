//! Owns the writing of pages for one operation: gathers them into extents, seals them, writes each extent in one call.
//!
//! Invariants: (1) a page's reference is known as soon as it is added, its place only when its extent is full: an
//! extent takes as many pages as there are, and is written once. (2) All that one operation writes has its birth. (3)
//! An extent that is to lie at the file's end goes on to where full ones begin, so that those leave no hole before
//! them; unless a value is longer than that gap, or another extent came to lie there. Callers: `tree` adds pages and
//! values and kills old ones; `db` begins and finishes.

use xxhash_rust::xxh3::Xxh3;

use crate::error::Result;
use crate::format::{ExtentEntry, ExtentKind, LIVE_SLOTS_MAX, OverflowRef, PageSize, seal_page, verify_own_page};
use crate::ids::{ExtentId, PageNumber, PageRef};
use crate::monitor::Watchers;
use crate::sync::{Arc, Mutex};

use super::file::PageFile;
use super::read::{Pages, Value};
use super::space::{Need, Operation, Placing, Space};

/// Writes the pages of one operation. Dropping it unfinished aborts the operation (and takes the lock of its `Space`).
#[derive(Debug)]
pub struct PageWriter<'s> {
    space: &'s Mutex<Space>,
    file: Arc<PageFile>,
    /// Taken out when the operation is finished.
    operation: Option<Operation>,
    leaves: Stream,
    branches: Stream,
    values: Stream,
    moving: Option<Moving>,
    watchers: Option<Watchers>,
    pages_added: u64,
    is_cramped: bool,
}

/// What a writer moves to other places, beside what it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moving {
    /// All pages of trees from this one on, and all extents of values that reach past it.
    pub from: PageNumber,
    /// And all leaves that are not full, so that they become so.
    pub fills: bool,
}

/// Pages that will be one extent.
#[derive(Debug)]
struct Stream {
    kind: ExtentKind,
    extent: Option<ExtentId>,
    /// Keeps its size from extent to extent, so that it is zeroed once.
    bytes: Vec<u8>,
    pages: u32,
    /// The extent is written when it has so many, if that is a good place to end.
    pages_max: u32,
    /// What an extent has that finds room among what is free.
    pages_wanted: u32,
}

impl<'s> PageWriter<'s> {
    /// Begins an operation.
    pub fn new(space: &'s Mutex<Space>) -> Self {
        let mut locked = space.lock();
        let (operation, file) = (locked.begin(), Arc::clone(locked.file()));
        let (pages_wanted, is_cramped) = (locked.first_extent_pages(), locked.is_cramped());
        drop(locked);
        let stream =
            |kind| Stream { kind, extent: None, bytes: Vec::new(), pages: 0, pages_max: pages_wanted, pages_wanted };
        Self {
            space,
            file,
            operation: Some(operation),
            leaves: stream(ExtentKind::Nodes),
            branches: stream(ExtentKind::Nodes),
            values: stream(ExtentKind::Values),
            moving: None,
            watchers: None,
            pages_added: 0,
            is_cramped,
        }
    }

    /// Where to place what is written from now on.
    pub fn set_placing(&mut self, placing: Placing) {
        self.operation.as_mut().expect(UNFINISHED).placing = placing;
    }

    /// What it writes for, unless that is upkeep.
    pub fn set_need(&mut self, need: Need) {
        self.operation.as_mut().expect(UNFINISHED).need = need;
    }

    /// From now on the watchers see each write, and may end the operation.
    pub fn set_watchers(&mut self, watchers: Watchers) {
        self.watchers = Some(watchers);
    }

    /// From now on, merges that write through this move pages out of a part of the file.
    pub fn start_moving(&mut self, moving: Moving) {
        self.moving = Some(moving);
    }

    /// Whether the disk was nearly full when the operation began: then only necessary pages are written.
    pub fn is_cramped(&self) -> bool {
        self.is_cramped
    }

    /// The part of the file that is emptied, if one is.
    pub fn moving(&self) -> Option<Moving> {
        self.moving
    }

    /// Whether a page of the base is moved.
    pub fn moves(&self, base: &Pages, at: PageRef) -> bool {
        let last_page = |entry: &ExtentEntry| {
            let slot = if entry.kind == ExtentKind::Nodes { at.slot } else { entry.page_count - 1 };
            entry.first_page.0 + u64::from(slot)
        };
        let entry = base.extents().entry(at.extent);
        self.moving.is_some_and(|moving| entry.is_some_and(|entry| last_page(entry) >= moving.from.0))
    }

    /// Adds a leaf. `fill` writes the whole body; the page is sealed after it.
    ///
    /// # Errors
    /// Those of placing and writing an extent that became full: abort the operation then.
    pub fn add_leaf<R>(&mut self, fill: impl FnOnce(&mut [u8]) -> R) -> Result<(PageRef, R)> {
        self.add_node(|writer| &mut writer.leaves, fill)
    }

    /// Adds a branch, as [`PageWriter::add_leaf`] does a leaf.
    ///
    /// # Errors
    /// As it has.
    pub fn add_branch<R>(&mut self, fill: impl FnOnce(&mut [u8]) -> R) -> Result<(PageRef, R)> {
        self.add_node(|writer| &mut writer.branches, fill)
    }

    /// Stores the bytes of a long key or value.
    ///
    /// # Errors
    /// As [`PageWriter::add_leaf`].
    ///
    /// # Panics
    /// If there are more than `u32::MAX` bytes.
    pub fn add_value(&mut self, bytes: &[u8]) -> Result<OverflowRef> {
        let length = u32::try_from(bytes.len()).expect("callers keep to the limits of keys and values");
        let mut stream = self.begin_value(length)?;
        stream.write(bytes)?;
        stream.finish()
    }

    /// Stores a value of this length piece by piece.
    ///
    /// # Errors
    /// As [`PageWriter::add_leaf`].
    pub fn begin_value(&mut self, length: u32) -> Result<ValueStream<'_, 's>> {
        let pages = self.file.pages_of(length);
        let target = if pages > LIVE_SLOTS_MAX {
            self.place_single(pages)?
        } else {
            Target::Buffer(self.reserve(|writer| &mut writer.values, pages)?)
        };
        self.pages_added += u64::from(pages);
        let hasher = Xxh3::with_seed(self.file.identity().tag_seed);
        Ok(ValueStream { writer: self, target, length, written: 0, hasher: Box::new(hasher) })
    }

    /// Marks a page of the base as dead from this operation on.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) if it is not live, or was marked before.
    pub fn kill_page(&mut self, at: PageRef) -> Result<()> {
        let operation = self.operation.as_mut().expect(UNFINISHED);
        self.space.lock().kill(operation, at, 1, ExtentKind::Nodes)
    }

    /// Marks the pages of a long key or value as dead from this operation on.
    ///
    /// # Errors
    /// As [`PageWriter::kill_page`].
    pub fn kill_value(&mut self, at: &OverflowRef) -> Result<()> {
        let pages = self.file.pages_of(at.length);
        let operation = self.operation.as_mut().expect(UNFINISHED);
        self.space.lock().kill(operation, at.page(), pages, ExtentKind::Values)
    }

    /// The bytes of a long key or value of the base, or of this operation itself.
    ///
    /// # Errors
    /// As [`Pages::value`].
    pub fn value<'a>(&self, base: &'a Pages, at: &OverflowRef) -> Result<Value<'a>> {
        let page_bytes = self.page_size().bytes();
        let (start, length) = (at.slot as usize * page_bytes, at.length as usize);
        let operation = self.operation.as_ref().expect(UNFINISHED);
        if self.values.extent == Some(at.extent) {
            let gathered = &self.values.bytes[..self.values.pages as usize * page_bytes];
            if let Some(bytes) = gathered.get(start..start.saturating_add(length)) {
                return Ok(Value::from(bytes.to_vec()));
            }
        } else if let Some((first, pages)) = operation.placed_at(at.extent)
            && start as u64 + length as u64 <= u64::from(pages) * page_bytes as u64
        {
            let bytes = self.file.read(PageNumber(first.0 + u64::from(at.slot)), length)?;
            return Ok(Value::from(Vec::from(bytes)));
        }
        base.value(at)
    }

    /// Size of the pages.
    pub fn page_size(&self) -> PageSize {
        self.file.page_size()
    }

    /// The file written to.
    pub fn file(&self) -> &Arc<PageFile> {
        &self.file
    }

    /// Pages added so far, of all kinds.
    #[cfg(test)]
    pub fn pages_added(&self) -> u64 {
        self.pages_added
    }

    /// Writes what is gathered and hands over the operation, for [`Space::prepare`].
    ///
    /// # Errors
    /// Those of placing and writing; the operation is aborted then.
    pub fn finish(mut self) -> Result<Operation> {
        self.flush(|writer| &mut writer.leaves)?;
        self.flush(|writer| &mut writer.branches)?;
        self.flush(|writer| &mut writer.values)?;
        Ok(self.operation.take().expect(UNFINISHED))
    }

    fn add_node<R>(
        &mut self,
        stream: impl Fn(&mut Self) -> &mut Stream,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<(PageRef, R)> {
        let page_bytes = self.page_size().bytes();
        let at = self.reserve(&stream, 1)?;
        let birth = self.operation.as_ref().expect(UNFINISHED).birth();
        let identity = *self.file.identity();
        let target = stream(self);
        let start = at.slot as usize * page_bytes;
        let page = &mut target.bytes[start..start + page_bytes];
        let result = fill(page);
        seal_page(page, &identity, at, birth);
        // The process that writes a page may read it unverified.
        debug_assert!(verify_own_page(page, &identity, at, birth).is_ok(), "a page is built as it is read");
        self.pages_added += 1;
        Ok((at, result))
    }

    /// Takes the next slots of a stream's extent, or the first of a new one if that has no room. Requires: a full
    /// extent has.
    fn reserve(&mut self, stream: impl Fn(&mut Self) -> &mut Stream, pages: u32) -> Result<PageRef> {
        let page_bytes = self.page_size().bytes();
        self.make_room(&stream, pages)?;
        let extent = match stream(self).extent {
            Some(extent) => extent,
            None => self.begin_extent(&stream, pages),
        };
        let target = stream(self);
        let slot = target.pages;
        target.pages += pages;
        assert!(target.pages <= target.pages_max, "there is room for them");
        let needed = target.pages as usize * page_bytes;
        if target.bytes.len() < needed {
            // In a few steps, and never more than one extent.
            let wanted = needed.next_power_of_two().min(target.pages_max as usize * page_bytes);
            target.bytes.resize(wanted, 0);
        }
        Ok(PageRef { extent, slot })
    }

    fn begin_extent(&mut self, stream: impl Fn(&mut Self) -> &mut Stream, pages: u32) -> ExtentId {
        // A value that alone is more than the extent would have had gets one of its size.
        let wanted = stream(self).pages_wanted.max(pages);
        let operation = self.operation.as_mut().expect(UNFINISHED);
        let mut space = self.space.lock();
        let pages_max = space.extent_pages(wanted, operation.placing).max(pages);
        let extent = space.reserve_id(operation);
        drop(space);
        let target = stream(self);
        (target.extent, target.pages_max) = (Some(extent), pages_max);
        extent
    }

    /// Sees to it that a stream's extent, if there is one, has room for so many pages more: it is written if it does
    /// not. But one that would be written where it keeps a full extent from beginning goes on first.
    fn make_room(&mut self, stream: impl Fn(&mut Self) -> &mut Stream, pages: u32) -> Result<()> {
        let (gathered, pages_max) = (stream(self).pages, stream(self).pages_max);
        let needed = gathered + pages;
        if gathered == 0 || needed <= pages_max {
            return Ok(());
        }
        if needed <= LIVE_SLOTS_MAX {
            let wanted = stream(self).pages_wanted;
            let placing = self.operation.as_ref().expect(UNFINISHED).placing;
            let more = self.space.lock().extent_pages_at_last(gathered, wanted, placing);
            if needed <= more {
                stream(self).pages_max = more;
                return Ok(());
            }
        }
        self.flush(stream)
    }

    /// Places and writes a stream's extent, if there is one.
    fn flush(&mut self, stream: impl Fn(&mut Self) -> &mut Stream) -> Result<()> {
        let target = stream(self);
        let Some(extent) = target.extent.take() else { return Ok(()) };
        let (kind, pages) = (target.kind, target.pages);
        target.pages = 0;
        self.tell_watchers(pages)?;
        let target = stream(self);
        // An operation that writes much gets large extents soon.
        target.pages_wanted = (target.pages_wanted.max(pages) * 2).min(LIVE_SLOTS_MAX);
        let operation = self.operation.as_mut().expect(UNFINISHED);
        let first = self.space.lock().place(operation, extent, kind, pages, false)?;
        let length = pages as usize * self.page_size().bytes();
        let file = Arc::clone(&self.file);
        file.write(first, &stream(self).bytes[..length])
    }

    fn tell_watchers(&self, pages: u32) -> Result<()> {
        let bytes = u64::from(pages) * self.page_size().bytes() as u64;
        self.watchers.as_ref().map_or(Ok(()), |watchers| watchers.write(bytes, self.file.path()))
    }

    fn place_single(&mut self, pages: u32) -> Result<Target> {
        self.tell_watchers(pages)?;
        let operation = self.operation.as_mut().expect(UNFINISHED);
        let mut space = self.space.lock();
        let extent = space.reserve_id(operation);
        let first = space.place(operation, extent, ExtentKind::Values, pages, true)?;
        Ok(Target::Single { extent, first })
    }
}

impl Drop for PageWriter<'_> {
    fn drop(&mut self) {
        if let Some(operation) = self.operation.take() {
            self.space.lock().abort(operation);
        }
    }
}

/// Where a value goes.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// Into the extent being gathered, from this page on.
    Buffer(PageRef),
    /// Into an extent of its own, at once.
    Single { extent: ExtentId, first: PageNumber },
}

/// Takes the bytes of one long value.
#[must_use = "a value that is not finished leaves its pages taken until the operation ends"]
pub struct ValueStream<'w, 's> {
    writer: &'w mut PageWriter<'s>,
    target: Target,
    length: u32,
    written: u64,
    hasher: Box<Xxh3>,
}

impl ValueStream<'_, '_> {
    /// Adds bytes.
    ///
    /// # Errors
    /// Those of writing.
    ///
    /// # Panics
    /// If there are more than the value's length.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        assert!(self.written + bytes.len() as u64 <= u64::from(self.length), "more bytes than the value has");
        self.hasher.update(bytes);
        self.put(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Completes the value.
    ///
    /// # Errors
    /// Those of writing.
    ///
    /// # Panics
    /// If there were fewer bytes than the value's length.
    pub fn finish(mut self) -> Result<OverflowRef> {
        assert!(self.written == u64::from(self.length), "fewer bytes than the value has");
        let page_bytes = self.writer.page_size().bytes() as u64;
        let padding = (page_bytes - self.written % page_bytes) % page_bytes;
        // What was in these pages before must not stay behind the value.
        self.put(&vec![0; padding as usize])?;
        let at = match self.target {
            Target::Buffer(at) => at,
            Target::Single { extent, .. } => PageRef { extent, slot: 0 },
        };
        let checksum = self.hasher.digest();
        Ok(OverflowRef { extent: at.extent, slot: at.slot, length: self.length, checksum })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        match self.target {
            Target::Buffer(at) => {
                let start = at.slot as usize * self.writer.page_size().bytes() + self.written as usize;
                self.writer.values.bytes[start..start + bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
            Target::Single { first, .. } => self.writer.file.write_at(first, self.written, bytes),
        }
    }
}

const UNFINISHED: &str = "the operation is there until `finish` takes it";
