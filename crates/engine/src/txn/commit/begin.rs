//! How transactions begin: with what the last one of their thread left in its slot, or with a snapshot of now.

use crate::error::Result;
use crate::planted::give_way;
use crate::sync::Arc;
use crate::txn::commit::core::{Core, Hold};
use crate::txn::coordination::slots::Lent;
use crate::txn::snapshot::state::Snapshot;

/// A snapshot of a transaction that only reads, which leaves it in a slot.
pub type Reading = Lent<Snapshot>;

/// What a transaction that may write holds and leaves in a slot.
pub type Writing = Lent<Hold>;

impl Lent<Snapshot> {
    /// A snapshot of now.
    ///
    /// # Errors
    /// As [`Core::snapshot`].
    #[inline]
    pub fn begin(core: &Core) -> Result<Self> {
        // The number is read before the state, as in `Published::snapshot`.
        let visible = core.published.visible();
        give_way();
        if let Some(mut snapshot) = core.published.read_slots().take()
            && core.shows_all()?
        {
            snapshot.sequence = visible.max(snapshot.state.floor);
            return Ok(Self::of(snapshot));
        }
        core.snapshot().map(Self::of)
    }
}

impl Lent<Hold> {
    /// A snapshot of now, counted among those that may write.
    ///
    /// # Errors
    /// As [`Core::snapshot`].
    #[inline]
    pub fn begin(core: &Arc<Core>) -> Result<Self> {
        Hold::begin(core).map(Self::of)
    }
}

impl Hold {
    fn begin(core: &Arc<Core>) -> Result<Self> {
        // As for reading.
        let visible = core.published.visible();
        give_way();
        if let Some(mut hold) = core.published.write_slots().take()
            && core.shows_all()?
        {
            hold.snapshot.sequence = visible.max(hold.snapshot.state.floor);
            return Ok(hold);
        }
        let snapshot = core.snapshot()?;
        snapshot.state.epoch.enter();
        Ok(Self { core: Arc::clone(core), snapshot })
    }
}
