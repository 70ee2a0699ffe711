//! fjall as an engine of writers, by its optimistic transactions, which are serializable.
//!
//! At [`Level::Memory`] a commit stays in the buffer of the journal's writer, at [`Level::Log`] it is handed to the operating
//! system, at [`Level::Disk`] it is synced, each by itself: fjall does not let commits share a sync. Single puts go past the
//! check of conflicts, which they cannot have. Nothing is compressed, as in every engine here: the values are noise.

use std::path::Path;

use fjall::config::{BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{
    Keyspace, KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, OptimisticWriteTx, PersistMode,
    Readable,
};

use crate::engine::Failure;
use crate::writing::{Level, Refusal, Settings, Transaction, Usage, WritingEngine, WritingStore};

const NAME: &str = "fjall";

/// The most that its documentation recommends for a memtable.
const MEMTABLE_BYTES: u64 = 64 << 20;

/// A memtable, and a journal, that a benchmark does not fill.
const UNBOUNDED_BYTES: u64 = 8 << 30;

/// All data sets of the benchmark fit in.
const CACHE_BYTES: u64 = 1 << 30;

/// The cores of the machine that the bars are about.
const WORKERS: usize = 2;

/// fjall.
#[derive(Debug)]
pub struct Fjall;

impl WritingEngine for Fjall {
    const NAME: &'static str = NAME;
    type Store = FjallStore;

    fn offers(_level: Level) -> bool {
        true
    }

    fn open(directory: &Path, settings: Settings) -> Result<FjallStore, Failure> {
        let by_hand = settings.level == Level::Memory;
        let long = settings.usage == Usage::LongLog;
        let builder = OptimisticTxDatabase::builder(directory)
            .cache_size(CACHE_BYTES)
            .worker_threads(WORKERS)
            .manual_journal_persist(by_hand);
        let builder = if long { builder.max_journaling_size(UNBOUNDED_BYTES) } else { builder };
        let database = builder.open().map_err(failed("open"))?;
        let bits = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
        let options = || {
            KeyspaceCreateOptions::default()
                .filter_policy(FilterPolicy::all(bits))
                .data_block_compression_policy(CompressionPolicy::disabled())
                .manual_journal_persist(by_hand)
                .max_memtable_size(if long { UNBOUNDED_BYTES } else { MEMTABLE_BYTES })
        };
        let keyspace = database.keyspace("records", options).map_err(failed("open"))?;
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

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        let mut ingestion = self.plain().start_ingestion().map_err(failed("load"))?;
        for (key, value) in records {
            ingestion.write(key, value).map_err(failed("load"))?;
        }
        ingestion.finish().map_err(failed("load"))?;
        self.settle()
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.plain().insert(key, value).map_err(failed("put"))?;
        match self.level {
            Level::Memory | Level::Log => Ok(()),
            Level::Disk => self.sync(),
        }
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        Ok(read(self.plain().get(key).map_err(failed("get"))?.as_deref()))
    }

    fn begin(&self) -> Result<FjallTransaction<'_>, Failure> {
        let txn = self.database.write_tx().map_err(failed("begin"))?;
        let txn = match self.level {
            Level::Memory | Level::Log => txn,
            Level::Disk => txn.durability(Some(PersistMode::SyncData)),
        };
        Ok(FjallTransaction { txn, keyspace: self.plain() })
    }

    fn sync(&self) -> Result<(), Failure> {
        self.database.persist(PersistMode::SyncData).map_err(failed("sync"))
    }

    /// Writes the memtable out and waits until nothing is being compacted.
    fn settle(&self) -> Result<(), Failure> {
        self.plain().rotate_memtable_and_wait().map_err(failed("settle"))?;
        let database = self.database.inner();
        while database.outstanding_flushes() > 0 || database.active_compactions() > 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(())
    }

    /// fjall does not count.
    fn flushes(&self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    fn scan(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        for record in self.plain().iter() {
            let (key, value) = record.into_inner().map_err(failed("scan"))?;
            each(&key, &value);
        }
        Ok(())
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
        Ok(read(self.txn.get(self.keyspace, key).map_err(failed("get"))?.as_deref()))
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
        self.txn.commit().map_err(failed("commit"))?.map_err(|_| Refusal::Conflict)
    }

    fn abort(self) {
        self.txn.rollback();
    }
}

fn failed(operation: &'static str) -> impl Fn(fjall::Error) -> Failure {
    move |error| Failure::new(NAME, operation, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writing_checks;

    #[test]
    fn it_does_what_the_benchmark_asks_at_every_level() {
        writing_checks::all::<Fjall>();
    }
}
