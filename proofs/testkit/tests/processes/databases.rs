//! Databases among several processes and names: users who may only read, files that are renamed, linked or copied,
//! `fork`. Tests that need another process run themselves again as a child, which knows by an environment variable
//! what to do.

#![allow(unsafe_code)] // `fork`.

use std::fs;
use std::ops::Bound;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fulgurite::{Database, Durability, Error, Options, Read, ReadTxn, Table, TableOptions};

use super::child::{Child, READY, child_of, say_ready_and_wait};

fn options() -> Options {
    Database::options().create(true)
}

/// A database with so many entries of a generation.
fn overwrite(db: &Database, table: &Table, entries: u32, generation: u64) {
    db.update(|txn| (0..entries).try_for_each(|key| txn.put(table, &key.to_be_bytes(), &generation.to_be_bytes())))
        .unwrap();
}

fn put(db: &Database, table: &Table, key: &str) -> Result<(), Error> {
    let mut txn = db.write()?;
    txn.put(table, key.as_bytes(), b"v")?;
    txn.commit().map(drop)
}

/// The writer overwrites everything and checkpoints, again and again; a user who may do nothing but read the file
/// sees one generation at a time.
#[test]
fn a_reader_who_may_only_read_the_file_sees_one_state() {
    let name = "databases::a_reader_who_may_only_read_the_file_sees_one_state";
    if let Some(path) = child_of(name) {
        read_generations(&path);
        return;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can start a process of another user");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = directory.path().join("a.ful");
    let db = options().durability(Durability::Log).open(&path).unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    overwrite(&db, &table, ENTRIES, 0);
    db.checkpoint().unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let mut reader = Child::start_as(name, &path, Some(NOBODY));
    for generation in 1.. {
        overwrite(&db, &table, ENTRIES, generation);
        db.checkpoint().unwrap();
        if let Some(good) = reader.ended() {
            assert!(good, "the reader saw something wrong; its message is above");
            break;
        }
    }
}

fn read_generations(path: &Path) {
    println!("\n{}", READY);
    for _ in 0..30 {
        let db = Database::options().read_only(true).open(path).unwrap();
        let table = db.open_table("t").unwrap();
        let txn = db.read().unwrap();
        let generations: Vec<u64> = txn
            .range(&table, ..)
            .unwrap()
            .map(|entry| u64::from_be_bytes((*entry.unwrap().1).try_into().unwrap()))
            .collect();
        assert_eq!(generations.len(), ENTRIES as usize);
        assert!(generations.iter().all(|generation| *generation == generations[0]), "two states at once");
        drop(txn);
        db.close().unwrap();
    }
}

/// Renames, hard links, symbolic links: there is one writer of a file, whatever it is called.
#[test]
fn a_file_has_one_writer_under_all_its_names() {
    let name = "databases::a_file_has_one_writer_under_all_its_names";
    if let Some(path) = child_of(name) {
        let error = Database::open(&path).unwrap_err();
        assert!(matches!(error, Error::Locked { is_here: false, .. }), "{error}");
        say_ready_and_wait();
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let db = options().open(path("a.ful")).unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    fs::hard_link(path("a.ful"), path("hard.ful")).unwrap();
    symlink(path("a.ful"), path("soft.ful")).unwrap();
    symlink("soft.ful", path("softer.ful")).unwrap();
    let error = Database::open(path("hard.ful")).unwrap_err();
    assert!(matches!(error, Error::Locked { is_here: true, .. }), "{error}");
    // A link leads to the same database, which this process has open.
    let same = options().open(path("softer.ful")).unwrap();
    put(&same, &same.open_table("t").unwrap(), "through a link").unwrap();
    drop(same);
    for other in ["a.ful", "hard.ful", "soft.ful", "softer.ful"] {
        Child::start(name, &path(other)).finish();
    }
    fs::rename(path("a.ful"), path("z.ful")).unwrap();
    for other in ["z.ful", "hard.ful"] {
        Child::start(name, &path(other)).finish();
        assert!(matches!(Database::open(path(other)), Err(Error::Locked { .. })));
    }
    fs::rename(path("z.ful"), path("a.ful")).unwrap();
    put(&db, &table, "here again").unwrap();
    db.close().unwrap();
    let db = Database::open(path("softer.ful")).unwrap();
    assert_eq!(db.path(), fs::canonicalize(path("a.ful")).unwrap());
    assert_eq!(db.read().unwrap().len(&db.open_table("t").unwrap()).unwrap(), 2);
}

/// What becomes of a database whose files are taken away, and how they come back.
#[test]
fn a_file_that_was_moved_takes_no_more_commits_and_loses_none() {
    type Meddle = fn(&Path) -> PathBuf;
    let renamed: Meddle = |path| {
        fs::rename(path, path.with_extension("moved")).unwrap();
        path.with_extension("moved")
    };
    let replaced: Meddle = |path| {
        let moved = renamed_to(path, "moved");
        fs::copy(&moved, path).unwrap();
        moved
    };
    let directory_renamed: Meddle = |path| {
        let (old, new) = (path.parent().unwrap(), path.parent().unwrap().with_extension("moved"));
        fs::rename(old, &new).unwrap();
        new.join(path.file_name().unwrap())
    };
    for (what, meddle) in [("renamed", renamed), ("replaced", replaced), ("its directory renamed", directory_renamed)] {
        for durability in [Durability::Disk, Durability::Log] {
            let directory = tempfile::tempdir().unwrap();
            let inner = directory.path().join("inner");
            fs::create_dir(&inner).unwrap();
            let path = inner.join("a.ful");
            let db = options().durability(durability).open(&path).unwrap();
            let table = db.create_table("t", TableOptions::new()).unwrap();
            put(&db, &table, "before").unwrap();
            let moved = meddle(&path);
            let mut acknowledged = vec!["before"];
            match put(&db, &table, "after") {
                Ok(()) => acknowledged.push("after"),
                Err(error) => {
                    assert!(
                        matches!(&error, Error::Indeterminate { source, .. } if is_moved(source)),
                        "{what}: {error}"
                    );
                }
            }
            assert!(
                durability == Durability::Log || acknowledged.len() == 1,
                "{what}: acknowledged where nobody finds it"
            );
            for error in [db.checkpoint().unwrap_err(), put(&db, &table, "later").unwrap_err(), db.close().unwrap_err()]
            {
                assert!(is_moved(&error), "{what}: {error}");
            }
            if moved.parent() == path.parent() {
                fs::rename(&moved, &path).unwrap();
            }
            let path = moved.with_file_name("a.ful");
            let db = Database::open(&path).unwrap();
            let (txn, table) = (db.read().unwrap(), db.open_table("t").unwrap());
            for key in acknowledged {
                assert!(txn.contains_key(&table, key.as_bytes()).unwrap(), "{what}, {durability:?}: {key} is lost");
            }
            assert!(db.check().unwrap().is_sound());
        }
    }
}

fn renamed_to(path: &Path, extension: &str) -> PathBuf {
    fs::rename(path, path.with_extension(extension)).unwrap();
    path.with_extension(extension)
}

fn is_moved(error: &Error) -> bool {
    matches!(error, Error::Moved { .. })
}

#[test]
fn a_log_that_was_removed_takes_no_more_durable_commits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let db = options().open(&path).unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    fs::remove_file(directory.path().join("a.ful-log.1")).unwrap();
    let error = put(&db, &table, "k").unwrap_err();
    assert!(matches!(&error, Error::Indeterminate { source, .. } if is_moved(source)), "{error}");
    drop((db, table));
    assert!(matches!(Database::open(&path), Err(Error::LogMissing { .. })));
}

/// From the first commit on, and after each opening, the file says that it needs a log.
#[test]
fn the_file_alone_is_refused_as_long_as_commits_are_in_its_log() {
    for durability in [Durability::Memory, Durability::Log, Durability::Disk] {
        let directory = tempfile::tempdir().unwrap();
        let (path, copy) = (directory.path().join("a.ful"), directory.path().join("copy.ful"));
        for opening in 0..3 {
            let db = options().durability(durability).open(&path).unwrap();
            let table = db.open_or_create_table("t", TableOptions::new()).unwrap();
            put(&db, &table, &format!("{opening}")).unwrap();
            fs::copy(&path, &copy).unwrap();
            for read_only in [false, true] {
                let error = Database::options().read_only(read_only).open(&copy).unwrap_err();
                assert!(matches!(&error, Error::LogMissing { .. }), "{durability:?}, opening {opening}: {error}");
                assert!(error.to_string().contains("without its log"), "{error}");
            }
            if opening == 1 {
                // What a crash leaves: the log is replayed by the next opening.
                drop(db);
            } else {
                db.close().unwrap();
                fs::copy(&path, &copy).unwrap();
                let copied = Database::options().read_only(true).open(&copy).unwrap();
                assert_eq!(copied.read().unwrap().len(&copied.open_table("t").unwrap()).unwrap(), opening + 1);
            }
        }
    }
}

#[test]
fn a_lock_file_that_is_refused_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let lock = directory.path().join("a.ful-lock");
    fs::create_dir(&lock).unwrap();
    let error = options().open(directory.path().join("a.ful")).unwrap_err().to_string();
    assert!(error.contains(&lock.display().to_string()), "{error}");
}

#[test]
fn opening_waits_for_the_lock_as_long_as_it_may() {
    let name = "databases::opening_waits_for_the_lock_as_long_as_it_may";
    if let Some(path) = child_of(name) {
        let db = options().open(path).unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        say_ready_and_wait();
        put(&db, &table, "k").unwrap();
        db.close().unwrap();
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let other = Child::start(name, &path);
    let error = options().wait_for_lock(Duration::from_millis(20)).open(&path).unwrap_err();
    assert!(matches!(error, Error::Locked { is_here: false, pid: Some(pid), .. } if pid == other.pid()), "{error}");
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| options().wait_for_lock(Duration::from_secs(60)).open(&path).unwrap());
        other.finish();
        let db = opening.join().unwrap();
        assert_eq!(db.read().unwrap().len(&db.open_table("t").unwrap()).unwrap(), 1);
    });
}

/// A child made by `fork` can do nothing with what it inherits, and dropping it harms nobody.
#[test]
fn what_a_fork_inherits_answers_with_an_error_and_harms_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let db = options().durability(Durability::Log).write_set_bytes(1 << 10).keep_log(1 << 30).open(&path).unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    overwrite(&db, &table, 1000, 1);
    db.checkpoint().unwrap();
    put(&db, &table, "k").unwrap();
    for round in 0..20 {
        let txn = Arc::new(db.read().unwrap());
        let range = txn.range(&table, ..).unwrap();
        let mut begun = txn.range(&table, ..).unwrap();
        begun.next().unwrap().unwrap();
        let owned = txn.owned_range(&table, ..).unwrap();
        let mut changes = db.changes(fulgurite::Sequence(0)).unwrap();
        let mut writing = db.write().unwrap();
        (0..1000_u32).try_for_each(|key| writing.put(&table, &key.to_be_bytes(), &[7; 100])).unwrap();
        // From here on the parent commits nothing until the child has ended.
        let mut load = db.begin_bulk_load(Duration::from_secs(60)).unwrap().unwrap();
        load.sorted(&table, [(b"a", b"b")].map(Ok::<_, std::io::Error>)).unwrap();
        let inherited = (db.clone(), table.clone(), Arc::clone(&txn));
        let outcome = in_fork(|| {
            let refused = |what: &str, refused: bool| if refused { Ok(()) } else { Err(what.to_owned()) };
            let (db, table, txn) = inherited;
            reads_are_refused(&txn, &table)?;
            let mut iterators = [range, begun];
            refused("a range", iterators.iter_mut().all(|range| is_forked(range.next().transpose())))?;
            refused("an owned range", { owned }.next().is_some_and(is_forked))?;
            refused("the change feed", changes.next().is_some_and(is_forked))?;
            refused("a bulk load", is_forked(load.commit()))?;
            refused("put", is_forked(writing.put(&table, b"child", b"")))?;
            refused("get", is_forked(writing.get(&table, b"k")))?;
            refused("commit", is_forked(writing.commit()))?;
            refused("read", is_forked(db.read()))?;
            refused("write", is_forked(db.write()))?;
            refused("update", is_forked(db.update(|_| Ok(()))))?;
            refused("checkpoint", is_forked(db.checkpoint()))?;
            refused("sync", is_forked(db.sync()))?;
            refused("stats", is_forked(db.stats()))?;
            refused("check", is_forked(db.check()))?;
            refused("compact", is_forked(db.compact()))?;
            refused("changes", is_forked(db.changes(fulgurite::Sequence(0))))?;
            refused("load", is_forked(db.bulk_load(&table, [(b"a", b"b")])))?;
            // The parent is the writer, and this process may read like any other.
            let locked = Database::open(db.path());
            refused("a second writer", matches!(locked, Err(Error::Locked { is_here: false, .. })))?;
            let read = Database::options().read_only(true).open(db.path()).map_err(|error| error.to_string())?;
            let table = read.open_table("t").map_err(|error| error.to_string())?;
            let count = read.read().and_then(|txn| txn.len(&table)).map_err(|error| error.to_string())?;
            refused("reading again", count >= 1000)?;
            if round % 2 == 0 {
                refused("close", is_forked(db.close()))?;
            }
            Ok(())
        });
        assert_eq!(outcome, Ok(()), "round {round}");
        put(&db, &table, &format!("round {round}")).unwrap();
        if round % 5 == 0 {
            db.checkpoint().unwrap();
        }
    }
    assert_eq!(db.read().unwrap().len(&table).unwrap(), 1021);
    assert!(db.check().unwrap().is_sound());
    db.close().unwrap();
    let db = Database::open(&path).unwrap();
    assert_eq!(db.read().unwrap().len(&db.open_table("t").unwrap()).unwrap(), 1021);
}

fn reads_are_refused(txn: &ReadTxn, table: &Table) -> Result<(), String> {
    let refused = |what: &str, refused: bool| if refused { Ok(()) } else { Err(what.to_owned()) };
    refused("get", is_forked(txn.get(table, b"k")))?;
    refused("get_many", is_forked(txn.get_many(table, &[b"k"])))?;
    refused("first", is_forked(txn.first(table)))?;
    refused("range", is_forked(txn.range(table, ..)))?;
    refused("prefix", is_forked(txn.prefix(table, b"k")))?;
    refused("cursor", is_forked(txn.cursor(table)))?;
    refused("count", is_forked(txn.count(table, ..)))?;
    let all: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);
    refused("leaf_batches", is_forked(txn.leaf_batches(table, all)))?;
    refused("key_batches", is_forked(txn.key_batches(table, all)))?;
    refused("a clone", is_forked(txn.clone().get(table, b"k")))
}

fn is_forked<T>(outcome: Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Forked))
}

/// What the closure returns in a child made by `fork`, which ends after it without running anything of the parent's.
fn in_fork(act: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    // SAFETY: the child runs on this thread alone. It uses the allocator, which glibc and musl keep usable after a
    // fork, and the engine, which is what is tested.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        use std::io::Write as _;
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        let text = match outcome {
            Ok(Ok(())) => "good".to_owned(),
            Ok(Err(what)) => format!("not refused: {what}"),
            Err(_) => "a panic".to_owned(),
        };
        let _ = writer.write_all(text.as_bytes());
        // SAFETY: it ends the process at once, with no destructor or exit handler of the parent's.
        unsafe { libc::_exit(0) }
    }
    drop(writer);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
    // SAFETY: it waits for the child that was made above.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    if text == "good" { Ok(()) } else { Err(text) }
}

const ENTRIES: u32 = 20_000;
/// The user of whom nothing is.
const NOBODY: u32 = 65_534;
