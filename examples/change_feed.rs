//! A copy that follows a database: every commit, whole and in order, read from the retained log.

use std::collections::BTreeMap;
use std::time::Duration;

use fulgurite::{Change, Database, Result, Sequence, TableOptions};

fn main() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // Without `keep_log` the log is removed once checkpoints no longer need it.
    let db = Database::options().create(true).keep_log(64 << 20).open(directory.path().join("users.ful"))?;
    let users = db.create_table("users", TableOptions::new())?;
    db.update(|txn| txn.put(&users, "ann", "admin"))?;
    db.update(|txn| {
        txn.put(&users, "bob", "guest")?;
        txn.put(&users, "ann", "owner")
    })?;
    db.update(|txn| txn.delete(&users, "bob"))?;

    let mut copy = BTreeMap::new();
    // A real consumer stores the sequence with its copy, and continues after it when it starts again.
    let mut seen = Sequence(0);
    while db.wait_durable(seen, Duration::from_millis(10))? > seen {
        for commit in db.changes(seen)? {
            let commit = commit?;
            for change in commit.changes {
                match change {
                    Change::Put { key, value, .. } => drop(copy.insert(key, value)),
                    Change::Delete { key, .. } => drop(copy.remove(&key)),
                    _ => {}
                }
            }
            seen = commit.sequence;
        }
    }
    for (key, value) in &copy {
        println!("{} is {}", String::from_utf8_lossy(key), String::from_utf8_lossy(value));
    }
    db.close()
}
