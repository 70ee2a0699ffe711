//! `events reindex`: writes the indexes of a store again.

use std::io::Write as _;
use std::time::Instant;

use fulgurite_events::EventStore;

use super::opened::has_store;
use crate::arguments::events::Reindex;
use crate::database::changing;
use crate::failure::Failure;
use crate::output::counted;
use crate::progress::{Progress, time};

/// Rebuilds the indexes, which refuses a log that has lost events; checks the store, and prints a summary.
pub fn run(arguments: &Reindex) -> Result<(), Failure> {
    let (path, name) = (&arguments.store.file.path, &arguments.store.store);
    let begun = Instant::now();
    let (rebuilt, report) = changing(path, arguments.writing, |db| {
        if !has_store(db, name)? {
            let path = path.display();
            let message = format!("{path}: the database has no event store `{name}`; check --store");
            return Err(Failure::Message(message));
        }
        let line = |what: &'static str| move || format!("{what}, {}", time(begun.elapsed()));
        let mut progress = Progress::new("rebuilding");
        let rebuild = || EventStore::options().name(name).rebuild_indexes(db);
        let rebuilt = progress.during(line("checking the log, and rebuilding the indexes"), rebuild)?;
        let store = EventStore::options().name(name).open_in(db)?;
        let snapshot = store.snapshot()?;
        let report = progress.during(line("checking the new indexes"), || snapshot.check())?;
        Ok((rebuilt, report))
    })?;
    let mut out = std::io::stderr();
    let events = counted(rebuilt.events, "event", "events");
    let _ = writeln!(out, "indexes of {events} rebuilt in {}", time(begun.elapsed()));
    for name in rebuilt.unknown_ends.iter().take(NAMES_MAX) {
        let name = String::from_utf8_lossy(name);
        let name = name.escape_debug();
        let what = "it may have had events that were removed, and its last version is not known";
        let _ = writeln!(out, "stream `{name}`: {what}");
    }
    if rebuilt.unknown_ends.len() > NAMES_MAX {
        let more = counted((rebuilt.unknown_ends.len() - NAMES_MAX) as u64, "stream", "streams");
        let _ = writeln!(out, "and {more} more");
    }
    match report.defects.first() {
        None => Ok(()),
        Some(defect) => Err(Failure::damaged(format!(
            "{}: damage is left that the log cannot repair, such as {defect}; restore a backup",
            path.display()
        ))),
    }
}

/// Streams that are named.
const NAMES_MAX: usize = 20;
