//! Values that a transaction changes at their places: what is read, stored, undone and in conflict.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{
    Change, ConflictReason, Database, Durability, Error, Isolation, MergeOperator, Options, Table, TableOptions,
};

use super::letters::{conflict, fixture, put};

fn options(disk: &MemoryDisk) -> Options {
    let options = Database::options().create(true).background(false).disk(Arc::new(disk.clone()));
    options.page_size_bytes(8192).delta_bytes(64 << 10)
}

fn value(db: &Database, table: &Table, key: &str) -> Option<Vec<u8>> {
    db.read().unwrap().get(table, key).unwrap().map(|value| value.to_vec())
}

/// Adds one to each byte.
fn raise(value: &mut [u8]) -> usize {
    value.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
    value.len()
}

#[test]
fn a_value_changes_at_its_place_whatever_holds_it() {
    for (value_align, durability) in [(1, Durability::Memory), (8, Durability::Memory), (1, Durability::Disk)] {
        let disk = MemoryDisk::new();
        let db = options(&disk).durability(durability).keep_log(1 << 30).open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new().value_align(value_align)).unwrap();
        for length in [0, 1, 30, 31, 5_000, 70_000, 9 << 20] {
            let name = format!("of {length} bytes");
            db.update(|txn| txn.put(&table, &name, vec![1_u8; length])).unwrap();
            // In memory and in the tree; then what the transaction itself has put.
            assert_eq!(db.update(|txn| txn.modify(&table, &name, raise)).unwrap(), Some(length));
            assert!(value(&db, &table, &name).unwrap() == vec![2_u8; length], "{name}");
            db.checkpoint().unwrap();
            let sequence = db.read().unwrap().sequence();
            let mut txn = db.write().unwrap();
            for number in 3..6_u8 {
                assert_eq!(txn.modify(&table, &name, raise).unwrap(), Some(length));
                assert!(txn.get(&table, &name).unwrap().unwrap() == vec![number; length], "{name}");
            }
            txn.commit().unwrap();
            assert!(value(&db, &table, &name).unwrap() == vec![5_u8; length], "{name}");
            // Followers see one put, when it is durable.
            db.sync().unwrap();
            let commit = db.changes(sequence).unwrap().next().unwrap().unwrap();
            let [Change::Put { value, .. }] = &commit.changes[..] else { panic!("{name}: {}", commit.changes.len()) };
            assert!(*value == vec![5_u8; length], "{name}");
        }
        assert!(db.check().unwrap().is_sound());
        db.stats().unwrap().accounts_for_every_byte().unwrap();
        drop(db);
        let db = options(&disk).durability(durability).open("a.ful").unwrap();
        let table = db.open_table("t").unwrap();
        assert_eq!(value(&db, &table, "of 30 bytes"), Some(vec![5_u8; 30]));
    }
}

#[test]
fn a_key_that_is_missing_or_deleted_is_not_changed() {
    let fixture = fixture(true);
    let mut txn = fixture.write();
    let mut calls = 0;
    assert_eq!(txn.modify(&fixture.table, "none", |_| calls += 1).unwrap(), None);
    assert!(txn.delete(&fixture.table, "a").unwrap());
    assert_eq!(txn.modify(&fixture.table, "a", |_| calls += 1).unwrap(), None);
    let refuse = |_: &mut [u8]| Err::<(), _>(Error::Invalid { message: "no".into() });
    assert_eq!(txn.try_modify(&fixture.table, "a", refuse).unwrap(), None);
    assert_eq!(calls, 0);
    txn.commit().unwrap();
    assert!(!fixture.has("a") && !fixture.has("none"));
}

#[test]
fn a_value_that_the_transaction_has_put_is_not_copied() {
    let fixture = fixture(true);
    let mut txn = fixture.write();
    for length in [8, 500] {
        txn.put(&fixture.table, "a", vec![b'x'; length]).unwrap();
        let at = txn.modify(&fixture.table, "a", |value| value.as_ptr().addr()).unwrap();
        for _ in 0..3 {
            let again = txn.modify(&fixture.table, "a", |value| {
                value[0] += 1;
                value.as_ptr().addr()
            });
            assert_eq!(again.unwrap(), at);
        }
    }
    // Also if a change at its place has put it.
    let at = txn.modify(&fixture.table, "b", |value| value.as_ptr().addr()).unwrap();
    assert!(at.is_some());
    let first = txn.modify(&fixture.table, "b", |value| value.as_ptr().addr()).unwrap();
    assert_eq!(txn.modify(&fixture.table, "b", |value| value.as_ptr().addr()).unwrap(), first);
}

#[test]
fn a_change_that_fails_leaves_the_value_as_it_was() {
    let fixture = fixture(true);
    let refuse = |value: &mut [u8]| {
        value.fill(b'!');
        Err::<(), _>(Error::Invalid { message: "no".into() })
    };
    let mut txn = fixture.write();
    let before = txn.sequence();
    assert!(matches!(txn.try_modify(&fixture.table, "a", refuse), Err(Error::Invalid { .. })));
    assert_eq!(txn.get(&fixture.table, "a").unwrap().unwrap(), b"first");
    assert_eq!(txn.commit().unwrap(), before, "nothing was changed, so there is no commit");
    let mut txn = fixture.write();
    put(&mut txn, &fixture.table, "a", "second").unwrap();
    assert!(matches!(txn.try_modify(&fixture.table, "a", refuse), Err(Error::Invalid { .. })));
    let done = txn.try_modify(&fixture.table, "b", |value| {
        value.reverse();
        Ok::<_, Error>(value.len())
    });
    assert_eq!(done.unwrap(), Some(5));
    txn.commit().unwrap();
    assert_eq!((fixture.get("a").as_deref(), fixture.get("b").as_deref()), (Some("second"), Some("tsrif")));
}

#[test]
fn a_change_at_its_place_is_a_read_and_a_write() {
    for (isolation, reason) in
        [(Isolation::Serializable, ConflictReason::Read), (Isolation::Snapshot, ConflictReason::Write)]
    {
        let fixture = fixture(true);
        let mut txn = fixture.db.write_with(isolation).unwrap();
        assert_eq!(txn.modify(&fixture.table, "c", raise).unwrap(), Some(5));
        fixture.set("c", "theirs");
        assert_eq!(conflict(txn.commit()), (reason, "c".into()));
        // That there was no value is read too.
        let mut txn = fixture.db.write_with(Isolation::Serializable).unwrap();
        assert_eq!(txn.modify(&fixture.table, "none", raise).unwrap(), None);
        put(&mut txn, &fixture.table, "own", "mine").unwrap();
        fixture.set("none", "theirs");
        assert_eq!(conflict(txn.commit()), (ConflictReason::Read, "none".into()));
        let mut txn = fixture.db.write_with(isolation).unwrap();
        assert_eq!(txn.modify(&fixture.table, "d", raise).unwrap(), Some(5));
        fixture.set("e", "theirs");
        txn.commit().expect("another key was changed");
    }
}

#[test]
fn savepoints_restore_what_was_changed_at_its_place() {
    let disk = MemoryDisk::new();
    // So little memory that changes are spilled, and so much that they are not.
    for write_set_bytes in [1 << 10, 64 << 20] {
        let db = options(&disk).write_set_bytes(write_set_bytes).open(format!("{write_set_bytes}.ful")).unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        let keys: Vec<String> = (0..60).map(|number| format!("key {number:02}")).collect();
        db.update(|txn| keys.iter().try_for_each(|key| txn.put(&table, key, [1_u8; 40]))).unwrap();
        let mut txn = db.write().unwrap();
        let mut states = Vec::new();
        for number in 1..5_u8 {
            assert!(keys.iter().all(|key| txn.get(&table, key).unwrap().unwrap() == [number; 40]));
            states.push((txn.savepoint(), number));
            for key in &keys {
                assert_eq!(txn.modify(&table, key, raise).unwrap(), Some(40));
            }
        }
        assert_eq!(txn.spilled_bytes() > 0, write_set_bytes == 1 << 10);
        for (savepoint, number) in states.into_iter().skip(1).rev() {
            txn.rollback_to(savepoint).unwrap();
            assert!(keys.iter().all(|key| txn.get(&table, key).unwrap().unwrap() == [number; 40]), "{number}");
        }
        txn.modify(&table, &keys[7], raise).unwrap();
        txn.commit().unwrap();
        assert_eq!(value(&db, &table, "key 07"), Some(vec![3_u8; 40]));
        assert_eq!(value(&db, &table, "key 08"), Some(vec![2_u8; 40]));
        db.close().unwrap();
    }
}

#[test]
fn a_value_with_pending_merges_is_changed_as_it_would_be_read() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let hits = db.create_table("hits", TableOptions::new().merge(MergeOperator::Add)).unwrap();
    db.update(|txn| txn.merge(&hits, "home", 40_u64.to_be_bytes())).unwrap();
    let mut txn = db.write().unwrap();
    txn.merge(&hits, "home", 2_u64.to_be_bytes()).unwrap();
    let double = |value: &mut [u8]| {
        let number = u64::from_be_bytes(*value.first_chunk().unwrap());
        value.copy_from_slice(&(2 * number).to_be_bytes());
        number
    };
    assert_eq!(txn.modify(&hits, "home", double).unwrap(), Some(42));
    txn.merge(&hits, "home", 1_u64.to_be_bytes()).unwrap();
    assert_eq!(txn.modify(&hits, "home", double).unwrap(), Some(85));
    txn.commit().unwrap();
    assert_eq!(value(&db, &hits, "home"), Some(170_u64.to_be_bytes().to_vec()));
}
