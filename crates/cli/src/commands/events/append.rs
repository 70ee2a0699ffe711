//! `events append`: events from NDJSON.

use std::fs::File;
use std::io::{BufRead, BufReader, Write as _, stdin};
use std::path::{Path, PathBuf};
use std::time::Instant;

use fulgurite_events::{EventData, EventStore, Expected};

use super::input_event::ReadyEvent;
use super::opened::changing_store;
use crate::arguments::events::Append;
use crate::failure::Failure;
use crate::output::counted;
use crate::progress::{rate, time};

/// What was appended.
#[derive(Default)]
struct Done {
    events: u64,
    repeated: u64,
}

/// Appends, and prints how many events.
pub fn run(arguments: &Append) -> Result<(), Failure> {
    let standard_input = [PathBuf::from("-")];
    let paths = if arguments.inputs.is_empty() { &standard_input[..] } else { &arguments.inputs };
    if paths.iter().filter(|path| *path == Path::new("-")).count() > 1 {
        return Err(Failure::Message("standard input (-) can be read once only".into()));
    }
    // A mistyped name is found before anything is written.
    let inputs = paths.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    let begun = Instant::now();
    let done = changing_store(&arguments.store, Some(arguments.create), arguments.writing, |store| {
        let mut done = Done::default();
        for (path, input) in paths.iter().zip(inputs) {
            append_lines(store, arguments, path, input, &mut done)?;
        }
        Ok(done)
    })?;
    let elapsed = begun.elapsed();
    let repeated = match done.repeated {
        0 => String::new(),
        repeated => format!(" ({} there already)", counted(repeated, "event was", "events were")),
    };
    let events = counted(done.events, "event", "events");
    let _ =
        writeln!(std::io::stderr(), "{events} appended in {}, {}{repeated}", time(elapsed), rate(done.events, elapsed));
    Ok(())
}

fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(stdin())));
    }
    let failed = |error| Failure::file(path, "cannot be read", &error);
    if std::fs::metadata(path).map_err(failed)?.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    }
    Ok(Box::new(BufReader::new(File::open(path).map_err(failed)?)))
}

fn append_lines(
    store: &EventStore,
    arguments: &Append,
    path: &Path,
    input: Box<dyn BufRead>,
    done: &mut Done,
) -> Result<(), Failure> {
    let (mut batch, mut first) = (Vec::new(), 1);
    let stream = arguments.stream.as_ref().map(|stream| &stream.0[..]);
    for (line, number) in input.lines().zip(1_u64..) {
        let line = line.map_err(|error| {
            let what = format!("cannot be read at line {number}");
            let failure = Failure::file(path, &what, &error);
            let message = format!("{failure}; {NOTHING}; {}", said(done));
            failure.reworded(message)
        })?;
        // Some programs write a byte order mark before a text.
        let line = if number == 1 { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        if batch.is_empty() {
            first = number;
        }
        if !line.trim().is_empty() {
            let event = ReadyEvent::parse(line, stream, arguments.kind.as_deref());
            batch.push(event.map_err(|error| {
                let column = error.column.map_or_else(String::new, |column| format!(", column {column}"));
                let place = format!("{}: line {number}{column}: {}", path.display(), error.text);
                Failure::Message(format!("{place}; {NOTHING}; {}", said(done)))
            })?);
        }
        if batch.len() >= arguments.batch as usize {
            append_batch(store, path, first, &batch, done)?;
            batch.clear();
        }
    }
    append_batch(store, path, first, &batch, done)
}

const NOTHING: &str = "nothing of this batch was appended";

/// What was appended before a failure.
fn said(done: &Done) -> String {
    format!("{} appended before", counted(done.events, "event was", "events were"))
}

/// Appends events in one transaction: neighbours of a stream together, and events with ids one by one, because some of
/// them may be there already.
fn append_batch(
    store: &EventStore,
    path: &Path,
    first: u64,
    batch: &[ReadyEvent],
    done: &mut Done,
) -> Result<(), Failure> {
    if batch.is_empty() {
        return Ok(());
    }
    let tags: Vec<Vec<&str>> = batch.iter().map(ReadyEvent::tags).collect();
    let events: Vec<(&ReadyEvent, EventData<'_>)> =
        batch.iter().zip(&tags).map(|(event, tags)| (event, event.data(tags))).collect();
    let outcome = store.transact(|transaction| {
        let mut repeated = 0;
        let go_together = |one: &ReadyEvent, next: &ReadyEvent| {
            // An event with an expectation of its own begins an append.
            one.stream == next.stream && next.expected == Expected::Any && !one.has_id() && !next.has_id()
        };
        for run in events.chunk_by(|(one, _), (next, _)| go_together(one, next)) {
            let data: Vec<EventData<'_>> = run.iter().map(|(_, data)| *data).collect();
            let (event, _) = run[0];
            let appended = transaction.append(&event.stream, event.expected, &data)?;
            repeated += if appended.repeated { appended.count } else { 0 };
        }
        Ok(repeated)
    });
    match outcome {
        Ok(repeated) => {
            done.events += batch.len() as u64 - repeated;
            done.repeated += repeated;
            Ok(())
        }
        Err(error) => {
            let failure = Failure::from(error);
            let place = format!("{}: lines from {first} on: {failure}", path.display());
            let what = match failure {
                Failure::Engine(fulgurite::Error::Indeterminate { .. }) => {
                    "it is not known whether this batch is there"
                }
                _ => NOTHING,
            };
            let message = format!("{place}; {what}; {}", said(done));
            Err(failure.reworded(message))
        }
    }
}
