//! Storages that copy files straight to their names, so that an interrupted copy leaves a part of a file there.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fulgurite::Database;
use fulgurite_graph::{CheckpointStorage, Checkpoints, DirectoryStorage};
use tempfile::TempDir;

use crate::checkpoints::{change, content, filled, options, restored};

/// A directory in which a copy ends in the middle after a number of them.
struct Torn {
    inner: DirectoryStorage,
    root: PathBuf,
    whole_left: Cell<u32>,
    /// Nothing is removed after a file whose name ends like this, as if the process had ended.
    keeps_after: Cell<Option<&'static str>>,
    stored: RefCell<Vec<String>>,
}

impl Torn {
    /// What [`filled`] has made, as such a storage.
    fn of(directory: &TempDir, inner: &DirectoryStorage) -> Self {
        let root = directory.path().join("checkpoints");
        let (whole_left, keeps_after) = (Cell::new(u32::MAX), Cell::new(None));
        Self { inner: inner.clone(), root, whole_left, keeps_after, stored: RefCell::default() }
    }
}

impl CheckpointStorage for Torn {
    fn store(&self, name: &str, file: &Path) -> io::Result<()> {
        self.stored.borrow_mut().push(name.to_owned());
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().expect("a directory"))?;
        let bytes = fs::read(file)?;
        match self.whole_left.get().checked_sub(1) {
            Some(left) => {
                self.whole_left.set(left);
                fs::write(path, bytes)
            }
            None => {
                fs::write(path, &bytes[..bytes.len() / 2])?;
                Err(io::Error::other("planted"))
            }
        }
    }

    fn fetch(&self, name: &str, path: &Path) -> io::Result<()> {
        self.inner.fetch(name, path)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let stored = self.stored.borrow();
        if self.keeps_after.get().is_some_and(|end| stored.last().is_some_and(|last| last.ends_with(end))) {
            return Err(io::Error::other("planted"));
        }
        self.inner.remove(name)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.inner.names()
    }
}

/// Goes back to checkpoint 4 and creates checkpoint 5 again, with the same content as before. Returns whether it could.
fn replay(storage: &Torn, is_whole: bool) -> bool {
    let directory = tempfile::tempdir().expect("a directory");
    let mut checkpoints = Checkpoints::new(storage).segment_bytes(4 << 10);
    let db = checkpoints.restore(4, directory.path().join("r.ful"), options()).expect("restored");
    change(&db, 5);
    if is_whole {
        checkpoints = Checkpoints::new(storage).segment_bytes(4 << 10);
    }
    let is_created = checkpoints.create(&db, 5).is_ok();
    db.close().expect("closed");
    is_created
}

/// The first process has created checkpoints 4, 5 and 6 and still runs. The second one replays what the first has done,
/// is interrupted at each copy, and begins again.
#[test]
fn a_replay_that_ends_in_the_middle_of_a_copy_damages_no_later_checkpoint() {
    for is_whole in [false, true] {
        let (directory, inner, db) = filled();
        let storage = Torn::of(&directory, &inner);
        let create = |checkpoints: &mut Checkpoints<&Torn>, db: &Database, id| {
            change(db, id);
            assert_eq!(checkpoints.create(db, id).expect("created").is_whole, id == 4 || id == 5 && is_whole);
        };
        let mut checkpoints = Checkpoints::new(&storage).segment_bytes(4 << 10);
        create(&mut checkpoints, &db, 4);
        if is_whole {
            checkpoints = Checkpoints::new(&storage).segment_bytes(4 << 10);
        }
        create(&mut checkpoints, &db, 5);
        let fifth = content(&db);
        create(&mut checkpoints, &db, 6);
        let sixth = content(&db);
        for whole_copies in 0..3 {
            storage.whole_left.set(whole_copies);
            // All data is there, so only the manifest and the mark of the commit are stored.
            assert_eq!(replay(&storage, is_whole), whole_copies == 2, "{is_whole} {whole_copies}");
            assert_eq!(restored(&inner, 6).unwrap(), sixth, "{is_whole} {whole_copies}");
        }
        storage.whole_left.set(u32::MAX);
        create(&mut checkpoints, &db, 7);
        assert_eq!(restored(&inner, 5).unwrap(), fifth);
        assert_eq!(restored(&inner, 7).unwrap(), content(&db));
    }
}

/// The first process has only its memory of checkpoint 5 when the second one sends its segments again.
#[test]
fn a_checkpoint_that_is_no_longer_committed_is_not_continued() {
    let (directory, inner, db) = filled();
    let storage = Torn::of(&directory, &inner);
    Checkpoints::new(&storage).segment_bytes(4 << 10).create(&db, 4).unwrap();
    change(&db, 5);
    let mut checkpoints = Checkpoints::new(&storage).segment_bytes(4 << 10);
    assert!(checkpoints.create(&db, 5).unwrap().is_whole);
    // As if the second process had ended before, after it had removed the mark of the commit.
    inner.remove("meta.5/_commit").unwrap();
    storage.whole_left.set(0);
    assert!(!replay(&storage, true));
    storage.whole_left.set(u32::MAX);
    change(&db, 6);
    assert!(checkpoints.create(&db, 6).unwrap().is_whole);
    assert_eq!(restored(&inner, 6).unwrap(), content(&db));
}

/// The second process ends twice while it creates checkpoint 5 again, and leaves a part of a segment that the first one
/// remembers. The third one commits checkpoint 5 with other content, and ends as soon as it is committed.
#[test]
fn a_part_of_a_file_is_not_continued_after_others_have_replaced_its_checkpoint() {
    let (directory, inner, db) = filled();
    let storage = Torn::of(&directory, &inner);
    Checkpoints::new(&storage).segment_bytes(4 << 10).create(&db, 4).unwrap();
    change(&db, 5);
    let mut checkpoints = Checkpoints::new(&storage).segment_bytes(4 << 10);
    assert!(checkpoints.create(&db, 5).unwrap().is_whole);
    for _ in 0..2 {
        storage.whole_left.set(0);
        assert!(!replay(&storage, true));
    }
    storage.whole_left.set(u32::MAX);
    let mut others = Checkpoints::new(&storage);
    let other = others.restore(4, directory.path().join("other.ful"), options()).unwrap();
    change(&other, 7);
    storage.keeps_after.set(Some("/_commit"));
    others.create(&other, 5).unwrap();
    storage.keeps_after.set(None);
    change(&db, 6);
    checkpoints.create(&db, 6).unwrap();
    assert_eq!(restored(&inner, 5).unwrap(), content(&other));
    assert_eq!(restored(&inner, 6).unwrap(), content(&db));
}

/// Another process that remembers checkpoint 2 would take a part of its file for the whole.
#[test]
fn a_checkpoint_is_not_committed_beside_files_that_cannot_be_removed() {
    let (directory, inner, db) = filled();
    let storage = Torn::of(&directory, &inner);
    let mut checkpoints = Checkpoints::new(&storage);
    checkpoints.create(&db, 1).unwrap();
    let part = "data/segment-2-0123456789abcdef0123456789abcdef";
    fs::write(storage.root.join(part), "a part").unwrap();
    storage.keeps_after.set(Some("/manifest"));
    change(&db, 2);
    assert!(checkpoints.create(&db, 2).is_err());
    assert_eq!(checkpoints.ids().unwrap(), [1]);
    storage.keeps_after.set(None);
    assert!(checkpoints.create(&db, 2).unwrap().is_cleaned);
    assert!(!inner.names().unwrap().iter().any(|name| name == part));
    assert_eq!(restored(&inner, 2).unwrap(), content(&db));
}

#[test]
fn no_changes_are_stored_if_they_are_too_many() {
    let (directory, inner, db) = filled();
    let storage = Torn::of(&directory, &inner);
    let mut checkpoints = Checkpoints::new(&storage).segment_bytes(1 << 10);
    checkpoints.create(&db, 1).unwrap();
    let table = db.open_table("state").unwrap();
    db.update(|txn| (100..1600_u64).try_for_each(|key| txn.put(&table, key.to_be_bytes(), [8; 100]))).unwrap();
    assert!(checkpoints.create(&db, 2).unwrap().is_whole);
    let stored = storage.stored.borrow();
    assert!(!stored.iter().any(|name| name.starts_with("data/delta-")), "{stored:?}");
}

#[test]
fn what_a_failed_checkpoint_has_sent_is_removed() {
    let (directory, inner, db) = filled();
    let storage = Torn::of(&directory, &inner);
    let create = |id| Checkpoints::new(&storage).segment_bytes(64 << 10).create(&db, id);
    create(1).unwrap();
    let data = || inner.names().unwrap().into_iter().filter(|name| name.starts_with("data/")).collect::<BTreeSet<_>>();
    let before = data();
    let table = db.open_table("state").unwrap();
    db.update(|txn| (100..2100_u64).try_for_each(|key| txn.put(&table, key.to_be_bytes(), [8; 100]))).unwrap();
    // In the middle of each segment, and of the manifest.
    for (id, whole_copies) in (2..).zip(0..) {
        storage.whole_left.set(whole_copies);
        assert!(create(id).is_err(), "{whole_copies}");
        assert_eq!(data(), before, "{whole_copies}");
        if storage.stored.borrow().last().is_some_and(|name| name.starts_with("meta.")) {
            assert!(whole_copies > 1, "{whole_copies}");
            break;
        }
    }
    storage.whole_left.set(u32::MAX);
    create(1).unwrap();
    assert_eq!(restored(&inner, 1).unwrap(), content(&db));
}
