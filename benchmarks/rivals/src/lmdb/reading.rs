//! LMDB through `heed`, in the settings that favour it.
//!
//! Reads: no thread-local reader slots, no read-ahead, one read transaction for all reads. Loads: `MDB_APPEND` in one
//! transaction, durable when it returns, as every engine's loads. Single puts: the file mapped writable, no sync
//! (`MDB_WRITEMAP | MDB_MAPASYNC | MDB_NOSYNC`), which survives a crash of the process but not one of the machine.
#![allow(unsafe_code)] // Foreign function edge: LMDB leaves exclusive use of its map to the caller.

use std::path::{Path, PathBuf};

use heed::types::Bytes;
use heed::{AnyTls, Database, Env, EnvFlags, EnvOpenOptions, PutFlags, RoTxn, TlsUsage, WithoutTls};

use crate::interface::engine::{Engine, Failure, Purpose, Reader, Store};

/// Address space for the map. With a writable map the (sparse) file gets this length.
const MAP_SIZE_BYTES: usize = 16 << 30;

/// Threads that may read at once; by default it has slots for fewer than the suites have threads.
const READERS_MAX: u32 = 254;

const NAME: &str = "lmdb";

/// LMDB; its file is mapped writable only for [`Purpose::SinglePuts`].
#[derive(Debug)]
pub struct Lmdb;

/// LMDB with a writable map for loads too.
#[derive(Debug)]
pub struct LmdbWriteMap;

impl Engine for Lmdb {
    const NAME: &'static str = NAME;
    type Store = LmdbStore;

    fn create(directory: &Path, purpose: Purpose) -> Result<LmdbStore, Failure> {
        LmdbStore::open(directory, flags(purpose, false))
    }

    fn open(directory: &Path, purpose: Purpose) -> Result<LmdbStore, Failure> {
        LmdbStore::open(directory, flags(purpose, false))
    }

    fn data_file(directory: &Path) -> PathBuf {
        directory.join("data.mdb")
    }
}

impl Engine for LmdbWriteMap {
    const NAME: &'static str = "lmdb-writemap";
    type Store = LmdbStore;

    fn create(directory: &Path, purpose: Purpose) -> Result<LmdbStore, Failure> {
        LmdbStore::open(directory, flags(purpose, true))
    }

    fn open(directory: &Path, purpose: Purpose) -> Result<LmdbStore, Failure> {
        LmdbStore::open(directory, flags(purpose, true))
    }

    fn data_file(directory: &Path) -> PathBuf {
        directory.join("data.mdb")
    }
}

fn flags(purpose: Purpose, write_map_for_loads: bool) -> EnvFlags {
    let purpose_flags = match purpose {
        Purpose::Load if write_map_for_loads => EnvFlags::WRITE_MAP,
        Purpose::Load | Purpose::Read => EnvFlags::empty(),
        Purpose::SinglePuts => EnvFlags::WRITE_MAP | EnvFlags::MAP_ASYNC | EnvFlags::NO_SYNC,
        Purpose::ReadAboveDelta => EnvFlags::NO_SYNC,
    };
    EnvFlags::NO_READ_AHEAD | purpose_flags
}

/// Opens the environment in `directory`, and its unnamed database.
pub(crate) fn open<T: TlsUsage>(
    options: EnvOpenOptions<T>,
    directory: &Path,
    flags: EnvFlags,
) -> Result<(Env<T>, Database<Bytes, Bytes>), Failure> {
    let failure = |error| Failure::new(NAME, "open", error);
    let env = open_environment(options, directory, flags)?;
    let mut txn = env.write_txn().map_err(failure)?;
    let database = env.create_database(&mut txn, None).map_err(failure)?;
    txn.commit().map_err(failure)?;
    Ok((env, database))
}

/// Opens the environment in `directory`.
pub(crate) fn open_environment<T: TlsUsage>(
    mut options: EnvOpenOptions<T>,
    directory: &Path,
    flags: EnvFlags,
) -> Result<Env<T>, Failure> {
    options.map_size(MAP_SIZE_BYTES).max_readers(READERS_MAX);
    // SAFETY: without syncs a crash of the machine loses the file; benchmarks make a new one.
    unsafe { options.flags(flags) };
    // SAFETY: the directory belongs to this store alone (invariant 1 of `engine`), so nothing else changes the
    // file under the map except LMDB itself.
    unsafe { options.open(directory) }.map_err(|error| Failure::new(NAME, "open", error))
}

/// An open environment and its unnamed database.
pub struct LmdbStore {
    env: Env<WithoutTls>,
    database: Database<Bytes, Bytes>,
}

impl LmdbStore {
    fn open(directory: &Path, flags: EnvFlags) -> Result<Self, Failure> {
        let (env, database) = open(EnvOpenOptions::new().read_txn_without_tls(), directory, flags)?;
        Ok(Self { env, database })
    }

    fn write<'r, K: AsRef<[u8]>>(
        &mut self,
        operation: &'static str,
        flags: PutFlags,
        records: impl Iterator<Item = (K, &'r [u8])>,
    ) -> Result<(), Failure> {
        let failure = |error: heed::Error| Failure::new(NAME, operation, error);
        let mut txn = self.env.write_txn().map_err(failure)?;
        for (key, value) in records {
            self.database.put_with_flags(&mut txn, flags, key.as_ref(), value).map_err(failure)?;
        }
        txn.commit().map_err(failure)
    }
}

impl Store for LmdbStore {
    type Reader<'s> = LmdbReader<'s>;

    fn load_sorted<'r>(&mut self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        self.write("load", PutFlags::APPEND, records)
    }

    /// Puts in one transaction, which writes pages out when it has too many.
    fn load_unsorted<'r, K: AsRef<[u8]>>(
        &mut self,
        records: impl Iterator<Item = (K, &'r [u8])>,
    ) -> Result<(), Failure> {
        self.write("load", PutFlags::empty(), records)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.write("put", PutFlags::empty(), std::iter::once((key, value)))
    }

    fn put_all<'r>(&mut self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        self.write("put", PutFlags::empty(), records)
    }

    /// LMDB leaves nothing for later but the kernel's write-back, whose time no process pays.
    fn settle(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn checkpoints(&self) -> Result<u64, Failure> {
        Ok(0)
    }

    fn used_bytes(&self) -> Result<u64, Failure> {
        let page_size = u64::from(self.env.stat().page_size);
        Ok((self.env.info().last_page_number as u64 + 1) * page_size)
    }

    fn reader(&self) -> Result<LmdbReader<'_>, Failure> {
        let txn = self.env.read_txn().map_err(|error| Failure::new(NAME, "read", error))?;
        Ok(LmdbReader { txn, database: self.database })
    }

    fn close(self) -> Result<(), Failure> {
        let closing = self.env.prepare_for_closing();
        closing.wait();
        Ok(())
    }
}

/// A read transaction.
pub struct LmdbReader<'s> {
    txn: RoTxn<'s, WithoutTls>,
    database: Database<Bytes, Bytes>,
}

impl Reader for LmdbReader<'_> {
    type Value<'r>
        = &'r [u8]
    where
        Self: 'r;

    #[inline(always)]
    fn get<'r>(&'r self, key: &[u8]) -> Result<Option<&'r [u8]>, Failure> {
        self.database.get(&self.txn, key).map_err(|error| Failure::new(NAME, "get", error))
    }

    /// One get after the other: LMDB has no batch of unrelated keys.
    #[inline]
    fn get_many(&self, keys: &[&[u8]], mut each: impl FnMut(usize, Option<&[u8]>)) -> Result<(), Failure> {
        for (position, key) in keys.iter().enumerate() {
            each(position, self.get(key)?);
        }
        Ok(())
    }

    #[inline]
    fn scan(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        let failure = |error| Failure::new(NAME, "scan", error);
        for record in self.database.iter(&self.txn).map_err(failure)? {
            let (key, value) = record.map_err(failure)?;
            each(key, value);
        }
        Ok(())
    }

    #[inline]
    fn scan_reverse(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        let failure = |error| Failure::new(NAME, "reverse scan", error);
        for record in self.database.rev_iter(&self.txn).map_err(failure)? {
            let (key, value) = record.map_err(failure)?;
            each(key, value);
        }
        Ok(())
    }

    #[inline]
    fn scan_from(&self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        scan_from(self.database, &self.txn, from, count, each)
    }
}

/// Hands out at most `count` records from the first whose key is not below `from`.
#[inline]
pub(crate) fn scan_from(
    database: Database<Bytes, Bytes>,
    txn: &RoTxn<'_, AnyTls>,
    from: &[u8],
    count: usize,
    mut each: impl FnMut(&[u8], &[u8]),
) -> Result<(), Failure> {
    let failure = |error| Failure::new(NAME, "seek", error);
    let bounds = (std::ops::Bound::Included(from), std::ops::Bound::Unbounded);
    for record in database.range(txn, &bounds).map_err(failure)?.take(count) {
        let (key, value) = record.map_err(failure)?;
        each(key, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<(Vec<u8>, Vec<u8>)> {
        (0..1000u32).map(|i| (i.to_be_bytes().to_vec(), vec![i as u8; 1 + i as usize % 50])).collect()
    }

    fn loaded(directory: &Path, purpose: Purpose) -> LmdbStore {
        let mut store = Lmdb::create(directory, purpose).unwrap();
        store.load_sorted(records().iter().map(|(key, value)| (&key[..], &value[..]))).unwrap();
        store
    }

    #[test]
    fn loaded_records_are_found_and_absent_ones_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let store = loaded(directory.path(), Purpose::Load);
        let reader = store.reader().unwrap();
        for (key, value) in records() {
            assert_eq!(reader.get(&key).unwrap(), Some(&value[..]));
        }
        assert_eq!(reader.get(b"absent").unwrap(), None);
    }

    #[test]
    fn get_many_answers_every_position() {
        let directory = tempfile::tempdir().unwrap();
        let store = loaded(directory.path(), Purpose::Load);
        let reader = store.reader().unwrap();
        let present = 7u32.to_be_bytes();
        let mut answers = Vec::new();
        reader.get_many(&[b"absent", &present], |i, value| answers.push((i, value.map(<[u8]>::len)))).unwrap();
        assert_eq!(answers, [(0, None), (1, Some(8))]);
    }

    #[test]
    fn scans_go_both_ways_and_from_a_key() {
        let directory = tempfile::tempdir().unwrap();
        let store = loaded(directory.path(), Purpose::Load);
        let reader = store.reader().unwrap();
        let mut forward = Vec::new();
        reader.scan(|key, value| forward.push((key.to_vec(), value.to_vec()))).unwrap();
        assert_eq!(forward, records());
        let mut backward = Vec::new();
        reader.scan_reverse(|key, value| backward.push((key.to_vec(), value.to_vec()))).unwrap();
        backward.reverse();
        assert_eq!(backward, forward);
        let mut some = Vec::new();
        reader.scan_from(&[0, 0, 0, 9, 0], 3, |key, _| some.push(key[3])).unwrap();
        assert_eq!(some, [10, 11, 12]);
    }

    #[test]
    fn a_store_loaded_for_reads_can_be_reopened_for_single_puts() {
        let directory = tempfile::tempdir().unwrap();
        loaded(directory.path(), Purpose::Load).close().unwrap();
        let mut store = Lmdb::open(directory.path(), Purpose::SinglePuts).unwrap();
        store.put(b"new", b"value").unwrap();
        store.settle().unwrap();
        assert_eq!(store.reader().unwrap().get(b"new").unwrap(), Some(&b"value"[..]));
        store.close().unwrap();
        let store = Lmdb::open(directory.path(), Purpose::Read).unwrap();
        assert_eq!(store.reader().unwrap().get(b"new").unwrap(), Some(&b"value"[..]));
    }
}
