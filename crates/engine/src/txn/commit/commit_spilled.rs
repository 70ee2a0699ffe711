//! Committing a transaction that has spilled: one checkpoint brings its changes into the trees, without the log and
//! the deltas.
//!
//! Invariants:
//! (1) No other transaction commits between the check of what the transaction read or overwrites and the publication
//!     of the state that shows its changes.
//! (2) By then everything that was committed before is in the trees and in the runs above them, so the changes are
//!     above it.
//! (3) One meta makes the changes durable, and one state shows them. A crash before that meta leaves nothing of them
//!     but a note in the log.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::ids::{ExtentId, Sequence};
use crate::metrics;
use crate::sync::Arc;
use crate::txn::commit::core::{Core, Writer};
use crate::txn::commit::exclusive::Exclusive;
use crate::txn::commit::proposal::Proposal;
use crate::txn::commit::spilled_proposal::SpilledProposal;
use crate::txn::commit::steps::note_refusal;

/// What committing a transaction that has spilled returns.
#[derive(Debug)]
pub struct SpilledCommit {
    /// Its number.
    pub sequence: Sequence,
    /// The extents of its large values that the trees now have.
    pub kept: HashSet<ExtentId>,
}

impl Core {
    /// Commits a transaction that has spilled. When this returns, it is durable and visible.
    ///
    /// # Errors
    /// As [`crate::WriteTxn::commit`].
    pub fn commit_spilled(self: &Arc<Self>, proposal: &Proposal<'_>) -> Result<SpilledCommit> {
        let writer = self.writer()?;
        // Checked before others have to wait for it.
        self.check_now(writer, proposal)?;
        let exclusive = if proposal.is_exclusive { None } else { Exclusive::wait(self, None)? };
        self.check_now(writer, proposal)?;
        let relief = writer.relief.get().ok_or_else(|| Error::Closed { path: self.path.clone() })?;
        let incoming = SpilledProposal::new(proposal);
        let outcome = relief.commit_spilled(&incoming);
        drop(exclusive);
        match (outcome, incoming.sequence()) {
            (Ok(()), Some(sequence)) => {
                metrics::commit(0);
                Ok(SpilledCommit { sequence, kept: incoming.into_kept() })
            }
            (Ok(()), None) => unreachable!("what was committed has a number"),
            // The meta may be on the disk or not.
            (Err(source), Some(sequence)) if writer.is_poisoned() => Err(self.indeterminate(sequence, source)),
            (Err(error), _) => Err(error),
        }
    }

    /// Checks a transaction against all commits that are visible now.
    fn check_now(&self, writer: &Writer, proposal: &Proposal<'_>) -> Result<()> {
        let checked = self.check(writer, proposal);
        let checked = checked.and_then(|_| proposal.check_tables(&self.published.state()));
        checked.inspect_err(|error| note_refusal(writer, error))
    }
}
