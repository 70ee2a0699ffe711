//! How the checkpointer writes metas: after a checkpoint, when the log begins, and when the database is closed.
//!
//! Invariant: no commit is acknowledged before the newest meta says that there is a log. So a data file without its
//! log is never mistaken for a complete database.

use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::db::storage::metas;
use crate::error::{Error, Result};
use crate::format::Meta;
use crate::planted::{Fault, planted};
use crate::sync::atomic::Ordering;
use crate::txn::commit::journal::LogStart;

impl Checkpointer {
    /// Begins the log, if there is none, and then has the meta say so. Requires: nothing that the log may hold
    /// already is missing from the newest checkpoint, which is so when the database was just opened.
    ///
    /// # Errors
    /// The disk's; the next commit tries again.
    pub fn begin_log(&mut self) -> Result<()> {
        let core = crate::sync::Arc::clone(&self.core);
        let writer = core.writer()?;
        if writer.log_begun.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut logged = writer.log.lock();
        let begun = logged.journal.begin_segment();
        writer.note_poison(&logged);
        drop(logged);
        let segment = begun?;
        if !self.meta.log_exists && !planted(Fault::LogUnannounced) {
            let number = self.meta.number + 1;
            self.write_slot(Meta { number, log_first_segment: segment, log_exists: true, ..self.meta.clone() })?;
        }
        // Release pairs with the Acquire in `Core::begin_log`.
        writer.log_begun.store(true, Ordering::Release);
        Ok(())
    }

    /// Writes the meta, syncs that, and holds it to be the newest. Requires: all that it refers to is durable.
    ///
    /// A log can reveal that the newest meta is missing. If there is no log, both slots get the meta, so that damage
    /// to one slot loses nothing. They also do if the log would continue from the checkpoint before as well, whose
    /// pages are about to be reused: a log that is kept, or whose start has not moved because nothing was rotated.
    pub(super) fn write_meta(&mut self, meta: Meta, was_rotated: bool) -> Result<()> {
        self.write_slot(meta)?;
        if was_rotated && self.meta.log_exists && !self.meta.features.log_is_kept() {
            return Ok(());
        }
        // The checkpoint is durable. A slot whose write failed was made whole with the same; if not, the database is
        // poisoned, and nothing is used again.
        let _ = self.write_slot(Meta { number: self.meta.number + 1, ..self.meta.clone() });
        Ok(())
    }

    pub(super) fn write_slot(&mut self, meta: Meta) -> Result<()> {
        if let Err(error) = metas::write(&**self.file.file(), self.file.path(), &meta) {
            // A part of it may be there. It is made whole, or the other slot stays the only one: never in between.
            if self.restore_slot().is_err() {
                self.poison();
            }
            return Err(error);
        }
        self.sync_file()?;
        self.hold(meta);
        Ok(())
    }

    /// Puts a valid meta, which says what the newest says, into the other slot, after a write to it was torn or failed.
    ///
    /// It takes the next number and is the newest from then on: the number before is none if the newest is 1.
    ///
    /// # Errors
    /// The disk's.
    pub fn restore_slot(&mut self) -> Result<()> {
        let meta = Meta { number: self.meta.number + 1, ..self.meta.clone() };
        metas::write(&**self.file.file(), self.file.path(), &meta)?;
        self.sync_file()?;
        self.hold(meta);
        Ok(())
    }

    /// For closing: writes a meta that needs no log into both slots, so that each is the newest, and cuts the file to
    /// the used part.
    ///
    /// # Errors
    /// The disk's; then the log stays and the next open recovers.
    pub fn finish(&mut self, start: LogStart) -> Result<()> {
        if self.meta.log_exists || self.meta.log_first_segment != start.segment {
            let mut meta = self.meta.clone();
            (meta.number, meta.log_first_segment, meta.log_exists) = (meta.number + 1, start.segment, start.exists);
            self.sync_file()?;
            self.write_meta(meta, true)?;
            if self.is_poisoned() {
                return Err(Error::Poisoned { path: self.file.path().to_path_buf() });
            }
        }
        self.reclaim()?;
        self.space.lock().truncate_to_used().map(drop)
    }
}
