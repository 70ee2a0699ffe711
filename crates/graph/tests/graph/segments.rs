//! Checkpoints of whole databases: which segments are sent, and what is restored from them.

use std::fs;
use std::path::PathBuf;

use fulgurite::{Database, Error, MergeOperator, Table, TableOptions};
use fulgurite_graph::{CheckpointError, CheckpointStorage as _, Checkpoints, DirectoryStorage};
use tempfile::TempDir;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::checkpoints::{change, content, filled, options, restored};

/// A new object, so that all entries are sent or are there, in segments of about 4 KiB, which are not compressed.
fn whole(storage: &DirectoryStorage) -> Checkpoints<&DirectoryStorage> {
    Checkpoints::new(storage).segment_bytes(4 << 10).retained(1).compression_level(0)
}

/// The names of files with this beginning, sorted.
pub fn names(storage: &DirectoryStorage, beginning: &str) -> Vec<String> {
    let mut names = storage.names().expect("a listing");
    names.retain(|name| name.starts_with(beginning));
    names.sort_unstable();
    names
}

pub fn path(directory: &TempDir, name: &str) -> PathBuf {
    directory.path().join("checkpoints").join(name)
}

pub fn put_all(db: &Database, keys: std::ops::Range<u64>, value: &[u8]) {
    let table = db.open_table("state").expect("the table");
    db.update(|txn| keys.clone().try_for_each(|key| txn.put(&table, key.to_be_bytes(), value))).expect("a commit");
}

#[test]
fn a_whole_checkpoint_sends_the_segments_that_are_not_there_and_removes_the_others() {
    let (directory, storage, db) = filled();
    let first = whole(&storage).create(&db, 1).unwrap();
    assert!(first.is_whole && first.bytes_sent > 200_000, "{first:?}");
    let segments = names(&storage, "data/segment-1-");
    assert!(segments.len() > 25, "{segments:?}");
    let unchanged = whole(&storage).create(&db, 2).unwrap();
    assert!(unchanged.is_whole && unchanged.bytes_sent == 0 && unchanged.is_cleaned, "{unchanged:?}");
    assert_eq!(names(&storage, "data/"), segments);
    // A hundredth of the keys, whose values have another length.
    put_all(&db, 1000..1020, &[9; 120]);
    let changed = whole(&storage).create(&db, 3).unwrap();
    assert!(changed.is_whole && changed.bytes_sent > 0 && changed.bytes_sent < first.bytes_sent / 4, "{changed:?}");
    assert!(changed.is_cleaned);
    let (old, new) = (names(&storage, "data/segment-1-"), names(&storage, "data/segment-3-"));
    assert!(old.len() < segments.len() && !new.is_empty());
    let manifest = fs::read_to_string(path(&directory, "meta.3/manifest")).unwrap();
    assert_eq!(manifest.lines().filter(|line| line.starts_with("segment ")).count(), old.len() + new.len());
    assert_eq!(names(&storage, "data/").len(), old.len() + new.len());
    assert_eq!(restored(&storage, 3).unwrap(), content(&db));
}

#[test]
fn segments_and_manifests_have_the_documented_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let db = options().open(directory.path().join("state.ful")).unwrap();
    let table = db.create_table("t", TableOptions::new().key_type("string")).unwrap();
    db.update(|txn| txn.put(&table, "key", "v")).unwrap();
    let storage = DirectoryStorage::new(directory.path().join("checkpoints"));
    whole(&storage).create(&db, 7).unwrap();
    let table = b"\x02\0\x01\x01\0\0\0t\x06\0\0\0string\0\0\0\0\0\0\0\0\0\0\0\0";
    let segment = [&b"FULSEGM1"[..], table, b"\x01\x03\0\0\0key\x01\0\0\0v", b"\0"].concat();
    let hash = format!("{:032x}", xxh3_128(&segment));
    let name = format!("data/segment-7-{hash}");
    assert_eq!(fs::read(path(&directory, &name)).unwrap(), segment);
    let (head, bytes) = ("fulgurite-checkpoint 2\nid 7\npage-size 16384\nsegment ", segment.len());
    let lines = format!("{head}{name} {bytes} {hash}\n");
    let text = format!("{lines}end {:016x}\n", xxh3_64(lines.as_bytes()));
    assert_eq!(fs::read_to_string(path(&directory, "meta.7/manifest")).unwrap(), text);
}

/// A storage that does not store files at once may have a part of one after the process has ended.
#[test]
fn a_segment_that_no_committed_checkpoint_has_is_sent_again() {
    let (directory, storage, db) = filled();
    whole(&storage).create(&db, 1).unwrap();
    let part = path(&directory, &names(&storage, "data/segment-1-")[3]);
    fs::write(&part, "in part").unwrap();
    fs::remove_file(path(&directory, "meta.1/_commit")).unwrap();
    assert!(whole(&storage).create(&db, 1).unwrap().bytes_sent > 200_000);
    assert_eq!(restored(&storage, 1).unwrap(), content(&db));
}

/// Another process has replaced the checkpoint. A third one, which ended early, has left a part of a segment.
#[test]
fn a_segment_that_only_a_replaced_checkpoint_had_is_sent_again() {
    let (directory, storage, db) = filled();
    let mut checkpoints = whole(&storage);
    checkpoints.create(&db, 1).unwrap();
    let segment = names(&storage, "data/segment-1-").swap_remove(3);
    let empty = options().open(directory.path().join("empty.ful")).unwrap();
    whole(&storage).create(&empty, 1).unwrap();
    let part = directory.path().join("part");
    fs::write(&part, "in part").unwrap();
    storage.store(&segment, &part).unwrap();
    checkpoints.create(&db, 2).unwrap();
    assert_eq!(restored(&storage, 2).unwrap(), content(&db));
}

#[test]
fn a_segment_that_begins_with_an_entry_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let storage = DirectoryStorage::new(directory.path().join("checkpoints"));
    fs::create_dir_all(path(&directory, "data")).unwrap();
    fs::create_dir_all(path(&directory, "meta.7")).unwrap();
    let table = [&b"\x02\0\x01\x01\0\0\0t"[..], &[0; 16]].concat();
    let entry = |key: &[u8]| [&b"\x01\x01\0\0\0"[..], key, b"\0\0\0\0", b"\0"].concat();
    let mut lines = "fulgurite-checkpoint 2\nid 7\npage-size 16384\n".to_owned();
    let mut last = String::new();
    for records in [[table, entry(b"a")].concat(), entry(b"b")] {
        let segment = [&b"FULSEGM1"[..], &records].concat();
        let hash = format!("{:032x}", xxh3_128(&segment));
        last = format!("data/segment-7-{hash}");
        fs::write(path(&directory, &last), &segment).unwrap();
        lines += &format!("segment {last} {} {hash}\n", segment.len());
    }
    let text = format!("{lines}end {:016x}\n", xxh3_64(lines.as_bytes()));
    fs::write(path(&directory, "meta.7/manifest"), text).unwrap();
    fs::write(path(&directory, "meta.7/_commit"), "committed\n").unwrap();
    let refused = restored(&storage, 7);
    assert!(matches!(&refused, Err(CheckpointError::Damaged { name, .. }) if *name == last), "{refused:?}");
}

#[test]
fn a_database_that_is_over_its_quota_with_its_log_is_restored() {
    let directory = tempfile::tempdir().unwrap();
    let options = options().background(false).max_size_bytes(1 << 20);
    let db = options.clone().open(directory.path().join("state.ful")).unwrap();
    db.create_table("state", TableOptions::new()).unwrap();
    put_all(&db, 0..200, &[7; 10_000]);
    let full = db.checkpoint();
    assert!(matches!(full, Err(Error::QuotaExceeded { .. })), "{full:?}");
    let storage = DirectoryStorage::new(directory.path().join("checkpoints"));
    Checkpoints::new(&storage).create(&db, 1).unwrap();
    let restored = Checkpoints::new(&storage).restore(1, directory.path().join("r.ful"), options).unwrap();
    assert_eq!(content(&restored), content(&db));
}

#[test]
fn missing_and_exchanged_segments_are_named() {
    let (directory, storage, db) = filled();
    whole(&storage).create(&db, 1).unwrap();
    let segments = names(&storage, "data/segment-1-");
    let (first, second) = (&segments[0], &segments[1]);
    let refused = |named: &[&String]| {
        let error = restored(&storage, 1).expect_err("refused").to_string();
        assert!(named.iter().any(|name| error.contains(name.as_str())), "{error}");
    };
    let contents = [first, second].map(|name| fs::read(path(&directory, name)).unwrap());
    fs::write(path(&directory, first), &contents[1]).unwrap();
    fs::write(path(&directory, second), &contents[0]).unwrap();
    refused(&[first, second]);
    fs::write(path(&directory, second), &contents[1]).unwrap();
    fs::remove_file(path(&directory, first)).unwrap();
    refused(&[first]);
    fs::write(path(&directory, first), &contents[0]).unwrap();
    let manifest = path(&directory, "meta.1/manifest");
    let text = fs::read_to_string(&manifest).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(3, 4);
    fs::write(&manifest, lines.join("\n") + "\n").unwrap();
    let error = restored(&storage, 1);
    assert!(matches!(&error, Err(CheckpointError::Damaged { name, .. }) if name == "meta.1/manifest"), "{error:?}");
    fs::write(&manifest, text).unwrap();
    assert_eq!(restored(&storage, 1).unwrap(), content(&db));
}

#[test]
fn changes_that_take_much_memory_are_sent_in_several_files() {
    let (_directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage).segment_bytes(1 << 10);
    checkpoints.create(&db, 1).unwrap();
    for value in [8, 9] {
        put_all(&db, 100..500, &[value; 100]);
    }
    let report = checkpoints.create(&db, 2).unwrap();
    let deltas = names(&storage, "data/delta-2-");
    assert!(!report.is_whole && deltas.len() > 3, "{report:?} {deltas:?}");
    assert_eq!(restored(&storage, 2).unwrap(), content(&db));
    // More than half of what the segments have: the files that were sent are removed.
    put_all(&db, 600..2000, &[10; 100]);
    assert!(checkpoints.create(&db, 3).unwrap().is_whole);
    assert_eq!(names(&storage, "data/delta-3-"), [""; 0]);
    assert_eq!(restored(&storage, 3).unwrap(), content(&db));
}

#[test]
fn only_small_files_of_changes_are_limited_in_number() {
    let directory = tempfile::tempdir().unwrap();
    let db = options().open(directory.path().join("state.ful")).unwrap();
    db.create_table("state", TableOptions::new()).unwrap();
    put_all(&db, 0..24, &[7; 20_000]);
    let storage = DirectoryStorage::new(directory.path().join("checkpoints"));
    let mut checkpoints = Checkpoints::new(&storage).segment_bytes(1 << 10);
    checkpoints.create(&db, 1).unwrap();
    put_all(&db, 100..7100, b"");
    assert!(!checkpoints.create(&db, 2).unwrap().is_whole);
    assert!(names(&storage, "data/delta-2-").len() > 64);
    put_all(&db, 100..101, b"again");
    assert!(!checkpoints.create(&db, 3).unwrap().is_whole);
    assert_eq!(restored(&storage, 3).unwrap(), content(&db));
}

#[test]
fn a_changed_value_that_changes_again_counts_once() {
    let (_directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage);
    checkpoints.create(&db, 1).unwrap();
    for value in 0..20 {
        put_all(&db, 100..200, &[value; 100]);
    }
    let report = checkpoints.create(&db, 2).unwrap();
    assert!(!report.is_whole && report.bytes_sent < 13_000, "{report:?}");
}

fn options_of(table: &Table) -> impl PartialEq + std::fmt::Debug + use<> {
    let kinds = (table.is_counted(), table.is_packed(), table.is_multimap(), table.value_align());
    let types = (table.name().to_owned(), table.key_type().to_owned(), table.value_type().to_owned());
    (kinds, types, table.merge_operator(), table.merge_function().map(str::to_owned))
}

#[test]
fn tables_are_restored_with_their_options_and_the_page_size() {
    let directory = tempfile::tempdir().unwrap();
    let db = options().page_size_bytes(8192).open(directory.path().join("state.ful")).unwrap();
    for (name, options) in [
        ("a line\nand one", TableOptions::new().counted(true).key_type("u64").value_type("string")),
        ("packed", TableOptions::new().packed(true)),
        ("aligned", TableOptions::new().value_align(8)),
        ("pairs", TableOptions::new().multimap().key_type("u64").value_type("u64")),
        ("sums", TableOptions::new().value_type("u64").merge(MergeOperator::AddSaturating)),
        ("words", TableOptions::new().merge_function("words")),
    ] {
        let table = db.create_table(name, options).unwrap();
        if name != "words" {
            db.update(|txn| (0..9_u64).try_for_each(|key| txn.put(&table, key.to_be_bytes(), [7; 8]))).unwrap();
        }
    }
    let storage = DirectoryStorage::new(directory.path().join("checkpoints"));
    whole(&storage).create(&db, 1).unwrap();
    // Without the options of the first opening.
    let restored = whole(&storage).restore(1, directory.path().join("r.ful"), Database::options()).unwrap();
    assert_eq!(restored.stats().unwrap().page_size_bytes, 8192);
    let all_options = |db: &Database| db.tables().unwrap().iter().map(options_of).collect::<Vec<_>>();
    assert_eq!(all_options(&restored), all_options(&db));
    assert_eq!(content(&restored), content(&db));
    // A database without tables has no segments.
    let empty = options().open(directory.path().join("empty.ful")).unwrap();
    assert_eq!(whole(&storage).create(&empty, 2).unwrap().bytes_sent, 0);
    let restored = whole(&storage).restore(2, directory.path().join("e.ful"), options()).unwrap();
    assert!(restored.tables().unwrap().is_empty());
}

#[test]
fn a_table_may_end_where_a_segment_ends_and_be_alone_in_the_last_one() {
    let directory = tempfile::tempdir().unwrap();
    let db = options().open(directory.path().join("state.ful")).unwrap();
    for (name, entries) in [("a", 2), ("b", 1), ("c", 0)] {
        let table = db.create_table(name, TableOptions::new()).unwrap();
        // Each value is so large that the segment ends after it.
        db.update(|txn| (0..entries).try_for_each(|key: u8| txn.put(&table, [key], [7; 3000]))).unwrap();
    }
    let storage = DirectoryStorage::new(directory.path().join("checkpoints"));
    Checkpoints::new(&storage).segment_bytes(1 << 10).create(&db, 1).unwrap();
    assert_eq!(names(&storage, "data/segment-1-").len(), 4);
    let restored = Checkpoints::new(&storage).restore(1, directory.path().join("r.ful"), options()).unwrap();
    let tables = restored.tables().unwrap();
    assert_eq!(tables.iter().map(Table::name).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(content(&restored), content(&db));
}

/// Earlier versions kept a copy of the database in place of segments.
#[test]
fn a_checkpoint_with_a_copy_is_restored_and_continued() {
    let (directory, storage, db) = filled();
    fs::create_dir_all(path(&directory, "data")).unwrap();
    fs::create_dir_all(path(&directory, "meta.1")).unwrap();
    let copy = directory.path().join("copy.ful");
    db.backup_to(&copy).unwrap();
    let bytes = fs::read(&copy).unwrap();
    let hash = xxh3_64(&bytes);
    let name = format!("data/base-1-{hash:016x}");
    let text = format!("fulgurite-checkpoint 1\nid 1\nbase {name} {} {hash:016x}\nend\n", bytes.len());
    fs::write(path(&directory, &name), &bytes).unwrap();
    fs::write(path(&directory, "meta.1/manifest"), text).unwrap();
    fs::write(path(&directory, "meta.1/_commit"), "committed\n").unwrap();
    let mut checkpoints = whole(&storage).compression_level(1);
    let other = checkpoints.restore(1, directory.path().join("r.ful"), options()).unwrap();
    assert_eq!(content(&other), content(&db));
    change(&other, 1);
    assert!(!checkpoints.create(&other, 2).unwrap().is_whole);
    // Earlier versions go on with such a checkpoint, so its changes are not compressed.
    let manifest = fs::read_to_string(path(&directory, "meta.2/manifest")).unwrap();
    assert!(manifest.starts_with("fulgurite-checkpoint 1\n") && !manifest.contains(".zst"), "{manifest}");
    assert_eq!(restored(&storage, 2).unwrap(), content(&other));
    assert!(whole(&storage).create(&other, 3).unwrap().is_whole);
    assert_eq!(names(&storage, "data/base-"), [""; 0]);
    assert_eq!(restored(&storage, 3).unwrap(), content(&other));
}
