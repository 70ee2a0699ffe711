//! Appends of events: to one stream, to 10,000, and one event in a transaction.

use std::path::Path;

use ::fulgurite::Durability;
use fulgurite_events::{EventData, EventStore, Expected};
use fulgurite_inventory::{AuctionCodec, FlatBufferAuctions};

use crate::data::random::{Random, mix};
use crate::error::{Error, Result};
use crate::harness::judge::MEASURED;
use crate::harness::row::Row;
use crate::measure::clock::{Charge, Latencies, Sample, Stopwatch};
use crate::measure::rounds::order;
use crate::suites::storagebench::events::auctions::{self, KIND, failed};
use crate::suites::storagebench::events::queue;
use crate::suites::storagebench::inventory::figures;
use crate::suites::storagebench::suite::{Suite, log_row};
use crate::suites::storagebench::workload::Workload;

/// Measures one way of appending, with each log that has it.
///
/// # Errors
/// Events that are missing; what the logs answered.
pub fn measure(suite: &mut Suite<'_>, workload: Workload) -> Result<()> {
    let (name, plan) = (workload.name(), Plan::of(workload, suite.options.quick));
    let mut payload = Vec::new();
    FlatBufferAuctions::default().encode(&auctions::event(suite.seed, 0), &mut payload);
    // A queue of Chronicle Queue is one stream, and 10,000 of them would be as many files.
    let has_streams = |engine: &&'static str| *engine != queue::NAME || plan.streams == 1;
    let logs: Vec<&'static str> = suite.logs.iter().filter(|engine| has_streams(engine)).copied().collect();
    if logs.is_empty() {
        return Ok(());
    }
    suite.progress(&format!("{name}: {} events in each round", plan.events));
    let mut rows: Vec<Row> = logs.iter().map(|engine| log_row(name, plan.streams, payload.len(), engine)).collect();
    let ours = match logs.contains(&MEASURED) {
        true => Some(Ours::create(&suite.places.fresh(name, MEASURED)?, &plan, &payload)?),
        false => None,
    };
    for round in 0..suite.options.rounds {
        for place in order(round, logs.len()) {
            let sample = match ours.as_ref().filter(|_| logs[place] == MEASURED) {
                Some(ours) => ours.append(Random::new(suite.seed, mix(round as u64)))?,
                None => {
                    let directory = suite.places.fresh(name, queue::NAME)?;
                    queue::append(&directory, name, plan.events, plan.per_transaction, payload.len())?
                }
            };
            rows[place].rounds.push(figures(&sample));
        }
    }
    if let Some(ours) = ours {
        ours.check(name, suite.options.rounds)?;
        ours.close()?;
    }
    rows.into_iter().for_each(|row| suite.add(row));
    suite.places.remove(name)
}

/// Fulgurite's store, to which all rounds append.
struct Ours<'p> {
    store: EventStore,
    streams: Vec<String>,
    plan: &'p Plan,
    payload: &'p [u8],
}

impl<'p> Ours<'p> {
    fn create(directory: &Path, plan: &'p Plan, payload: &'p [u8]) -> Result<Self> {
        let path = directory.join("events.ful");
        let store = EventStore::options().durability(Durability::Log).create(path).map_err(failed("create"))?;
        let streams = (0..plan.streams).map(|number| format!("stream-{number}")).collect();
        Ok(Self { store, streams, plan, payload })
    }

    fn append(&self, mut random: Random) -> Result<Sample> {
        let events = self.plan.events;
        let chosen: Vec<usize> = (0..events).map(|_| random.below(self.streams.len())).collect();
        let mut latencies = Latencies::with_capacity(events);
        let watch = Stopwatch::start(Charge::Process);
        for part in chosen.chunks(self.plan.per_transaction) {
            self.append_part(part)?;
            latencies.lap(part.len() as u64);
        }
        // Work that the store defers is a part of what appends cost.
        self.store.database().checkpoint().map_err(|error| failed("checkpoint")(error.into()))?;
        Ok(watch.stop(events as u64, latencies))
    }

    /// Appends events to the streams that were chosen, in one transaction.
    fn append_part(&self, chosen: &[usize]) -> Result<()> {
        let event = EventData::new(KIND, self.payload);
        if let [stream] = &self.streams[..] {
            let events = vec![event; chosen.len()];
            self.store.append(stream, Expected::Any, &events).map_err(failed("append"))?;
            return Ok(());
        }
        let appended = self.store.transact(|transaction| {
            for &stream in chosen {
                transaction.append(&self.streams[stream], Expected::Any, &[event])?;
            }
            Ok(())
        });
        Ok(appended.map_err(failed("append"))?)
    }

    fn check(&self, workload: &'static str, rounds: usize) -> Result<()> {
        let expected = (self.plan.events * rounds) as u64;
        let found = self.store.snapshot().and_then(|snapshot| snapshot.head()).map_err(failed("head"))?;
        match found.0 == expected {
            true => Ok(()),
            false => Err(Error::Wrong { workload, what: format!("the log has {found} events, not {expected}") }),
        }
    }

    fn close(self) -> Result<()> {
        Ok(self.store.database().clone().close().map_err(|error| failed("close")(error.into()))?)
    }
}

/// How events are appended.
struct Plan {
    /// Events of a round.
    events: usize,
    streams: usize,
    per_transaction: usize,
}

impl Plan {
    fn of(workload: Workload, quick: bool) -> Self {
        let (events, streams, per_transaction) = match workload {
            Workload::AppendOne => (3_000_000, 1, 1000),
            Workload::AppendMany => (2_000_000, STREAMS, 1000),
            _ => (500_000, 1, 1),
        };
        match quick {
            true => Self { events: 400, streams: streams.min(40), per_transaction: per_transaction.min(100) },
            false => Self { events, streams, per_transaction },
        }
    }
}

/// Streams of [`Workload::AppendMany`].
const STREAMS: usize = 10_000;
