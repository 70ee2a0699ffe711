//! Tables come and go with their transactions; typed tables and multimaps are what the catalog says they are.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Error, Options, Read, ReadTxn, Result, Table, TableOptions};

fn options(disk: &MemoryDisk) -> Options {
    Database::options().create(true).background(false).disk(Arc::new(disk.clone()))
}

fn open(disk: &MemoryDisk) -> Database {
    options(disk).open("a.ful").unwrap()
}

#[test]
fn a_table_recreated_under_its_name_is_empty_before_and_after_reopening() {
    let disk = MemoryDisk::new();
    for checkpoints in [false, true] {
        let db = open(&disk);
        let old = db.create_table("t", TableOptions::new()).unwrap();
        db.update(|txn| txn.put(&old, b"k", b"old")).unwrap();
        if checkpoints {
            db.checkpoint().unwrap();
        }
        db.drop_table(&old).unwrap();
        if checkpoints {
            db.checkpoint().unwrap();
        }
        let new = db.create_table("t", TableOptions::new()).unwrap();
        let txn = db.read().unwrap();
        assert!(txn.is_empty(&new).unwrap());
        assert!(matches!(txn.get(&old, b"k"), Err(Error::TableNotFound { .. })));
        drop(txn);
        db.update(|txn| txn.put(&new, b"l", b"new")).unwrap();
        drop(db);
        let db = open(&disk);
        let table = db.open_table("t").unwrap();
        let txn = db.read().unwrap();
        assert_eq!(txn.len(&table).unwrap(), 1);
        assert_eq!(txn.get(&table, b"l").unwrap().as_deref(), Some(&b"new"[..]));
        drop(txn);
        db.drop_table(&table).unwrap();
        assert!(db.check().unwrap().is_sound());
        db.close().unwrap();
    }
}

#[test]
fn a_table_dropped_and_recreated_in_one_transaction_is_the_new_one() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let old = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&old, b"k", b"old")).unwrap();
    db.update(|txn| {
        txn.drop_table(&old)?;
        let new = txn.create_table("t", TableOptions::new().counted(true))?;
        txn.put(&new, b"l", b"new")
    })
    .unwrap();
    drop(db);
    let db = open(&disk);
    let table = db.open_table("t").unwrap();
    assert!(table.is_counted());
    assert_eq!(db.read().unwrap().len(&table).unwrap(), 1);
    db.checkpoint().unwrap();
    assert_eq!(db.read().unwrap().len(&table).unwrap(), 1);
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn a_table_created_and_dropped_in_one_transaction_leaves_nothing() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    db.update(|txn| {
        let table = txn.create_table("t", TableOptions::new())?;
        txn.put(&table, b"k", b"v")?;
        txn.drop_table(&table)
    })
    .unwrap();
    assert!(db.tables().unwrap().is_empty());
    db.create_table("u", TableOptions::new()).unwrap();
    drop(db);
    let db = open(&disk);
    assert_eq!(db.tables().unwrap().len(), 1);
    db.close().unwrap();
    assert_eq!(open(&disk).tables().unwrap().len(), 1);
}

#[test]
fn a_snapshot_keeps_a_table_that_is_dropped_later() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| (0..5_000_u32).try_for_each(|i| txn.put(&table, &i.to_be_bytes(), &[1; 100]))).unwrap();
    db.checkpoint().unwrap();
    let before = db.read().unwrap();
    db.drop_table(&table).unwrap();
    db.checkpoint().unwrap();
    let other = db.create_table("u", TableOptions::new()).unwrap();
    db.update(|txn| (0..5_000_u32).try_for_each(|i| txn.put(&other, &i.to_be_bytes(), &[2; 100]))).unwrap();
    db.checkpoint().unwrap();
    assert_eq!(before.len(&table).unwrap(), 5_000);
    assert!(before.range(&table, ..).unwrap().all(|entry| *entry.unwrap().1 == [1; 100]));
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn a_handle_from_a_transaction_that_was_dropped_names_no_later_table() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let mut txn = db.write().unwrap();
    let ghost = txn.create_table("ghost", TableOptions::new()).unwrap();
    txn.abort();
    let mut txn = db.write().unwrap();
    let real = txn.create_table("real", TableOptions::new()).unwrap();
    txn.put(&real, b"k", b"v").unwrap();
    assert!(matches!(txn.put(&ghost, b"k", b"lost"), Err(Error::TableNotFound { .. })));
    txn.commit().unwrap();
    assert!(matches!(db.read().unwrap().get(&ghost, b"k"), Err(Error::TableNotFound { .. })));
    assert!(matches!(db.drop_table(&ghost), Err(Error::TableNotFound { .. })));
    assert_eq!(db.read().unwrap().get(&real, b"k").unwrap().as_deref(), Some(&b"v"[..]));
}

#[test]
fn names_are_unique_and_of_bounded_length() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    db.create_table("t", TableOptions::new()).unwrap();
    assert!(matches!(db.create_table("t", TableOptions::new()), Err(Error::TableExists { .. })));
    assert!(matches!(db.create_table("", TableOptions::new()), Err(Error::Invalid { .. })));
    assert!(matches!(db.create_table(&"x".repeat(513), TableOptions::new()), Err(Error::Invalid { .. })));
    db.create_table(&"x".repeat(512), TableOptions::new()).unwrap();
    assert!(matches!(db.open_table("u"), Err(Error::TableNotFound { .. })));
    drop(db);
    assert_eq!(open(&disk).tables().unwrap().len(), 2);
}

#[test]
fn many_tables_are_found_again() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    db.update(|txn| {
        (0..1_000).try_for_each(|number| {
            let table = txn.create_table(&format!("table {number}"), TableOptions::new())?;
            txn.put(&table, b"number", format!("{number}").as_bytes())
        })
    })
    .unwrap();
    db.close().unwrap();
    let db = open(&disk);
    assert_eq!(db.tables().unwrap().len(), 1_000);
    let txn = db.read().unwrap();
    for number in 0..1_000 {
        let table = txn.open_table(&format!("table {number}")).unwrap();
        assert_eq!(txn.get(&table, b"number").unwrap().as_deref(), Some(format!("{number}").as_bytes()));
    }
}

/// Keys that begin alike; some are long, and so are some values.
fn packable(number: u32) -> (Vec<u8>, Vec<u8>) {
    let mut key = [b"shared ".as_slice(), &(number / 50).to_be_bytes(), &(number * 7).to_be_bytes()].concat();
    key.resize(if number % 9_970 == 5 { 1_500 } else { key.len() }, b'k');
    (key, vec![number as u8; if number % 499 == 7 { 9_000 } else { number as usize % 3 * 4 }])
}

/// The keys with this prefix. The first read requests too few to return all.
fn keys_of(txn: &ReadTxn, table: &Table, prefix: &[u8]) -> Vec<Vec<u8>> {
    let (mut keys, mut key, mut most) = (Vec::new(), Vec::new(), 1);
    loop {
        keys.clear();
        let are_all = txn.prefix_keys(table, prefix, most, |suffix| {
            suffix.complete(&mut key);
            keys.push(key.clone());
        });
        assert!(keys.len() <= most);
        if are_all.unwrap() {
            return keys;
        }
        assert_eq!(keys.len(), most, "it must give what was asked for where it does not know that these are all");
        most *= 7;
    }
}

#[test]
fn a_packed_table_reads_as_any_other_and_is_smaller() {
    for map in [true, false] {
        let disk = MemoryDisk::new();
        let db = options(&disk).map(map).open("a.ful").unwrap();
        let packed = db.create_table("packed", TableOptions::new().packed(true).counted(true)).unwrap();
        let plain = db.create_table("plain", TableOptions::new().counted(true)).unwrap();
        assert!(packed.is_packed() && !plain.is_packed());
        let mut pages = Vec::new();
        for table in [&packed, &plain] {
            let before = db.stats().unwrap().tree_bytes;
            db.bulk_load(table, (0..20_000).map(packable)).unwrap();
            pages.push(db.stats().unwrap().tree_bytes - before);
            db.update(|txn| {
                (0..20_000).step_by(333).try_for_each(|number| txn.delete(table, &packable(number).0).map(drop))?;
                (0..20_000).step_by(77).try_for_each(|number| txn.put(table, &packable(number).0, b"another"))
            })
            .unwrap();
        }
        assert!(3 * pages[0] < 2 * pages[1], "{pages:?} bytes");
        for _ in 0..2 {
            let txn = db.read().unwrap();
            let all = |table| txn.range(table, ..).unwrap().map(Result::unwrap).collect::<Vec<_>>();
            let (entries, expected) = (all(&packed), all(&plain));
            assert!(entries == expected, "map: {map}");
            assert!(txn.range(&packed, ..).unwrap().rev().map(Result::unwrap).eq(expected.iter().rev().cloned()));
            let mut batched = Vec::new();
            for batch in txn.leaf_batches(&packed, ..).unwrap() {
                batched.extend(batch.unwrap().iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
            }
            assert!(
                batched.iter().map(|(key, value)| (&**key, &**value)).eq(expected.iter().map(|(k, v)| (&**k, &**v)))
            );
            let (mut keys, mut key) = (Vec::new(), Vec::new());
            let mut batches = txn.key_batches(&packed, ..).unwrap();
            while let Some(batch) = batches.next_of(37).unwrap() {
                assert!((1..=37).contains(&batch.len()));
                batch.iter().for_each(|suffix| {
                    suffix.complete(&mut key);
                    keys.push(key.clone());
                });
            }
            drop(batches);
            assert!(keys.iter().map(|key| &**key).eq(expected.iter().map(|(key, _)| &**key)));
            let keys: Vec<_> = (0..20_400).step_by(17).map(|number| packable(number).0).collect();
            let slices: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
            assert_eq!(txn.get_many(&packed, &slices).unwrap(), txn.get_many(&plain, &slices).unwrap());
            for (from, to) in keys.iter().zip(&keys[40..]).step_by(19) {
                assert_eq!(txn.get(&packed, from).unwrap(), txn.get(&plain, from).unwrap());
                for prefix in [&from[..from.len() - 1], &from[..from.len().min(14)], &from[..10]] {
                    let keys = [keys_of(&txn, &packed, prefix), keys_of(&txn, &plain, prefix)];
                    let expected = txn.prefix(&plain, prefix).unwrap().map(|entry| entry.unwrap().0.to_vec());
                    assert!(keys[0].iter().eq(&keys[1]) && keys[0].iter().cloned().eq(expected));
                }
                let bounds = &**from..&**to;
                assert_eq!(txn.count(&packed, bounds.clone()).unwrap(), txn.count(&plain, bounds.clone()).unwrap());
                let part = |table| txn.range(table, bounds.clone()).unwrap().map(Result::unwrap).collect::<Vec<_>>();
                assert!(part(&packed) == part(&plain));
            }
            drop((entries, expected));
            drop(txn);
            db.checkpoint().unwrap();
        }
        assert!(db.check().unwrap().damages.is_empty());
    }
}

#[test]
fn values_of_a_packed_table_cannot_be_aligned() {
    let db = open(&MemoryDisk::new());
    let error = db.create_table("t", TableOptions::new().packed(true).value_align(8)).unwrap_err();
    assert!(matches!(&error, Error::Invalid { message } if message.contains("value_align")), "{error}");
    db.create_table("t", TableOptions::new().packed(true)).unwrap();
    assert!(matches!(db.open_or_create_table("t", TableOptions::new()), Err(Error::TableMismatch { .. })));
}

#[test]
fn a_typed_table_opens_only_as_what_it_was_created() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    db.typed_table::<String, u32>("t").unwrap();
    let error = db.typed_table::<String, u64>("t").unwrap_err();
    assert!(matches!(error, Error::TableMismatch { .. }), "{error}");
    assert!(db.typed_table::<u32, u32>("t").is_err());
    assert!(db.multimap_table::<String, u32>("t").is_err());
    assert!(db.typed_table_with::<String, u32>("t", TableOptions::new().counted(true)).is_err());
    assert!(matches!(db.open_or_create_table("t", TableOptions::new()), Err(Error::TableMismatch { .. })));
    db.close().unwrap();
    let db = open(&disk);
    assert!(matches!(db.typed_table::<String, u64>("t"), Err(Error::TableMismatch { .. })));
    db.typed_table::<String, u32>("t").unwrap();
}

#[test]
fn typed_keys_come_in_the_order_of_their_type() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let table = db.typed_table::<(i32, String), u64>("t").unwrap();
    db.update(|txn| {
        for (index, key) in [(3, "a"), (-5, "b"), (-5, "a"), (0, ""), (i32::MIN, "z")].into_iter().enumerate() {
            table.put(txn, key, index as u64)?;
        }
        Ok(())
    })
    .unwrap();
    for _ in 0..2 {
        let txn = db.read().unwrap();
        let all: Vec<_> = table.iter(&txn).unwrap().map(|entry| entry.unwrap().0).collect();
        let expected = [(i32::MIN, "z"), (-5, "a"), (-5, "b"), (0, ""), (3, "a")];
        assert_eq!(all, expected.map(|(number, text)| (number, text.to_owned())));
        assert_eq!(table.count(&txn, (-5, "")..(3, "")).unwrap(), 3);
        db.checkpoint().unwrap();
    }
}

#[test]
fn a_multimap_keeps_the_values_of_a_key_apart_and_sorted() {
    let disk = MemoryDisk::new();
    let db = open(&disk);
    let map = db.multimap_table::<String, u64>("m").unwrap();
    db.update(|txn| {
        for value in (0..2_000).rev() {
            assert!(map.insert(txn, "many", value)?);
        }
        assert!(!map.insert(txn, "many", 7)?);
        map.insert(txn, "man", 1)?;
        map.insert(txn, "many\0", 2).map(drop)
    })
    .unwrap();
    for _ in 0..2 {
        let txn = db.read().unwrap();
        let values: Vec<u64> = map.get(&txn, "many").unwrap().collect::<Result<_>>().unwrap();
        assert_eq!(values, (0..2_000).collect::<Vec<_>>());
        let back: Vec<u64> = map.get(&txn, "many").unwrap().rev().collect::<Result<_>>().unwrap();
        assert_eq!(back, (0..2_000).rev().collect::<Vec<_>>());
        assert_eq!(map.count(&txn, "many").unwrap(), 2_000);
        assert!(map.contains(&txn, "many", 1_999).unwrap() && !map.contains(&txn, "many", 2_000).unwrap());
        db.checkpoint().unwrap();
    }
    db.update(|txn| {
        assert!(map.remove(txn, "many", 0)?);
        assert!(!map.remove(txn, "many", 0)?);
        assert_eq!(map.remove_all(txn, "many")?, 1_999);
        Ok(())
    })
    .unwrap();
    db.close().unwrap();
    let db = open(&disk);
    let map = db.multimap_table::<String, u64>("m").unwrap();
    let pairs: Vec<_> = map.iter(&db.read().unwrap()).unwrap().collect::<Result<_>>().unwrap();
    assert_eq!(pairs, [("man".to_owned(), 1), ("many\0".to_owned(), 2)]);
}
