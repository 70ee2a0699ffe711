//! Values of 64 KiB and more are in extents of their own from the moment they are put: whatever happens to the
//! transaction, no page is lost and none is read after it was freed.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Durability, Error, Options, Read, Table, TableOptions};

/// From the shortest value that is large to one that is longer than an extent of many pages.
const LENGTHS: [usize; 5] = [64 << 10, (64 << 10) + 1, 1 << 20, 2 << 20, (3 << 20) + 5];

fn options(disk: &MemoryDisk) -> Options {
    Database::options().create(true).background(false).disk(Arc::new(disk.clone()))
}

fn content(length: usize, seed: usize) -> Vec<u8> {
    // Of no length that divides a page, so that every page differs from the next.
    let mut bytes = (0..251).map(|at| (at * 31 + seed * 7) as u8).collect::<Vec<u8>>().repeat(length / 251 + 1);
    bytes.truncate(length);
    bytes
}

fn put_all(db: &Database, table: &Table, seed: usize) {
    db.update(|txn| LENGTHS.iter().try_for_each(|&length| txn.put(table, &key(length), &content(length, seed))))
        .unwrap();
}

fn expect_all(db: &Database, table: &Table, seed: usize) {
    let txn = db.read().unwrap();
    for length in LENGTHS {
        let value = txn.get(table, &key(length)).unwrap();
        assert!(value.as_deref() == Some(&content(length, seed)[..]), "{length} bytes of round {seed}");
    }
    let lengths: Vec<usize> = txn.range(table, ..).unwrap().map(|entry| entry.unwrap().1.len()).collect();
    assert_eq!(lengths, LENGTHS);
}

fn key(length: usize) -> [u8; 8] {
    (length as u64).to_be_bytes()
}

fn expect_sound(db: &Database) {
    let report = db.check().unwrap();
    assert!(report.is_sound(), "{:?}", report.damages);
    db.stats().unwrap().accounts_for_every_byte().unwrap();
}

#[test]
fn large_values_are_read_back_before_and_after_checkpoints_and_reopening() {
    for durability in [Durability::Disk, Durability::Memory] {
        let disk = MemoryDisk::new();
        let db = options(&disk).durability(durability).open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        put_all(&db, &table, 1);
        expect_all(&db, &table, 1);
        expect_sound(&db);
        drop(db);
        let db = options(&disk).durability(durability).open("a.ful").unwrap();
        let table = db.open_table("t").unwrap();
        expect_all(&db, &table, 1);
        db.checkpoint().unwrap();
        expect_all(&db, &table, 1);
        db.close().unwrap();
        let db = options(&disk).durability(durability).map(false).open("a.ful").unwrap();
        expect_all(&db, &db.open_table("t").unwrap(), 1);
        expect_sound(&db);
    }
}

#[test]
fn overwritten_large_values_give_their_space_back() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let mut sizes = Vec::new();
    for seed in 0..6 {
        put_all(&db, &table, seed);
        put_all(&db, &table, seed + 100);
        expect_all(&db, &table, seed + 100);
        db.checkpoint().unwrap();
        expect_all(&db, &table, seed + 100);
        expect_sound(&db);
        sizes.push(db.stats().unwrap().file_bytes);
    }
    assert!(sizes[5] <= sizes[3], "the file grows for ever: {sizes:?}");
    db.update(|txn| txn.delete_range(&table, ..)).unwrap();
    db.checkpoint().unwrap();
    db.checkpoint().unwrap();
    expect_sound(&db);
    assert_eq!(db.stats().unwrap().value_bytes, 0);
}

#[test]
fn aborted_and_rolled_back_large_values_give_their_space_back() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    put_all(&db, &table, 0);
    db.checkpoint().unwrap();
    let mut sizes = Vec::new();
    for seed in 1..9 {
        let mut txn = db.write().unwrap();
        let point = txn.savepoint();
        for length in LENGTHS {
            txn.put(&table, &key(length), &content(length, seed)).unwrap();
            assert!(txn.get(&table, &key(length)).unwrap().as_deref() == Some(&content(length, seed)[..]));
        }
        if seed % 2 == 0 {
            txn.abort();
        } else {
            txn.rollback_to(point).unwrap();
            txn.put(&table, &key(LENGTHS[0]), &content(LENGTHS[0], 0)).unwrap();
            txn.commit().unwrap();
        }
        expect_all(&db, &table, 0);
        expect_sound(&db);
        sizes.push(db.stats().unwrap().file_bytes);
    }
    assert_eq!(sizes[7], sizes[1], "{sizes:?}");
    let before = db.stats().unwrap();
    db.checkpoint().unwrap();
    assert_eq!(db.stats().unwrap().placed_bytes, 0, "{before:?}");
}

#[test]
fn a_snapshot_reads_large_values_that_were_overwritten_since() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    put_all(&db, &table, 0);
    let early = db.read().unwrap();
    db.checkpoint().unwrap();
    let late = db.read().unwrap();
    for seed in 1..6 {
        put_all(&db, &table, seed);
        db.checkpoint().unwrap();
        for txn in [&early, &late] {
            for length in LENGTHS {
                assert!(txn.get(&table, &key(length)).unwrap().as_deref() == Some(&content(length, 0)[..]), "{seed}");
            }
        }
    }
    drop((early, late));
    // A checkpoint frees the pages that the snapshots held, if it has anything to merge.
    for seed in 6..8 {
        put_all(&db, &table, seed);
        db.checkpoint().unwrap();
    }
    expect_sound(&db);
}

#[test]
fn a_reserved_value_is_what_was_filled_in() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    for length in [0, 1, 5_000, 20_000, 64 << 10, 3 << 20] {
        db.update(|txn| txn.reserve(&table, b"k", length, |bytes| bytes.copy_from_slice(&content(length, 3)))).unwrap();
        assert!(db.read().unwrap().get(&table, b"k").unwrap().as_deref() == Some(&content(length, 3)[..]), "{length}");
    }
    db.close().unwrap();
}

#[test]
fn a_full_quota_loses_nothing() {
    let disk = MemoryDisk::new();
    let limit = 8 << 20;
    let open = || options(&disk).max_size_bytes(limit).delta_bytes(1 << 20).open("a.ful").unwrap();
    let db = open();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"small", b"kept")).unwrap();
    let mut kept = 0_usize;
    let error = loop {
        match db.update(|txn| txn.put(&table, &kept.to_be_bytes(), &content(700_000, kept))) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::QuotaExceeded { .. }), "{error}");
    assert!((3..12).contains(&kept), "{kept}");
    let expect = |db: &Database, table: &Table| {
        let txn = db.read().unwrap();
        assert_eq!(txn.len(table).unwrap(), kept as u64 + 1);
        assert_eq!(txn.get(table, b"small").unwrap().as_deref(), Some(&b"kept"[..]));
        for number in 0..kept {
            let value = txn.get(table, &number.to_be_bytes()).unwrap();
            assert!(value.as_deref() == Some(&content(700_000, number)[..]), "{number}");
        }
    };
    expect(&db, &table);
    assert!(db.stats().unwrap().file_bytes <= limit);
    expect_sound(&db);
    drop(db);
    let db = open();
    let table = db.open_table("t").unwrap();
    expect(&db, &table);
    expect_sound(&db);
    // What is deleted makes room again.
    db.update(|txn| (0..kept).try_for_each(|number| txn.delete(&table, &number.to_be_bytes()).map(drop))).unwrap();
    db.checkpoint().unwrap();
    db.update(|txn| txn.put(&table, b"again", &content(700_000, 9))).unwrap();
    db.close().unwrap();
    assert!(disk_length(&disk) <= limit);
}

#[test]
fn a_full_quota_refuses_a_checkpoint_and_keeps_the_commits() {
    let disk = MemoryDisk::new();
    let limit = 4 << 20;
    let db = options(&disk).max_size_bytes(limit).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    for number in 0..600_u32 {
        db.update(|txn| txn.put(&table, &number.to_be_bytes(), &content(10_000, number as usize))).unwrap();
    }
    let error = db.checkpoint().unwrap_err();
    assert!(matches!(error, Error::QuotaExceeded { .. }), "{error}");
    assert_eq!(db.read().unwrap().len(&table).unwrap(), 600);
    assert!(db.stats().unwrap().file_bytes <= limit);
    expect_sound(&db);
    drop(db);
    // With more room the commits are merged from the log.
    let db = options(&disk).max_size_bytes(4 * limit).open("a.ful").unwrap();
    expect_sound(&db);
    let table = db.open_table("t").unwrap();
    let txn = db.read().unwrap();
    assert_eq!(txn.len(&table).unwrap(), 600);
    for number in 0..600_u32 {
        assert!(
            txn.get(&table, &number.to_be_bytes()).unwrap().as_deref() == Some(&content(10_000, number as usize)[..])
        );
    }
}

fn disk_length(disk: &MemoryDisk) -> u64 {
    use fulgurite::io::{Access, Disk};
    disk.open(std::path::Path::new("a.ful"), Access::Read).unwrap().len().unwrap()
}
