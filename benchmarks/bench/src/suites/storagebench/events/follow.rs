//! How long after the commit of an event a follower sees it: in the same process, and in another one.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::fulgurite::Durability;
use fulgurite_events::{EventData, EventStore, Expected, Position, RemoteFollower};
use rustix::time::{ClockId, clock_gettime};

use crate::error::{Error, Result};
use crate::harness::row::Row;
use crate::measure::child;
use crate::measure::rounds::order;
use crate::suites::storagebench::events::auctions::{KIND, failed};
use crate::suites::storagebench::events::latencies::Times;
use crate::suites::storagebench::events::queue;
use crate::suites::storagebench::suite::{Suite, log_row};
use crate::suites::storagebench::workload::Workload;

/// The word that asks this program to follow a store that another process serves.
pub const VERB: &str = "storagebench-follow";

/// Measures a follower of each log.
///
/// # Errors
/// Events that are missing or out of order; what the logs answered.
pub fn measure(suite: &mut Suite<'_>, workload: Workload) -> Result<()> {
    let logs = suite.logs.clone();
    if logs.is_empty() {
        return Ok(());
    }
    let name = workload.name();
    let events = if suite.options.quick { 300 } else { EVENTS };
    suite.progress(&format!("{name}: {events} events in each round, {RATE} a second"));
    let mut rows: Vec<Row> = logs.iter().map(|engine| log_row(name, events, PAYLOAD.len(), engine)).collect();
    for round in 0..suite.options.rounds {
        for place in order(round, logs.len()) {
            let directory = suite.places.fresh(name, logs[place])?;
            let (times, seen) = match logs[place] {
                queue::NAME => {
                    let in_another_process = workload == Workload::FollowProcess;
                    queue::follow(&directory, events, RATE, PAYLOAD.len(), in_another_process)?
                }
                _ => ours(&directory, workload, events)?,
            };
            rows[place].rounds.push(times.figures(name, events, &seen)?);
        }
    }
    rows.into_iter().for_each(|row| suite.add(row));
    suite.places.remove(name)
}

fn ours(directory: &Path, workload: Workload, events: usize) -> Result<(Times, Vec<u64>)> {
    let path = directory.join("events.ful");
    let store = EventStore::options().durability(Durability::Log).create(path).map_err(failed("create"))?;
    let (times, seen) = match workload {
        Workload::FollowHere => here(&store, events)?,
        _ => elsewhere(&store, &directory.join("socket"), events)?,
    };
    store.database().clone().close().map_err(|error| failed("close")(error.into()))?;
    Ok((times, seen))
}

/// Appends events at a steady rate, each in a transaction of its own.
fn append(store: &EventStore, events: usize) -> Result<Times> {
    let (mut begun, mut committed) = (Vec::with_capacity(events), Vec::with_capacity(events));
    let interval = Duration::from_secs(1) / RATE;
    let start = Instant::now();
    for number in 0..events as u32 {
        let due = interval * number;
        while start.elapsed() < due {
            std::hint::spin_loop();
        }
        begun.push(now());
        store.append("stream", Expected::Any, &[EventData::new(KIND, PAYLOAD)]).map_err(failed("append"))?;
        committed.push(now());
    }
    Ok(Times { begun, committed })
}

/// Follows on a thread of this process.
fn here(store: &EventStore, events: usize) -> Result<(Times, Vec<u64>)> {
    let has_caught_up = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| -> Result<Vec<u64>> {
            let (mut seen, mut follower) =
                (Vec::with_capacity(events), store.follow(Position::START).map_err(failed("follow"))?);
            let begun = Instant::now();
            // A call may return early without events.
            while seen.len() < events && begun.elapsed() < PATIENCE {
                let delivered = follower.poll(WAIT, |_, event| note(&mut seen, event.position));
                delivered.map_err(failed("follow"))?;
                has_caught_up.store(true, Ordering::SeqCst);
            }
            Ok(seen)
        });
        while !has_caught_up.load(Ordering::SeqCst) && !follower.is_finished() {
            std::thread::yield_now();
        }
        let times = append(store, events);
        let seen = follower.join().expect("the follower returns its errors");
        Ok((times?, seen?))
    })
}

/// Follows in another process.
fn elsewhere(store: &EventStore, socket: &Path, events: usize) -> Result<(Times, Vec<u64>)> {
    let server = store.serve(socket).map_err(failed("serve"))?;
    let arguments = [VERB.to_owned(), socket.display().to_string(), events.to_string()];
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| child::answers("following", &arguments, None, |line| line.parse().ok()));
        while server.followers() == 0 && !follower.is_finished() {
            std::thread::yield_now();
        }
        // Longer than the follower takes to catch up with no events.
        std::thread::sleep(SETTLING);
        let times = append(store, events);
        let seen = follower.join().expect("the follower returns its errors");
        Ok((times?, seen?))
    })
}

/// Follows until so many events have come, and prints when each was seen.
///
/// # Errors
/// [`Error::Usage`]; what the server answered.
pub fn work(arguments: &[String]) -> Result<()> {
    let [socket, events] = arguments else {
        return Err(Error::Usage(format!("{VERB} needs a socket and a number of events")));
    };
    let events = crate::harness::arguments::number(VERB, events)? as usize;
    let mut follower = RemoteFollower::connect(socket, Position::START).map_err(failed("connect"))?;
    let mut seen = Vec::with_capacity(events);
    let begun = Instant::now();
    while seen.len() < events && begun.elapsed() < PATIENCE {
        let polled = follower.poll(WAIT, |event| note(&mut seen, event.event.position));
        polled.map_err(failed("follow"))?;
    }
    seen.iter().for_each(|time| println!("{time}"));
    Ok(())
}

/// Notes when an event was seen, if it is the next one.
#[inline]
fn note(seen: &mut Vec<u64>, position: Position) -> fulgurite_events::Result<()> {
    if position.0 == seen.len() as u64 {
        seen.push(now());
    }
    Ok(())
}

/// Nanoseconds of the clock that all processes of the machine share.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Events a second.
const RATE: u32 = 100_000;
/// Events of a round.
const EVENTS: usize = 300_000;
/// What is appended.
const PAYLOAD: &[u8] = &[7; 100];
/// How long a follower waits for events at once.
const WAIT: Duration = Duration::from_secs(1);
/// A follower that takes so long has missed something.
const PATIENCE: Duration = Duration::from_secs(60);
/// See [`elsewhere`].
const SETTLING: Duration = Duration::from_millis(20);
