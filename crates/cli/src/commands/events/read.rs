//! `events read`: prints events.

use std::io::Write;

use fulgurite_events::{EventQuery, Events, Position, QueryItem, Snapshot, Version};

use super::event_json::push_event;
use super::opened::{located, reading_store};
use super::salvage;
use crate::arguments::events::Read;
use crate::failure::Failure;
use crate::output::standard_output;

/// Prints one event on each line.
pub fn run(arguments: &Read) -> Result<(), Failure> {
    let limit = arguments.limit.unwrap_or(u64::MAX);
    reading_store(&arguments.store, |_, snapshot| {
        if arguments.skip_damaged {
            return salvage::print(snapshot, arguments, limit, &mut standard_output());
        }
        let printed = open(snapshot, arguments)
            .and_then(|mut events| print(snapshot, &mut events, limit, &mut standard_output()).map(drop));
        printed.map_err(|failure| {
            if !failure.is_damage() {
                return failure;
            }
            let is_skipping_refused = arguments.stream.is_some() || arguments.since.is_some() || arguments.backwards;
            let limits = if is_skipping_refused { ", without a stream, --since and --backwards," } else { "" };
            let message =
                format!("{failure}; `fulgurite events read --skip-damaged`{limits} prints what the log still has");
            failure.reworded(message)
        })
    })
}

/// Prints the next events, at most `limit`, and returns how many.
///
/// # Errors
/// Those of the store and of the output.
pub fn print(snapshot: &Snapshot, events: &mut Events<'_>, limit: u64, out: &mut impl Write) -> Result<u64, Failure> {
    let (mut line, mut printed) = (String::new(), 0);
    while printed < limit
        && let Some(event) = events.next()?
    {
        line.clear();
        push_event(&snapshot.record(&event)?, &mut line);
        out.write_all(line.as_bytes()).map_err(Failure::Output)?;
        printed += 1;
    }
    out.flush().map_err(Failure::Output)?;
    Ok(printed)
}

fn open<'s>(snapshot: &'s Snapshot, arguments: &Read) -> Result<Events<'s>, Failure> {
    let from = match arguments.since {
        Some(time) => snapshot.position_at(time)?.0,
        None => arguments.from.unwrap_or(if arguments.backwards { u64::MAX } else { 0 }),
    };
    if let Some(stream) = &arguments.stream {
        let events = match arguments.backwards {
            true => snapshot.read_stream_backwards(&stream.0, Version(from)),
            false => snapshot.read_stream(&stream.0, Version(from)),
        };
        return events.map_err(|error| located(&arguments.store, error));
    }
    let item = arguments.kinds.iter().fold(QueryItem::new(), QueryItem::kind);
    let item = arguments.tags.iter().fold(item, QueryItem::tag);
    let query = EventQuery::new().or(item);
    Ok(match arguments.backwards {
        true => snapshot.read_query_backwards(&query, Position(from))?,
        false => snapshot.read_query(&query, Position(from))?,
    })
}
