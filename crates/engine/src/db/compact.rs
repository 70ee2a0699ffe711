//! Giving space back: what lies last in the file is moved to free pages before it, and the end is cut off.

use crate::db::checkpoint::{Checkpointer, Haste, Job};
use crate::error::Result;
use crate::ids::PageNumber;
use crate::pager::{Moving, Placing};

impl Checkpointer {
    /// As small as it gets: merges all runs, fills leaves that are not full, moves all there is to the beginning of the file.
    /// Returns the bytes given back.
    ///
    /// # Errors
    /// As [`Checkpointer::run`]; nothing is lost then.
    pub fn compact(&mut self) -> Result<u64> {
        self.run()?;
        self.merge_all_runs(Haste::Everything)?;
        let before = self.file.length_bytes()?;
        // All leaves are looked at once, wherever they lie.
        let mut from = Some(self.space.lock().emptiable_from(GAIN_SHARE).unwrap_or(PageNumber(u64::MAX)));
        let mut fills = true;
        for _ in 0..COMPACT_PASSES_MAX {
            let Some(moved_from) = from else { break };
            self.move_from(Moving { from: moved_from, fills }, Placing::Low)?;
            from = self.space.lock().emptiable_from(GAIN_SHARE);
            fills = false;
        }
        if self.has_useless_holes() {
            let end = PageNumber(self.file.length_bytes()? / self.file.page_size().bytes() as u64);
            self.move_from(Moving { from: PageNumber(0), fills: false }, Placing::AtEnd)?;
            self.move_from(Moving { from: end, fills: false }, Placing::Low)?;
        }
        self.give_back_log()?;
        Ok(before.saturating_sub(self.file.length_bytes()?))
    }

    /// Whether much is free though all was moved down that fits: holes among large values. Not while snapshots read what died.
    fn has_useless_holes(&self) -> bool {
        let stats = self.space.lock().stats();
        let total = stats.total_pages();
        stats.free_pages * HOLES_SHARE > total && stats.pending_pages * PINNED_SHARE < total
    }

    /// Makes the file smaller if much of it is free. Whether it did.
    ///
    /// # Errors
    /// As [`Checkpointer::run`].
    pub fn give_back(&mut self) -> Result<bool> {
        let space = self.space.lock();
        let stats = space.stats();
        let free = stats.free_pages + stats.reserve_pages;
        let is_much =
            free * FREE_SHARE > stats.total_pages() && free * self.file.page_size().bytes() as u64 > FREE_BYTES_MIN;
        let from = if is_much { space.emptiable_from(GIVEN_SHARE) } else { None };
        drop(space);
        let Some(from) = from.filter(|_| !self.has_pending()) else { return Ok(false) };
        self.move_from(Moving { from, fills: false }, Placing::Low)?;
        Ok(true)
    }

    /// Gives back what the log holds beside commits.
    ///
    /// # Errors
    /// The disk's, [`crate::Error::Poisoned`].
    pub fn give_back_log(&self) -> Result<()> {
        self.core.writer()?.log.lock().journal.give_back()
    }

    fn move_from(&mut self, moving: Moving, placing: Placing) -> Result<()> {
        self.core.writer()?;
        self.space.lock().set_placing(placing);
        let outcome = self.checkpoint(Some(Job::Move(moving)));
        // What was there before is free only now, so that only the next checkpoint can state an earlier end of the file; and its
        // own pages are to lie low.
        let outcome = outcome.and_then(|()| self.checkpoint(None));
        self.space.lock().set_placing(Placing::Usual);
        outcome?;
        self.space.lock().truncate_to_used().map(drop)
    }
}

/// What was in the way of a pass may have made room for the next one. More gain little.
const COMPACT_PASSES_MAX: usize = 4;
/// A pass of a compaction must make the file smaller by one part in so many.
const GAIN_SHARE: u64 = 50;
/// All of a file is moved behind it, and down again, if more than one part in so many is free that nothing fits into,
const HOLES_SHARE: u64 = 6;
/// and less than one part in so many is kept for snapshots.
const PINNED_SHARE: u64 = 16;
/// A file of which more than one part in so many is free is made smaller without being asked,
const FREE_SHARE: u64 = 3;
/// if that is more than so many bytes,
const FREE_BYTES_MIN: u64 = 16 << 20;
/// and if one part in so many can be given back at once.
const GIVEN_SHARE: u64 = 5;

#[cfg(test)]
mod tests {
    use crate::db::database::Database;
    use crate::io::MemoryDisk;
    use crate::options::{Durability, TableOptions};
    use crate::sync::Arc;

    #[test]
    #[cfg_attr(miri, ignore = "thousands of checksums of pages")]
    fn a_file_of_which_much_is_free_becomes_smaller_by_itself_and_only_once() {
        let options = Database::options().disk(Arc::new(MemoryDisk::new())).durability(Durability::Log);
        let db = options.background(false).create(true).open("a.ful").expect("a memory disk");
        let table = db.create_table("t", TableOptions::new()).expect("it is not there");
        let key = |number: u32| number.to_be_bytes();
        let all = (0..60_000).map(|number| (key(number), [7; 900]));
        db.bulk_load(&table, all).expect("they rise");
        let give_back = || {
            let mut checkpointer = db.inner.checkpointer.as_ref().expect("it is open for writing").lock();
            checkpointer.give_back().expect("a memory disk")
        };
        let bytes = || db.stats().expect("it is open").file_bytes;
        let loaded = bytes();
        assert!(!give_back(), "all of it is in use");
        db.update(|txn| txn.delete_range(&table, &key(1_000)[..]..&key(40_000)[..])).expect("nothing else writes");
        db.checkpoint().expect("a memory disk");
        let before = db.read().expect("it is open");
        // The snapshot reads none of what is moved elsewhere in vain.
        while give_back() {}
        assert_eq!(before.len(&table).expect("sound"), 21_000);
        drop(before);
        db.update(|txn| txn.put(&table, &key(70_000), b"")).expect("nothing else writes");
        db.checkpoint().expect("a memory disk");
        while give_back() {}
        assert!(bytes() * 2 < loaded, "{} bytes of {loaded}", bytes());
        assert!(!give_back());
        assert!(db.check().expect("it can be read").is_sound());
        assert_eq!(db.read().expect("it is open").len(&table).expect("sound"), 21_001);
    }
}
