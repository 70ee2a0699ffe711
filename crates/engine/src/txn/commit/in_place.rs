//! Commits that their own threads write to the log in parallel, each to a place that was assigned under the log's lock.
//!
//! A commit that has a place and is not finished may still be being copied. So a thread that needs the log's bytes,
//! or removes the file, first waits until the last commit with a place is finished: see [`Logged::placed`]. No commit
//! is acknowledged before all commits before it are finished, so the commits that a killed process leaves behind a
//! gap were never acknowledged.
#![allow(unsafe_code)] // The memory that is written belongs to the log, which could unmap it.

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
    /// Prefetches the place, which will be written soon.
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
        // SAFETY: only this commit has the place. The log holds its file, and does not cut it below the end of the
        // places that it has assigned, until the thread that closes the log or begins another file has waited for
        // this commit to be finished. By the caller's contract that comes after this. If a commit is abandoned
        // meanwhile, waiting ends early; but `Visible::arrives` returns false while any commit up to `Logged::placed`
        // is missing, and then no thread removes the file.
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
