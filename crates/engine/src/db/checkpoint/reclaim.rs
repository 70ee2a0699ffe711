//! Freeing the pages that no snapshot reads any more, in this process or another.

use crate::db::checkpoint::checkpointer::Checkpointer;
use crate::error::{Error, Result};
use crate::pager::Pins as SpacePins;
use crate::planted::{Situation, met};

impl Checkpointer {
    /// Frees what no snapshot reads any more, and gives the end of the file back if much of it is free.
    ///
    /// # Errors
    /// The disk's; nothing is lost then, the next checkpoint tries again.
    pub fn reclaim(&mut self) -> Result<()> {
        self.free_unread()?;
        let mut space = self.space.lock();
        if space.slack_is_large() && space.truncate_to_used()? > 0 {
            met(Situation::FileCut);
        }
        Ok(())
    }

    /// Frees what no snapshot reads any more.
    pub(super) fn free_unread(&self) -> Result<()> {
        let Some(presence) = self.presence.upgrade() else {
            return Err(Error::Closed { path: self.file.path().to_path_buf() });
        };
        let elsewhere = presence.oldest_pinned();
        let elsewhere = elsewhere.map_err(|error| Error::io("look for readers of", self.file.path(), error))?;
        let births = self.pins.pinned();
        self.space.lock().reclaim(SpacePins { births: &births, oldest_elsewhere: elsewhere });
        Ok(())
    }
}
