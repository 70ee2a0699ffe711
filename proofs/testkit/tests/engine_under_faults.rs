//! Faults that the power-cut and I/O-error proofs found in the engine, each with its story.

use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Durability, Error, Read, Table};
use fulgurite_testkit::crash::Workload;
use fulgurite_testkit::{Call, CrashDisk, Fault, FaultDisk, ImageId, Persistence};

/// A database whose calls can be made to fail, with one table.
fn on_fault_disk() -> (FaultDisk, Database, Table) {
    on_fault_disk_keeping(0)
}

/// The same, which keeps so many bytes of log.
fn on_fault_disk_keeping(keep_log: u64) -> (FaultDisk, Database, Table) {
    let disk = FaultDisk::new(Arc::new(MemoryDisk::new()));
    let options = Database::options().create(true).background(false).keep_log(keep_log);
    let db = options.disk(Arc::new(disk.clone())).open("a.ful").expect("nothing fails yet");
    let table = db.create_table("a", Default::default()).expect("nothing fails yet");
    (disk, db, table)
}

fn reopen(disk: &FaultDisk) -> Database {
    Database::options().background(false).disk(Arc::new(disk.clone())).open("a.ful").expect("nothing fails any more")
}

fn put(db: &Database, table: &Table, value: &[u8]) {
    db.update(|txn| txn.put(table, b"key", value)).expect("nothing fails here");
}

fn value(db: &Database) -> Option<Vec<u8>> {
    let txn = db.read().expect("it is open");
    let table = txn.open_table("a").expect("it was created");
    txn.get(&table, b"key").expect("nothing fails here").map(|value| value.to_vec())
}

fn fail_a_checkpoint(disk: &FaultDisk, db: &Database) {
    disk.arm(Fault { calls: &[Call::Allocate, Call::Write], ..Fault::default() });
    db.checkpoint().expect_err("a call fails");
    disk.disarm();
}

/// A transaction that changed nothing returned at once, whatever durability it was asked for: what it had read, and
/// could tell others, was lost with the power.
#[test]
fn an_empty_commit_is_as_durable_as_asked_with_all_that_it_read() {
    let disk = CrashDisk::new();
    let options = Database::options().background(false).disk(Arc::new(disk.clone()));
    let db = options.clone().create(true).open("a.ful").expect("a crash disk does not fail");
    let table = db.create_table("a", Default::default()).expect("a crash disk does not fail");
    let mut txn = db.write().expect("a crash disk does not fail");
    txn.put(&table, b"key", b"value").expect("a crash disk does not fail");
    txn.commit_with(Durability::Memory).expect("a crash disk does not fail");
    let mut empty = db.write().expect("a crash disk does not fail");
    assert!(!empty.delete(&table, b"another").expect("a crash disk does not fail"));
    empty.commit_with(Durability::Disk).expect("a crash disk does not fail");

    let recording = disk.recording();
    let image = recording.image(ImageId::durable(recording.operations().len()));
    let db = options.disk(Arc::new(image.disk())).open("a.ful").expect("it was created durably");
    assert_eq!(value(&db), Some(b"value".to_vec()));
}

/// A checkpoint that failed kept what it had frozen for the next one, which then merged only that. Closing after it
/// removed the log, and with it all commits that were made between the two.
#[test]
fn commits_after_a_failed_checkpoint_survive_closing() {
    let (disk, db, table) = on_fault_disk();
    put(&db, &table, b"before");
    fail_a_checkpoint(&disk, &db);
    put(&db, &table, b"after");
    db.close().expect("nothing fails any more");
    assert_eq!(value(&reopen(&disk)), Some(b"after".to_vec()));
}

/// For the same reason a bulk load went under commits that were older than it.
#[test]
fn a_bulk_load_after_a_failed_checkpoint_replaces_what_was_committed_before_it() {
    let (disk, db, table) = on_fault_disk();
    put(&db, &table, b"before");
    fail_a_checkpoint(&disk, &db);
    put(&db, &table, b"after");
    db.bulk_load(&table, [(b"key", b"loaded")]).expect("nothing fails any more");
    assert_eq!(value(&db), Some(b"loaded".to_vec()));
}

/// What is read while a checkpoint runs finds its large values by the numbers of their extents. A load that followed
/// gave such a number free without a rotation in between, the next large value took it, and was found in place of the
/// other: damage, it was called.
#[test]
fn a_snapshot_of_a_checkpoint_that_runs_reads_its_large_values_after_loads_and_puts() {
    for nth in 1..=12 {
        for compacts in [false, true] {
            let (disk, db, table) = on_fault_disk();
            let [first, second] = [1, 2].map(|byte| [byte; 100_000]);
            put(&db, &table, &first);
            // It may have frozen the delta, which stays so.
            disk.arm(Fault { calls: &[Call::Allocate, Call::Write], nth, ..Fault::default() });
            let _ = db.checkpoint();
            disk.disarm();
            let before = db.read().expect("it is open");
            if compacts {
                db.compact().expect("nothing fails any more");
            } else {
                db.bulk_load(&table, [(b"key", b"loaded")]).expect("nothing fails any more");
            }
            for number in 0..8u8 {
                db.update(|txn| txn.put(&table, &[number], &second)).expect("nothing fails any more");
            }
            let value = before.get(&table, b"key").expect("it is sound").map(|value| value.to_vec());
            assert_eq!(value.as_deref(), Some(&first[..]), "call {nth}");
        }
    }
}

/// When looking for readers failed after a load was published, the load was reported as failed, though it was there.
/// So it was, after reopening, when the second of its two metas could neither be written nor made whole.
#[test]
fn a_bulk_load_that_reports_an_error_has_loaded_nothing() {
    for (persistence, keep_log) in
        [(Persistence::Once, 0), (Persistence::Forever, 0), (Persistence::Once, 1), (Persistence::Forever, 1)]
    {
        let mut in_doubt = 0;
        for nth in 1.. {
            let (disk, db, table) = on_fault_disk_keeping(keep_log << 20);
            put(&db, &table, b"before");
            disk.arm(Fault { nth, persistence, ..Fault::default() });
            let outcome = db.bulk_load(&table, [(b"key", b"loaded")]);
            let failed_call = disk.failed_call();
            disk.disarm();
            let story = format!("call {nth} {persistence:?}: {outcome:?}, failed call {failed_call:?}");
            let is_in_doubt = matches!(outcome, Err(Error::Indeterminate { .. }));
            in_doubt += u32::from(is_in_doubt);
            assert!(!is_in_doubt || db.write().is_err(), "it is not poisoned: {story}");
            let expected = if outcome.is_ok() { &b"loaded"[..] } else { b"before" };
            assert_eq!(value(&db).as_deref(), Some(expected), "{story}");
            drop((db, table));
            let found = value(&reopen(&disk));
            assert!(is_in_doubt || found.as_deref() == Some(expected), "after reopening: {found:?}, {story}");
            if failed_call.is_none() {
                break;
            }
        }
        assert!(in_doubt >= 1, "the sync of no meta failed, {persistence:?}");
    }
}

/// Commits that wait for one flush are of one fate, whichever of them led it; and what may be lost is not shown any
/// more.
#[test]
fn commits_that_wait_for_a_flush_that_fails_are_indeterminate_and_new_snapshots_are_of_what_is_durable() {
    let (disk, db, table) = on_fault_disk();
    put(&db, &table, b"safe");
    disk.arm(Fault { calls: &[Call::Sync], persistence: Persistence::Forever, ..Fault::default() });
    let commit = |thread: u8| {
        let mut txn = db.write()?;
        txn.put(&table, &[thread], b"in doubt")?;
        txn.commit()
    };
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|thread| scope.spawn(move || commit(thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a fault is no reason to panic")).collect()
    });
    let in_doubt = outcomes.iter().filter(|outcome| matches!(outcome, Err(Error::Indeterminate { .. }))).count();
    let refused = outcomes.iter().filter(|outcome| matches!(outcome, Err(Error::Poisoned { .. }))).count();
    assert!(in_doubt >= 1 && in_doubt + refused == 6, "{outcomes:?}");
    assert_eq!(value(&db), Some(b"safe".to_vec()));
    let read = db.read().expect("reads go on");
    assert_eq!(read.len(&table).expect("nothing need be read from disk"), 1, "what is in doubt is not shown");
    assert!(matches!(db.write(), Err(Error::Poisoned { .. })));
    drop((read, db));
    disk.disarm();
    let db = reopen(&disk);
    let table = db.open_table("a").expect("it was created");
    let found = db.read().expect("it is open").len(&table).expect("nothing fails any more");
    assert!((1..=1 + in_doubt as u64).contains(&found), "{found} entries, {in_doubt} were in doubt");
}

/// A segment that could not be used again was given up, and a new one took its place: nothing was lost, and nobody
/// was bothered.
#[test]
fn a_segment_that_cannot_be_used_again_is_replaced() {
    for calls in [&[Call::Rename], &[Call::Write], &[Call::Sync]] {
        let (disk, db, table) = on_fault_disk();
        put(&db, &table, b"before");
        db.checkpoint().expect("nothing fails yet");
        put(&db, &table, b"after");
        disk.arm(Fault { calls, ..Fault::default() });
        db.checkpoint().expect("a new segment can be made");
        let failed_call = disk.failed_call().expect("the checkpoint begins with it");
        assert!(failed_call.path.to_string_lossy().contains("-log."), "{failed_call}");
        disk.disarm();
        put(&db, &table, b"at last");
        drop((db, table));
        assert_eq!(value(&reopen(&disk)), Some(b"at last".to_vec()), "{calls:?}");
    }
}

/// The proofs prove nothing of segments that are used again unless their workloads come to it.
#[test]
fn workloads_of_the_power_cuts_use_segments_of_the_log_again() {
    let renames = |name: &str| {
        let workload = Workload::named(name).expect("it is in the table");
        let (session, outcome) = workload.run(1);
        outcome.expect("a crash disk does not fail");
        let (recording, _) = session.into_parts();
        let operations = recording.operations().iter().map(ToString::to_string);
        operations.filter(|operation| operation.starts_with("rename") && operation.contains("-log.spare to ")).count()
    };
    for name in ["put-disk", "put-log", "put-memory", "overwrites", "deletes", "full-delta", "transactions"] {
        assert!(renames(name) > 0, "{name}");
    }
    let all: usize = Workload::ALL.iter().map(|workload| renames(workload.name)).sum();
    assert!(all > 100, "{all} segments were used again");
}
