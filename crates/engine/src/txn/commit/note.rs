//! Notes in the log of what is not logged itself, for who follows it: bulk loads, and commits of transactions that
//! have spilled.
//!
//! A note is a commit without changes; where the log is not kept it does not even tell of tables, and only gives the
//! number. It is durable before the load is, so that no crash leaves a load without one; and it is seen with the
//! load, by every snapshot that shows what was loaded and by none before, so that who reads the note and then the
//! table finds it. A load that fails, or that a crash undoes, leaves its note.

use crate::error::Result;
use crate::format::RecordEncoder;
use crate::ids::{Sequence, TableId};
use crate::options::Durability;
use crate::planted::{Fault, give_way, planted};
use crate::txn::commit::core::{Core, Writer};
use crate::txn::commit::footprints::Footprint;

/// A note that is seen when this is dropped.
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
    /// The commit that it is.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        self.core.published.finish(self.sequence);
    }
}
