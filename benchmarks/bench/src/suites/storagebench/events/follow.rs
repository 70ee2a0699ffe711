//! How long after the begin of its append a follower sees an event: in the same process, and in another one.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::fulgurite::Durability;
use fulgurite_events::{EventData, EventStore, Expected, Position, RemoteFollower};
use fulgurite_rivals::Level;
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
    let (name, plan) = (workload.name(), Plan::of(workload, suite.options.quick));
    // Nothing of Chronicle Queue is synced.
    let has_level = |engine: &&'static str| *engine != queue::NAME || plan.level == Level::Log;
    let logs: Vec<&'static str> = suite.logs.iter().filter(|engine| has_level(engine)).copied().collect();
    if logs.is_empty() {
        return Ok(());
    }
    let Plan { events, rate, .. } = plan;
    suite.progress(&format!("{name}: {events} events in each round, {rate} a second"));
    let row = |engine: &&'static str| Row { level: plan.level.name(), ..log_row(name, events, PAYLOAD.len(), engine) };
    let mut rows: Vec<Row> = logs.iter().map(row).collect();
    for round in 0..suite.options.rounds {
        for place in order(round, logs.len()) {
            let directory = suite.places.fresh(name, logs[place])?;
            let (times, seen) = match logs[place] {
                queue::NAME => queue::follow(&directory, events, rate, PAYLOAD.len(), !plan.is_here)?,
                _ => ours(&directory, &plan)?,
            };
            rows[place].rounds.push(times.figures(name, events, rate, &seen)?);
        }
    }
    rows.into_iter().for_each(|row| suite.add(row));
    suite.places.remove(name)
}

/// How events are appended and followed.
struct Plan {
    /// Whether the follower is a thread of this process.
    is_here: bool,
    /// What an append survives.
    level: Level,
    /// Events of a round.
    events: usize,
    /// Events a second.
    rate: u32,
}

impl Plan {
    fn of(workload: Workload, quick: bool) -> Self {
        let is_here = matches!(workload, Workload::FollowHere | Workload::FollowHereDisk);
        match workload {
            Workload::FollowHereDisk | Workload::FollowProcessDisk => {
                Self { is_here, level: Level::Disk, events: if quick { 20 } else { DISK_EVENTS }, rate: DISK_RATE }
            }
            _ => Self { is_here, level: Level::Log, events: if quick { 300 } else { EVENTS }, rate: RATE },
        }
    }
}

fn ours(directory: &Path, plan: &Plan) -> Result<(Times, Vec<u64>)> {
    let path = directory.join("events.ful");
    let durability = if plan.level == Level::Disk { Durability::Disk } else { Durability::Log };
    let store = EventStore::options().durability(durability).create(path).map_err(failed("create"))?;
    let (times, seen) = match plan.is_here {
        true => here(&store, plan)?,
        false => elsewhere(&store, &directory.join("socket"), plan)?,
    };
    store.database().clone().close().map_err(|error| failed("close")(error.into()))?;
    Ok((times, seen))
}

/// Appends events at a steady rate, each in a transaction of its own.
fn append(store: &EventStore, plan: &Plan) -> Result<Times> {
    let (mut begun, mut committed) = (Vec::with_capacity(plan.events), Vec::with_capacity(plan.events));
    let interval = Duration::from_secs(1) / plan.rate;
    let start = Instant::now();
    for number in 0..plan.events as u32 {
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
fn here(store: &EventStore, plan: &Plan) -> Result<(Times, Vec<u64>)> {
    let events = plan.events;
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
        let times = append(store, plan);
        let seen = follower.join().expect("the follower returns its errors");
        Ok((times?, seen?))
    })
}

/// Follows in another process.
fn elsewhere(store: &EventStore, socket: &Path, plan: &Plan) -> Result<(Times, Vec<u64>)> {
    let server = store.serve(socket).map_err(failed("serve"))?;
    let arguments = [VERB.to_owned(), socket.display().to_string(), plan.events.to_string()];
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| child::answers("following", &arguments, None, |line| line.parse().ok()));
        while server.followers() == 0 && !follower.is_finished() {
            std::thread::yield_now();
        }
        // Longer than the follower takes to catch up with no events.
        std::thread::sleep(SETTLING);
        let times = append(store, plan);
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
/// Events a second if each is synced.
const DISK_RATE: u32 = 1000;
/// Events of a round then.
const DISK_EVENTS: usize = 2000;
/// What is appended.
const PAYLOAD: &[u8] = &[7; 100];
/// How long a follower waits for events at once.
const WAIT: Duration = Duration::from_secs(1);
/// A follower that takes so long has missed something.
const PATIENCE: Duration = Duration::from_secs(60);
/// See [`elsewhere`].
const SETTLING: Duration = Duration::from_millis(20);
