//! Write transactions side by side: what is a conflict and what is not, and that nothing is lost.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::letters::{Fixture, conflict, fixture, put};
use fulgurite::{ConflictReason, Database, Durability, Error, Isolation, Read, ReadTxn, Table, TableOptions, WriteTxn};

/// Lets other threads run, most likely until they wait.
fn give_way() {
    (0..2000).for_each(|_| std::thread::yield_now());
}

type ReadsOf = fn(&WriteTxn, &Table);

fn bytes(key: &str) -> &[u8] {
    key.as_bytes()
}

/// Ways to read, and for each a key whose change is a conflict, and one whose change is none.
const READS: [(&str, ReadsOf, &str, &str); 12] = [
    ("get", |txn, table| assert!(txn.get(table, b"c").unwrap().is_some()), "c", "d"),
    ("absence", |txn, table| assert!(txn.get(table, b"cc").unwrap().is_none()), "cc", "c"),
    ("contains_key", |txn, table| assert!(txn.contains_key(table, b"c").unwrap()), "c", "d"),
    ("get_many", |txn, table| drop(txn.get_many(table, &[b"a", b"c"]).unwrap()), "c", "b"),
    ("whole range", |txn, table| assert_eq!(txn.range(table, bytes("c")..bytes("f")).unwrap().count(), 3), "ee", "f"),
    (
        "range from below",
        |txn, table| assert_eq!(txn.range(table, bytes("c")..).unwrap().take(2).count(), 2),
        "cc",
        "dd",
    ),
    (
        "range from above",
        |txn, table| assert_eq!(txn.range(table, ..bytes("h")).unwrap().rev().take(2).count(), 2),
        "ff",
        "ee",
    ),
    ("prefix", |txn, table| assert_eq!(txn.prefix(table, b"c").unwrap().count(), 1), "cc", "d"),
    ("first", |txn, table| assert!(txn.first(table).unwrap().is_some()), "A", "b"),
    ("last", |txn, table| assert!(txn.last(table).unwrap().is_some()), "z", "i"),
    ("count", |txn, table| assert_eq!(txn.count(table, bytes("c")..=bytes("e")).unwrap(), 3), "dd", "ee"),
    (
        "cursor",
        |txn, table| {
            let mut cursor = txn.cursor(table).unwrap();
            cursor.seek(b"c").unwrap();
            cursor.next().unwrap();
        },
        "cc",
        "b",
    ),
];

#[test]
fn a_change_of_what_was_read_is_a_conflict_and_another_is_none() {
    for merged in [false, true] {
        for (name, read, conflicting, _) in READS {
            let fixture = fixture(merged);
            let mut txn = fixture.write();
            read(&txn, &fixture.table);
            put(&mut txn, &fixture.table, "own", "mine").unwrap();
            fixture.set(conflicting, "theirs");
            assert_eq!(conflict(txn.commit()).1, conflicting, "{name}");
            assert_eq!(fixture.get("own"), None);
        }
        for (name, read, _, harmless) in READS {
            let fixture = fixture(merged);
            let mut txn = fixture.write();
            read(&txn, &fixture.table);
            put(&mut txn, &fixture.table, "own", "mine").unwrap();
            fixture.set(harmless, "theirs");
            txn.commit().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(fixture.get("own").as_deref(), Some("mine"), "{name}");
        }
    }
}

#[test]
fn a_deletion_is_a_change_too() {
    let fixture = fixture(true);
    let mut txn = fixture.write();
    assert!(txn.get(&fixture.table, b"c").unwrap().is_some());
    put(&mut txn, &fixture.table, "own", "mine").unwrap();
    let mut other = fixture.write();
    assert!(other.delete(&fixture.table, b"c").unwrap());
    other.commit().unwrap();
    assert_eq!(conflict(txn.commit()), (ConflictReason::Read, "c".into()));
}

#[test]
fn changes_between_any_two_checkpoints_are_found() {
    for checkpoints in 0..5 {
        for change_after in 0..=checkpoints {
            let fixture = fixture(true);
            let mut reader = fixture.write();
            reader.get(&fixture.table, b"c").unwrap();
            put(&mut reader, &fixture.table, "own", "mine").unwrap();
            let mut bystander = fixture.write();
            bystander.get(&fixture.table, b"d").unwrap();
            put(&mut bystander, &fixture.table, "bystander", "mine").unwrap();
            for checkpoint in 0..=checkpoints {
                fixture.set("other", "theirs");
                if checkpoint == change_after {
                    fixture.set("c", "theirs");
                }
                if checkpoint < checkpoints {
                    fixture.db.checkpoint().unwrap();
                }
            }
            assert_eq!(
                conflict(reader.commit()),
                (ConflictReason::Read, "c".into()),
                "{change_after} of {checkpoints}"
            );
            bystander.commit().unwrap();
        }
    }
}

#[test]
fn a_transaction_that_has_outlived_what_is_kept_is_too_old() {
    let directory = tempfile::tempdir().unwrap();
    let options = Database::options().create(true).durability(Durability::Log).background(false).delta_bytes(64 << 10);
    let db = options.open(directory.path().join("a.ful")).unwrap();
    let table = db.create_table("letters", TableOptions::new()).unwrap();
    let mut old = db.write().unwrap();
    old.get(&table, b"nothing").unwrap();
    old.put(&table, b"own", b"mine").unwrap();
    let mut blind = db.write().unwrap();
    blind.put(&table, b"blind", b"mine").unwrap();
    for round in 0..20_u8 {
        db.update(|txn| (0..40_u8).try_for_each(|key| txn.put(&table, &[round, key], &[round; 1000]))).unwrap();
        db.checkpoint().unwrap();
    }
    let outcome = old.commit();
    assert!(matches!(&outcome, Err(error @ Error::TransactionTooOld) if error.is_retryable()), "{outcome:?}");
    blind.commit().expect("it has read nothing that could have changed");
}

#[test]
fn writes_alone_are_no_conflict_and_the_later_commit_counts() {
    let fixture = fixture(false);
    let (mut first, mut second) = (fixture.write(), fixture.write());
    put(&mut first, &fixture.table, "c", "first").unwrap();
    put(&mut second, &fixture.table, "c", "second").unwrap();
    second.commit().unwrap();
    first.commit().unwrap();
    assert_eq!(fixture.get("c").as_deref(), Some("first"));
}

#[test]
fn what_a_transaction_reads_of_its_own_is_no_read() {
    let fixture = fixture(true);
    let mut txn = fixture.write();
    put(&mut txn, &fixture.table, "c", "mine").unwrap();
    assert_eq!(txn.get(&fixture.table, b"c").unwrap().as_deref(), Some(&b"mine"[..]));
    fixture.set("c", "theirs");
    txn.commit().unwrap();
    assert_eq!(fixture.get("c").as_deref(), Some("mine"));
}

#[test]
fn a_transaction_that_changes_nothing_is_never_in_conflict() {
    let fixture = fixture(true);
    let txn = fixture.write();
    assert_eq!(txn.len(&fixture.table).unwrap(), 10);
    fixture.set("c", "theirs");
    assert_eq!(txn.len(&fixture.table).unwrap(), 10);
    let before = txn.sequence();
    assert_eq!(txn.commit().unwrap(), before);
}

/// Two transactions that each read what the other writes.
fn skew(fixture: &Fixture, isolation: Isolation) -> [fulgurite::Result<fulgurite::Sequence>; 2] {
    let begin = |read: &str, write: &str| {
        let mut txn = fixture.db.write_with(isolation).unwrap();
        txn.get(&fixture.table, read.as_bytes()).unwrap();
        put(&mut txn, &fixture.table, write, "mine").unwrap();
        txn
    };
    let (one, other) = (begin("a", "b"), begin("b", "a"));
    [one.commit(), other.commit()]
}

#[test]
fn write_skew_happens_at_snapshot_isolation_only() {
    let [one, other] = skew(&fixture(true), Isolation::Serializable);
    one.unwrap();
    assert_eq!(conflict(other), (ConflictReason::Read, "b".into()));
    let [one, other] = skew(&fixture(true), Isolation::Snapshot);
    one.unwrap();
    other.unwrap();
}

#[test]
fn at_snapshot_isolation_the_first_of_two_writers_of_a_key_commits() {
    let fixture = fixture(true);
    let begin = || {
        let mut txn = fixture.db.write_with(Isolation::Snapshot).unwrap();
        put(&mut txn, &fixture.table, "c", "mine").unwrap();
        txn
    };
    let (one, other) = (begin(), begin());
    one.commit().unwrap();
    assert_eq!(conflict(other.commit()), (ConflictReason::Write, "c".into()));
}

#[test]
fn beside_an_exclusive_transaction_nobody_commits() {
    let fixture = fixture(true);
    let mut exclusive = fixture.db.begin_exclusive(Duration::MAX).unwrap().expect("nobody else is");
    assert!(fixture.db.begin_exclusive(Duration::from_millis(1)).unwrap().is_none());
    assert!(fixture.db.try_write().unwrap().is_none());
    assert!(fixture.db.write_within(None, Duration::from_millis(1)).unwrap().is_none());
    assert_eq!(exclusive.len(&fixture.table).unwrap(), 10);
    let (begun, committed) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begun.store(true, Ordering::SeqCst);
            fixture.set("other", "theirs");
            committed.store(true, Ordering::SeqCst);
        });
        while !begun.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        give_way();
        assert!(!committed.load(Ordering::SeqCst), "it waits");
        put(&mut exclusive, &fixture.table, "own", "mine").unwrap();
        exclusive.commit().expect("nothing can have changed");
    });
    assert_eq!((fixture.get("own").as_deref(), fixture.get("other").as_deref()), (Some("mine"), Some("theirs")));
    drop(fixture.db.try_write().unwrap().expect("nobody is exclusive any more"));
    drop(fixture.db.begin_exclusive(Duration::ZERO).unwrap().expect("nor here"));
}

#[test]
fn who_began_before_an_exclusive_transaction_is_checked_against_it() {
    let fixture = fixture(true);
    let mut before = fixture.write();
    before.get(&fixture.table, b"c").unwrap();
    put(&mut before, &fixture.table, "own", "mine").unwrap();
    let mut exclusive = fixture.db.begin_exclusive(Duration::MAX).unwrap().expect("nobody else is");
    put(&mut exclusive, &fixture.table, "c", "theirs").unwrap();
    let begun = Arc::new(AtomicBool::new(false));
    let waiting = {
        let begun = Arc::clone(&begun);
        std::thread::spawn(move || {
            begun.store(true, Ordering::SeqCst);
            before.commit()
        })
    };
    while !begun.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    give_way();
    assert!(!waiting.is_finished(), "it waits");
    exclusive.commit().unwrap();
    assert_eq!(conflict(waiting.join().unwrap()), (ConflictReason::Read, "c".into()));
}

#[test]
fn a_bulk_load_is_a_conflict_for_who_has_read_its_table() {
    let fixture = fixture(true);
    let other = fixture.db.create_table("numbers", TableOptions::new()).unwrap();
    let begin = |table: &Table| {
        let mut txn = fixture.write();
        txn.get(table, b"c").unwrap();
        put(&mut txn, &other, "own", "mine").unwrap();
        txn
    };
    let (reader, bystander) = (begin(&fixture.table), begin(&other));
    fixture.db.bulk_load(&fixture.table, [(b"c", b"loaded")]).unwrap();
    assert_eq!(conflict(reader.commit()).0, ConflictReason::BulkLoad);
    bystander.commit().unwrap();
    assert_eq!(fixture.get("c").as_deref(), Some("loaded"));
}

#[test]
fn a_bulk_load_of_several_tables_is_seen_as_one_or_not_at_all() {
    let fixture = fixture(true);
    let other = fixture.db.create_table("numbers", TableOptions::new()).unwrap();
    let sound = |entries: [(&'static str, &'static str); 2]| entries.map(Ok::<_, std::io::Error>);
    let begin = || fixture.db.begin_bulk_load(Duration::ZERO).unwrap().expect("nobody else writes");
    let contents =
        |txn: &ReadTxn| -> Vec<u64> { [&fixture.table, &other].map(|table| txn.len(table).unwrap()).to_vec() };
    let before = fixture.db.read().unwrap();
    let held = contents(&before);

    let mut dropped = begin();
    dropped.sorted(&other, sound([("1", "one"), ("2", "two")])).unwrap();
    drop(dropped);
    assert_eq!(contents(&fixture.db.read().unwrap()), held, "what was not committed is not there");

    let mut failing = begin();
    failing.sorted(&other, sound([("1", "one"), ("2", "two")])).unwrap();
    failing.sorted(&fixture.table, sound([("y", "out of"), ("x", "order")])).unwrap();
    assert!(matches!(failing.commit(), Err(Error::OutOfOrder { .. })));
    assert_eq!(contents(&fixture.db.read().unwrap()), held, "nor is the table before the one that failed");

    let mut load = begin();
    load.unsorted(&fixture.table, sound([("y", "loaded"), ("x", "loaded")]), 1 << 20).unwrap();
    load.sorted(&other, sound([("1", "one"), ("2", "two")])).unwrap();
    assert_eq!(contents(&load.read().unwrap()), held);
    let refused = load.sorted(&other, sound([("3", "three"), ("4", "four")])).unwrap_err();
    assert!(refused.to_string().contains("`numbers`"), "{refused}");
    assert!(fixture.db.try_write().unwrap().is_none(), "others wait for the end of the load");
    assert!(fixture.db.begin_bulk_load(Duration::ZERO).unwrap().is_none(), "and so do loads");
    let loaded = load.commit().unwrap();
    assert_eq!(loaded.iter().map(|table| (table.inserted, table.replaced)).collect::<Vec<_>>(), [(2, 0), (2, 0)]);
    assert_eq!(contents(&before), held, "an earlier snapshot continues with what was");
    assert_eq!(contents(&fixture.db.read().unwrap()), [held[0] + 2, held[1] + 2]);
    fixture.db.try_write().unwrap().expect("the load has ended");
}

#[test]
fn tables_that_come_and_go_are_conflicts_for_who_uses_them() {
    let fixture = fixture(true);
    let mut writer = fixture.write();
    put(&mut writer, &fixture.table, "own", "mine").unwrap();
    let (mut one, mut two) = (fixture.write(), fixture.write());
    let first = one.create_table("new", TableOptions::new()).unwrap();
    let second = two.create_table("new", TableOptions::new()).unwrap();
    one.put(&first, b"k", b"first").unwrap();
    two.put(&second, b"k", b"second").unwrap();
    one.commit().unwrap();
    assert_eq!(conflict(two.commit()).0, ConflictReason::Tables);
    writer.commit().expect("a new table does not conflict with the use of another");

    let mut late = fixture.write();
    put(&mut late, &fixture.table, "late", "mine").unwrap();
    fixture.db.drop_table(&fixture.table).unwrap();
    assert_eq!(conflict(late.commit()).0, ConflictReason::Tables);
    let txn = fixture.db.read().unwrap();
    assert_eq!(txn.get(&first, b"k").unwrap().as_deref(), Some(&b"first"[..]));
    assert!(matches!(txn.get(&fixture.table, b"c"), Err(Error::TableNotFound { .. })));
}

#[test]
fn tables_created_at_once_are_different_ones() {
    let fixture = fixture(true);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = &fixture.db;
            scope.spawn(move || {
                for number in 0..25 {
                    let name = format!("{thread} {number}");
                    let table = db.create_table(&name, TableOptions::new()).unwrap();
                    db.update(|txn| txn.put(&table, b"name", name.as_bytes())).unwrap();
                }
            });
        }
    });
    let txn = fixture.db.read().unwrap();
    let tables = fixture.db.tables().unwrap();
    assert_eq!(tables.len(), 101);
    for table in tables.iter().filter(|table| table.name() != "letters") {
        assert_eq!(txn.get(table, b"name").unwrap().as_deref(), Some(table.name().as_bytes()));
    }
}

#[test]
fn updates_of_one_key_from_many_threads_are_all_counted() {
    const THREADS: u64 = 8;
    const UPDATES: u64 = 200;
    for durability in [Durability::Memory, Durability::Log, Durability::Disk] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.ful");
        let db = Database::options().create(true).durability(durability).open(&path).unwrap();
        let table = db.create_table("counters", TableOptions::new()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..UPDATES {
                        let add = |txn: &mut WriteTxn| {
                            let before = txn.get(&table, b"n")?.map_or(0, |value| number(&value));
                            txn.put(&table, b"n", &(before + 1).to_be_bytes())
                        };
                        // Eight threads that do nothing else may all be unlucky many times.
                        while let Err(error) = db.update(add) {
                            assert!(error.is_retryable(), "{error}");
                        }
                    }
                });
            }
        });
        let count = || number(&db.read().unwrap().get(&table, b"n").unwrap().expect("it was counted"));
        assert_eq!(count(), THREADS * UPDATES);
        db.clone().close().unwrap();
        let db = Database::open(&path).unwrap();
        let table = db.open_table("counters").unwrap();
        let value = db.read().unwrap().get(&table, b"n").unwrap().map(|value| number(&value));
        assert_eq!(value, Some(THREADS * UPDATES));
    }
}

/// Stops the other threads when it is dropped.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn number(value: &[u8]) -> u64 {
    u64::from_be_bytes(value.try_into().expect("a number has 8 bytes"))
}

/// Transfers between accounts on some threads, audits on others, checkpoints beside them: no audit sees money come or
/// go.
#[test]
fn no_snapshot_and_no_transaction_sees_half_a_transfer() {
    const ACCOUNTS: u64 = 50;
    const START: u64 = 1000;
    let directory = tempfile::tempdir().unwrap();
    let options = Database::options().create(true).durability(Durability::Log).delta_bytes(64 << 10);
    let db = options.open(directory.path().join("a.ful")).unwrap();
    let table = db.create_table("accounts", TableOptions::new()).unwrap();
    let key = |account: u64| account.to_be_bytes();
    db.update(|txn| (0..ACCOUNTS).try_for_each(|account| txn.put(&table, &key(account), &START.to_be_bytes())))
        .unwrap();
    let (stop, transfers, audits) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for seed in 1..=3_u64 {
            let (db, table, stop, transfers) = (&db, &table, &stop, &transfers);
            scope.spawn(move || {
                let mut state = seed;
                while !stop.load(Ordering::Relaxed) {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let (from, to, amount) = (state >> 33, state >> 43, state >> 60);
                    let (from, to) = (from % ACCOUNTS, to % ACCOUNTS);
                    let moved = db.update(|txn| {
                        let balance =
                            |txn: &WriteTxn, account| Ok(number(&txn.get(table, &key(account))?.expect("it is there")));
                        let (have, has) = (balance(txn, from)?, balance(txn, to)?);
                        if from == to || have < amount {
                            return Ok(0);
                        }
                        txn.put(table, &key(from), &(have - amount).to_be_bytes())?;
                        txn.put(table, &key(to), &(has + amount).to_be_bytes())?;
                        Ok(1)
                    });
                    transfers.fetch_add(moved.unwrap_or_else(|error| panic!("{error}")), Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            // Also when an audit fails: the others would go on for ever.
            let _stop = Stop(&stop);
            while audits.load(Ordering::Relaxed) < 200 || transfers.load(Ordering::Relaxed) < 3000 {
                let txn = db.read().unwrap();
                let sum =
                    |entries: fulgurite::Range<'_>| -> u64 { entries.map(|entry| number(&entry.unwrap().1)).sum() };
                assert_eq!(sum(txn.range(&table, ..).unwrap()), ACCOUNTS * START);
                let again = txn.range(&table, (Bound::Unbounded, Bound::<&[u8]>::Unbounded)).unwrap();
                assert_eq!(sum(again), ACCOUNTS * START, "a snapshot stays what it is");
                audits.fetch_add(1, Ordering::Relaxed);
            }
        });
    });
    assert!(db.stats().unwrap().checkpoints > 3, "checkpoints ran beside");
    db.close().unwrap();
}

#[test]
fn whoever_has_committed_sees_it_at_once() {
    let fixture = Arc::new(fixture(true));
    let threads: Vec<_> = (0..4_u8)
        .map(|thread| {
            let fixture = Arc::clone(&fixture);
            std::thread::spawn(move || {
                for round in 0..500_u32 {
                    let mut txn = fixture.write();
                    txn.put(&fixture.table, &[thread], &round.to_be_bytes()).unwrap();
                    let sequence = txn.commit().unwrap();
                    let read = fixture.db.read().unwrap();
                    assert!(read.sequence() >= sequence);
                    assert_eq!(read.get(&fixture.table, &[thread]).unwrap().as_deref(), Some(&round.to_be_bytes()[..]));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(fixture.db.read().unwrap().len(&fixture.table).unwrap(), 14);
}

#[test]
fn a_transaction_that_is_under_way_when_the_database_closes_cannot_commit() {
    let fixture = fixture(true);
    let mut txn = fixture.write();
    put(&mut txn, &fixture.table, "own", "mine").unwrap();
    fixture.db.clone().close().unwrap();
    assert!(matches!(txn.commit(), Err(Error::Closed { .. })));
}

#[test]
fn a_durable_read_shows_what_a_power_cut_would_leave_tables_included() {
    let fixture = fixture(true);
    let (db, table) = (&fixture.db, &fixture.table);
    fixture.set("c", "later");
    let new = db.create_table("new", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&new, b"k", b"v")).unwrap();
    db.drop_table(table).unwrap();
    let read = db.read_durable().unwrap();
    assert!(read.sequence() < db.read().unwrap().sequence());
    assert_eq!(read.get(table, b"c").unwrap().as_deref(), Some(&b"first"[..]));
    assert_eq!(read.open_table("letters").unwrap().name(), "letters");
    assert!(matches!(read.get(&new, b"k"), Err(Error::TableNotFound { .. })));
    assert_eq!(read.tables().len(), 1);

    let synced = db.sync().unwrap();
    let read = db.read_durable().unwrap();
    assert_eq!(read.sequence(), synced);
    assert_eq!(read.get(&new, b"k").unwrap().as_deref(), Some(&b"v"[..]));
    assert!(matches!(read.get(table, b"c"), Err(Error::TableNotFound { .. })));

    db.update(|txn| txn.put(&new, b"k", b"w")).unwrap();
    db.checkpoint().unwrap();
    let read = db.read_durable().unwrap();
    assert_eq!(read.get(&new, b"k").unwrap().as_deref(), Some(&b"w"[..]), "a checkpoint makes it durable too");
    let mut txn = db.write().unwrap();
    txn.put(&new, b"k", b"x").unwrap();
    txn.commit_with(Durability::Disk).unwrap();
    let read = db.read_durable().unwrap();
    assert_eq!(read.get(&new, b"k").unwrap().as_deref(), Some(&b"x"[..]));
}

#[test]
fn that_a_table_is_not_there_is_a_read_too() {
    let fixture = fixture(true);
    let (mut one, mut other) = (fixture.write(), fixture.write());
    let new = other.create_table("new", TableOptions::new()).unwrap();
    assert!(matches!(one.get(&new, b"k"), Err(Error::TableNotFound { .. })));
    put(&mut one, &fixture.table, "own", "mine").unwrap();
    assert!(other.get(&fixture.table, b"own").unwrap().is_none());
    other.commit().unwrap();
    assert_eq!(conflict(one.commit()).0, ConflictReason::Tables);
}

#[test]
fn a_transaction_outlives_automatic_checkpoints() {
    let directory = tempfile::tempdir().unwrap();
    let options = Database::options().create(true).durability(Durability::Log).background(false).delta_bytes(64 << 10);
    let db = options.open(directory.path().join("a.ful")).unwrap();
    let table = db.create_table("letters", TableOptions::new()).unwrap();
    let before = db.stats().unwrap().checkpoints;
    let mut long = db.write().unwrap();
    assert!(long.get(&table, b"nothing").unwrap().is_none());
    long.put(&table, b"own", b"mine").unwrap();
    // New keys with little value: they take more memory than the budget reckons with.
    let mut number = 0_u64;
    while db.stats().unwrap().checkpoints < before + 2 {
        number += 1;
        db.update(|txn| txn.put(&table, &number.to_be_bytes(), b"")).unwrap();
    }
    long.commit().expect("what was committed since is not more than is kept");
}

#[test]
fn numbers_of_tables_that_were_not_created_are_given_out_again() {
    let fixture = fixture(true);
    for _ in 0..50 {
        let mut txn = fixture.write();
        let savepoint = txn.savepoint();
        txn.create_table("one", TableOptions::new()).unwrap();
        txn.create_table("two", TableOptions::new()).unwrap();
        txn.rollback_to(savepoint).unwrap();
        txn.create_table("three", TableOptions::new()).unwrap();
    }
    let table = fixture.db.create_table("new", TableOptions::new()).unwrap();
    assert!(format!("{table:?}").contains("id: TableId(2)"), "{table:?}");
}

/// More threads than small machines have slots, and each must see what it, and the thread it was told of, committed
/// before.
#[test]
fn a_transaction_sees_all_that_was_committed_before_it_began_on_whatever_thread() {
    let fixture = fixture(false);
    let db = &fixture.db;
    let table = &db.create_table("rounds", TableOptions::new()).unwrap();
    let committed: Vec<AtomicU64> = (0..40).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..committed.len())
            .map(|own| {
                let committed = &committed;
                scope.spawn(move || {
                    for round in 1..=100_u64 {
                        let mut txn = db.write().unwrap();
                        txn.put(table, &[own as u8], &round.to_be_bytes()).unwrap();
                        txn.commit().unwrap();
                        committed[own].store(round, Ordering::Release);
                        let other = (own + round as usize) % committed.len();
                        let least = committed[other].load(Ordering::Acquire);
                        let seen = match round % 2 {
                            0 => db.read().unwrap().get(table, &[other as u8]).unwrap().as_deref().map(number),
                            _ => db.write().unwrap().get(table, &[other as u8]).unwrap().as_deref().map(number),
                        };
                        assert!(seen.unwrap_or(0) >= least, "{seen:?} of {other}, {least} was committed");
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                db.checkpoint().unwrap();
                db.create_table("other", TableOptions::new()).unwrap();
                db.drop_table(&db.open_table("other").unwrap()).unwrap();
            }
        });
        let outcomes: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    assert_eq!(db.read().unwrap().len(table).unwrap(), committed.len() as u64);
}
