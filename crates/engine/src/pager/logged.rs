//! Extents of large values between their commit and the checkpoint that takes them into a tree.
//!
//! The extent table does not know them: until that checkpoint the log is what says that they exist. So a commit that is
//! lost takes its extents with it, and recovery takes those of the commits that it replays.

use crate::error::{Error, Place, Result};
use crate::format::{ExtentEntry, ExtentFlags, ExtentKind, LargeValue, OverflowRef};
use crate::ids::{Birth, ExtentId, PageNumber};
use crate::sync::Arc;

use super::space::{Need, Operation, Pending, Placing, Space, alignment};

impl Space {
    /// Takes pages for a large value of this length and checksum. The caller writes its bytes there.
    ///
    /// It is as old as the newest checkpoint that is shown: its commit may be seen by a snapshot that began before
    /// the next one is.
    ///
    /// # Errors
    /// As [`Space::place`].
    pub fn place_logged(&mut self, length: u32, checksum: u64) -> Result<LargeValue> {
        let page_count = self.file.pages_of(length);
        let first_page =
            PageNumber(self.allocate(u64::from(page_count), alignment(page_count), Placing::Usual, Need::Addition)?);
        let extent = self.take_id();
        self.logged.insert(extent, logged_entry(first_page, page_count, self.shown_birth));
        let value = OverflowRef { extent, slot: 0, length, checksum };
        Ok(LargeValue { value, first_page, page_count })
    }

    /// Gives the pages of a large value back that no commit refers to.
    ///
    /// # Panics
    /// If it is not one of those that were placed so.
    pub fn discard_logged(&mut self, extent: ExtentId) {
        let entry = self.logged.remove(&extent).expect("a large value is discarded once");
        self.free.insert(entry.first_page.0, u64::from(entry.page_count));
        self.reserved.remove(&extent.0);
        self.release_id(extent.0);
    }

    /// Takes the pages of a large value that the log refers to, when it is replayed, and returns the extent that they
    /// have from now on. It has a new number: the number in the log may be far beyond those in use, for many extents
    /// may have ended and the file may have been cut since. The table of extents has an entry for each number.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if they are not there to be taken: the log does not belong to this file.
    pub fn take_logged(&mut self, large: &LargeValue) -> Result<ExtentId> {
        let file = Arc::clone(&self.file);
        let refuse = |offence: &str| {
            let what = format!("a large value of the log {offence}");
            Err(Error::corrupt(file.path(), Place::Page(large.first_page), what))
        };
        let (first, count) = (large.first_page.0, u64::from(large.page_count));
        if large.value.slot != 0 || self.file.pages_of(large.value.length) != large.page_count {
            return refuse("has another size than its extent");
        }
        if first == 0 || first.checked_add(count).is_none_or(|end| end > self.file_pages) {
            return refuse("is outside of the file");
        }
        let written = self.extents.get(large.value.extent.0 as usize);
        if written.is_some_and(|entry| entry.kind != ExtentKind::Unused) {
            return refuse("has the extent of something else");
        }
        if first + count > self.end {
            self.free.insert(self.end, first + count - self.end);
            self.end = first + count;
        }
        if !self.claim(first, count) {
            return refuse("overlaps something else");
        }
        let extent = self.take_id();
        self.logged.insert(extent, logged_entry(large.first_page, large.page_count, self.shown_birth));
        Ok(extent)
    }

    /// Takes pages that nothing uses. They may still count as pending: what an opened file does not use does so at
    /// first, but the writer before put its large values only where no reader looked.
    fn claim(&mut self, first: u64, count: u64) -> bool {
        let within = |start: u64, length: u64| {
            let (from, to) = (start.max(first), (start + length).min(first + count));
            (from < to).then_some((from, to))
        };
        let free: Vec<_> = self.free.iter().filter_map(|(start, length)| within(start, length)).collect();
        let pending = self.pending.iter().filter_map(|run| within(run.first, run.count));
        let found: u64 = free.iter().copied().chain(pending).map(|(from, to)| to - from).sum();
        if found < count {
            return false;
        }
        for (from, to) in free {
            self.free.take_at(from, to - from);
        }
        for run in std::mem::take(&mut self.pending) {
            let end = run.first + run.count;
            let (from, to) = within(run.first, run.count).unwrap_or((end, end));
            let rest = [(run.first, from), (to, end)].into_iter().filter(|(from, to)| from < to);
            self.pending.extend(rest.map(|(from, to)| Pending { first: from, count: to - from, ..run }));
        }
        true
    }

    /// Makes a large value's extent part of what the operation commits: a tree refers to it now.
    ///
    /// It was born with the checkpoint before its commit, not with this one: snapshots in between read it through a
    /// delta.
    pub fn adopt_logged(&mut self, operation: &mut Operation, extent: ExtentId) {
        if self.logged.contains_key(&extent) {
            operation.adopted.push(extent);
        }
    }

    /// Makes a large value's extent die at the operation's commit: it was replaced before any tree had it.
    pub fn retire_logged(&mut self, operation: &mut Operation, extent: ExtentId) {
        if self.logged.contains_key(&extent) {
            operation.retired.push(extent);
        }
    }

    /// Does what the operation decided about large values. Part of its commit.
    pub(super) fn commit_logged(&mut self, operation: &Operation, died: Birth) {
        for extent in &operation.adopted {
            let entry = self.logged.remove(extent).expect("a large value is adopted once");
            self.reserved.remove(&extent.0);
            self.insert_extent(*extent, entry);
        }
        for extent in &operation.retired {
            let entry = self.logged.remove(extent).expect("a large value is retired once");
            self.reserved.remove(&extent.0);
            self.release_id(extent.0);
            let (first, count) = (entry.first_page.0, u64::from(entry.page_count));
            self.pending.push(Pending { first, count, born: entry.birth, died });
        }
    }
}

fn logged_entry(first_page: PageNumber, page_count: u32, birth: Birth) -> ExtentEntry {
    let flags = ExtentFlags { single: true };
    ExtentEntry { first_page, page_count, kind: ExtentKind::Values, flags, birth, live: 1 }
}
