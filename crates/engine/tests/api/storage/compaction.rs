//! Compaction: the last pages move to free places before them, beside readers and writers.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Durability, Options, Read, ReadTxn, Table, TableOptions};

use crate::disks::hooked_disk::{HookedDisk, SyncHook};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(disk: &MemoryDisk) -> Options {
    let options = Database::options().disk(Arc::new(disk.clone())).create(true);
    options.durability(Durability::Log).background(false).delta_bytes(256 << 10)
}

/// The next of numbers that look random.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A key; one in fifty is too long for a page.
fn key_of(number: u64) -> Vec<u8> {
    let mut key = format!("key {:07}", number * 7919 % 1_000_003).into_bytes();
    if number.is_multiple_of(50) {
        key.resize(1300, b'k');
    }
    key
}

/// A value; some are too long for a leaf, and a few for an extent.
fn value_of(number: u64) -> Vec<u8> {
    let length = match number % 200 {
        0..=4 => 5_000 + (number % 7) as usize * 1_000,
        5 if number % 2000 == 5 => 2_500_000,
        other => 50 + other as usize,
    };
    number.to_le_bytes().into_iter().cycle().take(length).collect()
}

/// Puts and deletes among so many keys, with a checkpoint now and then.
fn churn(db: &Database, table: &Table, model: &mut Model, state: &mut u64, keys: u64, commits: u64) {
    for commit in 0..commits {
        let mut txn = db.write().unwrap();
        for _ in 0..100 {
            let (number, what) = (random(state) % keys, random(state));
            let key = key_of(number);
            if what.is_multiple_of(4) {
                txn.delete(table, &key).unwrap();
                model.remove(&key);
            } else {
                let value = value_of(what);
                txn.put(table, &key, &value).unwrap();
                model.insert(key, value);
            }
        }
        txn.commit().unwrap();
        if commit % 8 == 7 {
            db.checkpoint().unwrap();
        }
    }
}

fn compare(txn: &ReadTxn, table: &Table, model: &Model) {
    let mut expected = model.iter();
    for entry in txn.range(table, ..).unwrap() {
        let (key, value) = entry.unwrap();
        let (model_key, model_value) = expected.next().expect("no more is there than was put");
        assert!(*key == **model_key && *value == **model_value);
    }
    assert!(expected.next().is_none(), "all is there");
    assert_eq!(txn.len(table).unwrap(), model.len() as u64);
}

fn assert_sound(db: &Database) {
    let report = db.check().unwrap();
    assert!(report.is_sound(), "{:?}", report.damages);
    db.stats().unwrap().accounts_for_every_byte().unwrap();
}

/// Bytes of a file with only this in it, loaded at once.
fn bytes_of(models: &[&Model]) -> u64 {
    let db = options(&MemoryDisk::new()).open("b.ful").unwrap();
    for (index, model) in models.iter().enumerate() {
        let table = db.create_table(&format!("t{index}"), TableOptions::new()).unwrap();
        db.bulk_load(&table, model.iter()).unwrap();
    }
    let stats = db.stats().unwrap();
    stats.file_bytes - stats.free_bytes - stats.reserve_bytes
}

#[test]
fn a_file_full_of_holes_becomes_as_small_as_if_it_were_loaded_and_loses_nothing() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let tables = ["first", "second"].map(|name| db.create_table(name, TableOptions::new()).unwrap());
    let counted = db.create_table("counted", TableOptions::new().counted(true)).unwrap();
    let (mut models, mut counted_model, mut state) = ([Model::new(), Model::new()], Model::new(), 1);
    for round in 0..6 {
        for (table, model) in tables.iter().zip(&mut models) {
            churn(&db, table, model, &mut state, 12_000, 30);
        }
        churn(&db, &counted, &mut counted_model, &mut state, 2_000, 10);
        if round == 2 {
            // A hole in the middle.
            let (low, high) = (b"key 02".as_slice(), b"key 07".as_slice());
            db.update(|txn| txn.delete_range(&tables[0], low..high)).unwrap();
            let hole = (Bound::Included(low), Bound::Excluded(high));
            let gone: Vec<_> = models[0].range::<[u8], _>(hole).map(|(key, _)| key.clone()).collect();
            gone.iter().for_each(|key| drop(models[0].remove(key)));
        }
    }
    let before = db.stats().unwrap();
    let kept = db.read().unwrap();
    let kept_model = models[0].clone();
    churn(&db, &tables[0], &mut models[0], &mut state, 12_000, 3);
    // With a snapshot that is held, nothing that it reads is freed.
    db.compact().unwrap();
    assert_sound(&db);
    compare(&kept, &tables[0], &kept_model);
    drop(kept);
    let given_back = db.compact().unwrap();
    assert_sound(&db);
    let after = db.stats().unwrap();
    let least = bytes_of(&[&models[0], &models[1], &counted_model]);
    assert!(after.file_bytes * 100 < least * 120, "{} bytes, {least} at least", after.file_bytes);
    assert!(after.file_bytes < before.file_bytes && given_back > 0, "{given_back} bytes were freed");
    assert!(after.log_bytes < 64 << 10, "{} bytes of log without commits", after.log_bytes);
    for (table, model) in tables.iter().zip(&models) {
        compare(&db.read().unwrap(), table, model);
    }
    compare(&db.read().unwrap(), &counted, &counted_model);
    // Once more finds nothing to do.
    assert_eq!(db.compact().unwrap(), 0);
    churn(&db, &tables[1], &mut models[1], &mut state, 12_000, 20);
    drop(db);
    let db = options(&disk).open("a.ful").unwrap();
    let tables = ["first", "second"].map(|name| db.open_table(name).unwrap());
    for (table, model) in tables.iter().zip(&models) {
        compare(&db.read().unwrap(), table, model);
    }
    assert_sound(&db);
}

#[test]
fn commits_beside_a_compaction_are_kept() {
    let disk = MemoryDisk::new();
    let db = options(&disk).background(true).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let (mut model, mut state) = (Model::new(), 5);
    churn(&db, &table, &mut model, &mut state, 10_000, 60);
    std::thread::scope(|scope| {
        let compacting = scope.spawn(|| (0..6).map(|_| db.compact().unwrap()).sum::<u64>());
        churn(&db, &table, &mut model, &mut state, 10_000, 60);
        assert!(compacting.join().unwrap() > 0);
    });
    compare(&db.read().unwrap(), &table, &model);
    db.compact().unwrap();
    assert_sound(&db);
    db.close().unwrap();
    let db = options(&disk).open("a.ful").unwrap();
    compare(&db.read().unwrap(), &db.open_table("t").unwrap(), &model);
    assert_sound(&db);
}

#[test]
fn a_compaction_for_which_there_is_no_room_leaves_the_file_no_larger() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    // Large values, and holes between them into which none fits.
    let (mut model, large, small) = (Model::new(), vec![7; 2_500_000], vec![8; 1_800_000]);
    for number in 0..20u8 {
        for (name, value) in [(b'a', &small), (b'b', &large)] {
            db.update(|txn| txn.put(&table, &[name, number], value)).unwrap();
        }
    }
    db.checkpoint().unwrap();
    for number in 0..20u8 {
        db.update(|txn| txn.delete(&table, &[b'a', number])).unwrap();
        model.insert(vec![b'b', number], large.clone());
    }
    db.checkpoint().unwrap();
    let before = db.stats().unwrap().file_bytes;
    db.close().unwrap();
    let db = options(&disk).max_size_bytes(before + (4 << 20)).open("a.ful").unwrap();
    let table = db.open_table("t").unwrap();
    db.compact().unwrap();
    let after = db.stats().unwrap().file_bytes;
    assert!(after <= before, "{after} bytes, {before} before");
    compare(&db.read().unwrap(), &table, &model);
    assert_sound(&db);
    db.close().unwrap();
    // Where there is room, the holes go.
    let db = options(&disk).open("a.ful").unwrap();
    assert!(db.compact().unwrap() > 20 * 1_500_000);
    compare(&db.read().unwrap(), &db.open_table("t").unwrap(), &model);
    assert_sound(&db);
}

#[test]
fn a_compaction_beside_a_transaction_that_has_spilled_leaves_it_whole() {
    let disk = MemoryDisk::new();
    let db = options(&disk).write_set_bytes(64 << 10).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let (mut model, mut state) = (Model::new(), 9);
    churn(&db, &table, &mut model, &mut state, 8_000, 60);
    let mut txn = db.write().unwrap();
    for round in 0..3 {
        for _ in 0..1_500 {
            let (number, what) = (random(&mut state) % 8_000, random(&mut state));
            let (key, value) = (key_of(number), value_of(what | 1 << 20));
            txn.put(&table, &key, &value).unwrap();
            model.insert(key, value);
        }
        assert!(txn.spilled_bytes() > 0, "round {round}");
        db.compact().unwrap();
        for (key, value) in model.iter().step_by(7) {
            assert!(txn.get(&table, key).unwrap().is_some_and(|found| *found == **value), "round {round}");
        }
    }
    txn.commit().unwrap();
    compare(&db.read().unwrap(), &table, &model);
    assert_sound(&db);
    db.compact().unwrap();
    compare(&db.read().unwrap(), &table, &model);
    assert_sound(&db);
}

#[test]
fn the_first_commit_after_an_opening_does_not_wait_for_a_compaction() {
    let disk = HookedDisk::default();
    let open = || {
        let options = Database::options().create(true).durability(Durability::Log).background(false);
        options.disk(Arc::new(disk.clone())).open("a.ful").unwrap()
    };
    let db = open();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| (0..1_000_u64).try_for_each(|number| txn.put(&table, &number.to_be_bytes(), &[7; 100]))).unwrap();
    db.close().unwrap();
    let db = open();
    let table = db.open_table("t").unwrap();
    let committed = Arc::new(AtomicBool::new(false));
    let (amid, into, noted) = (db.clone(), table.clone(), Arc::clone(&committed));
    let hook: SyncHook = Arc::new(move |count| {
        // The first sync is of the meta that says that there is a log.
        if count == 2 {
            amid.update(|txn| txn.put(&into, b"amid", b"v")).unwrap();
            noted.store(true, Ordering::SeqCst);
        }
    });
    disk.hooks.syncs.store(0, Ordering::SeqCst);
    *disk.hooks.in_syncs.lock().unwrap() = Some(hook);
    db.compact().unwrap();
    *disk.hooks.in_syncs.lock().unwrap() = None;
    assert!(committed.load(Ordering::SeqCst));
    assert_eq!(db.read().unwrap().get(&table, b"amid").unwrap().as_deref(), Some(&b"v"[..]));
    db.close().unwrap();
}
