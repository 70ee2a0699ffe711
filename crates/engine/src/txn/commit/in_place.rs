//! Commits that are written to the log by their own threads, side by side: each has got its place there under the
//! log's lock.
//!
//! A commit that has a place and is not finished may still be being copied. So whoever needs the log's bytes, or does
//! away with the file, first waits until the last commit with a place is finished: see [`Logged::placed`]. No commit
//! is acknowledged before all that precede it are finished, so what a killed process leaves behind a gap was promised
//! to nobody.
#![allow(unsafe_code)] // What is written to is memory that the log could do away with.

use crate::error::{Error, Result};
use crate::format::RecordEncoder;
use crate::ids::Sequence;
use crate::txn::commit::core::{Core, Logged};
use crate::txn::commit::journal::PreparedPlace;

/// The place of a commit that is not finished: it is written before that.
#[derive(Debug)]
#[must_use = "the commit is not in the log before it is written"]
pub struct InPlace(PreparedPlace);

impl Logged {
    /// Notes that the commit with this number, the last one, has a place.
    pub fn note_place(&mut self, sequence: Sequence, place: PreparedPlace) -> InPlace {
        self.placed = sequence;
        InPlace(place)
    }
}

impl InPlace {
    /// Asks for the place, which will be written soon.
    #[inline]
    pub fn approach(&self) {
        self.0.approach();
    }

    /// Writes the commit to its place.
    ///
    /// # Safety
    /// The commit is not finished.
    #[inline]
    pub unsafe fn write(self, commit: &RecordEncoder) {
        // SAFETY: the place is this commit's alone. The log holds its file, and does not cut it below the end of what
        // it has given out, until who closes it or turns to another file has waited for the commit to be finished,
        // which comes after this: the caller's word. If a commit is abandoned meanwhile, waiting ends early; but
        // `Prefix::arrives` answers false while anything up to `Logged::placed` is missing, and so nobody does away
        // with the file.
        unsafe { self.0.write(commit.bytes()) };
    }
}

impl Core {
    /// Waits until all commits that have a number are in the log, or in its buffer.
    ///
    /// # Errors
    /// [`Error::Poisoned`] if a thread panicked amid one of them.
    pub fn await_places(&self, logged: &Logged) -> Result<()> {
        if self.published.arrives(logged.placed) { Ok(()) } else { Err(Error::Poisoned { path: self.path.clone() }) }
    }
}
