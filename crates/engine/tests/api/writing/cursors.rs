//! Where a cursor is after a call that failed: where it was before.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Error, Isolation, Read, Result, TableOptions, Value};

use crate::disks::hooked_disk::HookedDisk;

fn key_of(entry: Result<Option<(Value<'_>, Value<'_>)>>) -> Option<Vec<u8>> {
    entry.unwrap().map(|(key, _)| key.to_vec())
}

/// It turned its direction and kept the walk of the other one: `next` returned the previous entry.
#[test]
fn a_cursor_whose_seek_failed_goes_on_from_where_it_was() {
    const ENTRIES: u32 = 2000;
    let disk = HookedDisk::default();
    let options = || Database::options().background(false).page_size_bytes(8192).cache_bytes(0);
    let open = |create: bool| options().create(create).disk(Arc::new(disk.clone())).open("a.ful").unwrap();
    let db = open(true);
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.bulk_load(&table, (0..ENTRIES).map(|number| (number.to_be_bytes(), [7_u8; 400]))).unwrap();
    db.close().unwrap();
    let db = open(false);
    let (table, txn) = (db.open_table("t").unwrap(), db.read().unwrap());
    let key = |number: u32| Some(number.to_be_bytes().to_vec());
    let fail = |fails: bool| disk.hooks.reads_fail.store(fails, Ordering::SeqCst);

    let mut cursor = txn.cursor(&table).unwrap();
    assert_eq!(key_of(cursor.last()), key(ENTRIES - 1));
    fail(true);
    assert!(matches!(cursor.seek(0_u32.to_be_bytes()), Err(Error::Io { .. })));
    fail(false);
    assert_eq!(key_of(cursor.next()), None, "it is at the last entry");
    assert_eq!(key_of(cursor.previous()), key(ENTRIES - 1));

    let mut cursor = txn.cursor(&table).unwrap();
    assert_eq!(key_of(cursor.seek(1000_u32.to_be_bytes())), key(1000));
    fail(true);
    assert!(cursor.first().is_err() && cursor.seek(500_u32.to_be_bytes()).is_err());
    fail(false);
    assert_eq!(key_of(cursor.previous()), key(999));
    assert_eq!(key_of(cursor.next()), key(1000));
    // Page after page, until one is read from the disk.
    fail(true);
    let failed = (1001..ENTRIES).find(|&number| match cursor.next() {
        Ok(entry) => {
            assert_eq!(entry.map(|(key, _)| key.to_vec()), key(number));
            false
        }
        Err(_) => true,
    });
    fail(false);
    let failed = failed.expect("the disk is read");
    for number in failed..ENTRIES {
        assert_eq!(key_of(cursor.next()), key(number));
    }
    assert_eq!(key_of(cursor.next()), None);
}

/// The walk was past the key already: the next call skipped it.
#[test]
fn a_cursor_returns_the_entry_whose_merge_failed_when_it_is_asked_again() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let fails = Arc::new(AtomicBool::new(false));
        let fails_once = Arc::clone(&fails);
        let options = Database::options().create(true).background(false).disk(Arc::new(MemoryDisk::new()));
        let options = options.merge_function("moody", move |_, value, operands| {
            if fails_once.swap(false, Ordering::SeqCst) {
                return Err("not now".into());
            }
            Ok(operands.fold(value.unwrap_or_default().to_vec(), |value, operand| [&value, operand].concat()))
        });
        let db = options.open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new().merge_function("moody")).unwrap();
        let keys = ["a", "b", "c"];
        db.update(|txn| keys.iter().try_for_each(|key| txn.put(&table, key, "old "))).unwrap();
        let mut txn = db.write_with(isolation).unwrap();
        txn.merge(&table, "b", "new").unwrap();
        let mut cursor = txn.cursor(&table).unwrap();
        for upward in [true, false] {
            let key = |entry| key_of(entry).map(|key| String::from_utf8(key).unwrap());
            let ends = if upward { ("a", "c") } else { ("c", "a") };
            let first = if upward { cursor.first() } else { cursor.last() };
            assert_eq!(key(first).as_deref(), Some(ends.0));
            fails.store(true, Ordering::SeqCst);
            let failed = if upward { cursor.next() } else { cursor.previous() };
            assert!(matches!(failed, Err(Error::Unmergeable { .. })), "{failed:?}");
            let again = if upward { cursor.next() } else { cursor.previous() }.unwrap();
            let (key_again, value) = again.unwrap();
            assert_eq!((&*key_again, &*value), (&b"b"[..], &b"old new"[..]));
            let last = if upward { cursor.next() } else { cursor.previous() };
            assert_eq!(key(last).as_deref(), Some(ends.1));
        }
    }
}
