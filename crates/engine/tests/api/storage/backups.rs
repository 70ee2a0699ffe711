//! Backups: one file that holds a snapshot whole, made while others write.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fulgurite::io::{Access, Disk, MemoryDisk};
use fulgurite::{Database, Durability, Error, MergeOperator, Monitor, Options, Phase, Read, ReadTxn, TableOptions};

pub fn options(disk: &MemoryDisk) -> Options {
    let options = Database::options().disk(Arc::new(disk.clone())).create(true);
    options.durability(Durability::Log).background(false).delta_bytes(64 << 10)
}

pub fn names(disk: &MemoryDisk) -> Vec<String> {
    let names = disk.list(Path::new("")).unwrap();
    names.iter().map(|path| path.to_str().unwrap().to_owned()).collect()
}

pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// All entries of all tables, with names and numbers of the tables.
pub fn content(txn: &ReadTxn) -> Vec<(String, u32, Entries)> {
    let entries =
        |table| txn.range(table, ..).unwrap().map(|entry| entry.map(|(k, v)| (k.to_vec(), v.to_vec())).unwrap());
    txn.tables().iter().map(|table| (table.name().to_owned(), table.id().0, entries(table).collect())).collect()
}

/// Tables of every kind, with entries in trees, runs and deltas, long keys, large values, deletes, and a number that
/// went.
pub fn fill(db: &Database) {
    let gone = db.create_table("gone", TableOptions::new()).unwrap();
    let plain = db.create_table("plain", TableOptions::new().counted(true)).unwrap();
    let packed = db.create_table("packed", TableOptions::new().packed(true)).unwrap();
    let aligned = db.create_table("aligned", TableOptions::new().value_align(16)).unwrap();
    let counters = db.create_table("counters", TableOptions::new().merge(MergeOperator::Add)).unwrap();
    db.create_table("empty", TableOptions::new().key_type("u64").value_type("string")).unwrap();
    db.drop_table(&gone).unwrap();
    for round in 0..40u32 {
        let mut txn = db.write().unwrap();
        for number in 0..200u32 {
            let key = (number * 7919 + round).to_be_bytes();
            txn.put(&plain, &key, &[round as u8; 100]).unwrap();
            txn.put(&packed, &key, b"").unwrap();
            txn.put(&aligned, &key, &[number as u8; 24]).unwrap();
            txn.merge(&counters, &(number % 50).to_be_bytes(), &1u64.to_be_bytes()).unwrap();
        }
        txn.delete(&plain, &(round * 7919).to_be_bytes()).unwrap();
        txn.put(&plain, &vec![round as u8; 3000], &vec![round as u8; 100_000]).unwrap();
        txn.commit().unwrap();
        if round % 10 == 9 {
            db.checkpoint().unwrap();
        }
    }
    db.update(|txn| txn.put(&plain, b"large", &vec![7; 3 << 20])).unwrap();
    db.update(|txn| txn.put(&plain, b"last", b"in the delta")).unwrap();
}

#[test]
fn a_backup_is_one_sound_file_that_holds_all_that_the_snapshot_shows() {
    for page_size_bytes in [8192, 16384] {
        let disk = MemoryDisk::new();
        let db = options(&disk).page_size_bytes(page_size_bytes).open("a.ful").unwrap();
        fill(&db);
        let txn = db.read().unwrap();
        db.backup_to("copy.ful").unwrap();
        assert_eq!(names(&disk).iter().filter(|name| name.starts_with("copy")).collect::<Vec<_>>(), ["copy.ful"]);
        let copy = options(&disk).create(false).open("copy.ful").unwrap();
        let copied = copy.read().unwrap();
        assert_eq!(content(&copied), content(&txn));
        assert_eq!(copied.sequence(), txn.sequence());
        assert_eq!(copy.stats().unwrap().page_size_bytes, u64::from(page_size_bytes));
        for (ours, theirs) in txn.tables().iter().zip(copied.tables()) {
            let of = |table: &fulgurite::Table| {
                let options = (table.is_packed(), table.is_counted(), table.value_align(), table.merge_operator());
                (options, table.key_type().to_owned(), table.value_type().to_owned())
            };
            assert_eq!(of(ours), of(&theirs));
        }
        let report = copy.check().unwrap();
        assert!(report.is_sound(), "{:?}", report.damages);
        copy.stats().unwrap().accounts_for_every_byte().unwrap();
        // It goes on by itself: with the next number for commits and tables, and counters that count.
        let counters = copy.open_table("counters").unwrap();
        let next =
            copy.update(|txn| txn.merge(&counters, &[0; 4], &1u64.to_be_bytes()).map(|()| txn.sequence())).unwrap();
        assert_eq!(next, txn.sequence());
        assert_eq!(copy.read().unwrap().sequence().0, txn.sequence().0 + 1);
        let newest = copy.create_table("newest", TableOptions::new()).unwrap().id();
        assert_eq!(newest, db.create_table("newest", TableOptions::new()).unwrap().id());
        drop((copied, copy));
        let copy = options(&disk).create(false).open("copy.ful").unwrap();
        assert_eq!(copy.read().unwrap().sequence().0, txn.sequence().0 + 2);
        copy.close().unwrap();
    }
}

#[test]
fn an_empty_database_and_one_that_is_open_read_only_are_copied_too() {
    let disk = MemoryDisk::new();
    options(&disk).open("empty.ful").unwrap().backup_to("empty copy.ful").unwrap();
    let copy = options(&disk).create(false).open("empty copy.ful").unwrap();
    assert_eq!((copy.tables().unwrap().len(), copy.read().unwrap().sequence().0), (0, 0));
    copy.create_table("t", TableOptions::new()).unwrap();
    let db = options(&disk).open("a.ful").unwrap();
    fill(&db);
    let before = content(&db.read().unwrap());
    // What it has of the log alone is copied too.
    drop(db);
    let reader = options(&disk).create(false).read_only(true).open("a.ful").unwrap();
    reader.backup_to("copy.ful").unwrap();
    let copy = options(&disk).create(false).open("copy.ful").unwrap();
    assert_eq!(content(&copy.read().unwrap()), before);
}

#[test]
fn a_backup_beside_writers_is_one_commit_and_no_mixture() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::options().create(true).delta_bytes(64 << 10).durability(Durability::Memory);
    let db = db.open(directory.path().join("a.ful")).unwrap();
    let tables = ["a", "b"].map(|name| db.create_table(name, TableOptions::new()).unwrap());
    let write = |stamp: u64| {
        db.update(|txn| {
            let keys = (0..500u32).flat_map(|key| tables.iter().map(move |table| (table, key)));
            keys.into_iter().try_for_each(|(table, key)| txn.put(table, &key.to_be_bytes(), &stamp.to_le_bytes()))
        })
    };
    write(0).unwrap();
    let (ended, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for stamp in 1.. {
                write(stamp).unwrap();
                written.store(stamp, Ordering::Relaxed);
                if ended.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        for number in 0..5 {
            while written.load(Ordering::Relaxed) <= number && !writer.is_finished() {
                std::thread::yield_now();
            }
            let path = directory.path().join(format!("copy {number}.ful"));
            db.backup_to(&path).unwrap();
            let copy = Database::options().read_only(true).open(&path).unwrap();
            let txn = copy.read().unwrap();
            let stamps: Vec<Vec<u8>> =
                content(&txn).into_iter().flat_map(|(.., entries)| entries).map(|(_, v)| v).collect();
            assert!(stamps.len() == 1000 && stamps.iter().all(|stamp| *stamp == stamps[0]), "a mixture");
        }
        let error = db.backup_to(directory.path().join("missing/copy.ful")).unwrap_err();
        ended.store(true, Ordering::Relaxed);
        assert!(matches!(error, Error::DirectoryNotFound { .. }), "{error}");
    });
}

#[test]
fn a_backup_of_a_transaction_holds_what_that_sees() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"k", b"before")).unwrap();
    let txn = db.read().unwrap();
    db.update(|txn| txn.put(&table, b"k", b"after")).unwrap();
    db.drop_table(&table).unwrap();
    db.backup_snapshot_to(&txn, "copy.ful", &Monitor::new()).unwrap();
    let copy = options(&disk).create(false).open("copy.ful").unwrap();
    let table = copy.open_table("t").unwrap();
    assert_eq!(copy.read().unwrap().get(&table, b"k").unwrap().as_deref(), Some(&b"before"[..]));
    let other = options(&disk).open("other.ful").unwrap();
    let error = other.backup_snapshot_to(&txn, "copy 2.ful", &Monitor::new()).unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    for path in ["a.ful", "other", "open.ful"] {
        let open = (path == "open.ful").then(|| options(&disk).open(path).unwrap());
        if path == "other" {
            disk.open(Path::new(path), Access::CreateNew).unwrap().write_at(0, b"theirs").unwrap();
        }
        let error = db.backup_to(path).unwrap_err();
        assert!(matches!(&error, Error::FileExists { path: there } if there.ends_with(path)), "{error}");
        drop(open);
    }
    let mut theirs = [0; 6];
    disk.open(Path::new("other"), Access::Read).unwrap().read_at(0, &mut theirs).unwrap();
    assert_eq!(&theirs, b"theirs");
    // The log of a database that is gone may hold the only copy of commits.
    let lost = options(&disk).open("lost.ful").unwrap();
    lost.create_table("t", TableOptions::new()).unwrap();
    drop(lost);
    disk.remove(Path::new("lost.ful")).unwrap();
    let error = db.backup_to("lost.ful").unwrap_err();
    assert!(matches!(error, Error::LogWithoutDatabase { .. }), "{error}");
}

/// A log of the original, moved beside the copy, holds commits that the copy lacks; they are another database's.
#[test]
fn the_log_of_the_original_is_not_replayed_into_the_copy() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.backup_to("copy.ful").unwrap();
    db.update(|txn| txn.put(&table, b"later", b"")).unwrap();
    drop(db);
    for name in names(&disk).iter().filter(|name| name.starts_with("a.ful-log.")) {
        disk.rename(Path::new(name), Path::new(&name.replace("a.ful", "copy.ful"))).unwrap();
    }
    let copy = options(&disk).create(false).open("copy.ful");
    if let Ok(copy) = copy {
        let table = copy.open_table("t").unwrap();
        assert!(copy.read().unwrap().is_empty(&table).unwrap());
    }
}

#[test]
fn a_backup_that_is_stopped_leaves_no_file_and_tells_what_it_did() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    fill(&db);
    let monitor = Monitor::with_timeout(Duration::ZERO);
    let error = db.backup_to_with("copy.ful", &monitor).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
    assert!(names(&disk).iter().all(|name| !name.starts_with("copy")), "{:?}", names(&disk));
    let monitor = Monitor::new();
    db.backup_to_with("copy.ful", &monitor).unwrap();
    assert_eq!(monitor.phase(), Phase::Copying);
    assert!(monitor.written_bytes() > 3 << 20);
}
