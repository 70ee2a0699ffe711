//! Feeds of changes whose log is cut, or removed, while it is read.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use fulgurite::io::{Access, Disk, File, ForwardDisk, MemoryDisk};
use fulgurite::{Database, Error, Sequence, TableOptions};

use crate::disks::hooked_disk::HookedDisk;

/// A feed had asked how long a segment is. A commit that failed then cut off what was prepared behind the records.
#[test]
fn a_feed_goes_on_when_a_commit_fails_on_a_full_disk() {
    let disk = HookedDisk::default();
    let options = Database::options().create(true).background(false).keep_log(64 << 20);
    let db = options.disk(Arc::new(disk.clone())).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let put = |number: u64| db.update(|txn| txn.put(&table, &number.to_be_bytes(), &[7; 40_000]));
    // More than is read at a time.
    (0..80).for_each(|number| put(number).unwrap());
    let mut feed = db.changes(Sequence(0)).unwrap();
    assert_eq!(feed.next().unwrap().unwrap().sequence, Sequence(1));
    disk.hooks.log_is_full.store(true, Ordering::SeqCst);
    let refused = put(80);
    assert!(matches!(refused, Err(Error::DiskFull { .. })), "{refused:?}");
    disk.hooks.log_is_full.store(false, Ordering::SeqCst);
    let rest: Vec<u64> = feed.map(|commit| commit.unwrap().sequence.0).collect();
    assert_eq!(rest, (2..=81).collect::<Vec<_>>());
    put(81).unwrap();
    assert_eq!(db.changes(Sequence(81)).unwrap().count(), 1);
}

/// A disk from which another process removes a file after some more openings.
#[derive(Debug)]
struct VanishingDisk {
    disk: MemoryDisk,
    /// The name of the file, and how often it can still be opened.
    file: Mutex<Option<(PathBuf, u32)>>,
}

impl ForwardDisk for VanishingDisk {
    fn inner(&self) -> &dyn Disk {
        &self.disk
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let mut file = self.file.lock().unwrap();
        if file.take_if(|(name, left)| path.ends_with(&*name) && *left == 0).is_some() {
            self.disk.remove(path)?;
        }
        if let Some((_, left)) = file.as_mut().filter(|(name, _)| path.ends_with(name)) {
            *left -= 1;
        }
        drop(file);
        self.disk.open(path, access)
    }
}

/// A closed database with a kept log, and the first of three segments: with the commits 1 and 2, with 3, and with 4.
fn kept() -> (MemoryDisk, PathBuf) {
    let disk = MemoryDisk::new();
    let options = Database::options().create(true).background(false).keep_log(64 << 20);
    let db = options.disk(Arc::new(disk.clone())).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    for key in [b"a", b"b", b"c"] {
        db.update(|txn| txn.put(&table, key, b"v")).unwrap();
        db.checkpoint().unwrap();
    }
    db.close().unwrap();
    let files = disk.list(Path::new("")).unwrap();
    let segments: Vec<_> = files.into_iter().filter(|path| path.to_string_lossy().contains("-log.")).collect();
    assert_eq!(segments.len(), 3, "{segments:?}");
    (disk, segments[0].clone())
}

fn reader(disk: &Arc<VanishingDisk>) -> Database {
    Database::options().read_only(true).disk(Arc::clone(disk) as Arc<dyn Disk>).open("a.ful").unwrap()
}

#[test]
fn a_reader_whose_oldest_segment_is_removed_after_it_was_listed_learns_what_the_log_still_has() {
    for openings in [0, 1] {
        let (disk, first) = kept();
        let disk = Arc::new(VanishingDisk { disk, file: Mutex::default() });
        let db = reader(&disk);
        *disk.file.lock().unwrap() = Some((first, openings));
        let gone = db.changes(Sequence(0)).unwrap_err();
        let oldest = match gone {
            Error::ChangesGone { oldest, .. } => oldest,
            error => panic!("{openings} openings: {error}"),
        };
        assert_eq!(oldest, Sequence(3));
        assert!(disk.file.lock().unwrap().is_none(), "it is removed");
        let sequences = db.changes(Sequence(2)).unwrap().map(|commit| commit.unwrap().sequence.0);
        assert_eq!(sequences.collect::<Vec<_>>(), [3, 4]);
    }
}

#[test]
fn statistics_of_a_reader_do_without_a_segment_that_is_removed_after_it_was_listed() {
    let (disk, first) = kept();
    let disk = Arc::new(VanishingDisk { disk, file: Mutex::default() });
    let db = reader(&disk);
    assert_eq!(db.stats().unwrap().oldest_change, Some(1));
    *disk.file.lock().unwrap() = Some((first, 0));
    assert_eq!(db.stats().unwrap().oldest_change, Some(3));
    assert!(disk.file.lock().unwrap().is_none(), "it is removed");
}
