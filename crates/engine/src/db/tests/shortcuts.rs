//! Shortcuts of tables: gets make them, and they lead to what a snapshot holds, whatever is committed after that.

use crate::db::Database;
use crate::io::MemoryDisk;
use crate::options::{Durability, TableOptions};
use crate::sync::Arc;
use crate::txn::reads::read_methods::Read;
use crate::txn::{ReadTxn, Table};

/// Records at first: enough for gets to make a shortcut after a few thousand.
const RECORDS: u64 = 20_000;

fn key(record: u64) -> [u8; 16] {
    let mut mixed = (record + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(mixed ^ mixed >> 32).to_be_bytes());
    key[8..].copy_from_slice(&record.to_be_bytes());
    key
}

/// A database without threads in the background, and its table, which is one tree.
fn loaded(options: TableOptions) -> (Database, Table) {
    let database = Database::options().disk(Arc::new(MemoryDisk::new())).background(false);
    let database = database.create(true).durability(Durability::Memory).open("a.ful").expect("the disk is empty");
    let table = database.create_table("t", options).expect("it is new");
    let mut keys: Vec<_> = (0..RECORDS).map(key).collect();
    keys.sort_unstable();
    database.bulk_load(&table, keys.iter().map(|key| (key, b"first"))).expect("keys rise");
    (database, table)
}

fn has_shortcut(txn: &ReadTxn, table: &Table) -> bool {
    let view = txn.snapshot.state.view(table).expect("it is there");
    view.trees.base.as_ref().is_some_and(|base| base.has_shortcut())
}

/// Gets all records, one by one and together, and as many that are absent.
fn compare(txn: &ReadTxn, table: &Table, value: impl Fn(u64) -> &'static [u8]) {
    for record in 0..RECORDS {
        let found = txn.get(table, key(record)).expect("a memory disk");
        assert_eq!(found.as_deref(), Some(value(record)), "record {record}");
        assert!(txn.get(table, key(record + RECORDS)).expect("a memory disk").is_none());
    }
    let keys: Vec<_> = (0..2 * RECORDS).map(key).collect();
    let found = txn.get_many(table, &keys).expect("a memory disk");
    for (record, found) in (0..).zip(found) {
        assert_eq!(found.as_deref(), (record < RECORDS).then(|| value(record)), "record {record}");
    }
}

#[test]
fn gets_make_a_shortcut_which_every_snapshot_of_the_tree_uses() {
    for options in [TableOptions::new(), TableOptions::new().packed(true)] {
        let (database, table) = loaded(options);
        let first = database.read().expect("it is open");
        assert!(!has_shortcut(&first, &table), "nobody has read yet");
        compare(&first, &table, |_| b"first");
        assert!(has_shortcut(&first, &table));
        compare(&first, &table, |_| b"first");
        let second = database.read().expect("it is open");
        assert!(has_shortcut(&second, &table));
    }
}

#[test]
fn a_checkpoint_leaves_the_shortcut_to_snapshots_before_it_and_to_trees_that_it_does_not_change() {
    let (database, table) = loaded(TableOptions::new());
    let other = database.create_table("other", TableOptions::new()).expect("it is new");
    let first = database.read().expect("it is open");
    compare(&first, &table, |_| b"first");
    database.update(|txn| txn.put(&other, b"key", b"value")).expect("a memory disk");
    database.checkpoint().expect("a memory disk");
    assert!(has_shortcut(&database.read().expect("it is open"), &table), "the tree is the same");
    let changed = |record: u64| if record.is_multiple_of(2) { &b"second"[..] } else { b"first" };
    database
        .update(|txn| (0..RECORDS).step_by(2).try_for_each(|record| txn.put(&table, key(record), b"second")))
        .expect("a memory disk");
    compare(&database.read().expect("it is open"), &table, changed);
    database.checkpoint().expect("a memory disk");
    let second = database.read().expect("it is open");
    assert!(!has_shortcut(&second, &table), "the tree is another");
    compare(&second, &table, changed);
    assert!(has_shortcut(&second, &table));
    compare(&second, &table, changed);
    compare(&first, &table, |_| b"first");
    database.compact().expect("a memory disk");
    compare(&database.read().expect("it is open"), &table, changed);
}

#[test]
fn gets_in_a_table_of_keys_that_crowd_make_no_shortcut() {
    let (database, table) = loaded(TableOptions::new());
    let crowd = |record: u64| format!("http://{}.example/person/{}", record % 7, record / 7);
    let crowded = database.create_table("crowd", TableOptions::new()).expect("it is new");
    let mut keys: Vec<_> = (0..RECORDS).map(crowd).collect();
    keys.sort_unstable();
    database.bulk_load(&crowded, keys.iter().map(|key| (key, b"value"))).expect("keys rise");
    let txn = database.read().expect("it is open");
    for record in 0..RECORDS {
        assert!(txn.get(&crowded, crowd(record)).expect("a memory disk").is_some(), "record {record}");
    }
    assert!(!has_shortcut(&txn, &crowded) && !has_shortcut(&txn, &table));
}
