//! Power cuts around databases that are discarded and copies that are not synced: what was durable before stays so.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::path::Path;
use std::sync::Arc;

use fulgurite::io::Disk;
use fulgurite::{Database, Durability, Monitor, Options, Read, TableOptions};
use fulgurite_testkit::{CrashDisk, CrashImage, Kinds};

const DURABLE: &str = "durable";

fn options(disk: &CrashDisk) -> Options {
    Database::options().create(true).background(false).disk(Arc::new(disk.clone()))
}

/// Commits numbers from `from` on, and marks those that are durable.
fn put(disk: &CrashDisk, db: &Database, from: u64, to: u64, durability: Durability) {
    let table = db.open_or_create_table("t", TableOptions::new()).unwrap();
    for number in from..to {
        let mut txn = db.write().unwrap();
        txn.put(&table, number.to_be_bytes(), [number as u8; 300]).unwrap();
        txn.commit_with(durability).unwrap();
        if durability == Durability::Disk {
            disk.mark(DURABLE, number + 1);
        }
    }
}

/// Opens what a cut has left. Fails unless it has the durable commits, and others only in their order.
fn recovered(image: &CrashImage<'_>, disk: &CrashDisk) -> (Database, u64) {
    let durable = image.newest_mark(DURABLE);
    let db = options(disk).open("a.ful").unwrap();
    assert!(db.check().unwrap().is_sound(), "{image}");
    let table = db.open_or_create_table("t", TableOptions::new()).unwrap();
    let txn = db.read().unwrap();
    let mut count = 0_u64;
    for entry in txn.range(&table, ..).unwrap() {
        let (key, value) = entry.unwrap();
        assert_eq!(key, count.to_be_bytes(), "{image}");
        assert!(value.iter().all(|&byte| byte == count as u8), "{image}");
        count += 1;
    }
    assert!(count >= durable, "{image}: {count} commits, and {durable} were durable");
    drop(txn);
    (db, count)
}

#[test]
fn a_power_cut_under_an_unsynced_copy_leaves_the_database_and_a_file_that_is_in_nobodys_way() {
    let disk = CrashDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    put(&disk, &db, 0, 20, Durability::Disk);
    db.checkpoint().unwrap();
    put(&disk, &db, 20, 30, Durability::Disk);
    let before = disk.operations();
    db.copy_snapshot_unsynced_to(&db.read().unwrap(), "copy.ful", &Monitor::new()).unwrap();
    put(&disk, &db, 30, 40, Durability::Disk);
    drop(db);
    let (mut images, mut lost) = (0_u32, 0_u32);
    for image in disk.recording().images(3, Kinds { subsets: 4, torn: 4 }).since(before) {
        let after = image.disk();
        let (db, count) = recovered(&image, &after);
        assert!(count >= 30, "{image}");
        let copy = Path::new("copy.ful");
        lost += u32::from(!after.exists(copy).unwrap());
        if images.is_multiple_of(8) {
            if after.exists(copy).unwrap() {
                after.remove(copy).unwrap();
            }
            db.copy_snapshot_unsynced_to(&db.read().unwrap(), copy, &Monitor::new()).unwrap();
            let copied = options(&after).create(false).open(copy).unwrap();
            let table = copied.open_table("t").unwrap();
            assert_eq!(copied.read().unwrap().len(&table).unwrap(), count, "{image}");
        }
        images += 1;
    }
    assert!(images > 50 && lost > 0, "{images} images, {lost} without the copy");
}

#[test]
fn a_power_cut_after_a_discard_leaves_the_durable_commits_and_nothing_else_out_of_order() {
    let disk = CrashDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    put(&disk, &db, 0, 10, Durability::Disk);
    db.checkpoint().unwrap();
    put(&disk, &db, 10, 20, Durability::Disk);
    let before = disk.operations();
    put(&disk, &db, 20, 25, Durability::Log);
    put(&disk, &db, 25, 30, Durability::Memory);
    let written = disk.operations();
    db.discard().unwrap();
    assert_eq!(disk.operations(), written, "discarding changes nothing on the disk");
    let mut newest = 0;
    for image in disk.recording().images(5, Kinds { subsets: 8, torn: 8 }).since(before) {
        let after = image.disk();
        let (db, count) = recovered(&image, &after);
        assert!((20..=25).contains(&count), "{image}: {count}");
        newest = newest.max(count);
        db.close().unwrap();
    }
    assert_eq!(newest, 25, "what was written survives the process");
}
