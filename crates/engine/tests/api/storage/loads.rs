//! Bulk loads whose iterators use the database that they load into, or panic.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Error, Options, Read, Table, TableOptions};

fn options(disk: &MemoryDisk) -> Options {
    Database::options().create(true).background(false).disk(Arc::new(disk.clone()))
}

fn fresh() -> (MemoryDisk, Database, Table) {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"k", b"v")).unwrap();
    (disk, db, table)
}

/// Entries that panic at one of them.
fn panicking(at: u32) -> impl Iterator<Item = ([u8; 4], Vec<u8>)> {
    (0..at + 10).map(move |number| {
        assert!(number != at, "the input cannot be read");
        (number.to_be_bytes(), vec![number as u8; 100])
    })
}

/// The panic poisoned the lock of the checkpointer: no checkpoint ran any more, and memory grew.
#[test]
fn a_load_whose_iterator_panics_loads_nothing_and_leaves_the_database_as_it_was() {
    let (disk, db, table) = fresh();
    let loads: [&dyn Fn(); 3] = [
        &|| drop(db.bulk_load(&table, panicking(1000))),
        &|| drop(db.bulk_load_unsorted(&table, panicking(1000))),
        &|| {
            let other = db.open_or_create_table("other", TableOptions::new()).unwrap();
            let mut load = db.begin_bulk_load(Duration::from_secs(10)).unwrap().unwrap();
            load.sorted(&other, [Ok::<_, Infallible>((b"a", b"1"))]).unwrap();
            load.sorted(&table, panicking(1000).map(Ok::<_, Infallible>)).unwrap();
            drop(load.commit());
        },
    ];
    for (index, load) in loads.into_iter().enumerate() {
        let panic = catch_unwind(AssertUnwindSafe(load)).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the input cannot be read"), "load {index}");
        db.update(|txn| txn.put(&table, b"after", [index as u8])).unwrap();
        db.checkpoint().unwrap();
        let stats = db.stats().unwrap();
        stats.accounts_for_every_byte().unwrap();
        assert_eq!((stats.delta_bytes, stats.placed_bytes), (0, 0), "load {index}");
        assert_eq!(db.read().unwrap().len(&table).unwrap(), 2, "load {index}");
    }
    assert!(db.read().unwrap().is_empty(&db.open_table("other").unwrap()).unwrap());
    assert_eq!(db.bulk_load(&table, [(b"loaded", b"1")]).unwrap().inserted, 1);
    db.compact().unwrap();
    db.close().unwrap();
    let db = options(&disk).create(false).open("a.ful").unwrap();
    assert_eq!(db.read().unwrap().len(&db.open_table("t").unwrap()).unwrap(), 3);
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn an_iterator_may_ask_for_statistics_and_read() {
    let (_disk, db, table) = fresh();
    let (done, is_done) = mpsc::channel();
    // Another thread's, so that the test fails, and does not hang, if a call waits for its own thread.
    thread::spawn(move || {
        let entries = (0..3_u8).map(|number| {
            let stats = db.stats().unwrap();
            stats.accounts_for_every_byte().unwrap();
            assert_eq!((stats.tables[0].entries, stats.oldest_snapshot), (1, None), "the load is not to be seen");
            assert_eq!(db.read().unwrap().get(&table, b"k").unwrap().as_deref(), Some(&b"v"[..]));
            ([number], [number])
        });
        let loaded = db.bulk_load(&table, entries).unwrap();
        let stats = db.stats().unwrap();
        done.send((loaded.inserted, stats.tables[0].entries)).unwrap();
    });
    assert_eq!(is_done.recv_timeout(Duration::from_secs(60)).unwrap(), (3, 4));
}

#[test]
fn statistics_count_checkpoints_and_loads() {
    let (_disk, db, table) = fresh();
    let before = db.stats().unwrap().checkpoints;
    db.checkpoint().unwrap();
    let after = db.stats().unwrap().checkpoints;
    assert!((before + 1..=before + 2).contains(&after), "from {before} to {after}");
    let reading = db.read().unwrap();
    db.bulk_load(&table, [(b"l", b"w")]).unwrap();
    let stats = db.stats().unwrap();
    assert!((after + 1..=after + 2).contains(&stats.checkpoints), "from {after} to {}", stats.checkpoints);
    assert!(stats.oldest_snapshot.is_some(), "it reads what the load has replaced");
    drop(reading);
    db.clone().close().unwrap();
    assert!(matches!(db.stats(), Err(Error::Closed { .. })));
}
