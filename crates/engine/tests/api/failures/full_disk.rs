//! Disks that fill up: what is refused, and that deleting, checkpoints and compaction still make room.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fulgurite::io::Disk;
use fulgurite::{Database, Durability, Error, MergeOperator, Options, Read, Result, Table, TableOptions};

use crate::disks::small_disk::{OTHER, SmallDisk};

fn options(disk: &SmallDisk, background: bool) -> Options {
    Database::options().disk(Arc::new(disk.clone())).background(background)
}

/// A value that does not compress.
fn value(number: u64, length: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(length as usize).collect()
}

/// Entries of a table.
struct Tried<'t> {
    db: &'t Database,
    table: &'t Table,
    length: u64,
    is_scattered: bool,
}

impl Tried<'_> {
    fn key(&self, number: u64) -> [u8; 8] {
        key(number, self.is_scattered)
    }

    /// Puts entries, ten in a commit, until that is refused for want of space. Answers how many there are.
    fn fill(&self, from: u64) -> u64 {
        for number in (from..).step_by(10) {
            match self.put_all(number..number + 10) {
                Ok(()) => {}
                Err(Error::DiskFull { .. }) => return number,
                Err(error) => panic!("{error}"),
            }
        }
        unreachable!()
    }

    /// Puts an entry, in a commit of its own.
    fn put(&self, number: u64) -> Result<()> {
        self.put_all(number..number + 1)
    }

    /// Puts entries in one commit.
    fn put_all(&self, mut numbers: Range<u64>) -> Result<()> {
        let mut txn = self.db.write()?;
        numbers.try_for_each(|number| txn.put(self.table, &self.key(number), &value(number, self.length)))?;
        txn.commit_with(Durability::Log).map(drop)
    }

    /// Deletes entries, ten thousand in a commit.
    fn delete(&self, numbers: Range<u64>) -> Result<()> {
        for from in numbers.clone().step_by(10_000) {
            let mut txn = self.db.write()?;
            for number in from..numbers.end.min(from + 10_000) {
                txn.delete(self.table, &self.key(number))?;
            }
            txn.commit_with(Durability::Log)?;
        }
        Ok(())
    }

    fn assert_holds(&self, numbers: Range<u64>) {
        let txn = self.db.read().unwrap();
        assert_eq!(txn.range(self.table, ..).unwrap().count() as u64, numbers.end - numbers.start);
        for number in numbers {
            let found = txn.get(self.table, &self.key(number)).unwrap();
            assert_eq!(found.unwrap(), value(number, self.length), "{number}");
        }
    }
}

/// Where the entries go: in their order, or everywhere.
fn key(number: u64, is_scattered: bool) -> [u8; 8] {
    (if is_scattered { number.wrapping_mul(0x9E37_79B9_7F4A_7C15) } else { number }).to_be_bytes()
}

#[test]
fn a_disk_that_commits_have_filled_takes_deletions_and_gets_room_by_them() {
    for (background, page_bytes, length, is_scattered) in [
        (false, 16384, 100, false),
        (false, 16384, 100, true),
        (false, 16384, 1_000, true),
        (false, 16384, 3_000, false),
        (false, 8192, 100, true),
        (true, 16384, 100, false),
    ] {
        let case = format!("background {background}, {length} bytes, scattered {is_scattered}");
        let disk = SmallDisk::new(24 << 20);
        let db = options(&disk, background).page_size_bytes(page_bytes).create(true).open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        let t = Tried { db: &db, table: &table, length, is_scattered };
        let filled = t.fill(0);

        // What is merged is there twice for a while: where entries go everywhere, that may be all of the table.
        let least = if is_scattered { 9 << 20 } else { 16 << 20 };
        assert!(filled * length > least, "{case}: {filled}");
        t.assert_holds(0..filled);
        let kept = filled * 3 / 4;
        t.delete(kept..filled).unwrap();
        db.compact().unwrap();
        t.assert_holds(0..kept);
        let again = t.fill(kept);
        assert!((again - kept) * 10 > (filled - kept) * 4, "{case}: {kept} to {again} of {filled}");
        t.delete(10..again).unwrap();
        db.compact().unwrap();
        assert!(disk.length_of("a.ful") < 4 << 20, "{case}");
        t.assert_holds(0..10);
        db.check().unwrap();
    }
}

#[test]
fn a_commit_that_adds_is_refused_before_the_disk_is_full_and_one_that_deletes_is_not() {
    let disk = SmallDisk::new(24 << 20);
    let db = options(&disk, false).create(true).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let t = Tried { db: &db, table: &table, length: 1_000, is_scattered: false };
    let filled = t.fill(0);
    let put = |number: u64| {
        let mut txn = db.write()?;
        txn.put(&table, &t.key(number), &value(number, 1_000))?;
        txn.commit().map(drop)
    };
    // Some more may fit than ten at once.
    let (filled, refused) = (filled..).find_map(|number| Some((number, put(number).err()?))).unwrap();
    assert!(matches!(refused, Error::DiskFull { .. }));
    assert!(refused.to_string().contains("kept for deleting, checkpoints and compaction"), "{refused}");
    let mut txn = db.write().unwrap();
    txn.delete(&table, &t.key(0)).unwrap();
    txn.delete(&table, &t.key(1)).unwrap();
    txn.put(&table, b"deleted", b"2").unwrap();
    txn.commit().unwrap();
    // Large values and loads leave what is kept as well.
    let large = vec![1; 4 << 20];
    let put = db.write().and_then(|mut txn| txn.put(&table, b"large", &large));
    assert!(matches!(put, Err(Error::DiskFull { .. })), "{put:?}");
    assert_eq!(db.read().unwrap().range(&table, ..).unwrap().count() as u64, filled - 1);
    // When room is made elsewhere, the database need not be opened again.
    t.delete(10..filled).unwrap();
    db.compact().unwrap();
    let mut txn = db.write().unwrap();
    txn.put(&table, b"new", b"value").unwrap();
    txn.commit().unwrap();
}

#[test]
fn a_disk_that_others_have_filled_is_written_to_again_when_they_have_made_room() {
    let disk = SmallDisk::new(24 << 20);
    let db = options(&disk, true).create(true).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let put = |number: u64| {
        let mut txn = db.write()?;
        txn.put(&table, &number.to_be_bytes(), &[7; 100])?;
        txn.commit_with(Durability::Log).map(drop)
    };
    put(0).unwrap();
    disk.main.foreign_bytes.store(24 << 20, Ordering::SeqCst);
    let mut number = 1;
    let refused = loop {
        match put(number) {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::DiskFull { .. }), "{refused}");
    assert_eq!(db.read().unwrap().range(&table, ..).unwrap().count() as u64, number);
    disk.main.foreign_bytes.store(0, Ordering::SeqCst);
    put(number).unwrap();
    db.close().unwrap();
}

#[test]
fn a_database_that_is_opened_for_each_commit_keeps_enough_to_delete() {
    let disk = SmallDisk::new(24 << 20);
    let options = || options(&disk, false).create(true);
    let large = |number: u64| value(number, 50_000);
    let mut count = 0u64;
    let refused = loop {
        let db = options().open("a.ful").unwrap();
        let table = db.open_or_create_table("t", TableOptions::new());
        let put = table.and_then(|table| {
            let mut txn = db.write()?;
            txn.put(&table, &count.to_be_bytes(), &large(count))?;
            txn.commit().map(drop)
        });
        db.close().unwrap();
        match put {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::DiskFull { .. }) && count > 300, "{count}: {refused}");
    let db = options().open("a.ful").unwrap();
    let table = db.open_table("t").unwrap();
    let mut txn = db.write().unwrap();
    (0..count / 2).for_each(|number| assert!(txn.delete(&table, &number.to_be_bytes()).is_ok()));
    txn.commit().unwrap();
    db.compact().unwrap();
    let mut txn = db.write().unwrap();
    txn.put(&table, b"new", b"value").unwrap();
    txn.commit().unwrap();
}

#[test]
fn a_commit_that_needs_what_is_kept_is_refused_however_much_is_left_before_it() {
    let disk = SmallDisk::new(1 << 30);
    let db = options(&disk, false).create(true).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let commit = |megabytes: u64| {
        let mut txn = db.write()?;
        (0..megabytes << 10).try_for_each(|number| txn.put(&table, &number.to_be_bytes(), &value(number, 1_000)))?;
        txn.commit().map(drop)
    };
    commit(20).unwrap();
    db.checkpoint().unwrap();
    disk.main.foreign_bytes.store(disk.available_bytes() - (75 << 20), Ordering::SeqCst);
    let refused = commit(55).unwrap_err();
    assert!(matches!(refused, Error::DiskFull { .. }), "{refused}");
    commit(5).unwrap();
    db.checkpoint().unwrap();
    let mut txn = db.write().unwrap();
    txn.delete_range(&table, ..).unwrap();
    txn.commit().unwrap();
    db.compact().unwrap();
    db.close().unwrap();
}

/// Fills the disk with entries of 1,000 bytes until not one more is accepted.
fn filled_to_the_reserve(t: &Tried<'_>) -> u64 {
    let filled = t.fill(0);
    let refused = (filled..).find_map(|number| Some((number, t.put(number).err()?)));
    let (filled, error) = refused.unwrap();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    filled
}

/// A full database, far below the reserve, so that what a test deletes makes no room for additions.
struct Full {
    db: Database,
    /// Entries of 1,000 bytes.
    table: Table,
    counts: Table,
    spare: Table,
    filled: u64,
    disk: SmallDisk,
}

impl Full {
    fn new() -> Self {
        let disk = SmallDisk::new(24 << 20);
        let db = options(&disk, false).create(true).open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        let spare = db.create_table("spare", TableOptions::new()).unwrap();
        let counts = db.create_table("counts", TableOptions::new().merge(MergeOperator::Add)).unwrap();
        db.update(|txn| txn.merge(&counts, b"merged before", 1u64.to_be_bytes())).unwrap();
        let t = Tried { db: &db, table: &table, length: 1_000, is_scattered: false };
        let filled = filled_to_the_reserve(&t);
        disk.main.foreign_bytes.store(disk.available_bytes() - (1 << 20), Ordering::SeqCst);
        Self { db, table, counts, spare, filled, disk }
    }

    /// Deletes an entry of 1,008 bytes.
    fn delete(&self, txn: &mut fulgurite::WriteTxn, number: u64) -> Result<()> {
        txn.delete(&self.table, &key(number, false)).map(drop)
    }
}

#[test]
fn below_the_reserve_a_commit_passes_that_frees_as_many_bytes_as_it_adds_or_renames_a_table() {
    let full = Full::new();
    let Full { db, table, counts, spare, filled, .. } = &full;
    let one = 1u64.to_be_bytes();
    db.update(|txn| full.delete(txn, 0).and_then(|()| txn.put(table, b"put", b"1"))).unwrap();
    db.update(|txn| full.delete(txn, 1).and_then(|()| txn.merge(counts, b"merged", one))).unwrap();
    db.update(|txn| full.delete(txn, 2).and_then(|()| txn.create_table("created", TableOptions::new())).map(drop))
        .unwrap();
    db.update(|txn| full.delete(txn, 3).and_then(|()| txn.put(table, b"12345678", value(3, 1_000)))).unwrap();
    // The deleted entry is smaller than the count that is kept of it.
    db.update(|txn| txn.delete(table, b"put").and_then(|_| txn.merge(counts, b"merged before", one))).unwrap();
    let spare = &db.rename_table(spare, "renamed").unwrap();
    // Each of these adds more than it frees.
    for (case, refused) in [
        db.update(|txn| txn.put(table, b"refused", b"1")),
        db.update(|txn| txn.merge(counts, b"refused", one)),
        db.create_table("refused", TableOptions::new()).map(drop),
        db.update(|txn| full.delete(txn, 5).and_then(|()| txn.put(table, b"123456789", value(5, 1_000)))),
        db.update(|txn| full.delete(txn, 0).and_then(|()| txn.put(table, b"refused", b"1"))),
        // What is replaced is no reason to add, alone or in large.
        db.update(|txn| txn.put(table, &key(6, false), value(6, 1_000))),
        db.update(|txn| txn.merge(counts, b"merged before", one)),
        db.update(|txn| {
            full.delete(txn, 5)?;
            (6..12).try_for_each(|number| txn.put(table, &key(number, false), value(number, 1_000)))
        }),
        db.update(|txn| full.delete(txn, 5).and_then(|()| txn.merge(counts, value(0, 1_001), one))),
        // Below the length of a large value, and one.
        db.update(|txn| full.delete(txn, 5).and_then(|()| txn.put(table, b"refused", value(5, 60_000)))),
        db.update(|txn| full.delete(txn, 5).and_then(|()| txn.put(table, b"refused", value(5, 200_000)))),
        db.update(|txn| {
            txn.create_table("refused", TableOptions::new())?;
            txn.rename_table(spare, "refused too").map(drop)
        }),
        // An empty table frees nothing.
        db.update(|txn| txn.drop_table(spare).and_then(|()| txn.put(table, b"refused", b"1"))),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(matches!(refused, Err(Error::DiskFull { .. })), "{case}: {refused:?}");
    }

    let txn = db.read().unwrap();
    let names: Vec<_> = txn.tables().iter().map(|table| table.name().to_owned()).collect();
    assert_eq!(names, ["counts", "created", "renamed", "t"]);
    // Five are deleted, and two are put.
    assert_eq!(txn.range(table, ..).unwrap().count() as u64, filled - 3);
    assert_eq!(txn.get(counts, b"merged").unwrap().as_deref(), Some(&one[..]));
    assert_eq!(txn.get(counts, b"merged before").unwrap().as_deref(), Some(&2u64.to_be_bytes()[..]));
    db.check().unwrap();
}

#[test]
fn below_the_reserve_a_commit_that_drops_a_table_adds_at_most_what_the_table_holds() {
    let full = Full::new();
    let Full { db, table, counts, .. } = &full;
    let held = b"merged before".len() + 8;
    let dropping = |length: usize| {
        db.update(|txn| {
            txn.drop_table(counts)?;
            txn.put(table, b"beside a drop", vec![1; length])
        })
    };
    let refused = dropping(held - b"beside a drop".len() + 1);
    assert!(matches!(refused, Err(Error::DiskFull { .. })), "{refused:?}");
    dropping(held - b"beside a drop".len()).unwrap();
    assert!(db.read().unwrap().get(table, b"beside a drop").unwrap().is_some());
}

#[test]
fn below_the_reserve_a_merge_is_measured_by_the_value_that_it_finds() {
    let full = Full::new();
    let Full { db, .. } = &full;
    let options = TableOptions::new().merge(MergeOperator::AddChecked);
    let checked =
        &db.update(|txn| full.delete(txn, 0).and_then(|()| txn.create_table("checked", options.clone()))).unwrap();
    let set = |number: u64, to: u64| {
        db.update(|txn| full.delete(txn, number).and_then(|()| txn.put(checked, b"c", to.to_be_bytes()))).unwrap();
    };
    set(1, u64::MAX);
    let mut adds = db.write().unwrap();
    full.delete(&mut adds, 2).unwrap();
    adds.merge(checked, b"c", 1u64.to_be_bytes()).unwrap();
    // In the snapshot of the merge, the sum would be too large.
    set(3, 0);
    adds.commit().unwrap();
    assert_eq!(db.read().unwrap().get(checked, b"c").unwrap().as_deref(), Some(&1u64.to_be_bytes()[..]));
}

#[test]
fn below_the_reserve_no_commit_puts_more_than_the_log_has_room_for() {
    let full = Full::new();
    let exchange = |entries: Range<u64>| {
        full.db.update(|txn| {
            entries.clone().try_for_each(|number| {
                full.delete(txn, number)?;
                txn.put(&full.table, &key(number + (1 << 32), false), value(number, 1_000))
            })
        })
    };
    exchange(0..200).unwrap();
    assert!(matches!(exchange(200..500), Err(Error::DiskFull { .. })));
}

#[test]
fn below_the_reserve_exchanges_of_entries_leave_what_deletions_need() {
    for (left_bytes, entries, some_pass) in
        [(1 << 20, 20, true), (1 << 20, 200, true), (512 << 10, 20, true), (64 << 10, 1, true), (64 << 10, 200, false)]
    {
        let full = Full::new();
        let Full { db, table, disk, filled, .. } = &full;
        disk.main.foreign_bytes.fetch_add(disk.available_bytes() - left_bytes, Ordering::SeqCst);
        let exchanged = (0..filled - 200).step_by(entries as usize).take(100).filter(|&from| {
            let outcome = db.update(|txn| {
                (from..from + entries).try_for_each(|number| {
                    full.delete(txn, number)?;
                    txn.put(table, &key(number + filled, false), value(number, 1_000))
                })
            });
            assert!(matches!(outcome, Ok(()) | Err(Error::DiskFull { .. })), "{outcome:?}");
            outcome.is_ok()
        });
        let exchanged = exchanged.count();
        assert_eq!(exchanged > 0, some_pass, "{left_bytes} left, {entries} entries");
        for from in (0..2 * filled).step_by(500) {
            db.update(|txn| txn.delete_range(table, &key(from, false)[..]..&key(from + 500, false)[..]))
                .unwrap_or_else(|error| panic!("{left_bytes} left, {entries} entries, {from}: {error}"));
        }
        db.compact().unwrap();
        db.update(|txn| txn.put(table, b"new", b"value")).unwrap();
        db.check().unwrap();
    }
}

/// Leaves so much of the disk that the checkpoint fails for which a commit calls. Returns how many entries there are.
fn fill_until_a_checkpoint_fails(disk: &SmallDisk, t: &Tried<'_>, left_bytes: u64) -> u64 {
    let number = 2_000;
    // So much that the next write transaction measures the disk.
    t.put_all(0..number).unwrap();
    disk.main.foreign_bytes.store(disk.available_bytes() - left_bytes, Ordering::SeqCst);
    for failed in [t.put(number), t.db.checkpoint()] {
        assert!(matches!(failed, Err(Error::DiskFull { .. })), "{failed:?}");
    }
    number
}

#[test]
fn commits_add_again_when_another_checkpoint_merges_what_one_on_a_full_disk_could_not() {
    // Without a new segment of the log no deltas are frozen.
    for (background, left_bytes) in [(false, 0), (true, 0), (false, 256 << 10), (true, 256 << 10)] {
        let disk = SmallDisk::new(24 << 20);
        let db = options(&disk, background).create(true).open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        let t = Tried { db: &db, table: &table, length: 1_000, is_scattered: true };
        let number = fill_until_a_checkpoint_fails(&disk, &t, left_bytes);
        disk.main.foreign_bytes.store(0, Ordering::SeqCst);
        // Not by a commit that looks for room.
        db.checkpoint().unwrap();
        t.put(number).unwrap();
        t.assert_holds(0..number + 1);
        db.close().unwrap();
    }
}

#[test]
fn commits_add_again_when_the_medium_works_after_a_checkpoint_that_failed_for_it() {
    for (background, is_full_before) in [(false, false), (true, false), (false, true), (true, true)] {
        let case = format!("background {background}, full before {is_full_before}");
        let disk = SmallDisk::new(24 << 20);
        let db = options(&disk, background).create(true).open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        let t = Tried { db: &db, table: &table, length: 1_000, is_scattered: true };
        let mut number = if is_full_before { fill_until_a_checkpoint_fails(&disk, &t, 0) } else { 0 };
        disk.pages_fail.store(true, Ordering::SeqCst);
        // What is left are some commits more than what is kept, so that the next ones look for room.
        let left_bytes = if is_full_before { 0 } else { 20 << 20 };
        disk.main.foreign_bytes.store(left_bytes, Ordering::SeqCst);
        let failed = (0..).find_map(|_| match t.put(number) {
            Ok(()) => {
                number += 1;
                None
            }
            Err(error) => Some(error),
        });
        assert!(matches!(failed, Some(Error::Io { .. })), "{case}: {failed:?}");
        disk.pages_fail.store(false, Ordering::SeqCst);
        disk.main.foreign_bytes.store(0, Ordering::SeqCst);
        t.put(number).unwrap_or_else(|error| panic!("{case}: {error}"));
        t.assert_holds(0..number + 1);
        db.close().unwrap();
    }
}

#[test]
fn a_backup_beside_its_database_leaves_the_room_that_deleting_and_compaction_need() {
    let disk = SmallDisk::new(32 << 20);
    let db = options(&disk, false).create(true).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let t = Tried { db: &db, table: &table, length: 1_000, is_scattered: false };
    (0..6_000).step_by(10).for_each(|from| t.put_all(from..from + 10).unwrap());
    db.checkpoint().unwrap();
    db.backup_to("copy 1.ful").unwrap();
    // Another copy fits on the disk, but not beside what is kept.
    let room = disk.length_of("copy 1.ful") + (1 << 20);
    disk.main.foreign_bytes.store(disk.available_bytes() - room, Ordering::SeqCst);
    let names = disk.list("".as_ref()).unwrap();
    let refused = db.backup_to("copy 2.ful").unwrap_err();
    assert!(refused.to_string().contains("kept for deleting, checkpoints and compaction"), "{refused}");
    assert_eq!((disk.available_bytes(), disk.list("".as_ref()).unwrap()), (room, names), "nothing of it is left");
    // A copy may take all but that.
    while db.backup_to("copy 2.ful").is_err() {
        disk.main.foreign_bytes.fetch_sub(256 << 10, Ordering::SeqCst);
    }
    t.delete(10..6_000).unwrap();
    db.compact().unwrap();
    t.assert_holds(0..10);
    assert!(disk.length_of("a.ful") < 1 << 20);
    let copied = options(&disk, false).read_only(true).open("copy 2.ful").unwrap();
    let table = copied.open_table("t").unwrap();
    Tried { db: &copied, table: &table, length: 1_000, is_scattered: false }.assert_holds(0..6_000);
}

#[test]
fn a_backup_to_another_file_system_may_fill_that() {
    let disk = SmallDisk::new(24 << 20);
    let db = options(&disk, false).create(true).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let t = Tried { db: &db, table: &table, length: 1_000, is_scattered: false };
    let filled = filled_to_the_reserve(&t);
    assert!(matches!(db.backup_to("copy.ful"), Err(Error::DiskFull { .. })), "beside the database there is no room");
    let path = format!("{OTHER}/copy.ful");
    db.backup_to(&path).unwrap();
    let length = disk.length_of(&path);
    disk.remove(path.as_ref()).unwrap();
    for (total_bytes, fits) in [(length - (64 << 10), false), (length, true)] {
        disk.other.total_bytes.store(total_bytes, Ordering::SeqCst);
        match db.backup_to(&path) {
            Ok(()) => assert!(fits),
            Err(error) => assert!(!fits && matches!(error, Error::DiskFull { .. }), "{error}"),
        }
        assert_eq!(disk.list(OTHER.as_ref()).unwrap().len(), usize::from(fits));
    }
    let copied = options(&disk, false).read_only(true).open(&path).unwrap();
    let table = copied.open_table("t").unwrap();
    Tried { db: &copied, table: &table, length: 1_000, is_scattered: false }.assert_holds(0..filled);
}
