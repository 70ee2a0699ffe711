//! Appends of events: to one stream, to 10,000, and one event in a transaction.

use ::fulgurite::Durability;
use fulgurite_events::{EventData, EventStore, Expected};
use fulgurite_inventory::{AuctionCodec, FlatBufferAuctions};

use crate::data::random::{Random, mix};
use crate::error::{Error, Result};
use crate::harness::row::Row;
use crate::measure::clock::{Charge, Latencies, Stopwatch};
use crate::suites::storagebench::auctions::{self, KIND, failed};
use crate::suites::storagebench::inventory::figures;
use crate::suites::storagebench::suite::Suite;
use crate::suites::storagebench::workload::{SUITE, Workload};

/// Measures one way of appending.
///
/// # Errors
/// Events that are missing; what the store answered.
pub fn measure(suite: &mut Suite<'_>, workload: Workload) -> Result<()> {
    if !suite.is_measured() {
        return Ok(());
    }
    let name = workload.name();
    let plan = Plan::of(workload, suite.options.quick);
    suite.progress(&format!("{name}: {} events in each round", plan.events));
    let directory = suite.places.fresh(name, "fulgurite")?;
    let store = EventStore::options()
        .durability(Durability::Log)
        .create(directory.join("events.ful"))
        .map_err(failed("create"))?;
    let mut payload = Vec::new();
    FlatBufferAuctions::default().encode(&auctions::event(suite.seed, 0), &mut payload);
    let streams: Vec<String> = (0..plan.streams).map(|number| format!("stream-{number}")).collect();
    let mut row = Row {
        suite: SUITE,
        workload: name,
        shape: "log",
        value_bytes: payload.len(),
        claims: &[],
        records: plan.streams,
        level: "Log",
        engine: "fulgurite",
        rounds: Vec::new(),
        left_out: None,
    };
    for round in 0..suite.options.rounds {
        let mut random = Random::new(suite.seed, mix(round as u64));
        let chosen: Vec<usize> = (0..plan.events).map(|_| random.below(streams.len())).collect();
        let mut latencies = Latencies::with_capacity(plan.events);
        let watch = Stopwatch::start(Charge::Process);
        for part in chosen.chunks(plan.per_transaction) {
            plan.append(&store, &streams, part, &payload)?;
            latencies.lap(part.len() as u64);
        }
        // Work that the store defers is a part of what appends cost.
        store.database().checkpoint().map_err(|error| failed("checkpoint")(error.into()))?;
        row.rounds.push(figures(&watch.stop(plan.events as u64, latencies)));
    }
    let expected = (plan.events * suite.options.rounds) as u64;
    let found = store.snapshot().and_then(|snapshot| snapshot.head()).map_err(failed("head"))?;
    if found.0 != expected {
        return Err(Error::Wrong { workload: name, what: format!("the log has {found} events, not {expected}") });
    }
    store.database().clone().close().map_err(|error| failed("close")(error.into()))?;
    suite.add(row);
    suite.places.remove(name)
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

    /// Appends events to the streams that were chosen, in one transaction.
    fn append(&self, store: &EventStore, streams: &[String], chosen: &[usize], payload: &[u8]) -> Result<()> {
        let event = EventData::new(KIND, payload);
        if self.streams == 1 {
            let events = vec![event; chosen.len()];
            store.append(&streams[0], Expected::Any, &events).map_err(failed("append"))?;
            return Ok(());
        }
        let appended = store.transact(|transaction| {
            for &stream in chosen {
                transaction.append(&streams[stream], Expected::Any, &[event])?;
            }
            Ok(())
        });
        Ok(appended.map_err(failed("append"))?)
    }
}

/// Streams of [`Workload::AppendMany`].
const STREAMS: usize = 10_000;
