//! Who may open a database, what a second opening gives, and what becomes of handles after closing.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use fulgurite::io::{Access, Disk, File, ForwardDisk, MemoryDisk};
use fulgurite::{Database, Durability, Error, Options, Read, TableOptions};

fn options(disk: &MemoryDisk) -> Options {
    Database::options().create(true).background(false).disk(Arc::new(disk.clone()))
}

#[test]
fn a_path_opened_twice_is_one_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let first = Database::create(&path).unwrap();
    let table = first.create_table("t", TableOptions::new()).unwrap();
    let second = Database::options().open(directory.path().join(".").join("a.ful")).unwrap();
    second.update(|txn| txn.put(&table, b"k", b"v")).unwrap();
    assert_eq!(first.read().unwrap().get(&table, b"k").unwrap().as_deref(), Some(&b"v"[..]));
    drop(first);
    assert_eq!(second.tables().unwrap().len(), 1);
}

#[test]
fn errors_of_the_path_name_a_remedy_for_every_language() {
    let error = Database::create("").unwrap_err().to_string();
    assert!(error.starts_with("the path is empty: ") && error.ends_with("; name a file"), "{error}");
    let directory = tempfile::tempdir().unwrap();
    let error = Database::open(directory.path().join("none.ful")).unwrap_err().to_string();
    let expected = "none.ful: no such database; check the path, or open it with the option that creates it";
    assert!(error.ends_with(expected), "{error}");
    for path in [Path::new("."), directory.path()] {
        let error = Database::open(path).unwrap_err().to_string();
        assert!(error.ends_with("; name the file of a database"), "{error}");
    }
    let error = Error::io("lock", Path::new("a.ful-lock"), io::ErrorKind::PermissionDenied.into()).to_string();
    assert!(
        error.ends_with("; the directory must be writable, for the lock and the log; or open read-only"),
        "{error}"
    );
}

#[test]
fn a_path_opened_with_other_promises_is_refused_while_it_is_open() {
    let disk = MemoryDisk::new();
    let same = options(&disk).checkpoint_interval(Duration::from_secs(60));
    let first = same.clone().open("a.ful").unwrap();
    drop(same.clone().checkpoint_interval(Duration::ZERO).open("a.ful").expect("any interval is as good as none"));
    for other in [
        same.clone().checkpoint_interval(Duration::from_secs(30)),
        same.clone().create(false).read_only(true),
        same.clone().durability(Durability::Memory),
        same.clone().max_size_bytes(1 << 30),
    ] {
        assert!(matches!(other.open("a.ful"), Err(Error::AlreadyOpen { .. })));
    }
    first.close().unwrap();
    options(&disk).create(false).read_only(true).open("a.ful").unwrap();
}

#[test]
fn a_reader_beside_a_writer_of_the_same_process_is_told_to_use_its_handle() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let writer = Database::create(&path).unwrap();
    let error = Database::options().read_only(true).open(&path).unwrap_err();
    assert!(matches!(error, Error::AlreadyOpen { .. }), "{error}");
    assert!(error.to_string().contains("use the database that is open"), "{error}");
    writer.create_table("t", TableOptions::new()).unwrap();
}

#[test]
fn a_file_that_was_replaced_is_opened_though_the_old_one_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    for (name, value) in [("a.ful", b"old"), ("b.ful", b"new"), ("c.ful", b"one")] {
        let db = Database::create(place(name)).unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        db.update(|txn| txn.put(&table, b"k", value)).unwrap();
        db.close().unwrap();
    }
    let value = |db: &Database| {
        let txn = db.read().unwrap();
        let table = txn.open_table("t").unwrap();
        txn.get(&table, b"k").unwrap().unwrap().to_vec()
    };
    let open = || Database::options().read_only(true).open(place("a.ful"));
    let old = open().unwrap();
    std::fs::rename(place("b.ful"), place("a.ful")).unwrap();
    let new = open().unwrap();
    assert_eq!(
        (value(&old), value(&new), value(&open().unwrap())),
        (b"old".to_vec(), b"new".to_vec(), b"new".to_vec())
    );
    drop(old);
    // The new one is the one that the process knows now.
    assert!(matches!(Database::options().open(place("a.ful")), Err(Error::AlreadyOpen { .. })));
    std::fs::rename(place("c.ful"), place("a.ful")).unwrap();
    let writer = Database::options().open(place("a.ful")).unwrap();
    assert_eq!((value(&new), value(&writer)), (b"new".to_vec(), b"one".to_vec()));
    writer.close().unwrap();
    std::fs::remove_file(place("a.ful")).unwrap();
    assert!(matches!(open(), Err(Error::DatabaseNotFound { .. })));
    assert_eq!(value(&new), b"new");
}

#[test]
fn files_of_one_name_on_two_disks_are_two_databases() {
    let (one, other) = (MemoryDisk::new(), MemoryDisk::new());
    let first = options(&one).open("a.ful").unwrap();
    let second = options(&other).open("a.ful").unwrap();
    let table = first.create_table("t", TableOptions::new()).unwrap();
    assert!(second.tables().unwrap().is_empty());
    assert!(matches!(second.read().unwrap().get(&table, b"k"), Err(Error::Invalid { .. })));
}

#[test]
fn a_missing_database_is_created_only_if_asked_for() {
    let disk = MemoryDisk::new();
    for options in [options(&disk).create(false), options(&disk).create(false).read_only(true)] {
        assert!(matches!(options.open("a.ful"), Err(Error::DatabaseNotFound { .. })));
    }
    assert_eq!(disk.list(Path::new("")).unwrap(), Vec::<std::path::PathBuf>::new());
    assert!(matches!(options(&disk).read_only(true).open("a.ful"), Err(Error::Invalid { .. })));
}

#[test]
fn a_missing_directory_is_named_instead_of_a_missing_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("no/such/a.ful");
    for options in
        [Database::options().create(true), Database::options(), Database::options().create(false).read_only(true)]
    {
        let error = options.open(&path).unwrap_err();
        assert!(matches!(&error, Error::DirectoryNotFound { path: asked } if *asked == path), "{error}");
        let named = format!("there is no directory {};", directory.path().join("no/such").display());
        assert!(error.to_string().contains(&named), "{error}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is created");
    let link = directory.path().join("link.ful");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let error = Database::options().create(true).open(&link).unwrap_err().to_string();
    assert!(
        error.contains(&format!("there is no directory {};", directory.path().join("no/such").display())),
        "{error}"
    );
    std::fs::remove_file(&link).unwrap();
    let db = Database::create(directory.path().join("a.ful")).unwrap();
    let refused = db.backup_to(&path).unwrap_err();
    assert!(matches!(&refused, Error::DirectoryNotFound { path: asked } if *asked == path), "{refused}");
}

#[test]
fn no_database_is_created_beside_the_log_of_one_that_is_gone() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"k", b"v")).unwrap();
    drop(db);
    disk.rename(Path::new("a.ful"), Path::new("elsewhere")).unwrap();
    let before = contents(&disk);
    for _ in 0..2 {
        let error = options(&disk).open("a.ful").unwrap_err();
        let text = error.to_string();
        assert!(matches!(&error, Error::LogWithoutDatabase { segments, .. } if segments.len() == 1), "{text}");
        assert!(text.contains("a.ful-log.1;") && text.contains("delete the log too"), "{text}");
    }
    assert_eq!(contents(&disk), before, "nothing is created, and nothing lost");
    let not_found = options(&disk).create(false).open("a.ful");
    assert!(matches!(not_found, Err(Error::DatabaseNotFound { .. })));
    options(&disk).open("b.ful").unwrap().close().unwrap();
    // What the text says to do is done: the one, and then the other.
    disk.rename(Path::new("elsewhere"), Path::new("a.ful")).unwrap();
    let db = options(&disk).open("a.ful").unwrap();
    assert_eq!(db.read().unwrap().len(&db.open_table("t").unwrap()).unwrap(), 1);
    drop(db);
    let paths = disk.list(Path::new("")).unwrap();
    paths.iter().filter(|path| path.to_string_lossy().contains("a.ful")).for_each(|path| disk.remove(path).unwrap());
    assert!(options(&disk).open("a.ful").unwrap().tables().unwrap().is_empty());
}

#[test]
fn of_a_long_log_without_a_database_a_few_segments_are_named() {
    let disk = MemoryDisk::new();
    for number in [2, 10, 3, 1, 11] {
        disk.open(Path::new(&format!("a.ful-log.{number}")), Access::CreateNew).unwrap();
    }
    disk.open(Path::new("a.ful-log.spare"), Access::CreateNew).unwrap();
    let text = options(&disk).open("a.ful").unwrap_err().to_string();
    assert!(text.contains("no longer exists: a.ful-log.1 a.ful-log.2 a.ful-log.3 and 2 more; it may"), "{text}");
}

#[test]
fn every_handle_is_closed_when_one_is() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"k", b"v")).unwrap();
    let (other, snapshot) = (db.clone(), db.read().unwrap());
    db.close().unwrap();
    assert!(matches!(other.read(), Err(Error::Closed { .. })));
    assert!(matches!(other.write(), Err(Error::Closed { .. })));
    assert!(matches!(other.try_write(), Err(Error::Closed { .. })));
    assert!(matches!(other.sync(), Err(Error::Closed { .. })));
    assert!(matches!(other.checkpoint(), Err(Error::Closed { .. })));
    assert!(matches!(other.check(), Err(Error::Closed { .. })));
    assert!(matches!(other.tables(), Err(Error::Closed { .. })));
    assert!(matches!(other.create_table("u", TableOptions::new()), Err(Error::Closed { .. })));
    assert!(other.close().is_ok(), "closing what is closed is nothing to report");
    assert_eq!(snapshot.get(&table, b"k").unwrap().as_deref(), Some(&b"v"[..]), "a snapshot lives on");
}

#[test]
fn closing_leaves_one_file_and_opening_again_finds_everything() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"k", b"v")).unwrap();
    db.close().unwrap();
    assert_eq!(disk.list(Path::new("")).unwrap().len(), 1, "{:?}", disk.list(Path::new("")));
    let db = options(&disk).open("a.ful").unwrap();
    let again = db.open_table("t").unwrap();
    assert_eq!(db.read().unwrap().get(&again, b"k").unwrap().as_deref(), Some(&b"v"[..]));
    assert!(matches!(db.read().unwrap().get(&table, b"k"), Err(Error::Invalid { .. })), "a handle of before");
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn a_write_transaction_that_outlives_its_handles_commits() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let mut txn = db.write().unwrap();
    drop(db);
    txn.put(&table, b"k", b"v").unwrap();
    txn.commit().unwrap();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.open_table("t").unwrap();
    assert_eq!(db.read().unwrap().get(&table, b"k").unwrap().as_deref(), Some(&b"v"[..]));
}

/// The meta did not say that there is a log: without it the file passed for a complete database.
#[test]
fn a_first_commit_that_outlives_the_handles_is_missed_if_the_log_is() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    db.create_table("t", TableOptions::new()).unwrap();
    db.close().unwrap();
    let db = options(&disk).open("a.ful").unwrap();
    let (table, mut txn) = (db.open_table("t").unwrap(), db.write().unwrap());
    drop(db);
    txn.put(&table, b"k", b"v").unwrap();
    txn.commit_with(Durability::Disk).unwrap();
    let files = disk.list(Path::new("")).unwrap();
    let log: Vec<_> = files.iter().filter(|path| path.to_string_lossy().contains("-log.")).collect();
    assert!(!log.is_empty(), "{files:?}");
    let db = options(&disk).read_only(true).create(false).open("a.ful").unwrap();
    assert_eq!(db.read().unwrap().get(&db.open_table("t").unwrap(), b"k").unwrap().as_deref(), Some(&b"v"[..]));
    drop(db);
    log.into_iter().for_each(|path| disk.remove(path).unwrap());
    let opened = options(&disk).open("a.ful");
    assert!(matches!(opened, Err(Error::LogMissing { .. })), "{opened:?}");
}

#[test]
fn a_write_transaction_that_has_ended_before_the_handles_leaves_no_log() {
    let disk = MemoryDisk::new();
    options(&disk).open("a.ful").unwrap().close().unwrap();
    let db = options(&disk).open("a.ful").unwrap();
    drop(db.write().unwrap());
    drop(db);
    let files = disk.list(Path::new("")).unwrap();
    assert!(files.iter().all(|path| !path.to_string_lossy().contains("-log.")), "{files:?}");
}

#[test]
fn a_delta_that_would_outgrow_its_references_is_refused() {
    let disk = MemoryDisk::new();
    for bytes in [(8 << 30) + 1, 1 << 40, u64::MAX] {
        let error = options(&disk).delta_bytes(bytes).open("a.ful").unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
        assert_eq!(error.to_string(), format!("delta_bytes is at most 8589934592, not {bytes}"));
    }
    options(&disk).delta_bytes(8 << 30).open("a.ful").unwrap();
}

#[test]
fn a_closed_database_stays_locked_until_its_last_transaction_has_ended() {
    for (drops_handle, keeps_clone) in [(false, false), (false, true), (true, false)] {
        for changed_since_opening in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.ful");
            let db = Database::create(&path).unwrap();
            let table = db.create_table("t", TableOptions::new()).unwrap();
            db.update(|txn| txn.put(&table, b"k", b"v")).unwrap();
            db.close().unwrap();
            let db = Database::open(&path).unwrap();
            let table = db.open_table("t").unwrap();
            if changed_since_opening {
                db.update(|txn| txn.put(&table, b"l", b"w")).unwrap();
            }
            let (txn, clone) = (db.read().unwrap(), keeps_clone.then(|| db.clone()));
            let shared = txn.clone();
            if drops_handle {
                drop(db)
            } else {
                db.close().unwrap()
            }
            for txn in [txn, shared] {
                let error = Database::open(&path).unwrap_err();
                assert!(matches!(error, Error::Locked { is_here: true, .. }), "{error}");
                assert!(error.to_string().contains("this process already has the database open"), "{error}");
                assert_eq!(txn.get(&table, b"k").unwrap().as_deref(), Some(&b"v"[..]));
            }
            let again = Database::open(&path).unwrap();
            assert!(clone.is_none_or(|clone| matches!(clone.read(), Err(Error::Closed { .. }))));
            assert_eq!(
                again.read().unwrap().len(&again.open_table("t").unwrap()).unwrap(),
                1 + u64::from(changed_since_opening)
            );
            again.close().unwrap();
            assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "only the one file is left");
        }
    }
}

#[test]
fn a_transaction_that_has_spilled_keeps_a_closed_database_locked_and_reads_on() {
    let disk = MemoryDisk::new();
    let small = || options(&disk).write_set_bytes(64 << 10);
    let db = small().open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.close().unwrap();
    let db = small().open("a.ful").unwrap();
    let table_now = db.open_table("t").unwrap();
    let mut txn = db.write().unwrap();
    for number in 0..2_000_u32 {
        txn.put(&table_now, &number.to_be_bytes(), &[number as u8; 100]).unwrap();
    }
    assert!(txn.spilled_bytes() > 0, "it has spilled");
    db.close().unwrap();
    let files = contents(&disk);
    assert!(matches!(small().open("a.ful"), Err(Error::Locked { .. })));
    for number in 0..2_000_u32 {
        let value = txn.get(&table_now, &number.to_be_bytes()).unwrap();
        assert_eq!(value.as_deref(), Some(&[number as u8; 100][..]));
    }
    let full = (0..2_000_u32).find_map(|number| txn.put(&table_now, &number.to_le_bytes(), &[1; 100]).err());
    assert!(matches!(full, Some(Error::Closed { .. })), "{full:?}");
    assert!(matches!(txn.commit(), Err(Error::Closed { .. })));
    assert!(contents(&disk) == files, "what is closed is written no more");
    let db = small().open("a.ful").unwrap();
    assert!(db.read().unwrap().is_empty(&db.open_table("t").unwrap()).unwrap());
    assert!(matches!(db.read().unwrap().get(&table, b"k"), Err(Error::Invalid { .. })), "it is another's");
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn a_read_only_database_that_is_closed_keeps_its_pages_until_its_last_transaction_has_ended() {
    for drops_handle in [false, true] {
        let disk = MemoryDisk::new();
        let key = |number: u32| number.to_be_bytes();
        let writer = options(&disk).open("a.ful").unwrap();
        let table = writer.create_table("t", TableOptions::new()).unwrap();
        let fill = |value: u8| {
            writer
                .update(|txn| (0..5_000).try_for_each(|number| txn.put(&table, &key(number), &[value; 100])))
                .unwrap();
            writer.checkpoint().unwrap();
        };
        fill(0);
        // Another process: it has a disk of its own, with the same files.
        let other = HookedDisk { disk: disk.clone(), hook: Mutex::default() };
        let reader = Database::options()
            .read_only(true)
            .map(false)
            .cache_bytes(64 << 10)
            .disk(Arc::new(other))
            .open("a.ful")
            .unwrap();
        let seen = reader.open_table("t").unwrap();
        let txn = reader.read().unwrap();
        if drops_handle {
            drop(reader)
        } else {
            reader.close().unwrap()
        }
        (1..6).for_each(fill);
        assert!(writer.stats().unwrap().pinned_bytes > 0, "the reader keeps what it shows");
        for number in 0..5_000 {
            assert_eq!(txn.get(&seen, &key(number)).unwrap().as_deref(), Some(&[0; 100][..]));
        }
        drop(txn);
        fill(6);
        assert_eq!(writer.stats().unwrap().pinned_bytes, 0, "nobody shows it any more");
    }
}

#[test]
fn threads_whose_transactions_have_ended_keep_nothing_open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let db = Database::create(&path).unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let (ended, begun_again) = (Barrier::new(5), Barrier::new(5));
    std::thread::scope(|scope| {
        for number in 0..4_u8 {
            let (db, table, ended, begun_again) = (db.clone(), &table, &ended, &begun_again);
            scope.spawn(move || {
                db.update(|txn| txn.put(table, &[number], b"v")).unwrap();
                assert!(db.read().unwrap().contains_key(table, &[number]).unwrap());
                drop(db);
                ended.wait();
                // The thread goes on, and with it all that is a thread's own.
                begun_again.wait();
            });
        }
        ended.wait();
        let checkpoint = db.checkpoint();
        let oldest = db.stats().unwrap().oldest_snapshot;
        let mut txn = db.write().unwrap();
        drop(db);
        txn.put(&table, b"last", b"v").unwrap();
        let committed = txn.commit();
        let again = Database::open(&path);
        begun_again.wait();
        assert_eq!(oldest, None, "nobody reads what was there before the checkpoint");
        checkpoint.and(committed).unwrap();
        let again = again.unwrap();
        assert_eq!(again.read().unwrap().len(&again.open_table("t").unwrap()).unwrap(), 5);
        assert!(matches!(again.read().unwrap().get(&table, b"last"), Err(Error::Invalid { .. })), "it was closed");
    });
}

#[test]
fn commits_of_every_level_survive_dropping_the_handle() {
    for durability in [Durability::Memory, Durability::Log, Durability::Disk] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.ful");
        let db = Database::options().create(true).durability(durability).open(&path).unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        for number in 0..100_u32 {
            db.update(|txn| txn.put(&table, &number.to_be_bytes(), b"v")).unwrap();
        }
        drop(db);
        let db = Database::open(&path).unwrap();
        let table = db.open_table("t").unwrap();
        assert_eq!(db.read().unwrap().len(&table).unwrap(), 100, "{durability:?}");
        db.close().unwrap();
    }
}

#[test]
fn each_commit_may_have_a_level_of_its_own() {
    let disk = MemoryDisk::new();
    let db = options(&disk).durability(Durability::Memory).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let mut last = fulgurite::Sequence::default();
    for (key, durability) in [(b"a", Durability::Memory), (b"b", Durability::Disk), (b"c", Durability::Log)] {
        let mut txn = db.write().unwrap();
        txn.put(&table, key, b"v").unwrap();
        let sequence = txn.commit_with(durability).unwrap();
        assert!(sequence > last);
        last = sequence;
    }
    assert_eq!(db.sync().unwrap(), last);
    assert_eq!(db.write().unwrap().commit().unwrap(), last, "a commit of nothing takes no number");
}

#[test]
fn a_reader_shows_what_a_leftover_log_says_and_changes_nothing() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"old", b"1")).unwrap();
    db.checkpoint().unwrap();
    db.update(|txn| txn.put(&table, b"new", b"2")).unwrap();
    let large = vec![7; 200_000];
    db.update(|txn| txn.put(&table, b"large", &large)).unwrap();
    drop(db);
    let before = contents(&disk);
    for map in [true, false] {
        let db = options(&disk).create(false).read_only(true).map(map).open("a.ful").unwrap();
        let table = db.open_table("t").unwrap();
        let txn = db.read().unwrap();
        assert_eq!(txn.get(&table, b"old").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(txn.get(&table, b"new").unwrap().as_deref(), Some(&b"2"[..]));
        assert_eq!(txn.get(&table, b"large").unwrap().as_deref(), Some(&large[..]));
        assert!(matches!(db.write(), Err(Error::ReadOnly { .. })));
        assert!(matches!(db.checkpoint(), Err(Error::ReadOnly { .. })));
        assert!(db.check().unwrap().is_sound());
        drop(txn);
        db.close().unwrap();
    }
    assert_eq!(contents(&disk), before);
}

#[test]
fn a_file_that_is_no_database_is_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let squashfs = [&b"hsqs"[..], &[0; 100]].concat();
    let others = [("empty", vec![]), ("text", b"hello".to_vec()), ("large", vec![b'x'; 100_000])];
    for (name, content) in others.into_iter().chain([("squashfs", squashfs)]) {
        let path = directory.path().join(name);
        std::fs::write(&path, &content).unwrap();
        for options in [Database::options().create(true), Database::options().read_only(true)] {
            let error = options.open(&path).unwrap_err();
            assert!(matches!(error, Error::NotADatabase { .. }), "{name}: {error}");
            let message = if name == "squashfs" { "a SquashFS image; mount it" } else { "not a Fulgurite database" };
            assert!(error.to_string().contains(message), "{name}: {error}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), content, "{name}");
    }
}

#[test]
fn a_meta_that_was_damaged_is_made_whole_by_opening_whichever_it_is() {
    // A new database has the metas 1 and 2, in slots 1 and 0; later ones have larger numbers.
    for commits in [false, true] {
        for slot in [0, 4096] {
            let disk = MemoryDisk::new();
            let db = options(&disk).open("a.ful").unwrap();
            if commits {
                db.create_table("t", TableOptions::new()).unwrap();
            }
            db.close().unwrap();
            disk.open(Path::new("a.ful"), Access::Write).unwrap().write_at(slot, &[0; 512]).unwrap();
            let reader = options(&disk).create(false).read_only(true).open("a.ful").unwrap();
            assert_eq!(reader.check().unwrap().damages.len(), 1);
            drop(reader);
            let db = options(&disk).open("a.ful").unwrap();
            let report = db.check().unwrap();
            assert!(report.is_sound(), "commits {commits}, slot {slot}: {:?}", report.damages);
            db.create_table("u", TableOptions::new()).unwrap();
            db.close().unwrap();
            let db = options(&disk).open("a.ful").unwrap();
            assert_eq!(db.tables().unwrap().len(), usize::from(commits) + 1);
            assert!(db.check().unwrap().is_sound());
        }
    }
}

#[test]
fn a_database_gives_out_two_to_the_20_table_numbers_and_believes_in_no_more() {
    let disk = MemoryDisk::new();
    options(&disk).open("a.ful").unwrap().close().unwrap();
    forge_metas(&disk, |meta| meta[96..100].copy_from_slice(&((1_u32 << 20) - 1).to_le_bytes()));
    let db = options(&disk).open("a.ful").unwrap();
    db.create_table("the last", TableOptions::new()).unwrap();
    let error = db.create_table("one more", TableOptions::new()).unwrap_err();
    assert!(error.to_string().contains("at most 1048576 tables"), "{error}");
    db.close().unwrap();
    let db = options(&disk).open("a.ful").unwrap();
    assert!(matches!(db.create_table("one more", TableOptions::new()), Err(Error::Invalid { .. })));
    assert_eq!(db.tables().unwrap().len(), 1);
    db.close().unwrap();
    forge_metas(&disk, |meta| meta[96..100].copy_from_slice(&((1_u32 << 20) + 1).to_le_bytes()));
    let error = options(&disk).open("a.ful").unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("impossible number"), "{error}");
}

#[test]
fn a_panic_while_one_database_is_opened_keeps_no_other_from_opening() {
    let good = options(&MemoryDisk::new());
    let open_before = good.clone().open("before.ful").unwrap();
    let bad = Database::options().create(true).background(false).disk(Arc::new(PanickingDisk(MemoryDisk::new())));
    let outcome = std::thread::spawn(move || bad.open("a.ful")).join();
    assert!(outcome.is_err(), "the disk panics");
    let again = good.clone().open("before.ful").unwrap();
    again.create_table("t", TableOptions::new()).unwrap();
    assert_eq!(open_before.tables().unwrap().len(), 1, "it is the same database still");
    good.open("after.ful").unwrap().create_table("t", TableOptions::new()).unwrap();
}

/// A disk whose files cannot be opened without a panic.
#[derive(Debug)]
struct PanickingDisk(MemoryDisk);

impl ForwardDisk for PanickingDisk {
    fn inner(&self) -> &dyn Disk {
        &self.0
    }

    fn open(&self, _: &Path, _: Access) -> io::Result<Arc<dyn File>> {
        panic!("a disk that a program brings may panic");
    }
}

/// Changes both metas, and seals them again.
fn forge_metas(disk: &MemoryDisk, change: impl Fn(&mut [u8; 512])) {
    let file = disk.open(Path::new("a.ful"), Access::Write).unwrap();
    for slot in [0, 4096] {
        let mut meta = [0; 512];
        file.read_at(slot, &mut meta).unwrap();
        change(&mut meta);
        let checksum = xxhash_rust::xxh3::xxh3_64(&meta[..504]);
        meta[504..].copy_from_slice(&checksum.to_le_bytes());
        file.write_at(slot, &meta).unwrap();
    }
}

/// The files except for the lock, with all their bytes.
fn contents(disk: &MemoryDisk) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let paths = disk.list(Path::new("")).unwrap();
    let files = paths.into_iter().filter(|path| !path.to_string_lossy().ends_with("-lock"));
    let mut files: Vec<_> = files
        .map(|path| {
            let file = disk.open(&path, fulgurite::io::Access::Read).unwrap();
            let mut bytes = vec![0; file.len().unwrap() as usize];
            file.read_at(0, &mut bytes).unwrap();
            (path, bytes)
        })
        .collect();
    files.sort();
    files
}

/// A disk on which something happens just before a directory is listed, once.
struct HookedDisk {
    disk: MemoryDisk,
    hook: Mutex<Option<SyncHook>>,
}

type SyncHook = Box<dyn FnOnce(&MemoryDisk) + Send>;

impl std::fmt::Debug for HookedDisk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HookedDisk").finish_non_exhaustive()
    }
}

impl ForwardDisk for HookedDisk {
    fn inner(&self) -> &dyn Disk {
        &self.disk
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let hook = self.hook.lock().unwrap().take();
        if let Some(hook) = hook {
            hook(&self.disk);
        }
        self.disk.list(directory)
    }
}

#[test]
fn a_reader_whose_log_is_taken_away_by_a_writer_shows_what_the_writer_made_of_it() {
    /// What the writer does after it has put "later".
    #[derive(Clone, Copy, PartialEq)]
    enum Then {
        Lives,
        Closes,
        Dies,
    }
    for then in [Then::Lives, Then::Closes, Then::Dies] {
        let disk = MemoryDisk::new();
        let db = options(&disk).open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        db.checkpoint().unwrap();
        db.update(|txn| txn.put(&table, b"logged", b"1")).unwrap();
        drop(db);
        let alive = Arc::new(Mutex::new(None));
        let keep = Arc::clone(&alive);
        let hook = move |disk: &MemoryDisk| {
            let db = options(disk).open("a.ful").unwrap();
            let table = db.open_table("t").unwrap();
            db.update(|txn| txn.put(&table, b"later", b"2")).unwrap();
            match then {
                Then::Lives => *keep.lock().unwrap() = Some(db),
                Then::Closes => db.close().unwrap(),
                Then::Dies => drop(db),
            }
        };
        let disk = HookedDisk { disk, hook: Mutex::new(Some(Box::new(hook))) };
        let reader = Database::options().disk(Arc::new(disk)).read_only(true).open("a.ful").unwrap();
        let table = reader.open_table("t").unwrap();
        let txn = reader.read().unwrap();
        assert_eq!(txn.get(&table, b"logged").unwrap().as_deref(), Some(&b"1"[..]));
        // Beside a living writer a reader shows the newest checkpoint.
        assert_eq!(txn.get(&table, b"later").unwrap().is_some(), then != Then::Lives);
        assert!(reader.check().unwrap().is_sound());
    }
}

#[test]
fn several_threads_that_open_one_database_share_it_and_another_does_not_wait() {
    let disk = MemoryDisk::new();
    options(&disk).open("a.ful").unwrap().close().unwrap();
    let (reached, go_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (arrived, waited) = (Arc::clone(&reached), Arc::clone(&go_on));
    let hook = move |_: &MemoryDisk| {
        arrived.wait();
        waited.wait();
    };
    let slow: Arc<dyn Disk> = Arc::new(HookedDisk { disk: disk.clone(), hook: Mutex::new(Some(Box::new(hook))) });
    let open = || Database::options().disk(Arc::clone(&slow)).open("a.ful").unwrap();
    std::thread::scope(|scope| {
        let first = scope.spawn(open);
        reached.wait();
        let second = scope.spawn(open);
        options(&disk).open("b.ful").unwrap().close().unwrap();
        go_on.wait();
        let (first, second) = (first.join().unwrap(), second.join().unwrap());
        first.create_table("t", TableOptions::new()).unwrap();
        assert_eq!(second.tables().unwrap().len(), 1, "it is the same database");
    });
}

#[test]
fn a_database_that_could_not_be_opened_can_be_opened_later() {
    let disk = MemoryDisk::new();
    let open = || options(&disk).create(false).open("a.ful");
    assert!(matches!(open(), Err(Error::DatabaseNotFound { .. })));
    options(&disk).open("a.ful").unwrap().close().unwrap();
    open().unwrap();
}

#[test]
fn who_closes_a_database_that_is_being_closed_returns_when_that_is_done() {
    for _ in 0..20 {
        let options = options(&MemoryDisk::new()).durability(Durability::Memory);
        let db = options.clone().open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        db.update(|txn| (0..5000_u32).try_for_each(|number| txn.put(&table, &number.to_be_bytes(), &[7; 100])))
            .unwrap();
        let start = Barrier::new(2);
        let handles = [db.clone(), db];
        let close = |handle: Database| {
            start.wait();
            handle.close().unwrap();
            options.clone().open("a.ful").unwrap()
        };
        std::thread::scope(|scope| {
            let close = &close;
            let opened = handles.map(|handle| scope.spawn(move || close(handle)));
            let opened = opened.map(|thread| thread.join().unwrap());
            assert_eq!(opened[0].tables().unwrap().len(), 1);
        });
    }
}

#[test]
fn a_close_hands_its_turn_to_transactions_that_wait_for_it() {
    let directory = tempfile::tempdir().unwrap();
    for attempt in 0..20 {
        let db = Database::create(directory.path().join(format!("{attempt}.ful"))).unwrap();
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let db = db.clone();
                std::thread::spawn(move || {
                    loop {
                        match db.begin_exclusive(Duration::from_secs(60)) {
                            Ok(exclusive) => drop(exclusive),
                            Err(error) => return error,
                        }
                    }
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(1));
        db.close().unwrap();
        for thread in waiting {
            assert!(matches!(thread.join().unwrap(), Error::Closed { .. }));
        }
    }
}
