//! A database with ten keys, for tests of conflicts.

use fulgurite::{ConflictReason, Database, Durability, Error, Read, Table, TableOptions, WriteTxn};

pub(super) struct Fixture {
    pub(super) db: Database,
    pub(super) table: Table,
    _directory: tempfile::TempDir,
}

/// A database with the keys `a` to `j`, each with its own name as the value, in the tree or in the delta.
pub(super) fn fixture(merged: bool) -> Fixture {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let db = Database::options().create(true).durability(Durability::Log).background(false);
    let db = db.open(directory.path().join("a.ful")).expect("a fresh database opens");
    let table = db.create_table("letters", TableOptions::new()).expect("the table is new");
    let fill = |txn: &mut WriteTxn| ('a'..='j').try_for_each(|letter| put(txn, &table, &letter.to_string(), "first"));
    db.update(fill).expect("the disk works");
    if merged {
        db.checkpoint().expect("the disk works");
    }
    Fixture { db, table, _directory: directory }
}

pub(super) fn put(txn: &mut WriteTxn, table: &Table, key: &str, value: &str) -> fulgurite::Result<()> {
    txn.put(table, key.as_bytes(), value.as_bytes())
}

impl Fixture {
    pub(super) fn write(&self) -> WriteTxn {
        self.db.write().expect("the database is open")
    }

    pub(super) fn set(&self, key: &str, value: &str) {
        let mut txn = self.write();
        put(&mut txn, &self.table, key, value).expect("the disk works");
        txn.commit().expect("nothing was read");
    }

    pub(super) fn get(&self, key: &str) -> Option<String> {
        let txn = self.db.read().expect("the database is open");
        let value = txn.get(&self.table, key.as_bytes()).expect("the disk works");
        value.map(|value| String::from_utf8(value.to_vec()).expect("it was text"))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.db.read().expect("the database is open").contains_key(&self.table, key.as_bytes()).expect("the disk works")
    }
}

/// The conflict's reason and key.
#[track_caller]
pub(super) fn conflict(outcome: fulgurite::Result<fulgurite::Sequence>) -> (ConflictReason, String) {
    match outcome {
        Err(error @ Error::Conflict { .. }) => {
            assert!(error.is_retryable());
            let Error::Conflict { table, key, reason } = error else { unreachable!("matched above") };
            assert!(table == "letters" || reason == ConflictReason::Tables, "{table}");
            (reason, String::from_utf8(key).expect("it was text"))
        }
        other => panic!("a conflict was expected, not {other:?}"),
    }
}
