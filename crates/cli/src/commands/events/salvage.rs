//! `events read --skip-damaged`: prints the events of a damaged store that can still be read.

use std::io::Write;

use fulgurite_events::{Error, Position, RecordedEvent, Salvaged, Snapshot};

use super::event_json::push_event;
use crate::arguments::events::Read;
use crate::failure::Failure;
use crate::output::{counted, grouped, is_terminal};
use crate::progress::Progress;

/// What was not printed.
#[derive(Default)]
struct LeftOut {
    places: u64,
    positions: u64,
    /// Whether the end of the log is among it, so that more positions may be missing.
    is_open: bool,
}

/// Prints at most `limit` events, and which positions it leaves out as messages. Fails with the exit code of damage if
/// it leaves out any.
pub fn print(snapshot: &Snapshot, arguments: &Read, limit: u64, out: &mut impl Write) -> Result<(), Failure> {
    let (mut line, mut read, mut printed, mut left_out) = (String::new(), 0_u64, 0, LeftOut::default());
    // On a terminal, the events themselves are there to see.
    let (mut progress, is_terminal) = (Progress::new("reading"), is_terminal());
    for salvaged in snapshot.salvage(Position(arguments.from.unwrap_or_default()))? {
        if printed == limit {
            break;
        }
        read += 1;
        if !is_terminal && read.is_multiple_of(EVENTS_BETWEEN_LOOKS) {
            progress.show(|| format!("reading: {} events, {} of them printed", grouped(read), grouped(printed)));
        }
        match salvaged? {
            Salvaged::Event(event) if is_asked_for(arguments, &event) => {
                line.clear();
                push_event(&event, &mut line);
                out.write_all(line.as_bytes()).map_err(Failure::Output)?;
                printed += 1;
            }
            Salvaged::LeftOut { from, to, error } => {
                // Removes its line, so that the message has one of its own.
                progress = Progress::new("reading");
                left_out.note(from, to, &error);
            }
            _ => {}
        }
    }
    drop(progress);
    out.flush().map_err(Failure::Output)?;
    left_out.failure(arguments)
}

/// Whether an event has one of the types and all of the tags that are asked for.
fn is_asked_for(arguments: &Read, event: &RecordedEvent) -> bool {
    (arguments.kinds.is_empty() || arguments.kinds.iter().any(|kind| **kind == *event.kind))
        && arguments.tags.iter().all(|tag| event.tags.iter().any(|other| **other == **tag))
}

impl LeftOut {
    /// Notes positions that cannot be read. The first ones are named.
    fn note(&mut self, from: Position, to: Option<Position>, error: &Error) {
        self.places += 1;
        self.positions += to.map_or(0, |to| to.0 - from.0);
        self.is_open |= to.is_none();
        if self.places > PLACES_NAMED {
            return;
        }
        let positions = match to {
            Some(to) if to.0 - from.0 == 1 => format!("position {from} is left out"),
            Some(to) => format!("positions {from} to {} are left out", to.0 - 1),
            None => format!("positions from {from} on are left out"),
        };
        let _ = writeln!(std::io::stderr(), "{positions}: {}", what_is_wrong(error));
    }

    fn failure(&self, arguments: &Read) -> Result<(), Failure> {
        let positions = match (self.positions, self.is_open) {
            (1, false) => "1 position was left out".to_owned(),
            (positions, false) => format!("{} positions were left out", grouped(positions)),
            (0, true) => "the end of the log was left out".to_owned(),
            (positions, true) => format!("{} positions and the end of the log were left out", grouped(positions)),
        };
        match self.places {
            0 => Ok(()),
            places => Err(Failure::damaged(format!(
                "{}: {}: {positions}; restore a backup to have them",
                arguments.store.file.path.display(),
                counted(places, "damaged place", "damaged places")
            ))),
        }
    }
}

/// What is damaged, without what to do.
fn what_is_wrong(error: &Error) -> String {
    match error {
        Error::Damaged { table, what } => format!("table `{table}`: {what}"),
        Error::Engine(error) => match &**error {
            fulgurite::Error::Corrupt { place, offence, .. } => format!("{place} is damaged: {offence}"),
            error => error.to_string(),
        },
        error => error.to_string(),
    }
}

/// The clock is looked at after so many events.
const EVENTS_BETWEEN_LOOKS: u64 = 512;
/// More damaged places are counted only.
const PLACES_NAMED: u64 = 100;
