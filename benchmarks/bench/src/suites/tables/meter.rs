//! What a workload cost: rate, processor time, percentiles of single operations, bytes written, memory.
//!
//! The loop is closed: an operation begins when the last one has ended, so that a slow one delays those behind it,
//! and is counted once. Percentiles are those of an HDR histogram with three significant digits. Reading the clock is
//! part of every latency; what it costs is measured and printed.

use std::time::Instant;

use hdrhistogram::Histogram;

use crate::harness::row::Figures;
use crate::measure::machine::kibibytes_of;

/// Latencies above a minute are counted as one.
const LATENCY_MAX_NS: u64 = 60_000_000_000;

/// Digits that percentiles keep.
const SIGNIFICANT_DIGITS: u8 = 3;

/// Names of the percentiles, and their shares of all operations.
pub const PERCENTILES: [(&str, f64); 4] = [("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p99.9_ns", 0.999)];

/// Wall time of each operation.
pub struct Latencies {
    histogram: Histogram<u64>,
    last: Instant,
}

impl Latencies {
    /// The first operation begins now.
    pub fn start() -> Self {
        let histogram = Histogram::new_with_bounds(1, LATENCY_MAX_NS, SIGNIFICANT_DIGITS);
        Self { histogram: histogram.expect("the bounds and digits are what a histogram takes"), last: Instant::now() }
    }

    /// Those of several threads together.
    pub fn joined(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut joined = Self::start();
        for part in parts {
            joined.histogram.add(part.histogram).expect("all histograms have the same bounds");
        }
        joined
    }

    /// The next operation begins now, whatever time has passed.
    #[inline]
    pub fn restart(&mut self) {
        self.last = Instant::now();
    }

    /// An operation ends, and the next begins.
    #[inline]
    pub fn lap(&mut self) {
        let now = Instant::now();
        self.histogram.saturating_record(((now - self.last).as_nanos() as u64).max(1));
        self.last = now;
    }

    /// An operation ends that was due then, and the next begins.
    #[inline]
    pub fn lap_since(&mut self, due: Instant) {
        self.last = due;
        self.lap();
    }

    /// Operations so far.
    #[cfg(test)]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Wall time that this share of all operations does not exceed.
    pub fn percentile_ns(&self, share: f64) -> f64 {
        self.histogram.value_at_quantile(share) as f64
    }

    /// Writes the percentiles down.
    pub fn note(&self, figures: &mut Figures) {
        for (name, share) in PERCENTILES {
            figures.set(name, self.percentile_ns(share));
        }
        figures.set("max_ns", self.histogram.max() as f64);
        figures.set("timed", self.histogram.len() as f64);
    }
}

/// What a reading of the clock costs, in nanoseconds: part of each latency.
pub fn timer_ns() -> f64 {
    const READINGS: u32 = 100_000;
    let started = Instant::now();
    for _ in 0..READINGS {
        std::hint::black_box(Instant::now());
    }
    started.elapsed().as_nanos() as f64 / f64::from(READINGS)
}

/// Memory of this process: private, and of files that are mapped, in bytes.
pub fn memory_bytes() -> (u64, u64) {
    let of = |name| kibibytes_of("/proc/self/status", name) << 10;
    (of("RssAnon"), of("RssFile") + of("RssShmem"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_counted_and_the_slow_one_is_the_largest() {
        let mut latencies = Latencies::start();
        for operation in 0..1000 {
            if operation == 500 {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            latencies.lap();
        }
        let mut figures = Figures::default();
        latencies.note(&mut figures);
        assert_eq!(figures.get("timed"), Some(1000.0));
        assert!(figures.get("max_ns") >= Some(20e6));
        assert!(figures.get("p99_ns") < Some(20e6) && figures.get("p50_ns") <= figures.get("p99_ns"));
        assert!(timer_ns() > 0.0);
        let mut other = Latencies::start();
        other.lap();
        Latencies::joined([latencies, other]).note(&mut figures);
        assert!(figures.get("timed") == Some(1001.0) && figures.get("max_ns") >= Some(20e6));
    }

    #[test]
    fn touched_memory_is_private() {
        let (before, mapped) = memory_bytes();
        let block = std::hint::black_box(vec![1u8; 32 << 20]);
        assert!(memory_bytes().0 >= before + (31 << 20) && mapped > 0);
        drop(block);
    }
}
