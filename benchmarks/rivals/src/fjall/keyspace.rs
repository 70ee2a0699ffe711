//! What both kinds of store share: the settings of their keyspace, reads of it, and writes past transactions.

use fjall::config::{BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use crate::interface::engine::Failure;
use crate::interface::writing::{Level, Settings, Snapshot, Usage};

/// The one table.
pub(super) const KEYSPACE: &str = "records";

/// The most that its documentation recommends for a memtable.
const MEMTABLE_BYTES: u64 = 64 << 20;

/// Where caches are small, a memtable has this part of what they have.
const MEMTABLE_SHARE: u64 = 16;

/// A memtable, and a journal, that a benchmark does not fill.
pub(super) const UNBOUNDED_BYTES: u64 = 8 << 30;

/// What caches hold unless the usage says it: all data sets of the benchmark fit in.
pub(super) const CACHE_BYTES: u64 = 1 << 30;

/// The cores of the machine that the bars are about.
pub(super) const WORKERS: usize = 2;

/// The keyspace itself: fjall reads the newest state for less than it costs to hold one.
pub struct FjallSnapshot<'s> {
    pub(super) engine: &'static str,
    pub(super) keyspace: &'s Keyspace,
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

fn memtable_bytes(settings: Settings) -> u64 {
    match settings.usage {
        Usage::LongLog => UNBOUNDED_BYTES,
        Usage::Sustained { cache_bytes } => MEMTABLE_BYTES.min(cache_bytes / MEMTABLE_SHARE),
        _ => MEMTABLE_BYTES,
    }
}

/// What both kinds of store say of their settings.
pub(super) fn describe(settings: Settings) -> String {
    let journal = match settings.level {
        Level::Memory => "journal kept in its buffer",
        Level::Log => "journal unsynced",
        Level::Disk => "journal synced",
    };
    let (cache, memtable) = (settings.cache_bytes(CACHE_BYTES) >> 20, memtable_bytes(settings) >> 20);
    format!(
        "{journal}, memtable {memtable} MiB, cache {cache} MiB, Bloom filter 10 bits, {WORKERS} threads, no compression"
    )
}

/// What both kinds of store set for their keyspace.
pub(super) fn options(settings: Settings) -> KeyspaceCreateOptions {
    let bits = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
    KeyspaceCreateOptions::default()
        .filter_policy(FilterPolicy::all(bits))
        .data_block_compression_policy(CompressionPolicy::disabled())
        .manual_journal_persist(settings.level == Level::Memory)
        .max_memtable_size(memtable_bytes(settings))
}

/// Loads records whose keys rise strictly.
pub(super) fn load<'r>(
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
pub(super) fn put_all<'r>(
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
pub(super) fn settle(database: &Database, keyspace: &Keyspace) -> Result<(), fjall::Error> {
    keyspace.rotate_memtable_and_wait()?;
    while database.outstanding_flushes() > 0 || database.active_compactions() > 0 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(())
}

/// Hands out all records.
pub(super) fn scan(keyspace: &Keyspace, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), fjall::Error> {
    for record in keyspace.iter() {
        let (key, value) = record.into_inner()?;
        each(&key, &value);
    }
    Ok(())
}

pub(super) fn failed(engine: &'static str, operation: &'static str) -> impl Fn(fjall::Error) -> Failure {
    move |error| Failure::new(engine, operation, error)
}
