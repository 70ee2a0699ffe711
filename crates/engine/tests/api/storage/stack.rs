//! Runs above trees: that every read sees through them, and that merging them changes nothing that anybody reads.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use fulgurite::io::{Access, Disk, MemoryDisk};
use fulgurite::{Database, Durability, Options, Read, ReadTxn, Table, TableOptions};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(disk: &MemoryDisk) -> Options {
    usual(Database::options().disk(Arc::new(disk.clone())))
}

fn usual(options: Options) -> Options {
    options.create(true).durability(Durability::Log).background(false).delta_bytes(64 << 10)
}

/// Numbers that look random, the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Keys with a common prefix, some of them too long for a page.
fn key_of(number: u64) -> Vec<u8> {
    let mut key = format!("key {:08}", number * 7919 % 100_000_007).into_bytes();
    if number.is_multiple_of(97) {
        key.resize(1500, b'k');
    }
    key
}

/// Values, some of them too long for a page, and some for the log.
fn value_of(number: u64) -> Vec<u8> {
    let length = match number % 128 {
        0 => 9_000,
        1 if number % 1024 == 1 => 300_000,
        other => 20 + other as usize,
    };
    let bytes = number.to_le_bytes();
    bytes.iter().copied().cycle().take(length).collect()
}

/// Puts and deletes among `keys`. Most of these exist already.
fn churn(db: &Database, table: &Table, model: &mut Model, numbers: &mut Numbers, keys: u64, changes: u64) {
    let mut left = changes;
    while left > 0 {
        let mut txn = db.write().unwrap();
        for _ in 0..left.min(50) {
            let key = key_of(numbers.below(keys));
            if numbers.below(4) == 0 {
                txn.delete(table, &key).unwrap();
                model.remove(&key);
            } else {
                let value = value_of(numbers.next());
                txn.put(table, &key, &value).unwrap();
                model.insert(key, value);
            }
        }
        txn.commit().unwrap();
        left -= left.min(50);
    }
}

fn owned(entry: fulgurite::Result<(fulgurite::Value<'_>, fulgurite::Value<'_>)>) -> (Vec<u8>, Vec<u8>) {
    let (key, value) = entry.unwrap();
    (key.to_vec(), value.to_vec())
}

/// Compares all that can be read with the model, in every way.
fn compare(txn: &ReadTxn, table: &Table, model: &Model, numbers: &mut Numbers, keys: u64) {
    let expected: Vec<_> = model.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    assert_eq!(txn.range(table, ..).unwrap().map(owned).collect::<Vec<_>>(), expected);
    let backward: Vec<_> = txn.range(table, ..).unwrap().rev().map(owned).collect();
    assert!(backward.iter().eq(expected.iter().rev()));
    assert_eq!(txn.len(table).unwrap(), model.len() as u64);
    let asked: Vec<_> = (0..200).map(|_| key_of(numbers.below(keys + keys / 8))).collect();
    let refs: Vec<_> = asked.iter().map(Vec::as_slice).collect();
    for (key, value) in asked.iter().zip(txn.get_many(table, &refs).unwrap()) {
        assert_eq!(value.as_deref(), model.get(key).map(Vec::as_slice), "many at once");
        assert_eq!(txn.get(table, key).unwrap().as_deref(), model.get(key).map(Vec::as_slice), "alone");
    }
    for pair in asked[..20].chunks_exact(2) {
        let (low, high) = (pair[0].as_slice().min(&pair[1]), pair[0].as_slice().max(&pair[1]));
        let bounds = (Bound::Excluded(low), Bound::Included(high));
        let within = || model.range::<[u8], _>(bounds).map(|(key, value)| (key.clone(), value.clone()));
        assert_eq!(txn.count(table, bounds).unwrap(), within().count() as u64);
        let mut range = txn.range(table, bounds).unwrap();
        let mut expected = within();
        for step in 0..40 {
            let (found, expected) =
                if step % 3 == 0 { (range.next_back(), expected.next_back()) } else { (range.next(), expected.next()) };
            assert_eq!(found.map(owned), expected);
        }
        let mut cursor = txn.cursor(table).unwrap();
        let found = cursor.seek(low).unwrap().map(|(key, _)| key.to_vec());
        let at = model.range::<[u8], _>((Bound::Included(low), Bound::Unbounded)).next().map(|(key, _)| key.clone());
        assert_eq!(found, at);
        let before = cursor.previous().unwrap().map(|(key, _)| key.to_vec());
        let at = model.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(low))).next_back();
        assert_eq!(before, at.map(|(key, _)| key.clone()));
        let estimate = txn.estimate_count(table, bounds).unwrap();
        assert!((estimate.low..=estimate.high).contains(&txn.count(table, bounds).unwrap()));
    }
}

fn runs_of(db: &Database) -> u64 {
    db.stats().unwrap().tables.iter().map(|table| table.runs).sum()
}

fn assert_sound(db: &Database) {
    let report = db.check().unwrap();
    assert!(report.is_sound(), "{:?}", report.damages);
    db.stats().unwrap().accounts_for_every_byte().unwrap();
}

/// A database whose table has many times what a delta holds, loaded; and its model.
fn loaded(options: Options, keys: u64) -> (Database, Table, Model) {
    loaded_at(options, Path::new("a.ful"), keys)
}

fn loaded_at(options: Options, path: &Path, keys: u64) -> (Database, Table, Model) {
    let db = options.open(path).unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let model: Model = (0..keys).map(|number| (key_of(number), value_of(number * 3))).collect();
    db.bulk_load(&table, model.iter()).unwrap();
    (db, table, model)
}

const KEYS: u64 = 8_000;

#[test]
fn all_reads_see_through_runs_and_through_their_merges() {
    for map in [true, false] {
        // Nothing of a disk in memory is mapped.
        let (disk, directory) = (MemoryDisk::new(), tempfile::tempdir().unwrap());
        let options = || if map { usual(Database::options()) } else { options(&disk) };
        let path = if map { directory.path().join("a.ful") } else { "a.ful".into() };
        let (mut db, mut table, mut model) = loaded_at(options(), &path, KEYS);
        let is_mapped = map && cfg!(target_os = "linux");
        assert_eq!(db.stats().unwrap().mapped, is_mapped);
        let memory = db.map_memory().unwrap();
        assert_eq!(memory.is_some(), is_mapped);
        assert!(memory.is_none_or(|memory| memory.resident_bytes > 0), "{memory:?}");
        let (mut numbers, mut most_runs, mut rounds_with_runs) = (Numbers(7), 0, 0);
        for round in 0..24 {
            let before = db.read().unwrap();
            let model_before = model.clone();
            churn(&db, &table, &mut model, &mut numbers, KEYS, 500);
            compare(&before, &table, &model_before, &mut numbers, KEYS);
            compare(&db.read().unwrap(), &table, &model, &mut numbers, KEYS);
            if round % 5 == 4 {
                drop(before);
                db.close().unwrap();
                db = options().open(&path).unwrap();
                table = db.open_table("t").unwrap();
            } else {
                db.checkpoint().unwrap();
                compare(&before, &table, &model_before, &mut numbers, KEYS);
            }
            most_runs = most_runs.max(db.stats().unwrap().tables[0].runs_deep);
            rounds_with_runs += u32::from(runs_of(&db) > 0);
            compare(&db.read().unwrap(), &table, &model, &mut numbers, KEYS);
            if round % 6 == 0 {
                assert_sound(&db);
            }
        }
        assert!(most_runs >= 4 && rounds_with_runs > 16, "{most_runs} runs deep, {rounds_with_runs} rounds with runs");
        db.compact().unwrap();
        assert_eq!(runs_of(&db), 0, "a compact database has trees alone");
        assert_sound(&db);
        compare(&db.read().unwrap(), &table, &model, &mut numbers, KEYS);
    }
}

/// The log of the checkpoint before begins where that of a merge does. Where it was there alone, it passed for the
/// newest if the newest meta was damaged: with pages that were used again.
#[test]
fn damage_to_either_meta_loses_nothing_after_runs_were_merged() {
    let disk = MemoryDisk::new();
    // Large values have pages of their own at once.
    let (db, table, mut model) = loaded(options(&disk).durability(Durability::Disk), KEYS);
    let mut numbers = Numbers(21);
    let mut merges = 0;
    while merges < 3 {
        let runs = runs_of(&db);
        churn(&db, &table, &mut model, &mut numbers, KEYS, 150);
        db.checkpoint().unwrap();
        merges += u32::from(runs_of(&db) < runs);
    }
    // What it replaced is used again.
    let large = vec![7; 64 << 10];
    for number in 0.. {
        let free = db.stats().unwrap().free_bytes;
        for key in (0..40).map(|part| key_of(40 * number + part)) {
            db.update(|txn| txn.put(&table, &key, &large)).unwrap();
            model.insert(key, large.clone());
        }
        if db.stats().unwrap().free_bytes >= free {
            break;
        }
    }
    drop((table, db));
    let path = Path::new("a.ful");
    for slot in [0, 4096] {
        let file = disk.open(path, Access::Write).unwrap();
        let mut sound = [0; 512];
        file.read_at(slot, &mut sound).unwrap();
        file.write_at(slot, &[0xff; 512]).unwrap();
        let db = options(&disk).create(false).read_only(true).open(path).unwrap();
        let table = db.open_table("t").unwrap();
        compare(&db.read().unwrap(), &table, &model, &mut numbers, KEYS);
        drop(db);
        file.write_at(slot, &sound).unwrap();
    }
}

#[test]
fn a_table_of_which_nothing_but_runs_is_left_keeps_them() {
    let disk = MemoryDisk::new();
    let (db, table, mut model) = loaded(options(&disk), 3_000);
    let mut numbers = Numbers(3);
    let mut gone = Vec::new();
    // All that was loaded is deleted, and other keys come between.
    for number in 0..3_000 {
        gone.push(key_of(number));
    }
    let fresh = |number: u64| [key_of(number), b"x".to_vec()].concat();
    for (index, key) in gone.iter().enumerate() {
        db.update(|txn| {
            txn.delete(&table, key)?;
            txn.put(&table, &fresh(index as u64), b"v")
        })
        .unwrap();
        model.remove(key);
        model.insert(fresh(index as u64), b"v".to_vec());
        if index % 300 == 299 {
            db.checkpoint().unwrap();
            compare(&db.read().unwrap(), &table, &model, &mut numbers, 3_000);
        }
    }
    for key in std::mem::take(&mut model).into_keys() {
        db.update(|txn| txn.delete(&table, &key).map(drop)).unwrap();
    }
    db.checkpoint().unwrap();
    db.update(|txn| txn.put(&table, b"last", b"one")).unwrap();
    model.insert(b"last".to_vec(), b"one".to_vec());
    db.checkpoint().unwrap();
    compare(&db.read().unwrap(), &table, &model, &mut numbers, 3_000);
    assert_sound(&db);
    db.compact().unwrap();
    compare(&db.read().unwrap(), &table, &model, &mut numbers, 3_000);
    assert_sound(&db);
}

#[test]
fn a_table_with_so_many_runs_that_the_catalog_holds_them_apart_is_sound_after_it_is_opened_again() {
    let disk = MemoryDisk::new();
    // There are no more ranges than a delta has pages.
    let many_ranges = || options(&disk).page_size_bytes(8192).delta_bytes(256 << 10);
    let (mut db, mut table, mut model) = loaded(many_ranges(), KEYS);
    let mut numbers = Numbers(11);
    churn(&db, &table, &mut model, &mut numbers, KEYS, 300);
    db.checkpoint().unwrap();
    // What is replayed becomes one more run in each range.
    for _ in 0..10 {
        churn(&db, &table, &mut model, &mut numbers, KEYS, 200);
        drop(db);
        db = many_ranges().open("a.ful").unwrap();
        table = db.open_table("t").unwrap();
    }
    assert!(runs_of(&db) * RUN_BYTES > 8192, "{} runs do not fill a page", runs_of(&db));
    db.close().unwrap();
    let db = many_ranges().open("a.ful").unwrap();
    assert_sound(&db);
    let table = db.open_table("t").unwrap();
    churn(&db, &table, &mut model, &mut numbers, KEYS, 400);
    db.checkpoint().unwrap();
    assert_sound(&db);
    compare(&db.read().unwrap(), &table, &model, &mut numbers, KEYS);
}

/// What the catalog says of one run.
const RUN_BYTES: u64 = 44;
