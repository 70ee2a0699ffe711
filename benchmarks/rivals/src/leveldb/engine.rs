//! LevelDB as an engine of writers, through the system's library.
//!
//! It has batches and no transactions of several steps. Settings are those that its documentation names for speed: a
//! larger memtable, a cache that holds all data, a Bloom filter of 10 bits; no compression, as in every engine here.
//! Its C interface can neither flush a memtable nor wait for a compaction: settling is a compaction of everything.

use std::path::Path;

use crate::c_interface::reader::{NewestState, Readable};
use crate::c_interface::status::Status;
use crate::interface::engine::Failure;
use crate::interface::walk::Walk;
use crate::interface::writing::{Level, NoTransaction, Settings, Usage, WritingEngine, WritingStore};
use crate::leveldb::library::{self, Database, NAME, Tuning};

/// As RocksDB's here.
const WRITE_BUFFER_BYTES: usize = 64 << 20;

/// Where caches are small, a memtable has this part of what they have.
const WRITE_BUFFER_SHARE: usize = 16;

/// All data sets of the other suites fit in.
const CACHE_BYTES: usize = 1 << 30;

/// A memtable that a benchmark does not fill; its arena's offsets have 32 bits.
const UNBOUNDED_BYTES: usize = 2 << 30;

/// Records in a batch of a load.
const LOAD_BATCH: usize = 1000;

/// LevelDB.
#[derive(Debug)]
pub struct LevelDb;

impl WritingEngine for LevelDb {
    const NAME: &'static str = NAME;
    type Store = LevelDbStore;

    fn missing() -> Option<String> {
        library::missing().map(str::to_owned)
    }

    fn unfit(settings: Settings) -> Option<&'static str> {
        match (settings.level, settings.usage) {
            (Level::Memory, _) => Some("it always writes its log"),
            (_, Usage::Transactions | Usage::Counters) => Some("it has no transactions"),
            _ => None,
        }
    }

    fn version() -> String {
        library::version()
    }

    fn describe(settings: Settings) -> String {
        let tuning = tuned(settings);
        format!(
            "log {}, memtable {} MiB, block cache {} MiB, Bloom filter {} bits, no compression, settled by a compaction of everything",
            if tuning.synced { "synced" } else { "unsynced" },
            tuning.write_buffer_bytes >> 20,
            tuning.cache_bytes >> 20,
            tuning.bloom_bits
        )
    }

    fn open(directory: &Path, settings: Settings) -> Result<LevelDbStore, Failure> {
        Ok(LevelDbStore { database: Database::open(directory, &tuned(settings)).map_err(failed("open"))? })
    }
}

/// What the level and the usage want.
fn tuned(settings: Settings) -> Tuning {
    let (write_buffer_bytes, cache_bytes) = match settings.usage {
        Usage::LongLog => (UNBOUNDED_BYTES, CACHE_BYTES),
        Usage::Sustained { cache_bytes } => {
            let cache_bytes = usize::try_from(cache_bytes).unwrap_or(usize::MAX);
            (WRITE_BUFFER_BYTES.min(cache_bytes / WRITE_BUFFER_SHARE), cache_bytes)
        }
        _ => (WRITE_BUFFER_BYTES, CACHE_BYTES),
    };
    Tuning { write_buffer_bytes, cache_bytes, bloom_bits: 10, synced: settings.level == Level::Disk }
}

/// An open database.
pub struct LevelDbStore {
    database: Database,
}

impl WritingStore for LevelDbStore {
    type Transaction<'s> = NoTransaction;
    type Snapshot<'s> = LevelDbReader<'s>;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        let mut records = records.peekable();
        while records.peek().is_some() {
            let mut batch = self.database.new_batch();
            records.by_ref().take(LOAD_BATCH).for_each(|(key, value)| batch.put(key, value));
            self.database.write(&batch).map_err(failed("load"))?;
        }
        self.settle()?;
        self.sync()
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.database.put(key, value).map_err(failed("put"))
    }

    fn put_all<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        let mut batch = self.database.new_batch();
        records.for_each(|(key, value)| batch.put(key, value));
        self.database.write(&batch).map_err(failed("put"))
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        self.database.get(key, read).map_err(failed("get"))
    }

    fn snapshot(&self) -> Result<LevelDbReader<'_>, Failure> {
        Ok(NewestState { database: &self.database })
    }

    fn begin(&self) -> Result<NoTransaction, Failure> {
        Err(Failure::new(NAME, "begin", "it has no transactions"))
    }

    fn sync(&self) -> Result<(), Failure> {
        self.database.sync().map_err(failed("sync"))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.database.compact();
        Ok(())
    }

    /// LevelDB does not count.
    fn flushes(&self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.database.scan(Walk::All, each).map_err(failed("scan"))
    }

    fn close(self) -> Result<(), Failure> {
        drop(self.database);
        Ok(())
    }
}

/// A reader of the newest state.
pub type LevelDbReader<'s> = NewestState<'s, Database>;

fn failed(operation: &'static str) -> impl Fn(Status) -> Failure {
    move |status| Failure::new(NAME, operation, status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::writing_checks;

    #[test]
    fn it_does_what_the_benchmark_asks_at_every_level_where_it_is_installed() {
        match LevelDb::missing() {
            None => writing_checks::all::<LevelDb>(),
            Some(reason) => assert!(reason.contains("libleveldb-dev"), "{reason}"),
        }
    }
}
