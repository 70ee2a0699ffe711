//! Sums that their type cannot hold: they saturate, or fail with an error that names table and key.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Error, MergeOperator, Options, Read, TableOptions};

fn options(disk: &MemoryDisk) -> Options {
    Database::options().create(true).background(false).disk(Arc::new(disk.clone()))
}

#[track_caller]
fn expect_overflow(error: Error, table: &str, key: &[u8]) {
    let text = error.to_string();
    assert!(text.contains(table) && text.contains("beyond what the table's numbers can hold"), "{text}");
    let Error::Unmergeable { table: of, key: at, source } = error else { panic!("{text}") };
    assert!(of == table && at == key && matches!(*source, Error::Overflow), "{text}");
}

#[test]
fn a_checked_sum_that_overflows_fails_the_commit_and_changes_nothing() {
    for (write_set_bytes, merged) in [(64 << 20, false), (64 << 20, true), (1 << 10, true)] {
        let disk = MemoryDisk::new();
        let db = options(&disk).write_set_bytes(write_set_bytes).open("a.ful").unwrap();
        let options = TableOptions::new().merge(MergeOperator::AddChecked);
        let balances = db.typed_table_with::<String, i64>("balances", options).unwrap();
        db.update(|txn| balances.put(txn, "ada", i64::MAX - 5)).unwrap();
        if merged {
            db.checkpoint().unwrap();
        }
        let mut txn = db.write().unwrap();
        for number in 0..60 {
            balances.merge(&mut txn, format!("other {number}").as_str(), 1i64).unwrap();
        }
        balances.merge(&mut txn, "ada", 4i64).unwrap();
        balances.merge(&mut txn, "ada", 2i64).unwrap();
        assert_eq!(txn.spilled_bytes() > 0, write_set_bytes < 2 << 10);
        let read = balances.get(&txn, "ada").unwrap_err();
        assert!(matches!(read, Error::Unmergeable { .. }), "{read}");
        let key = fulgurite_keys::AsKey::<String>::encode(&"ada");
        expect_overflow(txn.commit().unwrap_err(), "balances", &key);
        assert_eq!(balances.get(&db.read().unwrap(), "ada").unwrap(), Some(i64::MAX - 5));
        assert_eq!(db.read().unwrap().len(balances.as_bytes()).unwrap(), 1);
        // What fits is added, by whichever way there.
        db.update(|txn| balances.merge(txn, "ada", -10).and_then(|()| balances.merge(txn, "ada", 15))).unwrap();
        assert_eq!(balances.get(&db.read().unwrap(), "ada").unwrap(), Some(i64::MAX));
        assert!(db.check().unwrap().is_sound());
    }
}

#[test]
fn operands_that_overflow_by_themselves_fail_the_call_and_leave_the_transaction() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("counts", TableOptions::new().merge(MergeOperator::AddChecked)).unwrap();
    let (most, one) = (u64::MAX.to_be_bytes(), 1u64.to_be_bytes());
    for with_savepoint in [false, true] {
        let mut txn = db.write().unwrap();
        txn.merge(&table, "k", most).unwrap();
        if with_savepoint {
            txn.savepoint();
        }
        expect_overflow(txn.merge(&table, "k", one).unwrap_err(), "counts", b"k");
        // Over a put, too.
        txn.put(&table, "l", most).unwrap();
        expect_overflow(txn.merge(&table, "l", one).unwrap_err(), "counts", b"l");
        txn.merge(&table, "m", one).unwrap();
        txn.delete(&table, "k").unwrap();
        txn.commit().unwrap();
        let txn = db.read().unwrap();
        let get =
            |key: &str| txn.get(&table, key).unwrap().map(|value| u64::from_be_bytes(value[..].try_into().unwrap()));
        assert_eq!((get("k"), get("l"), get("m").is_some()), (None, Some(u64::MAX), true));
    }
}

#[test]
fn operators_are_kept_by_the_catalog_and_add_up_after_recovery() {
    let disk = MemoryDisk::new();
    let operators = [
        (MergeOperator::AddSaturating, 255u8),
        (MergeOperator::Min, 7),
        (MergeOperator::And, 0b0000_0010),
        (MergeOperator::Or, 0b1111_1111),
        (MergeOperator::Xor, 0b1111_1101),
    ];
    for round in 0..3 {
        let db = options(&disk).open("a.ful").unwrap();
        for (operator, expected) in operators {
            let table = TableOptions::new().merge(operator);
            let table = db.typed_table_with::<String, u8>(&operator.to_string(), table).unwrap();
            assert_eq!(table.as_bytes().merge_operator(), Some(operator));
            if round == 0 {
                db.update(|txn| table.merge(txn, "k", 250)).unwrap();
                db.update(|txn| table.merge(txn, "k", 7)).unwrap();
            }
            assert_eq!(table.get(&db.read().unwrap(), "k").unwrap(), Some(expected), "{operator}");
        }
        if round == 1 {
            db.close().unwrap();
        }
    }
}
