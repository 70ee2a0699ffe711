//! Backups and images over power cuts, and on disks that are full or fail.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::path::Path;
use std::sync::Arc;

use fulgurite::io::{Disk, MemoryDisk};
use fulgurite::{Database, Durability, Error, ImageOptions, Options, Read, Result, TableOptions};
use fulgurite_testkit::{CrashDisk, Fault, FaultDisk, FaultError, Kinds};

fn options(disk: Arc<dyn Disk>) -> Options {
    Database::options().create(true).background(false).durability(Durability::Log).disk(disk)
}

fn fill(db: &Database) {
    let table = db.create_table("t", TableOptions::new()).unwrap();
    for number in 0..60u32 {
        let length = if number.is_multiple_of(20) { 90_000 } else { 300 };
        db.update(|txn| txn.put(&table, &number.to_be_bytes(), &vec![number as u8; length])).unwrap();
        if number == 40 {
            db.checkpoint().unwrap();
        }
    }
}

/// The two kinds of copies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Backup,
    Image,
}

const KINDS: [Kind; 2] = [Kind::Backup, Kind::Image];

impl Kind {
    fn write(self, db: &Database) -> Result<()> {
        match self {
            Self::Backup => db.backup_to("copy.ful"),
            // Small blocks are written in many calls.
            Self::Image => db.write_image("copy.ful", &ImageOptions::new().level(1).block_bytes(4096)),
        }
    }
}

/// Fails unless a copy is whole.
fn look(disk: Arc<dyn Disk>) {
    let copy = options(disk).create(false).read_only(true).open("copy.ful").unwrap();
    let report = copy.check().unwrap();
    assert!(report.is_sound(), "{:?}", report.damages);
    let table = copy.open_table("t").unwrap();
    let txn = copy.read().unwrap();
    assert_eq!(txn.len(&table).unwrap(), 60);
    for (number, entry) in txn.range(&table, ..).unwrap().enumerate() {
        let (key, value) = entry.unwrap();
        assert_eq!(key, (number as u32).to_be_bytes());
        assert!(value.iter().all(|&byte| byte == number as u8));
    }
}

#[test]
fn a_power_cut_leaves_a_whole_backup_or_none_and_a_backup_that_returned_stays() {
    power_cuts(Kind::Backup);
}

#[test]
fn a_power_cut_leaves_a_whole_image_or_none_and_an_image_that_returned_stays() {
    power_cuts(Kind::Image);
}

fn power_cuts(kind: Kind) {
    let disk = CrashDisk::new();
    let db = options(Arc::new(disk.clone())).open("a.ful").unwrap();
    fill(&db);
    let before = disk.operations();
    kind.write(&db).unwrap();
    disk.mark("returned", 1);
    drop(db);
    let recording = disk.recording();
    let (mut whole, mut none) = (0, 0);
    for image in recording.images(7, Kinds { subsets: 8, torn: 8 }).since(before) {
        let after = image.disk();
        let has_returned = image.marks().iter().any(|mark| mark.label == "returned");
        if after.exists(Path::new("copy.ful")).unwrap() {
            look(Arc::new(after));
            whole += 1;
        } else {
            assert!(!has_returned, "{image}: the copy is gone");
            // What the crash left is in nobody's way.
            if none % 8 == 0 {
                let db = options(Arc::new(after.clone())).open("a.ful").unwrap();
                let complete = db.open_table("t").is_ok_and(|table| db.read().unwrap().len(&table).unwrap() == 60);
                kind.write(&db).unwrap();
                drop(db);
                if complete {
                    look(Arc::new(after));
                }
            }
            none += 1;
        }
    }
    assert!(whole >= 3 && none >= 20, "{whole} whole, {none} without one");
}

#[test]
fn a_copy_that_fails_at_any_call_leaves_no_file_and_the_next_one_is_whole() {
    for (kind, error) in KINDS.into_iter().flat_map(|kind| [(kind, FaultError::NoSpace), (kind, FaultError::Medium)]) {
        let mut nth = 1;
        loop {
            let disk = FaultDisk::new(Arc::new(MemoryDisk::new()));
            let db = options(Arc::new(disk.clone())).open("a.ful").unwrap();
            fill(&db);
            disk.arm(Fault { nth, error, ..Fault::default() });
            let outcome = kind.write(&db);
            let failed_call = disk.failed_call();
            disk.disarm();
            let Some(failed_call) = failed_call else { break };
            let is_there = disk.exists(Path::new("copy.ful")).unwrap();
            // It may succeed: a lock file that cannot be removed is in nobody's way.
            assert_eq!(is_there, outcome.is_ok(), "{kind:?}: {failed_call}");
            if is_there {
                look(Arc::new(disk.clone()));
            } else {
                kind.write(&db).unwrap();
                look(Arc::new(disk.clone()));
            }
            nth += 1;
        }
        assert!(nth > 10, "only {nth} calls for a copy of kind {kind:?}");
    }
}

#[test]
fn a_copy_on_a_full_disk_says_so_and_takes_its_partial_file_away() {
    for (kind, left) in [(Kind::Backup, 64 << 10), (Kind::Image, 2 << 10)] {
        let disk = FaultDisk::new(Arc::new(MemoryDisk::new()));
        let db = options(Arc::new(disk.clone())).open("a.ful").unwrap();
        fill(&db);
        let used: u64 = disk
            .list(Path::new(""))
            .unwrap()
            .iter()
            .map(|path| disk.open(path, fulgurite::io::Access::Read).unwrap().len().unwrap())
            .sum();
        disk.set_quota_bytes(Some(used + left));
        let error = kind.write(&db).unwrap_err();
        assert!(matches!(error, Error::DiskFull { .. }), "{error}");
        let names = disk.list(Path::new("")).unwrap();
        assert!(names.iter().all(|name| !name.to_str().unwrap().contains("copy")), "{names:?}");
        disk.set_quota_bytes(None);
        kind.write(&db).unwrap();
        look(Arc::new(disk));
    }
}
