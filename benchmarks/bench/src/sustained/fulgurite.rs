//! Fulgurite in the suite of sustained writes.

use fulgurite_rivals::{Failure, WritingEngine};

use crate::fulgurite::{Fulgurite, failed};
use crate::sustained::engine::Sustained;
use crate::writers::FulguriteWritingStore;

impl Sustained for Fulgurite {
    fn settle(store: &<Self as WritingEngine>::Store) -> Result<(), Failure> {
        settle(store)
    }

    /// Counted by the disk below the engine, because the log is written through memory, where the system counts nothing.
    fn written_bytes(store: &<Self as WritingEngine>::Store) -> Option<u64> {
        Some(store.counts.as_ref()?.written_bytes())
    }
}

/// Makes all one tree, in a file without holes.
fn settle(store: &FulguriteWritingStore) -> Result<(), Failure> {
    store.database.checkpoint().map_err(failed("checkpoint"))?;
    store.database.compact().map(drop).map_err(failed("compact"))
}
