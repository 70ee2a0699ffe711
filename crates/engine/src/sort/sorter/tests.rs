//! Tests of the whole sorter, against std's stable sort.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::*;
use crate::io::{Access, File, FileLocks, Map, MemoryDisk, WriterAttempt};
use crate::sync::atomic::{AtomicU64, Ordering};

/// SplitMix64. If the test fails it says which seed it was.
pub(crate) struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self { seed, state: seed }
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Fewer than `limit` bytes out of `letters`.
    pub fn bytes(&mut self, limit: usize, letters: &[u8]) -> Vec<u8> {
        (0..self.below(limit)).map(|_| letters[self.below(letters.len())]).collect()
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the random numbers began with seed {}", self.seed);
        }
    }
}

type Record = (Vec<u8>, Vec<u8>);

fn sort(disk: Arc<dyn Disk>, records: &[Record], options: SortOptions) -> Result<Vec<Record>> {
    let mut sorter = Sorter::new(disk, Path::new("x.ful"), options);
    for (index, (key, value)) in records.iter().enumerate() {
        if index % 2 == 0 {
            sorter.push(key, value)?;
        } else {
            let ((key_start, key_end), (value_start, value_end)) = (key.split_at(key.len() / 2), value.split_at(0));
            sorter.push_parts([key_start, key_end], [value_start, value_end])?;
        }
        let held = sorter.arena.capacity_bytes();
        assert!(held <= options.memory_bytes, "{held} bytes are held");
    }
    assert_eq!(sorter.count(), records.len() as u64);
    let mut sorted = sorter.finish()?;
    let mut result = Vec::new();
    while let Some((key, value)) = sorted.peek()? {
        let record = (key.to_vec(), value.to_vec());
        let again = sorted.peek()?.map(|(key, value)| (key.to_vec(), value.to_vec()));
        assert!(again.as_ref() == Some(&record), "a record is the same until it is passed");
        result.push(record);
        sorted.advance();
    }
    assert!(sorted.peek()?.is_none());
    Ok(result)
}

fn expected(records: &[Record]) -> Vec<Record> {
    let mut all = records.to_vec();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.reverse();
    all.dedup_by(|a, b| a.0 == b.0);
    all.reverse();
    all
}

fn check(records: &[Record], memory_bytes: usize) {
    let disk = MemoryDisk::new();
    let options = SortOptions { memory_bytes };
    let sorted = sort(Arc::new(disk.clone()), records, options).unwrap();
    assert!(sorted == expected(records), "{} records, {options:?}", records.len());
    assert!(disk.list(Path::new("")).unwrap().is_empty());
}

#[test]
fn nothing_sorts_to_nothing() {
    check(&[], 0);
    check(&[], 1 << 20);
}

#[test]
fn records_sort_the_same_within_memory_and_beyond_it() {
    for seed in 0..24 {
        let mut random = Random::new(seed);
        let letters: &[u8] = if seed % 3 == 0 { &[0, 0xFF] } else { b"abcdefgh" };
        let shared = random.bytes(30, letters);
        let records: Vec<Record> = (0..1 + random.below(3_000))
            .map(|index| {
                let key = [shared.clone(), random.bytes(12, letters)].concat();
                let value = [&index.to_le_bytes()[..], &random.bytes(60, letters)].concat();
                (key, value)
            })
            .collect();
        for memory_bytes in [1 << 20, 64 << 10, 20 << 10] {
            check(&records, memory_bytes);
        }
    }
}

#[test]
fn more_runs_than_are_merged_at_once_keep_order_and_age() {
    // Some 15 records to a run: 70 times 64 runs.
    let mut random = Random::new(1);
    let count = 70 * FAN_IN * 15;
    let records: Vec<Record> =
        (0..count).map(|index| (random.below(2_000).to_be_bytes().to_vec(), index.to_le_bytes().to_vec())).collect();
    check(&records, 600);
}

#[test]
fn records_larger_than_the_memory_sort_among_small_ones() {
    let mut random = Random::new(2);
    let records: Vec<Record> = (0..300)
        .map(|index| {
            let length = if index % 7 == 0 { 9_000 } else { 20 };
            let (key_length, value_length) = if index % 2 == 0 { (length, 20) } else { (20, length) };
            (vec![random.next() as u8 & 15; key_length], vec![index as u8; value_length])
        })
        .collect();
    check(&records, 4_000);
    check(&records, 40_000);
}

#[test]
fn sorted_and_reversed_input_sorts() {
    let mut records: Vec<Record> =
        (0..5_000_u32).map(|number| (number.to_be_bytes().to_vec(), number.to_le_bytes().to_vec())).collect();
    check(&records, 10_000);
    records.reverse();
    check(&records, 10_000);
}

#[test]
fn every_failing_call_of_the_disk_is_an_error_and_leaves_no_space_taken() {
    let mut random = Random::new(3);
    let records: Vec<Record> = (0..1_500).map(|_| (random.bytes(9, b"abc"), random.bytes(40, b"v"))).collect();
    let options = SortOptions { memory_bytes: 500 };
    let mut failures = 0;
    for nth in 1.. {
        let disk = MemoryDisk::new();
        let failing = Failing { disk: disk.clone(), calls_left: Arc::new(AtomicU64::new(nth)) };
        match sort(Arc::new(failing), &records, options) {
            Ok(sorted) => {
                assert!(sorted == expected(&records));
                break;
            }
            Err(Error::DiskFull { path, .. }) => assert!(path.to_str().unwrap().starts_with("x.ful-sort.")),
            Err(error) => panic!("call {nth}: {error}"),
        }
        failures += 1;
        // A file whose name could not be removed is one that the next open removes.
        let left = disk.list(Path::new("")).unwrap().len();
        assert!(left <= 1);
        assert_eq!(crate::sort::remove_leftovers(&disk, Path::new("x.ful")).unwrap(), left);
    }
    assert!(failures > 300, "{failures} calls were tried");
}

/// A disk whose calls fail once the given number of them has been made.
#[derive(Clone)]
struct Failing<T> {
    disk: T,
    calls_left: Arc<AtomicU64>,
}

impl<T> Failing<T> {
    fn call(&self) -> io::Result<()> {
        let enough = self.calls_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if enough.is_ok_and(|left| left > 1) { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }
}

impl<T> fmt::Debug for Failing<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a failing disk")
    }
}

impl Disk for Failing<MemoryDisk> {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        self.call()?;
        Ok(Arc::new(Failing { disk: self.disk.open(path, access)?, calls_left: Arc::clone(&self.calls_left) }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call()?;
        self.disk.remove(path)
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        unreachable!("a sort renames nothing")
    }

    fn sync_directory(&self, _directory: &Path) -> io::Result<()> {
        unreachable!("a sort makes nothing durable")
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.disk.list(directory)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.disk.canonical(path)
    }

    fn lock_writer(&self, _lock_path: &Path) -> io::Result<WriterAttempt> {
        unreachable!("a sort locks nothing")
    }
}

impl File for Failing<Arc<dyn File>> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.call()?;
        self.disk.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.call()?;
        self.disk.write_at(offset, bytes)
    }

    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.disk.set_len(length)
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.disk.allocate(offset, length)
    }

    fn sync_data(&self) -> io::Result<()> {
        unreachable!("a sort makes nothing durable")
    }

    fn sync_all(&self) -> io::Result<()> {
        unreachable!("a sort makes nothing durable")
    }

    fn map(&self, _reserve_bytes: u64) -> io::Result<Option<Map>> {
        unreachable!("a sort maps nothing")
    }

    fn locks(&self) -> &dyn FileLocks {
        self.disk.locks()
    }

    fn is_named(&self, path: &Path) -> io::Result<bool> {
        self.disk.is_named(path)
    }
}
