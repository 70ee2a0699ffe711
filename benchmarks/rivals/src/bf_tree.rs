//! Bf-Tree as an engine of writers: an index of single records, without transactions.
//!
//! It is measured at [`Level::Memory`] alone: version 0.5 writes a log, but does not finish recovering from it. What
//! it holds goes to a snapshot when it is synced or closed, and comes from there when it is opened. A batch is single
//! inserts.

use std::path::{Path, PathBuf};

use bf_tree::{BfTree as Tree, Config, LeafInsertResult, LeafReadResult, ScanReturnField};

use crate::interface::engine::Failure;
use crate::interface::writing::{Level, NoTransaction, Settings, Snapshot, Usage, WritingEngine, WritingStore};
use crate::versions;

const NAME: &str = "bf-tree";

/// All data sets of the other suites fit in.
const CACHE_BYTES: usize = 1 << 30;

/// Longest key.
const KEY_BYTES_MAX: usize = 64;

/// Key and value together: what a page of the default size, 4 KiB, allows.
const RECORD_BYTES_MAX: usize = 1536;

/// Key and value together: the least that the engine allows for such pages.
const RECORD_BYTES_MIN: usize = 2;

/// Bf-Tree.
#[derive(Debug)]
pub struct BfTree;

impl WritingEngine for BfTree {
    const NAME: &'static str = NAME;
    const HAS_LOG: bool = false;
    const SCANS_BACK: bool = false;
    const VALUE_BYTES_MAX: usize = RECORD_BYTES_MAX - KEY_BYTES_MAX;
    type Store = BfTreeStore;

    fn unfit(settings: Settings) -> Option<&'static str> {
        match (settings.level, settings.usage) {
            (Level::Log | Level::Disk, _) => Some("it does not finish recovering from its log, so it keeps nothing"),
            (_, Usage::Transactions | Usage::Counters) => Some("it has no transactions"),
            (_, Usage::LongLog) => Some("it has no log to recover from"),
            (Level::Memory, Usage::SingleOperations | Usage::Sustained { .. }) => None,
        }
    }

    fn version() -> String {
        versions::locked(NAME)
    }

    fn describe(settings: Settings) -> String {
        let cache = cache_bytes(settings) >> 20;
        format!("no log, circular buffer {cache} MiB, pages of 4 KiB, snapshots on, a batch is single inserts")
    }

    fn open(directory: &Path, settings: Settings) -> Result<BfTreeStore, Failure> {
        let snapshot = directory.join("snapshot.bftree");
        let tree = match snapshot.exists() {
            true => Tree::new_from_cpr_snapshot(&snapshot, true, None, Some(cache_bytes(settings)), None),
            false => {
                let mut config = Config::new(directory.join("records.bftree"), cache_bytes(settings));
                config.cb_min_record_size(RECORD_BYTES_MIN).cb_max_record_size(RECORD_BYTES_MAX);
                config.cb_max_key_len(KEY_BYTES_MAX).use_snapshot(true);
                Tree::with_config(config, None)
            }
        };
        let tree = tree.map_err(|error| Failure::new(NAME, "open", format!("{error:?}")))?;
        Ok(BfTreeStore { tree, snapshot })
    }
}

/// The largest power of two that caches may take up.
fn cache_bytes(settings: Settings) -> usize {
    let bytes = match settings.usage {
        Usage::Sustained { cache_bytes } => usize::try_from(cache_bytes).unwrap_or(usize::MAX).min(CACHE_BYTES),
        _ => CACHE_BYTES,
    };
    1 << bytes.max(1 << 20).ilog2()
}

/// An open tree.
pub struct BfTreeStore {
    tree: Tree,
    snapshot: PathBuf,
}

impl BfTreeStore {
    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        match self.tree.insert(key, value) {
            LeafInsertResult::Success => Ok(()),
            LeafInsertResult::InvalidKV(reason) => Err(Failure::new(NAME, "put", reason)),
        }
    }
}

impl WritingStore for BfTreeStore {
    type Transaction<'s> = NoTransaction;
    type Snapshot<'s> = BfTreeReader<'s>;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        self.put_all(records)
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.insert(key, value)
    }

    fn put_all<'r>(&self, mut records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        records.try_for_each(|(key, value)| self.insert(key, value))
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        let mut value = [0; RECORD_BYTES_MAX];
        match self.tree.read(key, &mut value) {
            LeafReadResult::Found(length) => Ok(read(Some(&value[..length as usize]))),
            LeafReadResult::NotFound | LeafReadResult::Deleted => Ok(read(None)),
            LeafReadResult::InvalidKey => Err(Failure::new(NAME, "get", "the key is too long or empty")),
        }
    }

    fn snapshot(&self) -> Result<BfTreeReader<'_>, Failure> {
        Ok(BfTreeReader { store: self })
    }

    fn begin(&self) -> Result<NoTransaction, Failure> {
        Err(Failure::new(NAME, "begin", "it has no transactions"))
    }

    fn sync(&self) -> Result<(), Failure> {
        self.tree.cpr_snapshot(&self.snapshot);
        Ok(())
    }

    /// Nothing is left for later that could be waited for.
    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// No log, no count.
    fn flushes(&self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    fn scan(&self, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        // No shorter key than one byte can be asked for, or stored.
        self.snapshot()?.scan_from(&[0], usize::MAX, each)
    }

    fn close(self) -> Result<(), Failure> {
        self.sync()
    }
}

/// The tree itself: it has no snapshots to read from.
pub struct BfTreeReader<'s> {
    store: &'s BfTreeStore,
}

impl Snapshot for BfTreeReader<'_> {
    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        self.store.get(key, read)
    }

    fn scan_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.walk(from, count, |key, value| {
            each(key, value);
            true
        })
    }

    fn scan_back_from(&self, _from: &[u8], _count: usize, _each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        Err(Failure::new(NAME, "seek", "it scans in rising order alone"))
    }

    fn scan_prefix(&self, prefix: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.walk(prefix, usize::MAX, |key, value| {
            let begins_so = key.starts_with(prefix);
            if begins_so {
                each(key, value);
            }
            begins_so
        })
    }
}

impl BfTreeReader<'_> {
    /// Hands out at most `count` records from `from` on, until `each` says that it has seen enough.
    fn walk(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Failure> {
        let records = self.store.tree.scan_with_count(from, count, ScanReturnField::KeyAndValue);
        let mut records = records.map_err(|error| Failure::new(NAME, "seek", format!("{error:?}")))?;
        let mut record = [0; RECORD_BYTES_MAX];
        while let Some((key, value)) = records.next(&mut record) {
            if !each(&record[..key], &record[key..key + value]) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::writing_checks;

    #[test]
    fn it_does_what_the_benchmark_asks_in_memory() {
        writing_checks::all::<BfTree>();
    }
}
