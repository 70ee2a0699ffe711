//! A log that is kept, over power cuts and on a disk that is full.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Durability, Error, Options, Sequence, TableOptions};
use fulgurite_testkit::{CrashDisk, FaultDisk, ImageId};

fn options(disk: &CrashDisk) -> Options {
    let options = Database::options().create(true).background(false).keep_log(1 << 20);
    options.durability(Durability::Log).disk(Arc::new(disk.clone()))
}

fn sequences(db: &Database) -> Vec<u64> {
    db.changes(Sequence(0)).unwrap().map(|commit| commit.unwrap().sequence.0).collect()
}

/// The log was read back from the page cache, which is all that a killed process left of it; then the power is cut.
/// What the feed gave in between, it must give again.
#[test]
fn what_was_recovered_and_kept_survives_a_power_cut_with_all_of_its_log() {
    for checkpoint in [false, true] {
        let disk = CrashDisk::new();
        let db = options(&disk).open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        for number in 0..20u8 {
            db.update(|txn| txn.put(&table, &[number], &[number; 300])).unwrap();
            if checkpoint && number == 9 {
                db.checkpoint().unwrap();
            }
        }
        let all: Vec<u64> = (1..=21).collect();
        assert!(sequences(&db).len() < all.len(), "not all of it is synced");
        let disk = disk.killed();
        let recovered = options(&disk).open("a.ful").unwrap();
        assert_eq!(sequences(&recovered), all);
        let recording = disk.recording();
        let image = recording.image(ImageId::durable(recording.operations().len()));
        let again = options(&image.disk()).open("a.ful").unwrap();
        assert_eq!(sequences(&again), all);
    }
}

/// Opening had to make a checkpoint before it removed anything, and for that there was no room.
#[test]
fn a_disk_that_the_kept_log_has_filled_has_room_again_after_opening_with_a_smaller_bound() {
    let disk = FaultDisk::new(Arc::new(MemoryDisk::new()));
    let options = |keep_log| {
        let options = Database::options().create(true).background(false).durability(Durability::Log);
        options.keep_log(keep_log).disk(Arc::new(disk.clone()))
    };
    let db = options(1 << 30).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    disk.set_quota_bytes(Some(4 << 20));
    let put = |db: &Database, stamp: u64| {
        db.update(|txn| (0..20u8).try_for_each(|key| txn.put(&table, &[key], &stamp.to_le_bytes().repeat(100))))?;
        db.checkpoint()
    };
    let full = (0..).find_map(|stamp| put(&db, stamp).err()).unwrap();
    assert!(matches!(full, Error::DiskFull { .. }), "{full}");
    let newest = db.read().unwrap().sequence();
    assert_eq!(db.changes(Sequence(0)).unwrap().count() as u64, db.read_durable().unwrap().sequence().0);
    drop(db);
    let db = options(64 << 10).open("a.ful").unwrap();
    assert_eq!(db.read().unwrap().sequence(), newest, "nothing was lost");
    let table = db.open_table("t").unwrap();
    for stamp in 0..200u64 {
        db.update(|txn| txn.put(&table, b"k", &stamp.to_le_bytes().repeat(1000))).unwrap();
        db.checkpoint().unwrap();
    }
    let stats = db.stats().unwrap();
    assert!(stats.oldest_change.unwrap() > 1 && stats.log_kept_bytes <= 64 << 10, "{stats:?}");
}
