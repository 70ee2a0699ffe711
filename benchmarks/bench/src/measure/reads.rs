//! The timed loops of reads. Each is compiled once for each engine; nothing but the engine's call, the checks and the
//! walk over the queries happens inside.
//!
//! Invariant: every value's length and first and last 8 bytes are looked at. Mismatches are gathered without a branch
//! and judged after the loop, so that checking costs both engines the same few instructions.

use fulgurite_rivals::Reader;

use crate::data::queries::{Queries, Seeks};
use crate::data::values::{Digest, Ends};
use crate::error::{Error, Result};
use crate::measure::clock::{BATCH, Charge, Latencies, Sample, Stopwatch};

/// Keys that one call of `get_many` asks for.
pub const MANY: usize = 32;

/// Gets of stored keys; each may overlap with the next.
pub fn get_hit<R: Reader>(reader: &R, queries: &Queries, value_bytes: usize) -> Result<Sample> {
    let mut wrong = 0;
    let sample = batches(queries.len(), |index| {
        wrong |= match reader.get(queries.key(index))? {
            Some(value) => mismatch(&value, queries.expected(index), value_bytes),
            None => 1,
        };
        Ok(())
    })?;
    judge("get_hit", wrong)?;
    Ok(sample)
}

/// Gets of stored keys, each at an address that depends on the value before it, so that no two overlap.
pub fn get_hit_serialised<R: Reader>(reader: &R, queries: &Queries, value_bytes: usize) -> Result<Sample> {
    let mut wrong = 0;
    let mut skew = 0;
    let sample = batches(queries.len(), |index| {
        let now = match reader.get(queries.key_after(index, skew))? {
            Some(value) => mismatch(&value, queries.expected(index), value_bytes),
            None => 1,
        };
        // Always 0, which neither the compiler nor the processor can know before the value has arrived.
        skew = usize::from(now != 0);
        wrong |= now;
        Ok(())
    })?;
    judge("get_hit_serialised", wrong)?;
    Ok(sample)
}

/// Gets of keys that are not stored.
pub fn get_miss<R: Reader>(reader: &R, queries: &Queries) -> Result<Sample> {
    let mut found = 0;
    let sample = batches(queries.len(), |index| {
        found |= u64::from(reader.get(queries.key(index))?.is_some());
        Ok(())
    })?;
    judge("get_miss", found)?;
    Ok(sample)
}

/// Gets of stored keys, [`MANY`] in a call.
pub fn get_many<R: Reader>(reader: &R, queries: &Queries, value_bytes: usize) -> Result<Sample> {
    const CALLS_PER_BATCH: usize = BATCH / MANY;
    let calls = queries.len() / MANY;
    let mut wrong = 0;
    let mut answered = 0;
    let mut latencies = Latencies::with_capacity(queries.len());
    let watch = Stopwatch::start(Charge::Thread);
    for call in 0..calls {
        let first = call * MANY;
        let keys: [&[u8]; MANY] = std::array::from_fn(|offset| queries.key(first + offset));
        reader.get_many(&keys, |offset, value| {
            answered += 1;
            wrong |= match value {
                Some(value) => mismatch(value, queries.expected(first + offset), value_bytes),
                None => 1,
            };
        })?;
        if (call + 1).is_multiple_of(CALLS_PER_BATCH) {
            latencies.lap(BATCH as u64);
        }
    }
    let sample = watch.stop((calls * MANY) as u64, latencies);
    judge("get_many", wrong | u64::from(answered != calls * MANY))?;
    Ok(sample)
}

/// All records, forwards. Latencies come from a second pass, so that looking at the clock is not charged to the first.
pub fn scan<R: Reader>(reader: &R, expected: Digest) -> Result<Sample> {
    let mut seen = Digest::default();
    let watch = Stopwatch::start(Charge::Thread);
    reader.scan(|_, value| seen.add(value))?;
    let sample = watch.pause(expected.count);
    judge("scan", u64::from(seen != expected))?;
    let mut lapping = Lapping::new(expected.count);
    reader.scan(|_, value| lapping.add(value))?;
    judge("scan", u64::from(lapping.seen != expected))?;
    Ok(sample.with(lapping.latencies))
}

/// All records, backwards, measured as [`scan`].
pub fn scan_reverse<R: Reader>(reader: &R, expected: Digest) -> Result<Sample> {
    let mut seen = Digest::default();
    let watch = Stopwatch::start(Charge::Thread);
    reader.scan_reverse(|_, value| seen.add(value))?;
    let sample = watch.pause(expected.count);
    judge("scan_reverse", u64::from(seen != expected))?;
    let mut lapping = Lapping::new(expected.count);
    reader.scan_reverse(|_, value| lapping.add(value))?;
    judge("scan_reverse", u64::from(lapping.seen != expected))?;
    Ok(sample.with(lapping.latencies))
}

/// Short scans from random places. Its operations are the records scanned.
pub fn seek<R: Reader>(reader: &R, seeks: &Seeks, length: usize) -> Result<Sample> {
    let mut wrong = 0;
    let mut sample = batches(seeks.len(), |index| {
        let mut seen = Digest::default();
        reader.scan_from(seeks.start(index), length, |_, value| seen.add(value))?;
        wrong |= u64::from(seen != seeks.digest(index));
        Ok(())
    })?;
    judge("seek", wrong)?;
    let records_per_seek = seeks.records() as f64 / seeks.len() as f64;
    sample.operations = seeks.records();
    sample.p50_ns /= records_per_seek;
    sample.p99_ns /= records_per_seek;
    Ok(sample)
}

/// Runs `operation` for every index below `count`, with a look at the clock after each batch.
#[inline(always)]
fn batches(count: usize, mut operation: impl FnMut(usize) -> Result<()>) -> Result<Sample> {
    let mut latencies = Latencies::with_capacity(count);
    let watch = Stopwatch::start(Charge::Thread);
    for start in (0..count).step_by(BATCH) {
        let end = (start + BATCH).min(count);
        for index in start..end {
            operation(index)?;
        }
        latencies.lap((end - start) as u64);
    }
    Ok(watch.stop(count as u64, latencies))
}

/// 0 if `value` has the expected length and ends.
#[inline(always)]
pub fn mismatch(value: &[u8], expected: Ends, value_bytes: usize) -> u64 {
    match Ends::of(value) {
        Some(ends) => (ends.first ^ expected.first) | (ends.last ^ expected.last) | (value.len() ^ value_bytes) as u64,
        None => 1,
    }
}

/// An error if any bit of `wrong` is set.
pub fn judge(workload: &'static str, wrong: u64) -> Result<()> {
    match wrong {
        0 => Ok(()),
        _ => Err(Error::Wrong { workload, what: "the engine gave a wrong answer".to_owned() }),
    }
}

/// A digest with a look at the clock after each batch.
struct Lapping {
    seen: Digest,
    latencies: Latencies,
}

impl Lapping {
    fn new(count: u64) -> Self {
        Self { seen: Digest::default(), latencies: Latencies::with_capacity(count as usize) }
    }

    #[inline(always)]
    fn add(&mut self, value: &[u8]) {
        self.seen.add(value);
        if self.seen.count.is_multiple_of(BATCH as u64) {
            self.latencies.lap(BATCH as u64);
        }
    }
}
