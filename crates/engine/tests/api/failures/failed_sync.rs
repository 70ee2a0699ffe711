//! After a failed sync, what the system has in memory of the file may not be on the disk. It is forgotten before
//! anybody can open the database again: when nothing of the file is mapped any more, and while its lock is still
//! held.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use fulgurite::io::{Access, Disk, File, ForwardDisk, ForwardFile, RealDisk, WriterAttempt};
use fulgurite::{Database, Durability, TableOptions};

/// The real disk, whose syncs can fail, and which looks about when it is to forget the database's file.
#[derive(Debug, Default)]
struct Watch {
    path: PathBuf,
    syncs_fail: AtomicBool,
    /// For each time: whether the file was mapped, and whether it was locked.
    forgotten: Mutex<Vec<(bool, bool)>>,
}

#[derive(Clone, Debug)]
struct WatchedDisk(Arc<Watch>);

#[derive(Debug)]
struct WatchedFile {
    file: Arc<dyn File>,
    /// If it is the database's.
    watch: Option<Arc<Watch>>,
}

impl ForwardDisk for WatchedDisk {
    fn inner(&self) -> &dyn Disk {
        &RealDisk
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let watch = (path == self.0.path).then(|| Arc::clone(&self.0));
        Ok(Arc::new(WatchedFile { file: RealDisk.open(path, access)?, watch }))
    }
}

impl ForwardFile for WatchedFile {
    fn inner(&self) -> &dyn File {
        &*self.file
    }

    fn sync_data(&self) -> io::Result<()> {
        match &self.watch {
            Some(watch) if watch.syncs_fail.load(Ordering::Relaxed) => Err(io::Error::from_raw_os_error(5)),
            _ => self.file.sync_data(),
        }
    }

    fn forget_cached(&self) {
        if let Some(watch) = &self.watch {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let is_mapped = maps.lines().any(|line| line.ends_with(watch.path.to_str().unwrap()));
            let lock = RealDisk.lock_writer(&lock_path(&watch.path)).unwrap();
            watch.forgotten.lock().unwrap().push((is_mapped, matches!(lock, WriterAttempt::Busy(_))));
        }
        self.file.forget_cached();
    }
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-lock");
    name.into()
}

fn key(number: u64) -> [u8; 16] {
    u128::from(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_le_bytes()
}

#[test]
fn a_file_that_is_not_trusted_is_forgotten_unmapped_and_under_the_lock() {
    for reads_on in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("a.ful");
        let watch = Arc::new(Watch { path: path.clone(), ..Watch::default() });
        let options = Database::options().create(true).background(false).delta_bytes(64 << 10);
        let disk = Arc::new(WatchedDisk(Arc::clone(&watch)));
        let db = options.durability(Durability::Log).disk(disk).open(&path).unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        db.bulk_load_unsorted(&table, (0..20_000).map(|number| (key(number), [1; 50]))).unwrap();
        db.update(|txn| (0..500).try_for_each(|number| txn.put(&table, &key(number * 40), &[2; 50]))).unwrap();
        db.checkpoint().unwrap();
        let stats = db.stats().unwrap();
        assert!(stats.mapped && stats.tables[0].runs > 0 && lock_path(&path).exists(), "{stats:?}");
        // All filters are at hand.
        let txn = db.read().unwrap();
        for number in 0..20_000 {
            assert!(txn.get(&table, &key(number)).unwrap().is_some());
        }
        watch.syncs_fail.store(true, Ordering::Relaxed);
        db.update(|txn| txn.put(&table, b"lost", b"")).unwrap();
        db.checkpoint().unwrap_err();
        let before = watch.forgotten.lock().unwrap().len();
        if reads_on {
            drop(db);
            assert_eq!(txn.get(&table, &key(7)).unwrap().as_deref(), Some(&[1; 50][..]));
            drop(txn);
        } else {
            drop(txn);
            drop(db);
        }
        let forgotten = watch.forgotten.lock().unwrap()[before..].to_vec();
        assert_eq!(forgotten, [(false, true)], "mapped, locked; with a transaction that reads on: {reads_on}");
    }
}
