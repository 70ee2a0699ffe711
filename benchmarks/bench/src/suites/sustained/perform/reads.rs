//! The timed loops of reads, while no puts are made. Each batch takes a snapshot, as an application does that wants
//! to see the newest state; the cost of the snapshot is included.
//!
//! As many gets of other keys come first, untimed: pages that were just written are touched for the first time then,
//! and faults and checks would hide what reads cost. Gets that are measured beside puts include these costs.

use fulgurite_rivals::{Snapshot, WritingStore};

use crate::data::queries::{Queries, Seeks};
use crate::data::random::Random;
use crate::data::values::Digest;
use crate::error::Result;
use crate::measure::clock::{BATCH, Charge, Latencies, Sample, Stopwatch};
use crate::measure::reads::{judge, mismatch};
use crate::suites::sustained::content::{Content, SEEK_RECORDS, VALUE_BYTES};
use crate::suites::sustained::workload::Size;

/// Gets of stored keys, gets of absent ones, short scans.
pub type Reads = [Sample; 3];

/// Measures each kind of read; all puts have been made.
pub fn all<S: WritingStore>(store: &S, content: &Content, size: &Size, random: &mut Random) -> Result<Reads> {
    get_hit(store, &content.hits(size.gets, random))?;
    let hits = content.hits(size.gets, random);
    let misses = content.misses(size.gets, random);
    let seeks = content.seeks(size.seeks, random);
    Ok([get_hit(store, &hits)?, get_miss(store, &misses)?, seek(store, &seeks)?])
}

fn get_hit<S: WritingStore>(store: &S, queries: &Queries) -> Result<Sample> {
    let mut wrong = 0;
    let sample = batches(store, queries.len(), |snapshot, index| {
        let right =
            |value: Option<&[u8]>| value.map_or(1, |value| mismatch(value, queries.expected(index), VALUE_BYTES));
        wrong |= snapshot.get(queries.key(index), right)?;
        Ok(())
    })?;
    judge("get_hit", wrong)?;
    Ok(sample)
}

fn get_miss<S: WritingStore>(store: &S, queries: &Queries) -> Result<Sample> {
    let mut found = 0;
    let sample = batches(store, queries.len(), |snapshot, index| {
        found |= snapshot.get(queries.key(index), |value| u64::from(value.is_some()))?;
        Ok(())
    })?;
    judge("get_miss", found)?;
    Ok(sample)
}

fn seek<S: WritingStore>(store: &S, seeks: &Seeks) -> Result<Sample> {
    let mut wrong = 0;
    let sample = batches(store, seeks.len(), |snapshot, index| {
        let mut seen = Digest::default();
        snapshot.scan_from(seeks.start(index), SEEK_RECORDS, |_, value| seen.add(value))?;
        wrong |= u64::from(seen != seeks.digest(index));
        Ok(())
    })?;
    judge("seek100", wrong)?;
    Ok(sample)
}

/// Runs `operation` for every index below `count`, with a snapshot and a look at the clock for each batch.
#[inline(always)]
fn batches<'s, S: WritingStore>(
    store: &'s S,
    count: usize,
    mut operation: impl FnMut(&S::Snapshot<'s>, usize) -> Result<()>,
) -> Result<Sample> {
    let mut latencies = Latencies::with_capacity(count);
    let watch = Stopwatch::start(Charge::Thread);
    for start in (0..count).step_by(BATCH) {
        let end = (start + BATCH).min(count);
        let snapshot = store.snapshot()?;
        for index in start..end {
            operation(&snapshot, index)?;
        }
        drop(snapshot);
        latencies.lap((end - start) as u64);
    }
    Ok(watch.stop(count as u64, latencies))
}
