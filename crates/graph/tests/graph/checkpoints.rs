//! Checkpoints: which files they store, and which checkpoints can be restored after a step has failed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fulgurite::{Database, Error, Options, Read, TableOptions};
use fulgurite_graph::{CheckpointError, CheckpointStorage, Checkpoints, DirectoryStorage};
use tempfile::TempDir;

pub fn options() -> Options {
    Database::options().create(true).keep_log(256 << 20)
}

fn database(directory: &TempDir) -> Database {
    options().open(directory.path().join("state.ful")).expect("a database")
}

/// A directory whose operations fail after a number of them. The files of the operation that fails may be there.
struct Failing {
    inner: DirectoryStorage,
    left: Cell<u32>,
    /// Whether the operation that fails is done nonetheless.
    does_it: bool,
}

impl Failing {
    fn step(&self, done: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                done()
            }
            None => {
                if self.does_it {
                    done()?;
                }
                Err(io::Error::other("planted"))
            }
        }
    }
}

impl CheckpointStorage for Failing {
    fn store(&self, name: &str, file: &Path) -> io::Result<()> {
        self.step(|| self.inner.store(name, file))
    }

    fn fetch(&self, name: &str, path: &Path) -> io::Result<()> {
        self.inner.fetch(name, path)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.step(|| self.inner.remove(name))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.inner.names()
    }
}

/// A directory that counts how often files are fetched.
struct Counting {
    inner: DirectoryStorage,
    fetches: Cell<u32>,
}

impl CheckpointStorage for Counting {
    fn store(&self, name: &str, file: &Path) -> io::Result<()> {
        self.inner.store(name, file)
    }

    fn fetch(&self, name: &str, path: &Path) -> io::Result<()> {
        self.fetches.set(self.fetches.get() + 1);
        self.inner.fetch(name, path)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.inner.names()
    }
}

pub type Content = BTreeMap<(String, Vec<u8>), Vec<u8>>;

pub fn content(db: &Database) -> Content {
    let snapshot = db.read().expect("a snapshot");
    let mut content = BTreeMap::new();
    for table in db.tables().expect("the tables") {
        for entry in snapshot.range(&table, ..).expect("a range") {
            let (key, value) = entry.expect("an entry");
            content.insert((table.name().to_owned(), key.to_vec()), value.to_vec());
        }
    }
    content
}

/// Some changes that depend on the number.
pub fn change(db: &Database, number: u64) {
    let table = db.open_or_create_table("state", TableOptions::new()).expect("a table");
    db.update(|txn| {
        for key in 0..20_u64 {
            if (key + number).is_multiple_of(3) {
                txn.put(&table, (key * 7 % 40).to_be_bytes(), format!("{number} {}", "x".repeat(100)))?;
            }
        }
        txn.delete(&table, (number % 40).to_be_bytes()).map(drop)
    })
    .expect("a commit");
}

/// A state of some size, so that changes are sent as such.
pub fn fill(db: &Database) {
    let table = db.open_or_create_table("state", TableOptions::new()).expect("a table");
    db.update(|txn| (0..2000_u64).try_for_each(|key| txn.put(&table, (key + 100).to_be_bytes(), [7; 100])))
        .expect("a commit");
}

/// A filled database, and a storage in the same directory, which is removed at the end.
pub fn filled() -> (TempDir, DirectoryStorage, Database) {
    let directory = tempfile::tempdir().expect("a directory");
    let storage = DirectoryStorage::new(directory.path().join("checkpoints"));
    let db = database(&directory);
    fill(&db);
    (directory, storage, db)
}

pub fn restored(storage: &DirectoryStorage, id: u64) -> Result<Content, CheckpointError> {
    let directory = tempfile::tempdir().expect("a directory");
    let db = Checkpoints::new(storage).restore(id, directory.path().join("r.ful"), options())?;
    assert!(db.check().expect("checked").is_sound());
    let content = content(&db);
    db.close().expect("closed");
    Ok(content)
}

#[test]
fn later_checkpoints_send_changes_only_and_each_is_restored_as_it_was() {
    let (directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage).retained(100);
    let mut states = Vec::new();
    for id in 0..20 {
        change(&db, id);
        let report = checkpoints.create(&db, id).unwrap();
        assert_eq!(report.is_whole, id == 0);
        assert!(id == 0 || report.bytes_sent < 2_000, "{report:?}");
        states.push(content(&db));
    }
    assert_eq!(checkpoints.ids().unwrap(), (0..20).collect::<Vec<_>>());
    for (id, state) in states.iter().enumerate() {
        assert_eq!(&restored(&storage, id as u64).unwrap(), state, "{id}");
    }
    // Nothing local is left beside the database and its log.
    let names: Vec<String> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("checkpoint") && name != "checkpoints")
        .collect();
    assert_eq!(names, [""; 0]);
}

#[test]
fn a_database_that_has_not_changed_sends_no_data_and_its_checkpoint_is_restored() {
    let (_directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage).retained(2);
    checkpoints.create(&db, 1).unwrap();
    change(&db, 1);
    checkpoints.create(&db, 2).unwrap();
    let files = || {
        let mut names = storage.names().unwrap();
        names.retain(|name| name.starts_with("data/"));
        names.sort_unstable();
        names
    };
    let (before, state) = (files(), content(&db));
    for id in 3..6 {
        let report = checkpoints.create(&db, id).unwrap();
        assert!(report.bytes_sent == 0 && !report.is_whole && report.is_cleaned, "{report:?}");
    }
    assert_eq!(files(), before);
    assert_eq!(checkpoints.ids().unwrap(), [4, 5]);
    assert_eq!(restored(&storage, 5).unwrap(), state);
    change(&db, 2);
    assert!(checkpoints.create(&db, 6).unwrap().bytes_sent > 0);
    assert_eq!(restored(&storage, 5).unwrap(), state);
    assert_eq!(restored(&storage, 6).unwrap(), content(&db));
}

#[test]
fn an_unchanged_database_sends_no_data_after_so_many_changes_that_the_next_one_sends_it_whole() {
    let (_directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage);
    checkpoints.create(&db, 0).unwrap();
    for id in 1..=64 {
        change(&db, id);
        let report = checkpoints.create(&db, id).unwrap();
        assert!(report.bytes_sent > 0 && !report.is_whole, "{id}: {report:?}");
    }
    for id in 65..67 {
        let report = checkpoints.create(&db, id).unwrap();
        assert!(report.bytes_sent == 0 && !report.is_whole, "{id}: {report:?}");
    }
    assert_eq!(restored(&storage, 66).unwrap(), content(&db));
    change(&db, 67);
    assert!(checkpoints.create(&db, 67).unwrap().is_whole);
    assert_eq!(restored(&storage, 67).unwrap(), content(&db));
}

#[test]
fn manifests_of_other_checkpoints_are_read_only_if_a_file_may_be_left_over() {
    let (_directory, inner, db) = filled();
    let storage = Counting { inner, fetches: Cell::new(0) };
    let mut checkpoints = Checkpoints::new(&storage).retained(3);
    for id in 0..8 {
        change(&db, id);
        checkpoints.create(&db, id).unwrap();
    }
    assert_eq!(storage.fetches.get(), 0, "every checkpoint needs all files there are");
    db.create_table("more", TableOptions::new()).unwrap();
    assert!(checkpoints.create(&db, 8).unwrap().is_whole);
    assert_eq!(storage.fetches.get(), 3, "before segments are reused; 6 and 7 need the other files");
    assert_eq!(checkpoints.ids().unwrap(), [6, 7, 8]);
    assert!(restored(&storage.inner, 6).is_ok() && restored(&storage.inner, 7).is_ok());
    change(&db, 9);
    assert!(!checkpoints.create(&db, 9).unwrap().is_whole);
    assert_eq!(storage.fetches.get(), 3, "checkpoint 7 needs them still");
    change(&db, 10);
    checkpoints.create(&db, 10).unwrap();
    assert_eq!(storage.fetches.get(), 5, "the two others that are retained");
    let names = storage.inner.names().unwrap();
    assert!(!names.iter().any(|name| name.starts_with("data/segment-0-")), "{names:?}");
    for id in 8..11 {
        assert!(restored(&storage.inner, id).is_ok(), "{id}");
    }
}

#[test]
fn a_file_of_a_checkpoint_that_another_process_has_replaced_is_not_removed() {
    let (directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage).retained(2);
    checkpoints.create(&db, 1).unwrap();
    change(&db, 1);
    checkpoints.create(&db, 2).unwrap();
    // The other process replaces checkpoint 2. Only the first process believes that it knows its files.
    let mut others = Checkpoints::new(&storage).retained(2);
    let other = others.restore(1, directory.path().join("other.ful"), options()).unwrap();
    change(&other, 5);
    others.create(&other, 2).unwrap();
    db.create_table("more", TableOptions::new()).unwrap();
    assert!(checkpoints.create(&db, 3).unwrap().is_whole);
    assert_eq!(checkpoints.ids().unwrap(), [2, 3]);
    assert_eq!(restored(&storage, 2).unwrap(), content(&other));
    assert_eq!(restored(&storage, 3).unwrap(), content(&db));
}

#[test]
fn a_checkpoint_that_is_not_committed_is_not_restored() {
    let (directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage);
    checkpoints.create(&db, 1).unwrap();
    let commit = directory.path().join("checkpoints/meta.1/_commit");
    std::fs::remove_file(&commit).unwrap();
    assert!(matches!(restored(&storage, 1), Err(CheckpointError::NoSuchCheckpoint { id: 1 })));
}

/// A directory from which nothing can be fetched.
struct Unreachable(DirectoryStorage);

impl CheckpointStorage for Unreachable {
    fn store(&self, name: &str, file: &Path) -> io::Result<()> {
        self.0.store(name, file)
    }

    fn fetch(&self, _: &str, _: &Path) -> io::Result<()> {
        Err(io::Error::other("planted"))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.0.names()
    }
}

#[test]
fn a_committed_checkpoint_that_cannot_be_fetched_is_an_error_of_the_storage() {
    let (directory, storage, db) = filled();
    Checkpoints::new(&storage).create(&db, 1).unwrap();
    let mut checkpoints = Checkpoints::new(Unreachable(storage));
    let path = directory.path().join("r.ful");
    let refused = checkpoints.restore(1, &path, options());
    assert!(matches!(refused, Err(CheckpointError::Storage { operation: "fetch", .. })), "{refused:?}");
    let missing = checkpoints.restore(2, &path, options());
    assert!(matches!(missing, Err(CheckpointError::NoSuchCheckpoint { id: 2 })), "{missing:?}");
    assert!(!path.exists());
}

#[test]
fn an_old_manifest_that_cannot_be_read_does_not_prevent_a_whole_checkpoint() {
    let (_directory, storage, db) = filled();
    Checkpoints::new(&storage).create(&db, 1).unwrap();
    let report = Checkpoints::new(Unreachable(storage.clone())).create(&db, 2).unwrap();
    assert!(report.is_whole && report.bytes_sent > 0 && !report.is_cleaned, "{report:?}");
    assert_eq!(restored(&storage, 2).unwrap(), content(&db));
}

#[test]
fn the_database_is_sent_whole_when_changes_cannot_be_told_or_are_many() {
    let (directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage);
    let mut create = |id| checkpoints.create(&db, id).unwrap().is_whole;
    assert!(create(1));
    assert!(!create(2), "nothing has changed");
    db.create_table("more", TableOptions::new()).unwrap();
    assert!(create(3), "a new table");
    let table = db.open_table("more").unwrap();
    db.bulk_load(&table, (0..10_u8).map(|key| ([key], [key]))).unwrap();
    assert!(create(4), "a bulk load");
    db.update(|txn| (0..5000_u64).try_for_each(|key| txn.put(&table, key.to_be_bytes(), [7; 100]))).unwrap();
    assert!(create(5), "many changes");
    change(&db, 1);
    assert!(!create(6));
    assert_eq!(restored(&storage, 6).unwrap(), content(&db));
    // Without a log of changes every checkpoint is whole.
    let other = Database::options().create(true).open(directory.path().join("other.ful")).unwrap();
    fill(&other);
    let storage = DirectoryStorage::new(directory.path().join("others"));
    let mut checkpoints = Checkpoints::new(&storage);
    assert!((1..4).all(|id| checkpoints.create(&other, id).unwrap().is_whole));
}

/// The segment of the database's log that has these bytes, and where.
fn segment_with(directory: &TempDir, bytes: &[u8]) -> (PathBuf, usize) {
    std::fs::read_dir(directory.path())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().contains("state.ful-log."))
        .find_map(|path| {
            let content = std::fs::read(&path).expect("a segment");
            let at = content.windows(bytes.len()).position(|window| window == bytes)?;
            Some((path, at))
        })
        .expect("a segment with these bytes")
}

#[test]
fn the_database_is_sent_whole_when_a_segment_of_its_retained_log_is_damaged_or_missing() {
    for is_missing in [false, true] {
        let (directory, storage, db) = filled();
        let mut checkpoints = Checkpoints::new(&storage);
        checkpoints.create(&db, 1).unwrap();
        change(&db, 1);
        let (segment, at) = segment_with(&directory, &[b'x'; 100]);
        // From here on, only the next checkpoint needs the segment.
        db.checkpoint().unwrap();
        change(&db, 2);
        if is_missing {
            std::fs::remove_file(&segment).unwrap();
        } else {
            let mut damaged = std::fs::read(&segment).unwrap();
            damaged[at] ^= 1;
            std::fs::write(&segment, damaged).unwrap();
        }
        assert!(checkpoints.create(&db, 2).unwrap().is_whole, "missing: {is_missing}");
        assert_eq!(restored(&storage, 2).unwrap(), content(&db));
        change(&db, 3);
        assert!(!checkpoints.create(&db, 3).unwrap().is_whole, "missing: {is_missing}");
        assert_eq!(restored(&storage, 3).unwrap(), content(&db));
    }
}

#[test]
fn the_last_checkpoint_is_created_again_from_what_has_changed() {
    let (_directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage);
    change(&db, 1);
    assert!(checkpoints.create(&db, 5).unwrap().is_whole);
    let report = checkpoints.create(&db, 5).unwrap();
    assert!(report.bytes_sent == 0 && !report.is_whole && report.is_cleaned, "{report:?}");
    assert_eq!(restored(&storage, 5).unwrap(), content(&db));
    // The third time the file of changes has the same name and content as the second time, and is not sent again.
    for (number, is_sent) in [(2, true), (3, true), (3, false)] {
        change(&db, number);
        let report = checkpoints.create(&db, 5).unwrap();
        assert_eq!(report.bytes_sent > 0, is_sent, "{report:?}");
        assert!(report.bytes_sent < 4_000 && !report.is_whole, "{report:?}");
        assert_eq!(restored(&storage, 5).unwrap(), content(&db));
    }
    assert_eq!(checkpoints.ids().unwrap(), [5]);
}

#[test]
fn a_restored_database_goes_on_with_changes() {
    let (directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage);
    checkpoints.create(&db, 1).unwrap();
    change(&db, 1);
    checkpoints.create(&db, 2).unwrap();
    // Another process goes on from the first checkpoint, and replaces the second.
    let mut others = Checkpoints::new(&storage);
    let other = others.restore(1, directory.path().join("other.ful"), options()).unwrap();
    change(&other, 5);
    assert!(!others.create(&other, 2).unwrap().is_whole);
    assert_eq!(restored(&storage, 2).unwrap(), content(&other));
    assert_ne!(content(&other), content(&db));
    let refused = others.restore(2, directory.path().join("other.ful"), options());
    assert!(matches!(refused, Err(CheckpointError::Engine(Error::FileExists { .. }))), "{refused:?}");
}

#[test]
fn two_processes_that_replace_checkpoints_of_each_other_leave_none_that_lacks_a_file() {
    let (directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage);
    checkpoints.create(&db, 1).unwrap();
    change(&db, 1);
    checkpoints.create(&db, 2).unwrap();
    let mut others = Checkpoints::new(&storage);
    let other = others.restore(1, directory.path().join("other.ful"), options()).unwrap();
    change(&other, 5);
    others.create(&other, 2).unwrap();
    // What the first process sent for the second checkpoint is gone, so changes since then are of no use.
    change(&db, 6);
    assert!(checkpoints.create(&db, 3).unwrap().is_whole);
    assert_eq!(restored(&storage, 2).unwrap(), content(&other));
    assert_eq!(restored(&storage, 3).unwrap(), content(&db));
}

#[test]
fn what_an_interrupted_restoration_has_left_is_no_database_and_is_removed_by_the_next() {
    let (directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage);
    checkpoints.create(&db, 1).unwrap();
    change(&db, 1);
    checkpoints.create(&db, 2).unwrap();
    // As after a kill between two files of changes.
    let target = directory.path().join("r.ful");
    for name in ["r.ful-restoring", "r.ful-restoring-lock", "r.ful-restoring-log.1"] {
        std::fs::write(directory.path().join(name), "in part").unwrap();
    }
    assert!(!target.exists());
    let restored = checkpoints.restore(2, &target, options()).unwrap();
    assert_eq!(content(&restored), content(&db));
    restored.close().unwrap();
    let left = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("restoring")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_checkpoint_that_is_created_again_leaves_later_ones_as_they_are() {
    let (_directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage);
    let mut states = BTreeMap::new();
    for id in [1, 2, 3, 4, 2, 1] {
        change(&db, id);
        checkpoints.create(&db, id).unwrap();
        states.insert(id, content(&db));
    }
    for (id, state) in states {
        assert_eq!(restored(&storage, id).unwrap(), state, "{id}");
    }
}

#[test]
fn the_newest_are_retained_with_the_files_that_they_need() {
    let (_directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage).retained(3);
    for id in 0..8 {
        change(&db, id);
        checkpoints.create(&db, id).unwrap();
    }
    assert_eq!(checkpoints.ids().unwrap(), [5, 6, 7]);
    let before = content(&db);
    assert_eq!(restored(&storage, 7).unwrap(), before);
    assert!(matches!(restored(&storage, 4), Err(CheckpointError::NoSuchCheckpoint { id: 4 })));
    // New segments, after which the files of the old ones go with their last checkpoint.
    for id in 8..11 {
        fill(&db);
        checkpoints.create(&db, id).unwrap();
    }
    let names = storage.names().unwrap();
    assert!(!names.iter().any(|name| name.starts_with("data/segment-0-")), "{names:?}");
    assert!(checkpoints.ids().unwrap().iter().all(|&id| restored(&storage, id).is_ok()));
}

#[test]
fn a_checkpoint_that_fails_at_any_step_leaves_the_committed_ones() {
    for does_it in [false, true] {
        for steps in 0..40 {
            let directory = tempfile::tempdir().unwrap();
            let inner = DirectoryStorage::new(directory.path().join("checkpoints"));
            let storage = Failing { inner: inner.clone(), left: Cell::new(u32::MAX), does_it };
            let db = database(&directory);
            fill(&db);
            let mut checkpoints = Checkpoints::new(&storage).retained(2);
            let mut states = BTreeMap::new();
            for id in 1..4 {
                change(&db, id);
                checkpoints.create(&db, id).unwrap();
                states.insert(id, content(&db));
            }
            storage.left.set(steps);
            let mut has_failed = false;
            for id in [4, 5, 4] {
                change(&db, id);
                let state = content(&db);
                let old = states.insert(id, state.clone());
                let created = checkpoints.create(&db, id);
                has_failed = !created.as_ref().is_ok_and(|report| report.is_cleaned);
                if created.is_err() {
                    // It is there as it was to be, or not at all; one that it was to replace is not.
                    let committed = checkpoints.ids().unwrap();
                    if committed.contains(&id) {
                        let restored = restored(&inner, id).unwrap();
                        assert!(restored == state || Some(&restored) == old.as_ref(), "step {steps}, {id}");
                        states.insert(id, restored);
                    }
                }
                if has_failed {
                    break;
                }
            }
            let committed = checkpoints.ids().unwrap();
            assert!(!committed.is_empty(), "step {steps}");
            for id in committed {
                assert_eq!(restored(&inner, id).unwrap(), states[&id], "step {steps}, checkpoint {id}");
            }
            // The next one works, and takes the rest of the failed one away.
            storage.left.set(u32::MAX);
            change(&db, 9);
            checkpoints.create(&db, 9).unwrap();
            assert_eq!(restored(&inner, 9).unwrap(), content(&db));
            if !has_failed {
                break;
            }
        }
    }
}

#[test]
fn damaged_and_missing_files_are_named_and_nothing_is_left_of_the_attempt() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("checkpoints");
    let storage = DirectoryStorage::new(&root);
    let db = database(&directory);
    fill(&db);
    let mut checkpoints = Checkpoints::new(&storage);
    checkpoints.create(&db, 1).unwrap();
    change(&db, 1);
    checkpoints.create(&db, 2).unwrap();
    let names = storage.names().unwrap();
    let named = |prefix: &str| names.iter().find(|name| name.starts_with(prefix)).expect("stored").clone();
    for name in [named("data/segment-1-"), named("data/delta-2-"), named("meta.2/manifest")] {
        let name = name.as_str();
        let whole = std::fs::read(root.join(name)).unwrap();
        for damage in 0..3 {
            match damage {
                0 => std::fs::remove_file(root.join(name)).unwrap(),
                1 => std::fs::write(root.join(name), &whole[..whole.len() / 2]).unwrap(),
                _ => {
                    let mut changed = whole.clone();
                    let middle = changed.len() / 2;
                    changed[middle] ^= 0x40;
                    std::fs::write(root.join(name), changed).unwrap();
                }
            }
            let target = tempfile::tempdir().unwrap();
            let error = Checkpoints::new(&storage).restore(2, target.path().join("r.ful"), options());
            let error = error.expect_err(name).to_string();
            // A manifest with another name of a file is a manifest.
            let is_named = error.contains(name) || name.starts_with("meta.") && damage == 2;
            assert!(is_named && (error.contains("damaged") || error.contains("cannot fetch")), "{error}");
            assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "{name} {damage}");
        }
        std::fs::write(root.join(name), whole).unwrap();
    }
    assert_eq!(restored(&storage, 2).unwrap(), content(&db));
    std::fs::remove_file(root.join("meta.2/_commit")).unwrap();
    assert_eq!(Checkpoints::new(&storage).ids().unwrap(), [1]);
}

#[test]
fn another_database_is_sent_whole_even_at_the_same_path() {
    let directory = tempfile::tempdir().unwrap();
    let storage = DirectoryStorage::new(directory.path().join("checkpoints"));
    let mut checkpoints = Checkpoints::new(&storage);
    let fresh = |commits: u64| {
        for name in std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()) {
            if name.is_file() {
                std::fs::remove_file(name).unwrap();
            }
        }
        let db = database(&directory);
        fill(&db);
        (0..commits).for_each(|number| change(&db, number));
        db
    };
    let first = fresh(2);
    checkpoints.create(&first, 1).unwrap();
    first.close().unwrap();
    // It has more commits than the first, so the log has what would seem to follow.
    let second = fresh(9);
    assert!(checkpoints.create(&second, 2).unwrap().is_whole);
    assert_eq!(restored(&storage, 2).unwrap(), content(&second));
    // A database at another path: the one before a restored one.
    let third = checkpoints.restore(1, directory.path().join("r.ful"), options()).unwrap();
    assert!(checkpoints.create(&second, 3).unwrap().is_whole);
    assert_eq!(restored(&storage, 3).unwrap(), content(&second));
    third.close().unwrap();
}

#[test]
fn what_was_never_committed_is_removed_by_the_next_checkpoint() {
    let (directory, storage, db) = filled();
    let segment = "data/segment-5-0123456789abcdef0123456789abcdef";
    let unfinished = [".new", ".zst.new"].map(|suffix| format!("{segment}{suffix}"));
    let data = ["data/base-5-0123456789abcdef", "data/delta-5-0123456789abcdef.zst"];
    let data = data.into_iter().chain(unfinished.iter().map(String::as_str));
    for name in ["meta.5/manifest", "meta.5/_commit.new", "meta.9/manifest"].into_iter().chain(data) {
        let file = directory.path().join("left");
        std::fs::write(&file, "left over").unwrap();
        storage.store(name, &file).unwrap();
    }
    // What is not named as files of checkpoints are is of another program.
    let others = [
        "data/base-5-0123456789abcdef.zst",
        "data/base-plans",
        "data/photos",
        "data/segment-5-0123456789abcdef",
        "meta.5/notes",
    ];
    for name in others {
        let file = directory.path().join("left");
        std::fs::write(&file, "of others").unwrap();
        storage.store(name, &file).unwrap();
    }
    Checkpoints::new(&storage).create(&db, 9).unwrap();
    let mut names = storage.names().unwrap();
    names.retain(|name| !name.starts_with("data/segment-9-"));
    names.sort_unstable();
    assert_eq!(names, [&others[..], &["meta.9/_commit", "meta.9/manifest"]].concat());
}

#[test]
fn a_failed_restoration_leaves_files_with_similar_names() {
    let (directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage);
    checkpoints.create(&db, 1).unwrap();
    change(&db, 1);
    checkpoints.create(&db, 2).unwrap();
    let delta = storage.names().unwrap().into_iter().find(|name| name.starts_with("data/delta")).unwrap();
    storage.remove(&delta).unwrap();
    let others = ["r-2024", "r-old.ful", "r-log.txt", "r-backup.tar"].map(|name| directory.path().join(name));
    others.iter().for_each(|other| std::fs::write(other, "of another").unwrap());
    assert!(checkpoints.restore(2, directory.path().join("r"), options()).is_err());
    assert!(others.iter().all(|other| other.exists()));
    let left = std::fs::read_dir(directory.path()).unwrap();
    let left = left.filter(|entry| entry.as_ref().unwrap().file_name().as_encoded_bytes().starts_with(b"r")).count();
    assert_eq!(left, others.len());
}
