//! Making the file smaller: its last pages are moved to free pages before them, and the end is cut off.

use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::db::checkpoint::job::Job;
use crate::error::{Error, Result};
use crate::ids::PageNumber;
use crate::pager::{Moving, Placing};
use crate::planted::{Situation, met};

impl Checkpointer {
    /// Merges all runs, fills leaves that are not full, and moves all pages to the beginning of the file. Returns by
    /// how many bytes the file shrank.
    ///
    /// # Errors
    /// As [`Checkpointer::run`]; nothing is lost then. That there is no room to move anything is none.
    pub fn compact(&mut self) -> Result<u64> {
        // The first commit after an opening begins the log, and would wait until all of this has ended.
        match self.begin_log() {
            Err(Error::DiskFull { .. }) => {}
            outcome => outcome?,
        }
        let before = self.file.length_bytes()?;
        if self.pending.is_none() && self.space.lock().is_cramped() {
            // What can be merged makes room for what cannot be flushed yet.
            match self.merge_all_that_fit() {
                Err(Error::DiskFull { .. }) => {}
                outcome => outcome?,
            }
        }
        self.run()?;
        self.merge_all_that_fit()?;
        match self.move_all() {
            Err(Error::DiskFull { .. } | Error::QuotaExceeded { .. }) => {}
            outcome => outcome?,
        }
        self.core.writer()?.log.lock().journal.give_back()?;
        met(Situation::Compacted);
        Ok(before.saturating_sub(self.file.length_bytes()?))
    }

    fn move_all(&mut self) -> Result<()> {
        // All leaves are looked at once, wherever they lie.
        let first = self.space.lock().emptiable_from(GAIN_SHARE).unwrap_or(PageNumber(u64::MAX));
        let mut next = Some(Moving { from: first, fills: true });
        for _ in 0..PASSES_MAX {
            let Some(moving) = next else { break };
            let before = self.file.length_bytes()?;
            self.move_pages(moving, Placing::Low(moving.from))?;
            next = self.space.lock().emptiable_from(GAIN_SHARE).map(|from| Moving { from, fills: false });
            if !moving.fills && self.file.length_bytes()? >= before {
                break;
            }
        }
        if self.has_useless_holes() {
            // The file may be longer than what is in use.
            let end = self.space.lock().used_end();
            self.move_pages(Moving { from: PageNumber(0), fills: false }, Placing::AtEnd)?;
            self.move_pages(Moving { from: end, fills: false }, Placing::Low(end))?;
        }
        Ok(())
    }

    /// Whether much is free though all was moved down that fits: holes among large values. Not while snapshots read
    /// what died, or operations in progress hold pages, which stay where they are.
    fn has_useless_holes(&self) -> bool {
        let stats = self.space.lock().stats();
        let total = stats.total_pages();
        stats.free_pages * HOLES_SHARE > total && (stats.pending_pages + stats.placed_pages) * HELD_SHARE < total
    }

    fn move_pages(&mut self, moving: Moving, placing: Placing) -> Result<()> {
        self.core.writer()?;
        self.placing = placing;
        // What was there before is free only after the first checkpoint, so that only the next one can state an
        // earlier end of the file; and its own pages are to lie low.
        let moved = self.checkpoint(Job::Move(moving)).and_then(|()| self.checkpoint(Job::Flush));
        self.placing = Placing::Usual;
        // Of a poisoned database nothing is cut: a checkpoint may be in one slot only.
        if let Err(poisoned) = self.core.writer() {
            return moved.and(Err(poisoned));
        }
        // If it failed, the file may have grown in vain.
        let cut = self.space.lock().truncate_to_used();
        moved.and(cut.map(drop))
    }
}

/// What was in the way of a pass may have made room for the next one. More gain little.
const PASSES_MAX: usize = 4;
/// A pass must make the file smaller by one part in so many.
const GAIN_SHARE: u64 = 50;
/// All of a file is moved behind it, and down again, if more than one part in so many is free that nothing fits into,
const HOLES_SHARE: u64 = 6;
/// and less than one part in so many is held by others.
const HELD_SHARE: u64 = 16;
