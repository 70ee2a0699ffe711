//! `events append`: events from NDJSON.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write as _, stderr, stdin};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::time::Duration;
use std::time::Instant;

#[cfg(unix)]
use fulgurite_events::Server;
use fulgurite_events::{Error, EventData, EventStore, Expected, Transaction, Version};

use super::input_event::ReadyEvent;
use super::opened::changing_store;
use crate::arguments::events::Append;
use crate::failure::Failure;
use crate::notation::push_text;
use crate::output::{counted, grouped};
use crate::progress::{Progress, rate, time};

/// What was appended.
struct Done {
    events: u64,
    repeated: u64,
    /// Whether an event of the input had a time, and its user was warned.
    has_times: bool,
    progress: Progress,
}

/// An input, with what has arrived of it.
type Input = BufReader<Box<dyn Read>>;

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
    let mut writing = arguments.writing;
    if arguments.serve.is_some() {
        // Events may come one by one for weeks.
        writing.checkpoint = arguments.checkpoint;
    }
    let done = changing_store(&arguments.store, Some(arguments.create), writing, |store| {
        let served = serve(store, arguments.serve.as_deref())?;
        let mut done = Done { events: 0, repeated: 0, has_times: false, progress: Progress::new("appending") };
        let mut inputs = paths.iter().zip(inputs);
        let appended =
            inputs.try_for_each(|(path, input)| append_lines(store, arguments, named(path), input, &mut done));
        // Also if a line is refused: followers receive what was appended before it.
        finish(served);
        appended.map(|()| done)
    })?;
    drop(done.progress);
    let elapsed = begun.elapsed();
    let repeated = match done.repeated {
        0 => String::new(),
        repeated => format!(" ({} there already)", counted(repeated, "event was", "events were")),
    };
    let events = counted(done.events, "event", "events");
    let _ = writeln!(stderr(), "{events} appended in {}, {}{repeated}", time(elapsed), rate(done.events, elapsed));
    Ok(())
}

/// Serves the store at a socket, if there is one.
#[cfg(unix)]
fn serve(store: &EventStore, socket: Option<&Path>) -> Result<Option<Server>, Failure> {
    let Some(socket) = socket else { return Ok(None) };
    let server = store.serve(socket)?;
    let _ = writeln!(stderr(), "serving events at {}", socket.display());
    Ok(Some(server))
}

/// Followers get the last events too, unless they do not read.
#[cfg(unix)]
fn finish(served: Option<Server>) {
    if let Some(server) = served {
        server.finish(FINISH_WAIT);
    }
}

#[cfg(not(unix))]
fn serve(_: &EventStore, socket: Option<&Path>) -> Result<(), Failure> {
    socket.map_or(Ok(()), |_| Err(Failure::Message(super::opened::NO_SOCKETS.into())))
}

#[cfg(not(unix))]
fn finish((): ()) {}

fn open(path: &Path) -> Result<Input, Failure> {
    if path == Path::new("-") {
        return Ok(buffered(stdin()));
    }
    let failed = |error| Failure::file(path, "cannot be read", &error);
    if std::fs::metadata(path).map_err(failed)?.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    }
    Ok(buffered(File::open(path).map_err(failed)?))
}

/// The name of an input in messages.
fn named(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("standard input") } else { path }
}

fn buffered(input: impl Read + 'static) -> Input {
    BufReader::with_capacity(INPUT_BYTES, Box::new(input))
}

fn append_lines(
    store: &EventStore,
    arguments: &Append,
    path: &Path,
    mut input: Input,
    done: &mut Done,
) -> Result<(), Failure> {
    let mut batch = Vec::new();
    let stream = arguments.stream.as_ref().map(|stream| &stream.0[..]);
    for number in 1_u64.. {
        let begin = |batch: &[Line]| batch.first().map_or(number, |line| line.number);
        let line = next_line(&mut input).map_err(|error| {
            let what = format!("cannot be read at line {number}");
            let failure = match error.kind() {
                io::ErrorKind::InvalidData => Failure::Message(format!(
                    "{}: {what}: it is not UTF-8; the input is NDJSON, in which bytes are written as data_hex",
                    path.display()
                )),
                _ => Failure::file(path, &what, &error),
            };
            let message = format!("{failure}; {NOTHING}; {}", said(done, begin(&batch)));
            failure.reworded(message)
        })?;
        let Some(line) = line else { break };
        // Some programs write a byte order mark before a text.
        let line = if number == 1 { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        if !line.trim().is_empty() {
            let event = ReadyEvent::parse(line, stream, arguments.kind.as_deref()).map_err(|error| {
                let column = error.column.map_or_else(String::new, |column| format!(", column {column}"));
                let place = format!("{}: line {number}{column}: {}", path.display(), error.text);
                Failure::Message(format!("{place}; {NOTHING}; {}", said(done, begin(&batch))))
            })?;
            warn_of_times(&event, done);
            batch.push(Line { number, event });
        }
        // Followers need not wait until the next line has arrived.
        let is_urgent = arguments.serve.is_some() && !input.buffer().contains(&b'\n');
        if is_urgent || batch.len() >= arguments.batch as usize {
            append_batch(store, path, &batch, done)?;
            batch.clear();
        }
    }
    append_batch(store, path, &batch, done)
}

/// The next line, without its end. None after the last one.
fn next_line(input: &mut Input) -> io::Result<Option<String>> {
    input.lines().next().transpose()
}

/// Warns once that times of the input are not stored.
fn warn_of_times(event: &ReadyEvent, done: &mut Done) {
    if event.has_time && !done.has_times {
        done.has_times = true;
        // Removes its line, so that the message has one of its own.
        done.progress = Progress::new("appending");
        let what = "the times of the input are not stored: an event has the time at which it is appended";
        let _ = writeln!(stderr(), "{what}; to keep them, put them into `data` or `metadata`");
    }
}

const NOTHING: &str = "nothing of this batch was appended";

/// What was appended before a failure, and the line at which the rest of the input begins.
fn said(done: &Done, begin: u64) -> String {
    let appended = format!("{} appended before", counted(done.events, "event was", "events were"));
    match begin {
        1 => appended,
        begin => {
            format!("{appended}; to append the rest of this input, begin at its line {begin} (`tail -n +{begin}`)")
        }
    }
}

/// An event, and the line of the input that has it.
struct Line {
    number: u64,
    event: ReadyEvent,
}

/// Appends events in one transaction.
fn append_batch(store: &EventStore, path: &Path, batch: &[Line], done: &mut Done) -> Result<(), Failure> {
    if batch.is_empty() {
        return Ok(());
    }
    let mut refused = None;
    let outcome = store.transact(|transaction| {
        refused = None;
        append_runs(transaction, batch, &mut refused)
    });
    match outcome {
        Ok(repeated) => {
            done.events += batch.len() as u64 - repeated;
            done.repeated += repeated;
            let (events, progress) = (done.events, &mut done.progress);
            let elapsed = progress.elapsed();
            progress.show(|| format!("appending: {} events, {}", grouped(events), rate(events, elapsed)));
            Ok(())
        }
        Err(error) => Err(explained(error, refused, path, batch, done)),
    }
}

/// An event that the store refuses.
#[derive(Clone, Copy)]
struct Refused {
    /// Its index in the batch.
    index: usize,
    /// How many earlier events of the batch were appended to its stream, without those that were there already.
    earlier: u64,
}

impl Refused {
    /// Requires: `repeated` ascends. It has the indexes of the events before `index` that were there already.
    fn new(batch: &[Line], repeated: &[usize], index: usize) -> Self {
        let stream = &batch[index].event.stream;
        let earlier = batch[..index].iter().enumerate();
        let earlier = earlier.filter(|(at, line)| line.event.stream == *stream && repeated.binary_search(at).is_err());
        Self { index, earlier: earlier.count() as u64 }
    }

    /// Whether the stream, whose last event has this version, was as expected before the earlier events.
    fn was_as_expected(self, expected: Expected, version: Version) -> bool {
        let last = match expected {
            Expected::Exact(before) => before.0.checked_add(self.earlier),
            Expected::NoStream => self.earlier.checked_sub(1),
            Expected::Any | Expected::StreamExists => None,
        };
        self.earlier > 0 && last == Some(version.0)
    }
}

/// Appends neighbours of a stream together, and events with ids one by one, because some of them may be there already.
/// Returns how many are.
fn append_runs(
    transaction: &mut Transaction<'_>,
    batch: &[Line],
    refused: &mut Option<Refused>,
) -> fulgurite_events::Result<u64> {
    let tags: Vec<Vec<&str>> = batch.iter().map(|line| line.event.tags()).collect();
    let data: Vec<EventData<'_>> = batch.iter().zip(&tags).map(|(line, tags)| line.event.data(tags)).collect();
    let go_together = |one: &Line, next: &Line| {
        let (one, next) = (&one.event, &next.event);
        // An event with an expectation of its own begins an append.
        one.stream == next.stream && next.expected == Expected::Any && !one.has_id() && !next.has_id()
    };
    // Only events with ids are repeated, and each of them is a run of its own.
    let (mut repeated, mut begun) = (Vec::new(), 0);
    for run in batch.chunk_by(go_together) {
        let (event, data) = (&run[0].event, &data[begun..begun + run.len()]);
        match transaction.append(&event.stream, event.expected, data) {
            Ok(appended) if appended.repeated => repeated.push(begun),
            Ok(_) => {}
            // Nothing is wrong with an event if the engine fails.
            Err(error @ Error::Engine(_)) => return Err(error),
            Err(error) => {
                // If each of them is accepted alone, the whole run is what is wrong.
                let (index, error) = first_refused(transaction, event, data).unwrap_or((0, error));
                if !matches!(error, Error::Engine(_)) {
                    *refused = Some(Refused::new(batch, &repeated, begun + index));
                }
                return Err(error);
            }
        }
        begun += run.len();
    }
    Ok(repeated.len() as u64)
}

/// The first event of a run that is refused alone, and why: the error of the whole run may be that of a later event.
/// The events before it are appended, and undone with the whole batch.
fn first_refused(
    transaction: &mut Transaction<'_>,
    first: &ReadyEvent,
    run: &[EventData<'_>],
) -> Option<(usize, Error)> {
    run.iter().enumerate().find_map(|(index, data)| {
        let expected = if index == 0 { first.expected } else { Expected::Any };
        let outcome = transaction.append(&first.stream, expected, std::slice::from_ref(data));
        outcome.err().map(|error| (index, error))
    })
}

/// An error of a batch, with the line that is the reason if one is.
fn explained(error: Error, refused: Option<Refused>, path: &Path, batch: &[Line], done: &Done) -> Failure {
    let (first, last) = (batch[0].number, batch[batch.len() - 1].number);
    let place = match refused {
        Some(refused) => format!("line {}", batch[refused.index].number),
        None if first == last => format!("line {first}"),
        None => format!("lines {first} to {last}"),
    };
    let text = match &error {
        Error::WrongVersion { stream, expected, actual: Some(version) }
            if refused.is_some_and(|refused| refused.was_as_expected(*expected, *version)) =>
        {
            let mut name = String::new();
            push_text(stream, &mut name);
            format!(
                "stream `{}`: expected {expected}, but earlier lines of this batch append to it, after which its last \
                 event has version {version}; let `expected` count them",
                name.escape_debug()
            )
        }
        error => error.to_string(),
    };
    let failure = Failure::from(error);
    let outcome = match failure {
        // Where the rest begins is not known either.
        Failure::Engine(fulgurite::Error::Indeterminate { .. }) => {
            format!("it is not known whether this batch is there; {}", said(done, 1))
        }
        _ => format!("{NOTHING}; {}", said(done, first)),
    };
    let message = format!("{}: {place}: {text}; {outcome}", path.display());
    failure.reworded(message)
}

/// Bytes of an input that are read at once.
const INPUT_BYTES: usize = 64 << 10;
/// How long followers may take to receive the last events.
#[cfg(unix)]
const FINISH_WAIT: Duration = Duration::from_secs(5);
