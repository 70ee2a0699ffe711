//! What the benchmark of writers needs of an engine: transactions at a level of durability, from several threads.
//!
//! Invariants: (1) A store has its own directory. (2) No trait object is between a timed loop and an engine. (3)
//! Transactions are serializable: a commit succeeds if everything that its transaction read is still current.
//! Otherwise it is refused, and the caller may retry.

use std::path::Path;

use crate::interface::engine::Failure;

/// How far a commit has got when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// In memory of the process: a crash of the process may lose it.
    Memory,
    /// In the operating system's page cache: it survives the process, not the machine.
    Log,
    /// On the disk.
    Disk,
}

impl Level {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "Memory",
            Self::Log => "Log",
            Self::Disk => "Disk",
        }
    }
}

/// What a store is written by: each engine chooses its most favourable settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// [`WritingStore::put`] and [`WritingStore::get`] alone.
    SingleOperations,
    /// [`WritingStore::begin`], from several threads.
    Transactions,
    /// The same with [`Transaction::add`]; all values are numbers of 8 bytes.
    Counters,
    /// As [`Usage::SingleOperations`], but whatever is put stays in the log, so that recovery has to read all of it.
    LongLog,
    /// [`WritingStore::put_all`], [`WritingStore::put`] and [`WritingStore::snapshot`], for longer than any buffer
    /// lasts.
    Sustained {
        /// What caches of the engine's own may hold; memtables get a share of it at most.
        cache_bytes: u64,
    },
}

/// How a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What a commit waits for.
    pub level: Level,
    /// What the store is written by.
    pub usage: Usage,
}

impl Settings {
    /// Bytes that caches of the engine's own may hold: `default` unless the usage says it.
    pub fn cache_bytes(self, default: u64) -> u64 {
        match self.usage {
            Usage::Sustained { cache_bytes } => cache_bytes,
            _ => default,
        }
    }
}

/// An engine whose writes can be measured.
pub trait WritingEngine {
    /// Its name in reports.
    const NAME: &'static str;

    /// Whether commits are in a log, which opening after a crash has to read.
    const HAS_LOG: bool = true;

    /// Whether [`Snapshot::scan_back_from`] works.
    const SCANS_BACK: bool = true;

    /// Longest value that it stores with these settings.
    const VALUE_BYTES_MAX: usize = usize::MAX;

    /// An open database of this engine.
    type Store: WritingStore;

    /// Its version: of the library, where the adapter binds one.
    fn version() -> String;

    /// What was chosen for it at these settings, in its own words, for reports.
    fn describe(settings: Settings) -> String;

    /// Why it cannot be measured on this machine, and what would change that.
    fn missing() -> Option<String> {
        None
    }

    /// Why it is not measured with these settings, such as that it has no level of its own like theirs.
    fn unfit(settings: Settings) -> Option<&'static str>;

    /// Opens the store in `directory`, or creates it if it does not exist. It recovers from a crash of the process.
    ///
    /// # Errors
    /// What the engine answered.
    fn open(directory: &Path, settings: Settings) -> Result<Self::Store, Failure>;
}

/// An open database with one table of bytes, shared by the threads that write to it.
pub trait WritingStore: Sync + Sized {
    /// A transaction, which belongs to the thread that began it.
    type Transaction<'s>: Transaction
    where
        Self: 's;

    /// A reader of what is committed, which belongs to the thread that took it.
    type Snapshot<'s>: Snapshot
    where
        Self: 's;

    /// Loads records whose keys rise strictly into the empty store. They are durable, and settled, when it returns.
    ///
    /// # Errors
    /// What the engine answered.
    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure>;

    /// Puts one record in a transaction of its own, by the engine's fastest way, at the level of the settings.
    ///
    /// # Errors
    /// What the engine answered.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure>;

    /// Puts records in any order in one transaction, without concurrent ones, by the engine's fastest way, at the
    /// level of the settings. Of two records with one key the later counts.
    ///
    /// # Errors
    /// What the engine answered.
    fn put_all<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure>;

    /// Hands the newest committed value of `key` to `read`.
    ///
    /// # Errors
    /// What the engine answered.
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure>;

    /// Takes a reader that sees every commit so far. Whether it sees later ones is the engine's choice of what costs
    /// less.
    ///
    /// # Errors
    /// What the engine answered.
    fn snapshot(&self) -> Result<Self::Snapshot<'_>, Failure>;

    /// Begins a serializable transaction; an engine with one writer waits for it.
    ///
    /// # Errors
    /// What the engine answered.
    fn begin(&self) -> Result<Self::Transaction<'_>, Failure>;

    /// Makes every commit so far durable.
    ///
    /// # Errors
    /// What the engine answered.
    fn sync(&self) -> Result<(), Failure>;

    /// Finishes the work that earlier commits have left for later, and waits for it.
    ///
    /// # Errors
    /// What the engine answered.
    fn settle(&self) -> Result<(), Failure>;

    /// How often the store has waited for the disk to write its log since it was opened, if the engine counts that.
    ///
    /// # Errors
    /// What the engine answered.
    fn flushes(&self) -> Result<Option<u64>, Failure>;

    /// All committed records in rising order.
    ///
    /// # Errors
    /// What the engine answered.
    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure>;

    /// Closes the store.
    ///
    /// # Errors
    /// What the engine answered.
    fn close(self) -> Result<(), Failure>;
}

/// A reader of committed records.
pub trait Snapshot {
    /// Hands the value of `key` to `read`.
    ///
    /// # Errors
    /// What the engine answered.
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure>;

    /// At most `count` records in rising order, from the first whose key is not below `from`.
    ///
    /// # Errors
    /// What the engine answered.
    fn scan_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure>;

    /// At most `count` records in falling order, from the last whose key is not above `from`. Fails where
    /// [`WritingEngine::SCANS_BACK`] is off.
    ///
    /// # Errors
    /// What the engine answered.
    fn scan_back_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure>;

    /// The records whose keys begin with `prefix`, in rising order.
    ///
    /// # Errors
    /// What the engine answered.
    fn scan_prefix(&self, prefix: &[u8], each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure>;
}

/// A serializable transaction. After a [`Refusal`] it has to be dropped; dropping it aborts it.
pub trait Transaction: Sized {
    /// Hands the value of `key`, as this transaction sees it, to `read`.
    ///
    /// # Errors
    /// A conflict, or what the engine answered.
    fn get<R>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Refusal>;

    /// Gives `key` this value.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal>;

    /// Adds to the little-endian number that is the value of `key`, or to 0 if the key is absent: by the engine's own
    /// operator if its adapter has one, otherwise by a get and a put. Requires: the store was opened for
    /// [`Usage::Counters`].
    ///
    /// # Errors
    /// As [`Transaction::get`].
    fn add(&mut self, key: &[u8], number: u64) -> Result<(), Refusal> {
        let before = self.get(key, |value| value.and_then(|value| value.first_chunk()).copied())?;
        let before = before.map_or(0, u64::from_le_bytes);
        self.put(key, &before.wrapping_add(number).to_le_bytes())
    }

    /// Takes `key` away.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    fn delete(&mut self, key: &[u8]) -> Result<(), Refusal>;

    /// Commits at the level of the store's settings.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    fn commit(self) -> Result<(), Refusal>;

    /// Drops all changes.
    fn abort(self);
}

/// The transaction of an engine that has none: [`WritingEngine::unfit`] says so, and [`WritingStore::begin`] fails.
#[derive(Debug)]
pub enum NoTransaction {}

impl Transaction for NoTransaction {
    fn get<R>(&mut self, _key: &[u8], _read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Refusal> {
        match *self {}
    }

    fn put(&mut self, _key: &[u8], _value: &[u8]) -> Result<(), Refusal> {
        match *self {}
    }

    fn delete(&mut self, _key: &[u8]) -> Result<(), Refusal> {
        match *self {}
    }

    fn commit(self) -> Result<(), Refusal> {
        match self {}
    }

    fn abort(self) {
        match self {}
    }
}

/// Why a transaction did not go on.
#[derive(Debug)]
pub enum Refusal {
    /// Another transaction was in the way: the same may succeed when it is begun again.
    Conflict,
    /// The engine failed.
    Failed(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
