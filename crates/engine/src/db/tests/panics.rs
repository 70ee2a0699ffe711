//! After a thread has panicked while it held the checkpointer's lock, commits fail, and memory does not grow.

use std::thread;

use crate::db::Database;
use crate::error::Error;
use crate::io::MemoryDisk;
use crate::options::{Durability, TableOptions};
use crate::sync::Arc;

/// Commits did not wait for a thread that had panicked, and went on until memory was exhausted.
#[test]
#[cfg_attr(miri, ignore = "thousands of commits")]
fn commits_get_an_error_when_the_background_thread_has_panicked() {
    let options = Database::options().create(true).delta_bytes(64 << 10).durability(Durability::Log);
    let db = options.disk(Arc::new(MemoryDisk::new())).open("a.ful").expect("nobody else has it open");
    let table = db.create_table("t", TableOptions::new()).expect("it is not there");
    let checkpointer = Arc::clone(db.inner.checkpointer.as_ref().expect("it is open for writing"));
    let panicking: thread::JoinHandle<()> = thread::spawn(move || {
        let _locked = checkpointer.lock();
        panic!("amid a checkpoint");
    });
    assert!(panicking.join().is_err());
    let put = |number: u32| db.update(|txn| txn.put(&table, number.to_be_bytes(), [7_u8; 1000]));
    let error = (0..10_000).find_map(|number| put(number).err()).expect("memory is bounded");
    assert!(matches!(error, Error::Io { operation: "checkpoint", .. }), "{error}");
    assert!(error.to_string().contains("drop all handles of the database, and open it again"), "{error}");
}
