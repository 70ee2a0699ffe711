//! Readers beside a writer that makes the file shorter.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile, LockHolder, MemoryDisk};
use fulgurite::{Database, Options, TableOptions};

/// Each time a disk of its own, with the same files: as in another process.
fn options(disk: &MemoryDisk) -> Options {
    Database::options().background(false).disk(Arc::new(disk.clone()))
}

/// A database whose newest checkpoint states an end of the file that it does not need: all that is there died with it.
fn with_dead_end(disk: &MemoryDisk) -> Database {
    let db = options(disk).create(true).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    for from in [0, 5_000, 10_000] {
        db.update(|txn| {
            (from..from + 5_000_u64).try_for_each(|number| txn.put(&table, &number.to_be_bytes(), &[7; 200]))
        })
        .unwrap();
        db.checkpoint().unwrap();
    }
    // The next checkpoint finds room before the end.
    db.update(|txn| txn.delete_range(&table, ..&5_000_u64.to_be_bytes()[..])).unwrap();
    db.checkpoint().unwrap();
    db.update(|txn| {
        txn.delete_range(&table, ..)?;
        txn.put(&table, b"last", b"v")
    })
    .unwrap();
    db.checkpoint().unwrap();
    db
}

/// The writer publishes another checkpoint, and cuts the file.
fn shrink(disk: &MemoryDisk, writer: &Database) {
    let length = || disk.open(Path::new("a.ful"), Access::Read).unwrap().len().unwrap();
    let before = length();
    writer.compact().unwrap();
    assert!(length() < before, "from {before} to {} bytes", length());
}

fn assert_reads(reader: &Database) {
    let table = reader.open_table("t").unwrap();
    assert_eq!(reader.read().unwrap().get(&table, b"last").unwrap().as_deref(), Some(&b"v"[..]));
    assert!(reader.check().unwrap().is_sound());
}

#[test]
fn statistics_of_a_reader_take_a_file_that_was_cut_behind_its_pages_for_sound() {
    let disk = MemoryDisk::new();
    let writer = with_dead_end(&disk);
    let reader = options(&disk).read_only(true).open("a.ful").unwrap();
    let writers = [&writer, &reader].map(|db| db.other_writer().unwrap());
    assert_eq!(writers, [None, Some(LockHolder::ThisProcess)]);
    reader.stats().unwrap().accounts_for_every_byte().unwrap();
    shrink(&disk, &writer);
    reader.stats().unwrap().accounts_for_every_byte().unwrap();
    assert_reads(&reader);
}

/// What happens when the length of a file is asked for, once.
#[derive(Default)]
struct Hook(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl fmt::Debug for Hook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Hook")
    }
}

#[derive(Debug)]
struct HookedDisk {
    disk: MemoryDisk,
    in_len: Arc<Hook>,
}

#[derive(Debug)]
struct HookedFile {
    file: Arc<dyn File>,
    in_len: Arc<Hook>,
}

impl ForwardDisk for HookedDisk {
    fn inner(&self) -> &dyn Disk {
        &self.disk
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(HookedFile { file: self.disk.open(path, access)?, in_len: Arc::clone(&self.in_len) }))
    }
}

impl ForwardFile for HookedFile {
    fn inner(&self) -> &dyn File {
        &*self.file
    }

    fn len(&self) -> io::Result<u64> {
        let hook = self.in_len.0.lock().unwrap().take();
        if let Some(hook) = hook {
            hook();
        }
        self.file.len()
    }
}

#[test]
fn a_file_that_is_cut_while_a_reader_opens_it_is_opened_as_it_is_then() {
    let disk = MemoryDisk::new();
    let writer = with_dead_end(&disk);
    let hook = Arc::new(Hook::default());
    let (writes, files) = (writer.clone(), disk.clone());
    // The reader has pinned its checkpoint by then.
    *hook.0.lock().unwrap() = Some(Box::new(move || shrink(&files, &writes)));
    let hooked = HookedDisk { disk, in_len: Arc::clone(&hook) };
    let reader = Database::options().read_only(true).disk(Arc::new(hooked)).open("a.ful").unwrap();
    assert!(hook.0.lock().unwrap().is_none(), "the file is cut");
    assert_reads(&reader);
    writer.close().unwrap();
}
