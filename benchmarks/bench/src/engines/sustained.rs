//! What long runs ask of an engine beyond transactions: to finish deferred work, and to count what it has written.

use fulgurite_rivals::{Failure, Lmdb, RocksDb, WritingEngine, WritingStore};

use crate::engines::fulgurite::{Fulgurite, failed};
use crate::engines::planted::writing::Planted;
use crate::measure::written::Written;

/// An engine that can be measured for as long as it takes.
pub trait SustainedEngine: WritingEngine {
    /// Finishes all work that puts have deferred, so that reads search as little as possible.
    ///
    /// # Errors
    /// What the engine answered.
    fn settle(store: &Self::Store) -> Result<(), Failure> {
        store.settle()
    }

    /// Bytes that the engine has given to the system to write since the process began; `None` where no one counts them.
    fn written_bytes(_store: &Self::Store) -> Option<u64> {
        Written::so_far().map(|written| written.by_calls)
    }
}

impl SustainedEngine for Fulgurite {
    /// Merges everything into one tree, in a file without holes.
    fn settle(store: &<Self as WritingEngine>::Store) -> Result<(), Failure> {
        store.database.checkpoint().map_err(failed("checkpoint"))?;
        store.database.compact().map(drop).map_err(failed("compact"))
    }

    /// The disk below the engine counts: the log is written through memory, where the system counts nothing.
    fn written_bytes(store: &<Self as WritingEngine>::Store) -> Option<u64> {
        Some(store.counts.as_ref()?.written_bytes())
    }
}

impl SustainedEngine for RocksDb {}

#[cfg(feature = "fjall")]
impl SustainedEngine for fulgurite_rivals::Fjall {}

#[cfg(feature = "redb")]
impl SustainedEngine for fulgurite_rivals::Redb {}

#[cfg(feature = "bf-tree")]
impl SustainedEngine for fulgurite_rivals::BfTree {}

#[cfg(feature = "sqlite")]
impl SustainedEngine for fulgurite_rivals::Sqlite {}

impl SustainedEngine for fulgurite_rivals::LevelDb {}

#[cfg(feature = "libmdbx")]
impl SustainedEngine for fulgurite_rivals::Mdbx {
    /// As LMDB.
    fn settle(store: &Self::Store) -> Result<(), Failure> {
        store.sync()
    }

    /// It stores to its map, and does not count.
    fn written_bytes(_store: &Self::Store) -> Option<u64> {
        None
    }
}

impl SustainedEngine for Lmdb {
    /// Its deferred work is the kernel's to write.
    fn settle(store: &Self::Store) -> Result<(), Failure> {
        store.sync()
    }

    /// It stores to its map, and does not count.
    fn written_bytes(_store: &Self::Store) -> Option<u64> {
        None
    }
}

impl<const FAULT: u8> SustainedEngine for Planted<FAULT> {}
