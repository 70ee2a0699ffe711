//! Keys that a transaction guards: a transaction that changes one meanwhile conflicts, and others do not, at every
//! isolation.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::time::Duration;

use super::letters::{Fixture, conflict, fixture, put};
use fulgurite::{ConflictReason, Isolation, MergeOperator, Read, TableOptions, WriteTxn};

/// A transaction that has guarded a key and written another.
fn guarding(fixture: &Fixture, isolation: Isolation, guarded: &str, written: &str) -> WriteTxn {
    let mut txn = fixture.db.write_with(isolation).unwrap();
    txn.guard(&fixture.table, guarded.as_bytes()).unwrap();
    put(&mut txn, &fixture.table, written, "mine").unwrap();
    txn
}

#[test]
fn a_guarded_key_that_another_changes_is_a_conflict_at_every_isolation() {
    for (isolation, merged) in LEVELS.into_iter().flat_map(|level| [(level, true), (level, false)]) {
        let fixture = fixture(merged);
        for key in ["c", "absent"] {
            // Whether a checkpoint has merged the change, or it is in the deltas.
            for merges_after in [false, true] {
                let txn = guarding(&fixture, isolation, key, "own");
                fixture.set(key, "theirs");
                if merges_after {
                    fixture.db.checkpoint().unwrap();
                }
                assert_eq!(conflict(txn.commit()), (ConflictReason::Read, key.into()));
            }
            let txn = guarding(&fixture, isolation, key, "own");
            let mut other = fixture.write();
            assert!(other.delete(&fixture.table, key.as_bytes()).unwrap());
            other.commit().unwrap();
            assert_eq!(conflict(txn.commit()), (ConflictReason::Read, key.into()));
        }
        assert!(!fixture.has("own"));
    }
}

#[test]
fn those_that_guard_one_key_are_in_no_conflict_and_a_guard_alone_is_none() {
    for isolation in LEVELS {
        let fixture = fixture(true);
        let txns = ["x", "y"].map(|own| guarding(&fixture, isolation, "c", own));
        fixture.set("d", "theirs");
        for txn in txns {
            txn.commit().expect("nobody changed the key");
        }
        let mut txn = fixture.db.write_with(isolation).unwrap();
        txn.guard(&fixture.table, b"c").unwrap();
        fixture.set("c", "theirs");
        txn.commit().expect("it has changed nothing");
    }
}

#[test]
fn unchecked_reads_are_no_conflict_and_the_others_still_are() {
    for is_checked_too in [false, true] {
        let fixture = fixture(true);
        let mut txn = fixture.db.write_with(Isolation::Serializable).unwrap();
        assert!(!is_checked_too || txn.contains_key(&fixture.table, b"d").unwrap());
        assert!(txn.unchecked(|txn| txn.contains_key(&fixture.table, b"c")).unwrap());
        put(&mut txn, &fixture.table, "own", "mine").unwrap();
        ["c", "d"].into_iter().for_each(|key| fixture.set(key, "theirs"));
        if is_checked_too {
            assert_eq!(conflict(txn.commit()), (ConflictReason::Read, "d".into()));
        } else {
            txn.commit().expect("what others changed was read unchecked");
        }
    }
}

#[test]
fn so_many_guards_that_they_are_joined_miss_nothing() {
    let fixture = fixture(true);
    let mut txn = fixture.db.write_with(Isolation::Snapshot).unwrap();
    for number in 0..70_000_u32 {
        txn.guard(&fixture.table, &[b"k", &number.to_be_bytes()[..]].concat()).unwrap();
    }
    put(&mut txn, &fixture.table, "own", "mine").unwrap();
    let mut other = fixture.write();
    other.put(&fixture.table, &[b"k", &17_u32.to_be_bytes()[..]].concat(), b"theirs").unwrap();
    other.commit().unwrap();
    assert!(txn.commit().is_err_and(|error| error.is_retryable()));
}

#[test]
fn a_guard_counts_beside_merges_and_not_in_an_exclusive_transaction() {
    let fixture = fixture(true);
    let counts = fixture.db.create_table("counts", TableOptions::new().merge(MergeOperator::Add)).unwrap();
    let mut txn = fixture.db.write_with(Isolation::Snapshot).unwrap();
    txn.guard(&fixture.table, b"c").unwrap();
    txn.merge(&counts, b"n", &1_u64.to_be_bytes()).unwrap();
    fixture.set("c", "theirs");
    assert_eq!(conflict(txn.commit()), (ConflictReason::Read, "c".into()));
    let mut exclusive = fixture.db.begin_exclusive(Duration::MAX).unwrap().expect("nobody else is");
    exclusive.guard(&fixture.table, b"c").unwrap();
    put(&mut exclusive, &fixture.table, "own", "mine").unwrap();
    exclusive.commit().expect("nobody can have changed it");
}

#[test]
fn threads_that_guard_what_others_take_away_never_refer_to_what_is_gone() {
    // References are made while their target is there, and the target goes only while nothing refers to it.
    let fixture = fixture(true);
    let (db, table) = (&fixture.db, &fixture.table);
    let refers = |number: u32| format!("ref{number}");
    std::thread::scope(|scope| {
        for number in 0..2_u32 {
            scope.spawn(move || {
                for _ in 0..300 {
                    let mut txn = db.write_with(Isolation::Snapshot).unwrap();
                    txn.guard(table, b"target").unwrap();
                    if txn.contains_key(table, b"target").unwrap() {
                        put(&mut txn, table, &refers(number), "here").unwrap();
                    }
                    let _ = txn.commit();
                    let mut txn = db.write_with(Isolation::Snapshot).unwrap();
                    txn.delete(table, refers(number).as_bytes()).unwrap();
                    let _ = txn.commit();
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..300 {
                let mut txn = fixture.write();
                let is_used = txn.range(table, &b"ref"[..]..&b"reg"[..]).unwrap().next().is_some();
                if !is_used {
                    txn.delete(table, b"target").unwrap();
                }
                let _ = txn.commit();
                fixture.db.update(|txn| txn.insert(table, b"target", b"").map(drop)).unwrap();
            }
        });
        for _ in 0..2_000 {
            let read = db.read().unwrap();
            let is_used = read.range(table, &b"ref"[..]..&b"reg"[..]).unwrap().next().is_some();
            assert!(!is_used || read.contains_key(table, b"target").unwrap());
        }
    });
}

const LEVELS: [Isolation; 2] = [Isolation::Serializable, Isolation::Snapshot];
