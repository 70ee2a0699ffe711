//! How long after the commit of an event a follower sees it: in the same process, and in another one.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::fulgurite::Durability;
use fulgurite_events::{EventData, EventStore, Expected, Position, RemoteFollower};
use rustix::time::{ClockId, clock_gettime};

use crate::error::{Error, Result};
use crate::harness::row::{Figures, Row};
use crate::measure::child;
use crate::measure::statistics::percentile;
use crate::suites::storagebench::auctions::{KIND, failed};
use crate::suites::storagebench::suite::Suite;
use crate::suites::storagebench::workload::{SUITE, Workload};

/// The word that asks this program to follow a store that another process serves.
pub const VERB: &str = "storagebench-follow";

/// Measures a follower.
///
/// # Errors
/// Events that are missing or out of order; what the store answered.
pub fn measure(suite: &mut Suite<'_>, workload: Workload) -> Result<()> {
    if !suite.is_measured() {
        return Ok(());
    }
    let name = workload.name();
    let events = if suite.options.quick { 300 } else { EVENTS };
    suite.progress(&format!("{name}: {events} events in each round, {RATE} a second"));
    let mut row = Row {
        suite: SUITE,
        workload: name,
        shape: "log",
        value_bytes: PAYLOAD.len(),
        claims: &[],
        records: events,
        level: "Log",
        engine: "fulgurite",
        rounds: Vec::new(),
        left_out: None,
    };
    for _ in 0..suite.options.rounds {
        let directory = suite.places.fresh(name, "fulgurite")?;
        let path = directory.join("events.ful");
        let store = EventStore::options().durability(Durability::Log).create(path).map_err(failed("create"))?;
        let (times, seen) = match workload {
            Workload::FollowHere => here(&store, events)?,
            _ => elsewhere(&store, &directory.join("socket"), events)?,
        };
        row.rounds.push(times.figures(name, &seen)?);
        store.database().clone().close().map_err(|error| failed("close")(error.into()))?;
    }
    suite.add(row);
    suite.places.remove(name)
}

/// When events were appended, in nanoseconds of the clock that all processes share.
struct Times {
    /// When the calls began.
    begun: Vec<u64>,
    /// When the calls returned.
    committed: Vec<u64>,
    /// Appends a second.
    rate: f64,
}

impl Times {
    fn figures(&self, name: &'static str, seen: &[u64]) -> Result<Figures> {
        if seen.len() != self.committed.len() {
            let what = format!("the follower has seen {} events of {}", seen.len(), self.committed.len());
            return Err(Error::Wrong { workload: name, what });
        }
        let after = |from: &[u64]| -> Vec<f64> {
            // A follower may see an event before the call that appends it returns.
            from.iter().zip(seen).map(|(from, seen)| seen.saturating_sub(*from) as f64).collect()
        };
        let (commits, calls) = (after(&self.committed), after(&self.begun));
        let mut figures = Figures::default();
        figures.set("ops_per_s", self.rate);
        let calls_ns: u64 = self.committed.iter().zip(&self.begun).map(|(end, begin)| end - begin).sum();
        figures.set("ns of an append, by the clock", calls_ns as f64 / self.begun.len() as f64);
        let earlier = self.committed.iter().zip(seen).filter(|(committed, seen)| seen < committed).count();
        figures.set("% seen before the append returned", 100.0 * earlier as f64 / seen.len() as f64);
        for (figure, share) in
            [("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p99.9_ns", 0.999), ("max_ns", 1.0)]
        {
            figures.set(figure, percentile(&commits, share));
        }
        figures.set("µs p50 from the begin of the append", percentile(&calls, 0.5) / 1e3);
        figures.set("µs p99 from the begin of the append", percentile(&calls, 0.99) / 1e3);
        Ok(figures)
    }
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
    let rate = events as f64 / start.elapsed().as_secs_f64();
    Ok(Times { begun, committed, rate })
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
