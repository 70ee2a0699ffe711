//! Checkpoints that the age of commits asks for.

use std::time::Duration;

use crate::db::Database;
use crate::io::MemoryDisk;
use crate::options::TableOptions;
use crate::sync::{Arc, Instant, sleep};
use crate::txn::snapshot::table::Table;

/// A database with a table, whose creation is its first commit.
fn opened(interval: Duration) -> (Database, Table) {
    let options = Database::options().create(true).checkpoint_interval(interval);
    let db = options.disk(Arc::new(MemoryDisk::new())).open("a.ful").expect("nobody else has it open");
    let table = db.create_table("t", TableOptions::new()).expect("it is not there");
    (db, table)
}

fn put(db: &Database, table: &Table) {
    db.update(|txn| txn.put(table, "key", "value")).expect("nothing else writes");
}

fn due(db: &Database) -> Option<Instant> {
    db.inner.worker.as_ref().expect("it is open for writing").checkpoint_at()
}

#[test]
fn the_first_commit_after_a_checkpoint_sets_the_time_of_the_next_one() {
    let (db, table) = opened(Duration::from_secs(3600));
    let first = due(&db);
    assert!(first.is_some());
    put(&db, &table);
    assert_eq!(due(&db), first, "the oldest commit is the first");
    db.checkpoint().expect("a memory disk");
    put(&db, &table);
    assert_ne!(due(&db), first);
}

#[test]
fn without_an_interval_no_checkpoint_is_due() {
    let (db, table) = opened(Duration::ZERO);
    put(&db, &table);
    assert_eq!(due(&db), None);
}

/// A small service ran for weeks, and its backups were empty.
#[test]
fn a_checkpoint_flushes_old_commits_though_no_commit_asks_for_it() {
    let (db, table) = opened(Duration::from_millis(1));
    put(&db, &table);
    let newest = db.read().expect("it is open").sequence();
    let is_flushed = || db.inner.core.published.state().checkpoint >= newest;
    for _ in 0..10_000 {
        if is_flushed() {
            return;
        }
        sleep(Duration::from_millis(1));
    }
    panic!("nothing was flushed");
}
