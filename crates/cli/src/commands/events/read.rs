//! `events read`: prints events.

use std::cmp::Ordering;
use std::io::Write;
use std::ops::Range;

use fulgurite_events::{
    Error, Event, EventQuery, Events, Position, QueryItem, Snapshot, StreamInfo, StreamState, Version,
};

use super::event_json::push_event;
use super::opened::{located, reading_store_as, refuse_beyond};
use super::salvage;
use crate::arguments::events::Read;
use crate::database::to_read;
use crate::failure::Failure;
use crate::output::standard_output;

/// Prints one event on each line.
pub fn run(arguments: &Read) -> Result<(), Failure> {
    let limit = arguments.limit.unwrap_or(u64::MAX);
    reading_store_as(to_read(arguments.skip_damaged), &arguments.store, |_, snapshot| {
        if arguments.skip_damaged {
            return salvage::print(snapshot, arguments, limit, &mut standard_output());
        }
        let printed = open(snapshot, arguments).and_then(|(mut events, bounds)| {
            print(snapshot, &mut events, &bounds, limit, &mut standard_output()).map(drop)
        });
        printed.map_err(|failure| {
            if !failure.is_damage() {
                return failure;
            }
            let is_skipping_refused = arguments.stream.is_some() || has_times(arguments) || arguments.backwards;
            let limits = if is_skipping_refused { ", without a stream, --since, --until and --backwards," } else { "" };
            let message =
                format!("{failure}; `fulgurite events read --skip-damaged`{limits} prints what the log still has");
            failure.reworded(message)
        })
    })
}

/// Which of the events that a cursor returns are printed.
pub struct Bounds {
    positions: Range<u64>,
    /// Of a stream.
    versions: Range<u64>,
    /// Whether the cursor returns the newest event first.
    is_backwards: bool,
}

impl Bounds {
    /// All of them.
    pub const ALL: Self = Self { positions: 0..u64::MAX, versions: 0..u64::MAX, is_backwards: false };

    /// Where an event is: among those that are printed, or before or after them in the order of the cursor.
    fn place(&self, event: &Event<'_>) -> Ordering {
        let place = place_in(&self.positions, event.position.0).then(place_in(&self.versions, event.version.0));
        if self.is_backwards { place.reverse() } else { place }
    }
}

fn place_in(range: &Range<u64>, number: u64) -> Ordering {
    match number {
        number if number < range.start => Ordering::Less,
        number if number < range.end => Ordering::Equal,
        _ => Ordering::Greater,
    }
}

/// Prints the next events within the bounds, at most `limit`, and returns how many.
///
/// # Errors
/// Those of the store and of the output.
pub fn print(
    snapshot: &Snapshot,
    events: &mut Events<'_>,
    bounds: &Bounds,
    limit: u64,
    out: &mut impl Write,
) -> Result<u64, Failure> {
    let (mut line, mut printed) = (String::new(), 0);
    while printed < limit
        && let Some(event) = events.next()?
    {
        match bounds.place(&event) {
            Ordering::Less => continue,
            Ordering::Equal => {}
            Ordering::Greater => break,
        }
        line.clear();
        push_event(&snapshot.record(&event)?, &mut line);
        out.write_all(line.as_bytes()).map_err(Failure::Output)?;
        printed += 1;
    }
    out.flush().map_err(Failure::Output)?;
    Ok(printed)
}

fn has_times(arguments: &Read) -> bool {
    arguments.since.is_some() || arguments.until.is_some()
}

/// A cursor, and which of its events are printed.
fn open<'s>(snapshot: &'s Snapshot, arguments: &Read) -> Result<(Events<'s>, Bounds), Failure> {
    let mut bounds = Bounds { is_backwards: arguments.backwards, ..Bounds::ALL };
    if let Some(time) = arguments.since {
        bounds.positions.start = snapshot.position_at(time)?.0;
    }
    if let Some(time) = arguments.until {
        bounds.positions.end = snapshot.position_at(time)?.0;
    }
    let item = arguments.kinds.iter().fold(QueryItem::new(), QueryItem::kind);
    let item = arguments.tags.iter().fold(item, QueryItem::tag);
    let Some(stream) = &arguments.stream else {
        begin_at(&mut bounds.positions, arguments, |from| refuse_beyond(from, snapshot.head()?))?;
        return Ok((open_query(snapshot, item, &bounds)?, bounds));
    };
    let info = readable(snapshot, &stream.0).map_err(|error| located(&arguments.store, error))?;
    // A query finds truncated events too, until retention removes them.
    bounds.versions.start = info.first.0;
    begin_at(&mut bounds.versions, arguments, |from| refuse_version(from, &info))?;
    let events = match (has_times(arguments) || !arguments.kinds.is_empty() || !arguments.tags.is_empty(), &bounds) {
        (true, bounds) => open_query(snapshot, item.stream(&stream.0), bounds),
        (false, Bounds { versions, is_backwards: true, .. }) => {
            snapshot.read_stream_backwards(&stream.0, Version(versions.end))
        }
        (false, Bounds { versions, .. }) => snapshot.read_stream(&stream.0, Version(versions.start)),
    };
    Ok((events?, bounds))
}

/// Applies `--from` to positions or versions. `check` refuses a number that is too high to begin at.
fn begin_at(
    numbers: &mut Range<u64>,
    arguments: &Read,
    check: impl FnOnce(u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match arguments.from {
        Some(from) if arguments.backwards => numbers.end = numbers.end.min(from),
        Some(from) => {
            check(from)?;
            numbers.start = numbers.start.max(from);
        }
        None => {}
    }
    Ok(())
}

fn open_query<'s>(snapshot: &'s Snapshot, item: QueryItem, bounds: &Bounds) -> fulgurite_events::Result<Events<'s>> {
    let query = EventQuery::new().or(item);
    match bounds.is_backwards {
        true => snapshot.read_query_backwards(&query, Position(bounds.positions.end)),
        false => snapshot.read_query(&query, Position(bounds.positions.start)),
    }
}

/// What is known of a stream that can be read.
fn readable(snapshot: &Snapshot, name: &[u8]) -> fulgurite_events::Result<StreamInfo> {
    let info = snapshot.stream(name)?.filter(|info| info.state == StreamState::Open);
    info.ok_or_else(|| Error::StreamNotFound { stream: name.to_vec() })
}

fn refuse_version(from: u64, info: &StreamInfo) -> Result<(), Failure> {
    if from <= info.next.0 {
        return Ok(());
    }
    let message = format!("version {from} is beyond the end of the stream; give a version up to {}", info.next);
    Err(Failure::Message(message))
}
