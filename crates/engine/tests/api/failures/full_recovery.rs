//! Recovery on disks that are nearly full: a database that the process could have gone on with opens again.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fulgurite::{Database, Options, Read, TableOptions};

use crate::disks::small_disk::SmallDisk;

fn options(disk: &SmallDisk) -> Options {
    Database::options().disk(Arc::new(disk.clone())).background(false).page_size_bytes(8192).delta_bytes(256 << 10)
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A closed database with a table `t` of so many entries, as small as it gets.
fn load(disk: &SmallDisk, entries: u64, value_bytes: usize) {
    let db = options(disk).create(true).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.bulk_load(&table, (0..entries).map(|number| (key(number), vec![1_u8; value_bytes]))).unwrap();
    db.compact().unwrap();
    db.close().unwrap();
}

/// Others take all of the disk but this.
fn leave(disk: &SmallDisk, bytes: u64) {
    disk.main.foreign_bytes.fetch_add(disk.available_bytes() - bytes, Ordering::SeqCst);
}

/// A checkpoint makes runs of scattered changes. Recovery merged them, which takes all of the tree once more.
#[test]
fn scattered_changes_are_recovered_on_a_disk_that_has_no_room_for_the_table_again() {
    let disk = SmallDisk::new(64 << 20);
    load(&disk, 16_000, 500);
    let db = options(&disk).delta_bytes(64 << 20).open("a.ful").unwrap();
    let table = db.open_table("t").unwrap();
    for commit in 0..200 {
        let numbers = 10 * commit..10 * (commit + 1);
        db.update(|txn| numbers.clone().try_for_each(|number| txn.put(&table, &key(number * 8), &[2; 100]))).unwrap();
    }
    drop((table, db));
    assert!(disk.length_of("a.ful") > 8_000_000);
    leave(&disk, 4 << 20);
    let db = options(&disk).delta_bytes(64 << 20).open("a.ful").unwrap();
    let table = db.open_table("t").unwrap();
    assert!(db.stats().unwrap().tables[0].runs > 0);
    let txn = db.read().unwrap();
    assert_eq!(txn.len(&table).unwrap(), 16_000);
    for number in 0..16_000 {
        let expected = if number % 8 == 0 { vec![2_u8; 100] } else { vec![1; 500] };
        assert_eq!(txn.get(&table, &key(number)).unwrap().as_deref(), Some(&expected[..]), "{number}");
    }
    drop(txn);
    assert!(db.check().unwrap().is_sound());
    db.close().unwrap();
}

/// Keys far apart, in the first part of the table: no two rounds have one in common.
fn keys_of(round: u64) -> impl Iterator<Item = [u8; 8]> {
    (0..10).map(move |part| key(part * 40 + round * 7 % 40))
}

/// A checkpoint puts some more runs above a range whose runs cannot be merged. Recovery insisted on merging them.
#[test]
fn a_range_whose_runs_do_not_fit_when_merged_keeps_no_database_from_opening() {
    let disk = SmallDisk::new(40 << 20);
    load(&disk, 8_000, 2_000);
    let deep = |db: &Database| db.stats().unwrap().tables[0].runs_deep;
    // What is replayed becomes one more run.
    for round in 0..15 {
        let db = options(&disk).open("a.ful").unwrap();
        assert_eq!(deep(&db), round);
        let table = db.open_table("t").unwrap();
        db.update(|txn| keys_of(round).try_for_each(|key| txn.put(&table, &key, &[2; 100]))).unwrap();
    }
    // The file has nothing in reserve then.
    options(&disk).open("a.ful").unwrap().close().unwrap();
    leave(&disk, 600 << 10);
    for round in 15..18 {
        let db = options(&disk).open("a.ful").unwrap();
        assert_eq!(deep(&db), round, "16 runs are merged where there is room for it");
        let table = db.open_table("t").unwrap();
        db.update(|txn| keys_of(round).try_for_each(|key| txn.delete(&table, &key).map(drop))).unwrap();
    }
    disk.main.foreign_bytes.store(0, Ordering::SeqCst);
    let db = options(&disk).open("a.ful").unwrap();
    assert_eq!(deep(&db), 1, "they were merged, and one more was read back");
    let (table, txn) = (db.open_table("t").unwrap(), db.read().unwrap());
    assert_eq!(txn.len(&table).unwrap(), 8_000 - 30);
    let short = [2; 100];
    for round in 0..18 {
        let expected = (round < 15).then_some(&short[..]);
        assert!(keys_of(round).all(|key| txn.get(&table, &key).unwrap().as_deref() == expected), "round {round}");
    }
    drop(txn);
    assert!(db.check().unwrap().is_sound());
    db.close().unwrap();
}
