//! What transactions see, what savepoints undo, and that snapshots outlive checkpoints.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Error, Read, ReadTxn, Table, TableOptions, WriteTxn};

fn open(disk: &MemoryDisk) -> Database {
    Database::options().create(true).background(false).disk(Arc::new(disk.clone())).open("a.ful").unwrap()
}

fn value(txn: &ReadTxn, table: &Table, key: &[u8]) -> Option<Vec<u8>> {
    txn.get(table, key).unwrap().map(|value| value.to_vec())
}

fn keys(txn: &WriteTxn, table: &Table) -> Vec<Vec<u8>> {
    txn.range(table, ..).unwrap().map(|entry| entry.unwrap().0.to_vec()).collect()
}

#[test]
fn a_snapshot_stays_the_same_across_commits_and_checkpoints() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let write = |round: u32| {
        db.update(|txn| {
            (0..500_u32).try_for_each(|i| txn.put(&table, &(i * (round + 1)).to_be_bytes(), &round.to_le_bytes()))?;
            (0..100_u32).try_for_each(|i| txn.delete(&table, &(i * 3 + round).to_be_bytes()).map(drop))?;
            txn.put(&table, b"large", &vec![round as u8; 100_000])
        })
        .unwrap();
    };
    let mut held: Vec<(ReadTxn, Entries)> = Vec::new();
    for round in 0..8 {
        write(round);
        let txn = db.read().unwrap();
        let all = entries(&txn, &table);
        held.push((txn, all));
        if round % 2 == 1 {
            db.checkpoint().unwrap();
        }
        for (txn, expected) in &held {
            assert!(entries(txn, &table) == *expected, "round {round}");
            assert_eq!(txn.len(&table).unwrap(), expected.len() as u64);
        }
        if round == 5 {
            held.drain(1..4);
        }
    }
    drop(held);
    db.checkpoint().unwrap();
    assert!(db.check().unwrap().is_sound());
    db.stats().unwrap().accounts_for_every_byte().unwrap();
}

#[test]
fn nothing_of_a_transaction_is_seen_before_its_commit_or_after_its_abort() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let mut txn = db.write().unwrap();
    txn.put(&table, b"k", b"v").unwrap();
    assert_eq!(value(&db.read().unwrap(), &table, b"k"), None);
    let beside = db.try_write().unwrap().expect("nobody is exclusive");
    assert!(beside.get(&table, b"k").unwrap().is_none(), "what others have not committed is theirs");
    txn.abort();
    assert_eq!(value(&db.read().unwrap(), &table, b"k"), None);
    let mut txn = db.try_write().unwrap().unwrap();
    txn.put(&table, b"k", b"w").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db.read().unwrap(), &table, b"k"), Some(b"w".to_vec()));
}

#[test]
fn an_update_that_fails_changes_nothing() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let failed = db.update(|txn| {
        txn.put(&table, b"k", b"v")?;
        Err::<(), _>(Error::Invalid { message: "changed my mind".into() })
    });
    assert_eq!(failed.unwrap_err().to_string(), "changed my mind");
    assert!(db.read().unwrap().is_empty(&table).unwrap());
}

#[test]
fn a_savepoint_undoes_what_came_after_it_and_may_be_used_again() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"a", b"0").and_then(|()| txn.put(&table, b"b", b"0"))).unwrap();
    let mut txn = db.write().unwrap();
    txn.put(&table, b"a", b"1").unwrap();
    let first = txn.savepoint();
    txn.delete(&table, b"b").unwrap();
    txn.put(&table, b"c", b"2").unwrap();
    let second = txn.savepoint();
    txn.put(&table, b"a", b"3").unwrap();
    txn.delete_range(&table, ..).unwrap();
    assert!(txn.is_empty(&table).unwrap());
    txn.rollback_to(second).unwrap();
    assert_eq!(keys(&txn, &table), [b"a", b"c"]);
    assert_eq!(txn.get(&table, b"a").unwrap().as_deref(), Some(&b"1"[..]));
    txn.rollback_to(first).unwrap();
    assert_eq!(keys(&txn, &table), [b"a", b"b"]);
    assert!(matches!(txn.rollback_to(second), Err(Error::Invalid { .. })));
    // As many changes as `first` has before it: only the number of the mark differs.
    let foreign = {
        let mut other = db.write().unwrap();
        other.put(&table, b"z", b"1").unwrap();
        other.savepoint()
    };
    let error = txn.rollback_to(foreign).unwrap_err().to_string();
    assert!(error.contains("it belongs to another transaction"), "{error}");
    assert_eq!(keys(&txn, &table), [b"a", b"b"]);
    txn.put(&table, b"d", b"4").unwrap();
    txn.rollback_to(first).unwrap();
    txn.put(&table, b"e", b"5").unwrap();
    txn.commit().unwrap();
    let txn = db.read().unwrap();
    assert_eq!(value(&txn, &table, b"a"), Some(b"1".to_vec()));
    assert_eq!(value(&txn, &table, b"b"), Some(b"0".to_vec()));
    assert_eq!(txn.len(&table).unwrap(), 3);
}

#[test]
fn a_savepoint_brings_back_a_table_that_was_dropped_with_what_was_put_before() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"a", b"0")).unwrap();
    let mut txn = db.write().unwrap();
    txn.put(&table, b"b", b"1").unwrap();
    txn.put(&table, b"large", &[9; 70_000]).unwrap();
    let point = txn.savepoint();
    txn.put(&table, b"c", b"2").unwrap();
    txn.drop_table(&table).unwrap();
    let other = txn.create_table("u", TableOptions::new()).unwrap();
    txn.put(&other, b"x", b"y").unwrap();
    txn.rollback_to(point).unwrap();
    assert!(matches!(txn.get(&other, b"x"), Err(Error::TableNotFound { .. })));
    assert_eq!(keys(&txn, &table), [&b"a"[..], b"b", b"large"]);
    txn.commit().unwrap();
    drop(db);
    let db = open(&disk);
    let table = db.open_table("t").unwrap();
    assert_eq!(db.read().unwrap().len(&table).unwrap(), 3);
    assert_eq!(db.tables().unwrap().len(), 1);
    db.checkpoint().unwrap();
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn compare_and_set_changes_only_what_is_as_expected() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let mut txn = db.write().unwrap();
    assert!(txn.compare_and_set(&table, b"k", None, Some(b"1")).unwrap());
    assert!(!txn.compare_and_set(&table, b"k", None, Some(b"2")).unwrap());
    assert!(txn.compare_and_set(&table, b"k", Some(b"1"), Some(b"2")).unwrap());
    assert!(!txn.compare_and_set(&table, b"k", Some(b"1"), None).unwrap());
    assert!(txn.compare_and_set(&table, b"k", Some(b"2"), None).unwrap());
    assert!(txn.is_empty(&table).unwrap());
    assert!(txn.insert(&table, b"k", b"3").unwrap() && !txn.insert(&table, b"k", b"4").unwrap());
    txn.commit().unwrap();
    assert_eq!(value(&db.read().unwrap(), &table, b"k"), Some(b"3".to_vec()));
}

#[test]
fn keys_and_values_may_be_empty() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"", b"").and_then(|()| txn.put(&table, b"\0", b""))).unwrap();
    for _ in 0..3 {
        let txn = db.read().unwrap();
        assert_eq!(value(&txn, &table, b""), Some(vec![]));
        assert_eq!(txn.first(&table).unwrap().unwrap().0.len(), 0);
        assert_eq!(txn.prefix(&table, b"").unwrap().count(), 2);
        assert_eq!(txn.count(&table, &b""[..]..&b"\0"[..]).unwrap(), 1);
        db.checkpoint().unwrap();
    }
    db.update(|txn| txn.delete(&table, b"")).unwrap();
    db.checkpoint().unwrap();
    assert_eq!(db.read().unwrap().len(&table).unwrap(), 1);
}

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn entries(txn: &ReadTxn, table: &Table) -> Entries {
    let range = txn.range(table, ..).unwrap();
    range.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

#[test]
fn a_single_change_is_committed_as_it_is_after_rollbacks_drops_and_checkpoints() {
    let db = open(&MemoryDisk::new());
    let (table, other) =
        (db.create_table("t", TableOptions::new()).unwrap(), db.create_table("o", TableOptions::new()).unwrap());
    let key = |number: u32| number.wrapping_mul(2_654_435_761).to_be_bytes();
    let mut expected = std::collections::BTreeMap::new();
    for number in 0..6000 {
        let mut txn = db.write().unwrap();
        let (mut at, mut into) = (key(number), &table);
        match number % 6 {
            1 => {
                let before = txn.savepoint();
                txn.put(&table, &key(number + 1_000_000), b"undone").unwrap();
                txn.rollback_to(before).unwrap();
            }
            2 => {
                txn.put(&table, &at, b"kept").unwrap();
                let before = txn.savepoint();
                txn.put(&table, &key(number + 1_000_000), b"undone").unwrap();
                txn.rollback_to(before).unwrap();
            }
            3 => {
                let gone = txn.create_table("gone", TableOptions::new()).unwrap();
                txn.put(&gone, &at, b"dropped").unwrap();
                txn.drop_table(&gone).unwrap();
            }
            4 => into = &other,
            5 => at = key(number / 2),
            _ => {}
        }
        txn.put(into, &at, &number.to_be_bytes()).unwrap();
        if number % 1000 == 999 {
            // Deltas are exchanged while the transaction runs.
            db.checkpoint().unwrap();
        }
        txn.commit().unwrap();
        expected.insert((into.name().to_owned(), at), number);
    }
    for ((name, at), number) in &expected {
        let found = db.read().unwrap();
        let found = found.get(if name == "t" { &table } else { &other }, at).unwrap().map(|value| value.to_vec());
        assert_eq!(found, Some(number.to_be_bytes().to_vec()));
    }
    let read = db.read().unwrap();
    assert_eq!(read.count(&table, ..).unwrap() + read.count(&other, ..).unwrap(), expected.len() as u64);
    db.check().unwrap();
}
