//! What transactions leave in the slots of their threads, and what clears it. Miri runs these tests, because slots
//! are unsafe code.

use crate::txn::reads::read_methods::Read;
use std::path::Path;
use std::sync::Weak;
use std::thread;

use crate::db::Database;
use crate::io::{Disk, MemoryDisk};
use crate::options::{Durability, TableOptions};
use crate::sync::Arc;
use crate::txn::Table;
use crate::txn::snapshot::state::State;

/// A database in memory, whose checkpoints are made by the test alone.
fn database() -> (Arc<dyn Disk>, Database, Table) {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let (db, table) = open(&disk);
    (disk, db, table)
}

fn open(disk: &Arc<dyn Disk>) -> (Database, Table) {
    let options = Database::options().background(false).durability(Durability::Log).disk(Arc::clone(disk));
    // Checkpoints hash their pages, which takes an interpreter longer than all else.
    let options = options.page_size_bytes(8192);
    let db = options.create(true).open(Path::new("a.ful")).expect("nobody else has it open");
    let table = db.open_or_create_table("t", TableOptions::new()).expect("it is open for writing");
    (db, table)
}

/// The newest state, and how many hold it besides the database, and this.
fn newest(db: &Database) -> (Arc<State>, usize) {
    let state = db.inner.core.published.state();
    let held = Arc::strong_count(&state) - 2;
    (state, held)
}

fn put(db: &Database, table: &Table, key: &[u8]) {
    let mut txn = db.write().expect("it is open");
    txn.put(table, key, b"value").expect("it is open");
    txn.commit().expect("nobody is in the way");
}

/// Publishes a new state, and answers the one before.
fn publish(db: &Database, table: &Table) -> Weak<State> {
    let before = Arc::downgrade(&newest(db).0);
    put(db, table, b"before a checkpoint");
    db.checkpoint().expect("the disk works");
    before
}

#[test]
fn a_transaction_leaves_its_state_to_the_next_of_its_thread() {
    let (_disk, db, _table) = database();
    // The transaction that made the table began in an older state.
    assert_eq!(newest(&db).1, 0);
    drop(db.read().expect("it is open"));
    assert_eq!(newest(&db).1, 1, "it is in the slot");
    let first = db.read().expect("it is open");
    assert_eq!(newest(&db).1, 1, "it was taken from there");
    let second = db.read().expect("it is open");
    assert_eq!(newest(&db).1, 2, "there was nothing to take");
    drop(first);
    drop(second);
    assert_eq!(newest(&db).1, 1, "one is left, and replaced what was there");
    drop(db.write().expect("it is open"));
    assert_eq!(newest(&db).1, 2, "what reads and what may write lie side by side");
    drop(db.write().expect("it is open"));
    assert_eq!(newest(&db).1, 2);
}

#[test]
fn a_transaction_from_a_slot_sees_what_was_committed_since() {
    let (_disk, db, table) = database();
    drop(db.read().expect("it is open"));
    drop(db.write().expect("it is open"));
    put(&db, &table, b"key");
    let read = db.read().expect("it is open");
    assert!(read.get(&table, b"key").expect("it is there").is_some());
    let write = db.write().expect("it is open");
    assert_eq!(write.sequence(), read.sequence());
    assert!(write.contains_key(&table, b"key").expect("it is there"));
}

#[test]
fn nothing_of_an_old_state_lies_in_a_slot() {
    let (_disk, db, table) = database();
    drop(db.read().expect("it is open"));
    drop(db.write().expect("it is open"));
    let old = publish(&db, &table);
    assert!(old.upgrade().is_none(), "slots were cleared");
    // What was begun before the next state is not left after it.
    let (read, write) = (db.read().expect("it is open"), db.write().expect("it is open"));
    let old = publish(&db, &table);
    assert!(old.upgrade().is_some(), "transactions hold it");
    drop(read);
    drop(write);
    assert!(old.upgrade().is_none());
}

#[test]
fn a_snapshot_of_an_old_state_does_not_take_the_place_of_a_new_one() {
    let (_disk, db, table) = database();
    let old = db.read().expect("it is open");
    publish(&db, &table);
    drop(db.read().expect("it is open"));
    drop(old);
    assert_eq!(newest(&db).1, 1, "what was left later is there");
}

#[test]
fn nobody_is_counted_in_an_epoch_that_slots_have_left() {
    let (_disk, db, table) = database();
    put(&db, &table, b"key");
    let epoch = Arc::clone(&newest(&db).0.epoch);
    assert!(!epoch.is_left(), "the slot's is counted");
    publish(&db, &table);
    assert!(epoch.is_left());
}

#[test]
fn a_database_whose_handles_are_gone_is_held_by_no_slot() {
    let (disk, db, table) = database();
    put(&db, &table, b"key");
    let (reads, state) = (db.read().expect("it is open"), Arc::downgrade(&newest(&db).0));
    drop(reads);
    drop(db);
    assert!(state.upgrade().is_none());
    let (db, _) = open(&disk);
    // A transaction that outlives the last handle leaves nothing.
    let (write, read) = (db.write().expect("it is open"), db.read().expect("it is open"));
    let state = Arc::downgrade(&newest(&db).0);
    drop(db);
    drop(write);
    assert!(state.upgrade().is_some());
    drop(read);
    assert!(state.upgrade().is_none());
    drop(open(&disk));
}

#[test]
fn threads_that_begin_and_end_beside_checkpoints_keep_nothing() {
    const THREADS: u32 = 3;
    const ROUNDS: u32 = if cfg!(miri) { 1 } else { 400 };
    let (_disk, db, table) = database();
    let mut states = Vec::new();
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (db, table) = (&db, &table);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let read = db.read().expect("it is open");
                    put(db, table, &[number as u8, round as u8]);
                    let later = db.read().expect("it is open");
                    assert!(read.sequence() < later.sequence());
                    assert!(later.get(table, &[number as u8, round as u8]).expect("it is open").is_some());
                }
            });
        }
        for _ in 0..(ROUNDS / 4).max(1) {
            states.push(publish(&db, &table));
        }
    });
    states.push(publish(&db, &table));
    assert!(states.iter().all(|state| state.upgrade().is_none()));
    let (state, _) = newest(&db);
    drop(db.write().expect("it is open"));
    let mine = 1;
    assert_eq!(state.epoch.writers(), mine, "each of the others was cleared");
}
