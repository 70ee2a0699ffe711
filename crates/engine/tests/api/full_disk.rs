//! Disks that fill up: what is refused, and that deleting, checkpoints and compaction still make room.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fulgurite::io::{Access, Disk, File, FileLocks, FreeSpace, Map, MemoryDisk, WriterAttempt};
use fulgurite::{Database, Durability, Error, Options, Result, Table, TableOptions};

/// A disk on which all files together have so many bytes of room.
#[derive(Clone, Debug)]
struct SmallDisk {
    inner: MemoryDisk,
    total_bytes: u64,
    /// What others have taken of that.
    foreign_bytes: Arc<AtomicU64>,
    /// Files under `inner` by name, with a lock under which they grow.
    names: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl SmallDisk {
    fn new(total_bytes: u64) -> Self {
        let foreign_bytes = Arc::default();
        Self { inner: MemoryDisk::new(), total_bytes, foreign_bytes, names: Arc::default() }
    }

    fn available_bytes(&self, names: &BTreeSet<PathBuf>) -> u64 {
        let length = |path: &PathBuf| self.inner.open(path, Access::Read).and_then(|file| file.len()).unwrap_or(0);
        let used: u64 = names.iter().map(length).sum();
        self.total_bytes.saturating_sub(used + self.foreign_bytes.load(Ordering::SeqCst))
    }

    /// Does what lets a file grow from one length to another, if there is room for that.
    fn grow(&self, file: &dyn File, end: u64, change: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let names = self.names.lock().unwrap();
        if end > file.len()? && end - file.len()? > self.available_bytes(&names) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        change()
    }
}

impl Disk for SmallDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let file = self.inner.open(path, access)?;
        self.names.lock().unwrap().insert(path.to_path_buf());
        Ok(Arc::new(SmallFile { file, disk: self.clone() }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.names.lock().unwrap().insert(to.to_path_buf());
        self.inner.rename(from, to)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.inner.sync_directory(directory)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.inner.list(directory)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.inner.canonical(path)
    }

    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt> {
        self.inner.lock_writer(lock_path)
    }
}

#[derive(Debug)]
struct SmallFile {
    file: Arc<dyn File>,
    disk: SmallDisk,
}

impl File for SmallFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.grow(&*self.file, offset + bytes.len() as u64, || self.file.write_at(offset, bytes))
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.disk.grow(&*self.file, length, || self.file.set_len(length))
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.disk.grow(&*self.file, offset + length, || self.file.allocate(offset, length))
    }

    fn free_space(&self) -> io::Result<Option<FreeSpace>> {
        let available_bytes = self.disk.available_bytes(&self.disk.names.lock().unwrap());
        Ok(Some(FreeSpace { available_bytes, total_bytes: self.disk.total_bytes }))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Option<Map>> {
        self.file.map(reserve_bytes)
    }

    fn locks(&self) -> &dyn FileLocks {
        self.file.locks()
    }

    fn is_named(&self, path: &Path) -> io::Result<bool> {
        self.file.is_named(path)
    }
}

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
            let put = self.db.write().and_then(|mut txn| {
                for number in number..number + 10 {
                    txn.put(self.table, &self.key(number), &value(number, self.length))?;
                }
                txn.commit_with(Durability::Log).map(drop)
            });
            match put {
                Ok(()) => {}
                Err(Error::DiskFull { .. }) => return number,
                Err(error) => panic!("{error}"),
            }
        }
        unreachable!()
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
        assert!(disk.inner.open("a.ful".as_ref(), Access::Read).unwrap().len().unwrap() < 4 << 20, "{case}");
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
    // Whoever makes room elsewhere need not open the database again.
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
    disk.foreign_bytes.store(24 << 20, Ordering::SeqCst);
    let mut number = 1;
    let refused = loop {
        match put(number) {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::DiskFull { .. }), "{refused}");
    assert_eq!(db.read().unwrap().range(&table, ..).unwrap().count() as u64, number);
    disk.foreign_bytes.store(0, Ordering::SeqCst);
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
    let used: u64 = disk.total_bytes - disk.available_bytes(&disk.names.lock().unwrap());
    disk.foreign_bytes.store((1 << 30) - used - (75 << 20), Ordering::SeqCst);
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
