//! `events follow`: prints events as they come.

#[cfg(unix)]
mod socket;

use std::io::Write as _;

use fulgurite_events::Position;

use super::opened::reading_store;
use super::read::{Bounds, print};
use crate::arguments::events::{Follow, StoreArgument};
use crate::failure::Failure;
use crate::output::{pause, standard_output};

/// Prints one event on each line, and what the follower learns as messages.
pub fn run(arguments: &Follow) -> Result<(), Failure> {
    match &arguments.socket {
        #[cfg(unix)]
        Some(socket) => socket::run(arguments, socket),
        #[cfg(not(unix))]
        Some(_) => Err(Failure::Message(super::opened::NO_SOCKETS.into())),
        None => {
            let path = arguments.path.clone().expect("an argument is required: a file or a socket");
            follow_file(arguments, &StoreArgument::new(path, arguments.store.clone()))
        }
    }
}

/// Another process may write the database: it is opened again for each look, because an open database does not show
/// what another process commits. What is opened is the newest checkpoint of that process.
fn follow_file(arguments: &Follow, store: &StoreArgument) -> Result<(), Failure> {
    let (mut next, mut left) = (arguments.from.map(Position), arguments.limit.unwrap_or(u64::MAX));
    let (mut has_caught_up, mut has_warned) = (false, false);
    loop {
        reading_store(store, |db, snapshot| {
            let head = snapshot.head()?;
            let from = next.unwrap_or(head);
            snapshot.check_follows(from)?;
            if !has_warned && matches!(db.other_writer(), Ok(Some(_))) {
                has_warned = true;
                let _ = writeln!(std::io::stderr(), "{}: {LATE}", store.file.path.display());
            }
            if has_caught_up && head.0.saturating_sub(from.0) > BEHIND_MAX {
                has_caught_up = false;
                let _ = writeln!(std::io::stderr(), "fell behind: {} events are waiting", head.0 - from.0);
            }
            left -= print(snapshot, &mut snapshot.read_all(from)?, &Bounds::ALL, left, &mut standard_output())?;
            next = Some(head.max(from));
            if !has_caught_up && left > 0 {
                has_caught_up = true;
                let _ = writeln!(std::io::stderr(), "caught up at position {head}");
            }
            Ok(())
        })?;
        if left == 0 {
            return Ok(());
        }
        pause(arguments.interval)?;
    }
}

/// More waiting events than this are worth a message.
const BEHIND_MAX: u64 = 10_000;
/// Why no events may come from a file that a process writes.
const LATE: &str = "a process has the file open for writing: its events appear with its next checkpoint; to receive \
                    them without delay, let it serve them, and use --socket";
