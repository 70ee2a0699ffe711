//! fjall as an engine of writers, by its optimistic transactions, which are serializable.
//!
//! At [`Level::Memory`] a commit stays in the buffer of the journal's writer, at [`Level::Log`] it is handed to the
//! operating system, at [`Level::Disk`] it is synced, each by itself: fjall does not let commits share a sync. Single
//! puts go past the check of conflicts, which they cannot have. Nothing is compressed, as in every engine here: the
//! values are noise.

use std::path::Path;

use fjall::config::{BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{
    Database, Keyspace, KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, OptimisticWriteTx,
    PersistMode, Readable,
};

use crate::interface::engine::Failure;
use crate::interface::writing::{Level, Refusal, Settings, Snapshot, Transaction, Usage, WritingEngine, WritingStore};
use crate::versions;

const NAME: &str = "fjall";

/// The one table.
pub(crate) const KEYSPACE: &str = "records";

/// The most that its documentation recommends for a memtable.
const MEMTABLE_BYTES: u64 = 64 << 20;

/// Where caches are small, a memtable has this part of what they have.
const MEMTABLE_SHARE: u64 = 16;

/// A memtable, and a journal, that a benchmark does not fill.
pub(crate) const UNBOUNDED_BYTES: u64 = 8 << 30;

/// All data sets of the benchmark fit in.
const CACHE_BYTES: u64 = 1 << 30;

/// The cores of the machine that the bars are about.
pub(crate) const WORKERS: usize = 2;

/// fjall.
#[derive(Debug)]
pub struct Fjall;

impl WritingEngine for Fjall {
    const NAME: &'static str = NAME;
    type Store = FjallStore;

    fn unfit(_settings: Settings) -> Option<&'static str> {
        None
    }

    fn version() -> String {
        versions::locked(NAME)
    }

    fn describe(settings: Settings) -> String {
        describe(settings)
    }

    fn open(directory: &Path, settings: Settings) -> Result<FjallStore, Failure> {
        let by_hand = settings.level == Level::Memory;
        let long = settings.usage == Usage::LongLog;
        let builder = OptimisticTxDatabase::builder(directory)
            .cache_size(cache_bytes(settings))
            .worker_threads(WORKERS)
            .manual_journal_persist(by_hand);
        let builder = if long { builder.max_journaling_size(UNBOUNDED_BYTES) } else { builder };
        let database = builder.open().map_err(failed(NAME, "open"))?;
        let keyspace = database.keyspace(KEYSPACE, || options(settings)).map_err(failed(NAME, "open"))?;
        Ok(FjallStore { database, keyspace, level: settings.level })
    }
}

/// An open database and its keyspace.
pub struct FjallStore {
    database: OptimisticTxDatabase,
    keyspace: OptimisticTxKeyspace,
    level: Level,
}

impl FjallStore {
    fn plain(&self) -> &Keyspace {
        self.keyspace.as_ref()
    }
}

impl WritingStore for FjallStore {
    type Transaction<'s> = FjallTransaction<'s>;
    type Snapshot<'s> = FjallSnapshot<'s>;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        load(self.plain(), records).map_err(failed(NAME, "load"))?;
        self.settle()
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.plain().insert(key, value).map_err(failed(NAME, "put"))?;
        match self.level {
            Level::Memory | Level::Log => Ok(()),
            Level::Disk => self.sync(),
        }
    }

    fn put_all<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        put_all(self.database.inner(), self.plain(), self.level, records).map_err(failed(NAME, "put"))
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        Ok(read(self.plain().get(key).map_err(failed(NAME, "get"))?.as_deref()))
    }

    fn snapshot(&self) -> Result<FjallSnapshot<'_>, Failure> {
        Ok(FjallSnapshot { engine: NAME, keyspace: self.plain() })
    }

    fn begin(&self) -> Result<FjallTransaction<'_>, Failure> {
        let txn = self.database.write_tx().map_err(failed(NAME, "begin"))?;
        let txn = match self.level {
            Level::Memory | Level::Log => txn,
            Level::Disk => txn.durability(Some(PersistMode::SyncData)),
        };
        Ok(FjallTransaction { txn, keyspace: self.plain() })
    }

    fn sync(&self) -> Result<(), Failure> {
        self.database.persist(PersistMode::SyncData).map_err(failed(NAME, "sync"))
    }

    fn settle(&self) -> Result<(), Failure> {
        settle(self.database.inner(), self.plain()).map_err(failed(NAME, "settle"))
    }

    /// fjall does not count.
    fn flushes(&self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        scan(self.plain(), each).map_err(failed(NAME, "scan"))
    }

    fn close(self) -> Result<(), Failure> {
        self.sync()
    }
}

/// An optimistic transaction: it is checked when it commits.
pub struct FjallTransaction<'s> {
    txn: OptimisticWriteTx,
    keyspace: &'s Keyspace,
}

impl Transaction for FjallTransaction<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Refusal> {
        Ok(read(self.txn.get(self.keyspace, key).map_err(failed(NAME, "get"))?.as_deref()))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        self.txn.insert(self.keyspace, key, value);
        Ok(())
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Refusal> {
        self.txn.remove(self.keyspace, key);
        Ok(())
    }

    fn commit(self) -> Result<(), Refusal> {
        self.txn.commit().map_err(failed(NAME, "commit"))?.map_err(|_| Refusal::Conflict)
    }

    fn abort(self) {
        self.txn.rollback();
    }
}

/// The keyspace itself: fjall reads the newest state for less than it costs to hold one.
pub struct FjallSnapshot<'s> {
    pub(crate) engine: &'static str,
    pub(crate) keyspace: &'s Keyspace,
}

impl Snapshot for FjallSnapshot<'_> {
    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        Ok(read(self.keyspace.get(key).map_err(failed(self.engine, "get"))?.as_deref()))
    }

    fn scan_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        for record in self.keyspace.range(from..).take(count) {
            let (key, value) = record.into_inner().map_err(failed(self.engine, "seek"))?;
            each(&key, &value);
        }
        Ok(())
    }

    fn scan_back_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        for record in self.keyspace.range(..=from).rev().take(count) {
            let (key, value) = record.into_inner().map_err(failed(self.engine, "seek"))?;
            each(&key, &value);
        }
        Ok(())
    }

    fn scan_prefix(&self, prefix: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        for record in self.keyspace.prefix(prefix) {
            let (key, value) = record.into_inner().map_err(failed(self.engine, "seek"))?;
            each(&key, &value);
        }
        Ok(())
    }
}

/// What both kinds of store may cache.
pub(crate) fn cache_bytes(settings: Settings) -> u64 {
    match settings.usage {
        Usage::Sustained { cache_bytes } => cache_bytes,
        _ => CACHE_BYTES,
    }
}

fn memtable_bytes(settings: Settings) -> u64 {
    match settings.usage {
        Usage::LongLog => UNBOUNDED_BYTES,
        Usage::Sustained { cache_bytes } => MEMTABLE_BYTES.min(cache_bytes / MEMTABLE_SHARE),
        _ => MEMTABLE_BYTES,
    }
}

/// What both kinds of store say of their settings.
pub(crate) fn describe(settings: Settings) -> String {
    let journal = match settings.level {
        Level::Memory => "journal kept in its buffer",
        Level::Log => "journal unsynced",
        Level::Disk => "journal synced",
    };
    let (cache, memtable) = (cache_bytes(settings) >> 20, memtable_bytes(settings) >> 20);
    format!(
        "{journal}, memtable {memtable} MiB, cache {cache} MiB, Bloom filter 10 bits, {WORKERS} threads, no compression"
    )
}

/// What both kinds of store set for their keyspace.
pub(crate) fn options(settings: Settings) -> KeyspaceCreateOptions {
    let bits = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
    KeyspaceCreateOptions::default()
        .filter_policy(FilterPolicy::all(bits))
        .data_block_compression_policy(CompressionPolicy::disabled())
        .manual_journal_persist(settings.level == Level::Memory)
        .max_memtable_size(memtable_bytes(settings))
}

/// Loads records whose keys rise strictly.
pub(crate) fn load<'r>(
    keyspace: &Keyspace,
    records: impl Iterator<Item = (&'r [u8], &'r [u8])>,
) -> Result<(), fjall::Error> {
    let mut ingestion = keyspace.start_ingestion()?;
    for (key, value) in records {
        ingestion.write(key, value)?;
    }
    ingestion.finish()
}

/// Puts records at once; a batch is checked for no conflicts, which it cannot have.
pub(crate) fn put_all<'r>(
    database: &Database,
    keyspace: &Keyspace,
    level: Level,
    records: impl Iterator<Item = (&'r [u8], &'r [u8])>,
) -> Result<(), fjall::Error> {
    let batch = database.batch();
    let mut batch = if level == Level::Disk { batch.durability(Some(PersistMode::SyncData)) } else { batch };
    records.for_each(|(key, value)| batch.insert(keyspace, key, value));
    batch.commit()
}

/// Writes the memtable out and waits until nothing is being compacted.
pub(crate) fn settle(database: &Database, keyspace: &Keyspace) -> Result<(), fjall::Error> {
    keyspace.rotate_memtable_and_wait()?;
    while database.outstanding_flushes() > 0 || database.active_compactions() > 0 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(())
}

/// Hands out all records.
pub(crate) fn scan(keyspace: &Keyspace, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), fjall::Error> {
    for record in keyspace.iter() {
        let (key, value) = record.into_inner()?;
        each(&key, &value);
    }
    Ok(())
}

pub(crate) fn failed(engine: &'static str, operation: &'static str) -> impl Fn(fjall::Error) -> Failure {
    move |error| Failure::new(engine, operation, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::writing_checks;

    #[test]
    fn it_does_what_the_benchmark_asks_at_every_level() {
        writing_checks::all::<Fjall>();
    }
}
