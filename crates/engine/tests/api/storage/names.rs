//! Names of files beside a database: no database gets one, and no file of others that has one is lost.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::path::Path;
use std::sync::Arc;

use fulgurite::io::{Access, Disk, MemoryDisk};
use fulgurite::{Database, Error, Options, Result, TableOptions};

fn options(disk: &MemoryDisk) -> Options {
    Database::options().create(true).background(false).disk(Arc::new(disk.clone()))
}

/// What making a database of this name says: an empty one, and a copy.
fn made(disk: &MemoryDisk, source: &Database, name: &str) -> [Result<()>; 2] {
    [options(disk).open(name).map(drop), source.backup_to(name)]
}

fn write(disk: &MemoryDisk, name: &str, bytes: &[u8]) {
    disk.open(Path::new(name), Access::CreateNew).unwrap().write_at(0, bytes).unwrap();
}

fn names(disk: &MemoryDisk) -> Vec<String> {
    disk.list(Path::new("")).unwrap().iter().map(|path| path.to_str().unwrap().to_owned()).collect()
}

#[test]
fn no_database_is_made_under_the_name_of_a_file_beside_another() {
    let disk = MemoryDisk::new();
    let source = options(&disk).open("a.ful").unwrap();
    let before = names(&disk);
    for name in ["a.ful-new", "a.ful-lock", "a.ful-log.7", "a.ful-log.spare", "a.ful-sort.0"] {
        for refused in made(&disk, &source, name) {
            let told = refused.unwrap_err();
            let is_told = |message: &str| message.contains(name) && message.contains("reserved");
            assert!(matches!(&told, Error::Invalid { message } if is_told(message)), "{told}");
        }
    }
    assert_eq!(names(&disk), before);
    // One that has such a name already can be opened.
    options(&disk).open("b.ful").unwrap().close().unwrap();
    disk.rename(Path::new("b.ful"), Path::new("b-new")).unwrap();
    options(&disk).open("b-new").unwrap().close().unwrap();
}

#[test]
fn making_a_database_removes_nothing_but_what_an_interrupted_call_left() {
    let disk = MemoryDisk::new();
    let source = options(&disk).open("source.ful").unwrap();
    // A database that was changed, one that is read, and a file of another program.
    let changed = options(&disk).open("a.ful").unwrap();
    changed.create_table("t", TableOptions::new()).unwrap();
    changed.close().unwrap();
    disk.rename(Path::new("a.ful"), Path::new("a.ful-new")).unwrap();
    source.backup_to("b.ful").unwrap();
    disk.rename(Path::new("b.ful"), Path::new("b.ful-new")).unwrap();
    let reader = options(&disk).create(false).read_only(true).open("b.ful-new").unwrap();
    write(&disk, "c.ful-new", b"theirs");
    let before = names(&disk);
    for name in ["a.ful", "b.ful", "c.ful"] {
        for refused in made(&disk, &source, name) {
            let told = refused.unwrap_err();
            assert!(matches!(&told, Error::FileExists { path } if path.ends_with(format!("{name}-new"))), "{told}");
        }
    }
    assert_eq!(names(&disk), before);
    let changed = options(&disk).create(false).open("a.ful-new").unwrap();
    assert_eq!(changed.tables().unwrap().len(), 1);
    // What calls leave that end before any meta is written, or before the name is given.
    drop(reader);
    write(&disk, "d.ful-new", b"");
    write(&disk, "e.ful-new", &[0; 20_000]);
    // A power cut kept a part of the first meta that does not include its beginning.
    write(&disk, "f.ful-new", &[&[0; 64][..], &[7; 448]].concat());
    for name in ["b.ful", "d.ful", "e.ful", "f.ful"] {
        source.backup_to(name).unwrap();
        options(&disk).create(false).open(name).unwrap().close().unwrap();
        assert!(!names(&disk).contains(&format!("{name}-new")));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_lock_file_of_another_program_is_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let (path, lock) = (directory.path().join("a"), directory.path().join("a-lock"));
    let source = Database::create(directory.path().join("source.ful")).unwrap();
    std::fs::write(&lock, "theirs").unwrap();
    for refused in [Database::create(&path).map(drop), source.backup_to(&path)] {
        let told = refused.unwrap_err().to_string();
        assert!(told.contains("is not a lock file of a database"), "{told}");
    }
    assert_eq!(std::fs::read(&lock).unwrap(), b"theirs");
    assert!(!path.exists());
    std::fs::remove_file(&lock).unwrap();
    Database::create(&path).unwrap().close().unwrap();
    assert!(!lock.exists());
}
