//! What a benchmark needs of an engine: create, load, open, read, put, close.
//!
//! Invariants: (1) A store has its own directory, so that removing the directory removes the store. (2) No trait
//! object is between a timed loop and an engine: every workload is compiled once for each engine. (3) Readers hold
//! one snapshot for life and are reused for all reads of a workload.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// An engine that can be measured.
pub trait Engine {
    /// Its name in reports.
    const NAME: &'static str;

    /// An open database of this engine.
    type Store: Store;

    /// Creates an empty store in `directory`, which exists and is empty.
    ///
    /// # Errors
    /// What the engine answered.
    fn create(directory: &Path, purpose: Purpose) -> Result<Self::Store, Failure>;

    /// Opens the store in `directory`, which was closed cleanly.
    ///
    /// # Errors
    /// What the engine answered.
    fn open(directory: &Path, purpose: Purpose) -> Result<Self::Store, Failure>;

    /// The file in `directory` that holds the records.
    fn data_file(directory: &Path) -> PathBuf;
}

/// What a store is opened for: each engine chooses its most favourable settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Loading sorted records.
    Load,
    /// Reading only.
    Read,
    /// Transactions of one put each that survive a crash of the process, not of the machine.
    SinglePuts,
    /// Reading while the newest million of records is still outside the main tree, where the engine has such a place.
    ReadAboveDelta,
}

/// An open database with one table of bytes.
pub trait Store: Sized {
    /// A snapshot that is reused for many reads.
    type Reader<'s>: Reader
    where
        Self: 's;

    /// Loads records whose keys rise strictly into the empty store, by the engine's fastest way. They are durable when
    /// it returns.
    ///
    /// # Errors
    /// What the engine answered.
    fn load_sorted<'r>(&mut self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure>;

    /// Loads records in any order into the empty store, by the engine's fastest way in bounded memory.
    ///
    /// # Errors
    /// What the engine answered.
    fn load_unsorted<'r, K: AsRef<[u8]>>(
        &mut self,
        records: impl Iterator<Item = (K, &'r [u8])>,
    ) -> Result<(), Failure>;

    /// Puts one record in a transaction of its own.
    ///
    /// # Errors
    /// What the engine answered.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure>;

    /// Puts records in any order in one transaction.
    ///
    /// # Errors
    /// What the engine answered.
    fn put_all<'r>(&mut self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure>;

    /// Finishes the work that earlier puts have left for later, and waits for it.
    ///
    /// # Errors
    /// What the engine answered.
    fn settle(&mut self) -> Result<(), Failure>;

    /// A count that rises whenever puts have been moved from a log to their final place; waits for a move under way.
    ///
    /// # Errors
    /// What the engine answered.
    fn checkpoints(&self) -> Result<u64, Failure>;

    /// Bytes of the data file that are in use.
    ///
    /// # Errors
    /// What the engine answered.
    fn used_bytes(&self) -> Result<u64, Failure>;

    /// Which instructions its searches use on this machine, where it has a choice.
    ///
    /// # Errors
    /// What the engine answered.
    fn search(&self) -> Result<Option<&'static str>, Failure> {
        Ok(None)
    }

    /// Takes a snapshot of the newest state.
    ///
    /// # Errors
    /// What the engine answered.
    fn reader(&self) -> Result<Self::Reader<'_>, Failure>;

    /// Closes the store.
    ///
    /// # Errors
    /// What the engine answered.
    fn close(self) -> Result<(), Failure>;
}

/// A snapshot. Values are handed out without copying where the engine can.
pub trait Reader {
    /// A value as the engine hands it out.
    type Value<'r>: Deref<Target = [u8]>
    where
        Self: 'r;

    /// The value of `key`.
    ///
    /// # Errors
    /// What the engine answered.
    fn get<'r>(&'r self, key: &[u8]) -> Result<Option<Self::Value<'r>>, Failure>;

    /// The values of `keys`: calls `each` once for every position, in any order.
    ///
    /// # Errors
    /// What the engine answered.
    fn get_many(&self, keys: &[&[u8]], each: impl FnMut(usize, Option<&[u8]>)) -> Result<(), Failure>;

    /// All records in rising order.
    ///
    /// # Errors
    /// What the engine answered.
    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure>;

    /// All records in falling order.
    ///
    /// # Errors
    /// What the engine answered.
    fn scan_reverse(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure>;

    /// At most `count` records in rising order, from the first whose key is not below `from`.
    ///
    /// # Errors
    /// What the engine answered.
    fn scan_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure>;
}

/// An engine's refusal.
#[derive(Debug)]
pub struct Failure {
    /// The engine, as [`Engine::NAME`].
    pub engine: &'static str,
    /// What was asked of it, such as `get`.
    pub operation: &'static str,
    /// Its answer.
    pub source: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// Wraps an engine's answer. Not inlined, to keep it out of timed loops.
    #[cold]
    #[inline(never)]
    pub fn new(engine: &'static str, operation: &'static str, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { engine, operation, source: source.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {} failed: {}", self.engine, self.operation, self.source)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}
