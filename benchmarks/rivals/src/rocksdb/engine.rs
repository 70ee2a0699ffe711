//! RocksDB as an engine of writers, through the system's library.
//!
//! Settings are those of RocksDB's own guide for a start (levels sized from the last, index and filter blocks in the
//! block cache and those of level 0 pinned, blocks of 16 KiB, a sync of files every MiB), with a Bloom filter of 10
//! bits, a cache that holds all data, memtables that together are as large as Fulgurite's delta, two threads, and no
//! compression: the values are noise. Single puts go to a plain database. Transactions are optimistic, and read for
//! update, so that what was read is checked too.

use std::ffi::CStr;
use std::path::Path;
use std::time::Duration;

use crate::c_interface::reader::{NewestState, Readable};
use crate::c_interface::status::Status;
use crate::interface::engine::Failure;
use crate::interface::walk::Walk;
use crate::interface::writing::{Level, Refusal, Settings, Transaction, Usage, WritingEngine, WritingStore};
use crate::rocksdb::library::{self, Database, NAME, Tuning, Txn, Wal};

/// RocksDB's default, and better for random puts than larger ones: 384 MiB cost a third more in each put.
const WRITE_BUFFER_BYTES: usize = 64 << 20;

/// Where caches are small, a memtable has this part of what they have.
const WRITE_BUFFER_SHARE: usize = 16;

/// All data sets of the other suites fit in.
const CACHE_BYTES: usize = 1 << 30;

/// Together they are as large as Fulgurite's delta on a machine with 24 GiB.
const WRITE_BUFFERS_MAX: i32 = 6;

/// A memtable that a benchmark does not fill.
const UNBOUNDED_BYTES: usize = 8 << 30;

/// Records in a batch of a load.
const LOAD_BATCH: usize = 1000;

/// Work in the background that [`RocksDbStore::settle`] waits for.
const UNSETTLED: [&CStr; 5] = [
    c"rocksdb.mem-table-flush-pending",
    c"rocksdb.num-running-flushes",
    c"rocksdb.compaction-pending",
    c"rocksdb.num-running-compactions",
    c"rocksdb.num-immutable-mem-table",
];

/// RocksDB.
#[derive(Debug)]
pub struct RocksDb;

impl WritingEngine for RocksDb {
    const NAME: &'static str = NAME;
    type Store = RocksDbStore;

    fn missing() -> Option<String> {
        library::missing().map(str::to_owned)
    }

    fn unfit(_settings: Settings) -> Option<&'static str> {
        None
    }

    fn version() -> String {
        library::version()
    }

    fn describe(settings: Settings) -> String {
        let (tuning, wal) = tuned(settings);
        let log = match wal {
            Wal::Off => "no log",
            Wal::Unsynced => "log unsynced",
            Wal::Synced => "log synced",
        };
        format!(
            "{log}, {} memtables of {} MiB, block cache {} MiB, Bloom filter {} bits, blocks of {} KiB, {} threads, no compression",
            tuning.write_buffers_max,
            tuning.write_buffer_bytes >> 20,
            tuning.cache_bytes >> 20,
            tuning.bloom_bits,
            tuning.block_bytes >> 10,
            tuning.threads
        )
    }

    fn open(directory: &Path, settings: Settings) -> Result<RocksDbStore, Failure> {
        let (tuning, wal) = tuned(settings);
        let transactions = matches!(settings.usage, Usage::Transactions | Usage::Counters);
        let database = Database::open(directory, &tuning, wal, transactions).map_err(failed("open"))?;
        Ok(RocksDbStore { database, wal })
    }
}

/// What the level and the usage want.
fn tuned(settings: Settings) -> (Tuning, Wal) {
    let wal = match settings.level {
        Level::Memory => Wal::Off,
        Level::Log => Wal::Unsynced,
        Level::Disk => Wal::Synced,
    };
    let (write_buffer_bytes, cache_bytes) = match settings.usage {
        Usage::LongLog => (UNBOUNDED_BYTES, CACHE_BYTES),
        Usage::Sustained { cache_bytes } => {
            let cache_bytes = usize::try_from(cache_bytes).unwrap_or(usize::MAX);
            (WRITE_BUFFER_BYTES.min(cache_bytes / WRITE_BUFFER_SHARE), cache_bytes)
        }
        _ => (WRITE_BUFFER_BYTES, CACHE_BYTES),
    };
    let tuning = Tuning {
        write_buffer_bytes,
        write_buffers_max: WRITE_BUFFERS_MAX,
        threads: 2,
        cache_bytes,
        bloom_bits: 10.0,
        block_bytes: 16 << 10,
        bytes_per_sync: 1 << 20,
        // They cost some percent, which the wait for the disk hides, and they count how often RocksDB waited for it.
        statistics: settings.level == Level::Disk,
    };
    (tuning, wal)
}

/// An open database.
pub struct RocksDbStore {
    database: Database,
    wal: Wal,
}

impl WritingStore for RocksDbStore {
    type Transaction<'s> = RocksDbTransaction<'s>;
    type Snapshot<'s> = RocksDbSnapshot<'s>;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        let mut batch = self.database.new_batch();
        let mut records = records.peekable();
        while records.peek().is_some() {
            batch.clear();
            records.by_ref().take(LOAD_BATCH).for_each(|(key, value)| batch.put(key, value));
            self.database.write_without_log(&batch).map_err(failed("load"))?;
        }
        self.settle()
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

    fn snapshot(&self) -> Result<RocksDbSnapshot<'_>, Failure> {
        Ok(NewestState { database: &self.database })
    }

    fn begin(&self) -> Result<RocksDbTransaction<'_>, Failure> {
        Ok(RocksDbTransaction { txn: self.database.begin() })
    }

    /// Without a log, what is in memory becomes durable by writing it out.
    fn sync(&self) -> Result<(), Failure> {
        match self.wal {
            Wal::Off => self.database.flush().map_err(failed("flush")),
            Wal::Unsynced | Wal::Synced => self.database.sync().map_err(failed("sync")),
        }
    }

    /// Writes the memtable out and waits until nothing is being flushed or compacted.
    fn settle(&self) -> Result<(), Failure> {
        self.database.flush().map_err(failed("flush"))?;
        while UNSETTLED.iter().any(|name| self.database.property(name).is_some_and(|number| number > 0)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// From RocksDB's own statistics.
    fn flushes(&self) -> Result<Option<u64>, Failure> {
        const LINE: &str = "rocksdb.wal.synced COUNT : ";
        let statistics = self.database.statistics();
        let count = statistics.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix(LINE)));
        Ok(count.and_then(|number| number.trim().parse().ok()))
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
pub type RocksDbSnapshot<'s> = NewestState<'s, Database>;

/// An optimistic transaction: it is checked when it commits.
pub struct RocksDbTransaction<'s> {
    txn: Txn<'s>,
}

impl Transaction for RocksDbTransaction<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Refusal> {
        self.txn.get(key, read).map_err(refused("get"))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        self.txn.put(key, value).map_err(refused("put"))
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Refusal> {
        self.txn.delete(key).map_err(refused("delete"))
    }

    fn commit(self) -> Result<(), Refusal> {
        self.txn.commit().map_err(refused("commit"))
    }

    fn abort(self) {
        drop(self.txn);
    }
}

fn failed(operation: &'static str) -> impl Fn(Status) -> Failure {
    move |status| Failure::new(NAME, operation, status)
}

/// Whether RocksDB says that another transaction was in the way, or that it cannot know whether one was.
fn is_conflict(Status(text): &Status) -> bool {
    text.starts_with("Resource busy") || text.starts_with("Operation failed. Try again.")
}

fn refused(operation: &'static str) -> impl Fn(Status) -> Refusal {
    move |status| match is_conflict(&status) {
        true => Refusal::Conflict,
        false => Refusal::Failed(Failure::new(NAME, operation, status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::writing_checks;

    #[test]
    fn it_does_what_the_benchmark_asks_at_every_level_where_it_is_installed() {
        match RocksDb::missing() {
            None => writing_checks::all::<RocksDb>(),
            Some(reason) => assert!(reason.contains("librocksdb-dev"), "{reason}"),
        }
    }
}
