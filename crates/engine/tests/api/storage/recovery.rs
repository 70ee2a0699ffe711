//! What opening makes of a log that was left behind: sorted in memory or in runs, shown read-only, or not merged at
//! all.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fulgurite::io::{Access, Disk, File, ForwardDisk, MemoryDisk};
use fulgurite::{Database, Durability, Error, Options, Read, ReadTxn, TableOptions};

/// What the tables hold.
type Model = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

fn options(disk: &Arc<dyn Disk>) -> Options {
    Database::options().background(false).disk(Arc::clone(disk))
}

/// A database that was dropped with all of this in its log, over a checkpoint with some entries. Of sixteen values
/// one has the first of these lengths, and so on; the rest are short.
fn left_behind(disk: &MemoryDisk, random: &mut Random, commits: u64, lengths: &[u64]) -> Model {
    let disk: &Arc<dyn Disk> = &(Arc::new(disk.clone()) as Arc<dyn Disk>);
    let db = options(disk).create(true).delta_bytes(1 << 30).open("a.ful").unwrap();
    let mut model = Model::new();
    for name in ["a", "b", "dropped"] {
        let table = db.create_table(name, TableOptions::new()).unwrap();
        let entries = model.entry(name.to_owned()).or_default();
        entries.extend((0..400u64).map(|number| (key(number * 3), vec![b'o'; 60])));
        db.bulk_load(&table, entries.iter()).unwrap();
    }
    for commit in 0..commits {
        let mut txn = db.write().unwrap();
        if commit == commits / 2 {
            let table = txn.open_table("dropped").unwrap();
            txn.drop_table(&table).unwrap();
            model.remove("dropped");
            let table = txn.create_table("created", TableOptions::new().value_align(8)).unwrap();
            txn.put(&table, b"", b"").unwrap();
            model.insert("created".to_owned(), BTreeMap::from([(Vec::new(), Vec::new())]));
        }
        for _ in 0..1 + random.below(4) {
            let names: Vec<String> = model.keys().cloned().collect();
            let name = &names[random.below(names.len() as u64) as usize];
            let (table, entries) = (txn.open_table(name).unwrap(), model.get_mut(name).unwrap());
            let key = key(random.below(1500));
            match random.below(20) {
                0..4 => {
                    txn.delete(&table, &key).unwrap();
                    entries.remove(&key);
                }
                kind => {
                    let length = lengths.get(kind as usize - 4).copied().unwrap_or_else(|| random.below(300));
                    let value = vec![commit as u8; length as usize];
                    txn.put(&table, &key, &value).unwrap();
                    entries.insert(key, value);
                }
            }
        }
        txn.commit().unwrap();
    }
    model
}

fn key(number: u64) -> Vec<u8> {
    // Some begin alike for longer than a sort compares at once, some end where others go on.
    match number % 3 {
        0 => format!("key-{number:06}").into_bytes(),
        1 => format!("a long beginning that many keys share {number}").into_bytes(),
        _ => vec![b'k'; number as usize % 90],
    }
}

fn expect(txn: &ReadTxn, model: &Model) {
    let names: Vec<String> = txn.tables().iter().map(|table| table.name().to_owned()).collect();
    assert_eq!(names, model.keys().cloned().collect::<Vec<_>>());
    for (name, entries) in model {
        let table = txn.open_table(name).unwrap();
        assert_eq!(txn.len(&table).unwrap(), entries.len() as u64, "table {name}");
        for (key, value) in entries {
            assert!(txn.get(&table, key).unwrap().as_deref() == Some(value), "table {name}, key {key:?}");
        }
    }
}

/// A copy of a disk as it is.
fn copy(disk: &MemoryDisk) -> MemoryDisk {
    let copy = MemoryDisk::new();
    for path in disk.list(Path::new("")).unwrap() {
        let file = disk.open(&path, Access::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        copy.open(&path, Access::CreateNew).unwrap().write_at(0, &bytes).unwrap();
    }
    copy
}

#[test]
fn a_log_is_replayed_the_same_from_memory_from_runs_and_by_a_reader() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let memory = MemoryDisk::new();
        // A page has no room for the second, and the log none for the third.
        let commits = 200 + random.below(1200);
        let model = left_behind(&memory, &mut random, commits, &[2_000, 30_000, 70_000]);
        let reader: Arc<dyn Disk> = Arc::new(copy(&memory));
        let db = options(&reader).read_only(true).open("a.ful").unwrap();
        expect(&db.read().unwrap(), &model);
        // A log that may not be mapped stays in memory only if the deltas that it was made of could.
        for (map, delta_bytes, in_runs) in [(true, 64 << 10, false), (false, 1 << 30, false), (false, 64 << 10, true)] {
            let watching = Arc::new(Watching::new(copy(&memory)));
            let disk: Arc<dyn Disk> = Arc::clone(&watching) as Arc<dyn Disk>;
            let db = options(&disk).map(map).delta_bytes(delta_bytes).open("a.ful").unwrap();
            assert_eq!(watching.runs.load(Ordering::Relaxed) > 0, in_runs, "seed {seed}");
            expect(&db.read().unwrap(), &model);
            let report = db.check().unwrap();
            assert!(report.is_sound(), "seed {seed}: {:?}", report.damages);
            assert_eq!(db.stats().unwrap().delta_bytes, 0, "what was replayed is in the trees");
            db.close().unwrap();
            assert_eq!(disk.list(Path::new("")).unwrap(), [PathBuf::from("a.ful")], "seed {seed}");
            expect(&options(&disk).open("a.ful").unwrap().read().unwrap(), &model);
        }
    }
}

#[test]
fn a_log_on_a_real_disk_is_replayed_mapped_and_not() {
    for map in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.ful");
        let db = Database::options().create(true).durability(Durability::Log).open(&path).unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        let mut random = Random(5);
        let mut entries = BTreeMap::new();
        for number in 0..30_000u32 {
            let key = random.below(20_000).to_string().into_bytes();
            db.update(|txn| txn.put(&table, &key, &number.to_le_bytes().repeat(20))).unwrap();
            entries.insert(key, number.to_le_bytes().repeat(20));
        }
        drop(db);
        let db = Database::options().map(map).open(&path).unwrap();
        expect(&db.read().unwrap(), &Model::from([("t".to_owned(), entries)]));
        assert!(db.check().unwrap().is_sound());
        db.close().unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}

#[test]
fn an_opening_that_finds_no_room_to_sort_or_to_merge_changes_nothing_that_counts() {
    let memory = MemoryDisk::new();
    let model = left_behind(&memory, &mut Random(77), 900, &[30_000]);
    let watching = Arc::new(Watching::new(memory.clone()));
    let disk: Arc<dyn Disk> = Arc::clone(&watching) as Arc<dyn Disk>;
    let log = |disk: &MemoryDisk| {
        let names = disk.list(Path::new("")).unwrap().into_iter();
        names.filter(|path| path.to_string_lossy().contains("-log.")).collect::<Vec<_>>()
    };
    let before = log(&memory);
    watching.is_full.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        let error = options(&disk).map(false).delta_bytes(64 << 10).open("a.ful").unwrap_err();
        assert!(matches!(&error, Error::DiskFull { path, .. } if path.to_string_lossy().contains("-sort.")), "{error}");
        let error = options(&disk).max_size_bytes(1 << 20).open("a.ful").unwrap_err();
        assert!(matches!(error, Error::QuotaExceeded { .. }), "{error}");
        assert_eq!(log(&memory), before);
    }
    watching.is_full.store(false, Ordering::Relaxed);
    let db = options(&disk).map(false).delta_bytes(64 << 10).open("a.ful").unwrap();
    expect(&db.read().unwrap(), &model);
    assert!(db.check().unwrap().is_sound());
    assert!(log(&memory).is_empty());
}

/// A disk that counts the runs of sorts, and has no room for them if told so.
#[derive(Debug)]
struct Watching {
    disk: MemoryDisk,
    runs: AtomicUsize,
    is_full: AtomicBool,
}

impl Watching {
    fn new(disk: MemoryDisk) -> Self {
        Self { disk, runs: AtomicUsize::new(0), is_full: AtomicBool::new(false) }
    }
}

impl ForwardDisk for Watching {
    fn inner(&self) -> &dyn Disk {
        &self.disk
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        if path.to_string_lossy().contains("-sort.") {
            self.runs.fetch_add(1, Ordering::Relaxed);
            if self.is_full.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        self.disk.open(path, access)
    }
}
