//! Notes in the log about what is not logged itself: bulk loads, and commits of transactions that have spilled.
//! Followers of the change feed need them.
//!
//! A note is a commit without changes. If the log is kept, it names the tables; otherwise it only takes a number. It
//! is durable before the load is, so that no crash leaves a load without a note. It becomes visible with the load:
//! every snapshot that shows what was loaded shows the note, and no earlier one does. So a follower that reads the
//! note and then the table finds what was loaded. A load that fails, or that a crash undoes, leaves its note.

use crate::error::Result;
use crate::format::RecordEncoder;
use crate::ids::{Sequence, TableId};
use crate::options::Durability;
use crate::planted::{Fault, give_way, planted};
use crate::txn::commit::core::{Core, Writer};
use crate::txn::commit::footprints::Footprint;

/// A note that becomes visible when this is dropped.
#[derive(Debug)]
pub struct Note<'c> {
    core: &'c Core,
    sequence: Sequence,
}

impl Core {
    /// Notes durably that these tables are about to be changed. Requires: the caller is the only writer.
    ///
    /// # Errors
    /// What the disk reports. There may be a note nonetheless.
    pub fn note_loads(&self, writer: &Writer, tables: &[TableId]) -> Result<Note<'_>> {
        let mut encoder = RecordEncoder::new();
        encoder.begin();
        if writer.retention.keeps() {
            tables.iter().for_each(|&table| encoder.loaded(table));
        }
        encoder.finish();
        let bytes = encoder.len_bytes() as u64;
        let mut logged = self.lock_log(writer, true);
        self.published.wait(logged.last);
        let sequence = Sequence(logged.last.0 + 1);
        let appended = logged.journal.append(&mut encoder, sequence, Durability::Log);
        writer.note_poison(&logged);
        appended?;
        logged.bytes += bytes;
        logged.last = sequence;
        logged.footprints.note(sequence, &Footprint::ANYTHING);
        logged.since.loads = true;
        drop(logged);
        let note = Note { core: self, sequence };
        give_way();
        if !planted(Fault::LoadBeforeNote) {
            self.make_durable(writer, sequence)?;
        }
        Ok(note)
    }
}

impl Note<'_> {
    /// The number of its commit.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        self.core.published.finish(self.sequence);
    }
}
