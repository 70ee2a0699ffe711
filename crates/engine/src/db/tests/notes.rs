//! The moment between the publication of what was loaded and the visibility of its note.

use std::time::Duration;

use crate::db::Database;
use crate::error::Error;
use crate::ids::Sequence;
use crate::io::MemoryDisk;
use crate::options::TableOptions;
use crate::sync::Arc;
use crate::txn::snapshot::state::State;

/// A follower got the number of the note from the database, and waited for what follows: it got an error.
#[test]
fn what_a_snapshot_shows_can_be_waited_for_before_its_note_is_visible() {
    let options = Database::options().create(true).background(false).keep_log(1 << 20);
    let db = options.disk(Arc::new(MemoryDisk::new())).open("a.ful").expect("nobody else has it open");
    let table = db.create_table("t", TableOptions::new()).expect("it is not there");
    let core = &db.inner.core;
    let note = core.note_loads(core.writer().expect("it is open"), &[table.id()]).expect("a memory disk");
    let noted = note.sequence();
    drop(core.published.update(|newest| State { floor: noted, ..newest.clone() }));
    assert_eq!(core.published.visible(), Sequence(noted.0 - 1));
    let wait = |after: Sequence| db.wait_durable(after, Duration::ZERO);
    assert_eq!(wait(Sequence(noted.0 - 1)).expect("it is durable"), noted);
    assert_eq!(db.read_durable().expect("it is open").sequence(), noted);
    assert_eq!(wait(noted).expect("the database has returned this number"), noted);
    assert!(matches!(wait(Sequence(noted.0 + 1)), Err(Error::Invalid { .. })), "there is no such commit yet");
    drop(note);
    assert_eq!(core.published.visible(), noted);
    assert_eq!(wait(noted).expect("it is visible"), noted);
}
