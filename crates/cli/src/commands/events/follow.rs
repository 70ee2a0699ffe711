//! `events follow`: prints events as they come.

use std::io::Write as _;

use fulgurite_events::Position;

use super::opened::reading_store;
use super::read::print;
use crate::arguments::events::Follow;
use crate::failure::Failure;
use crate::output::{pause, standard_output};

/// Prints one event on each line, and what the follower learns as messages.
///
/// Another process may write the database: it is opened again for each look, because an open database does not show
/// what another process commits. What is opened is the newest checkpoint of that process.
pub fn run(arguments: &Follow) -> Result<(), Failure> {
    let (mut next, mut left) = (arguments.from.map(Position), arguments.limit.unwrap_or(u64::MAX));
    let mut has_caught_up = false;
    loop {
        reading_store(&arguments.store, |_, snapshot| {
            let head = snapshot.head()?;
            let from = next.unwrap_or(head);
            snapshot.check_follows(from)?;
            if has_caught_up && head.0.saturating_sub(from.0) > BEHIND_MAX {
                has_caught_up = false;
                let _ = writeln!(std::io::stderr(), "fell behind: {} events are waiting", head.0 - from.0);
            }
            left -= print(snapshot, &mut snapshot.read_all(from)?, left, &mut standard_output())?;
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
