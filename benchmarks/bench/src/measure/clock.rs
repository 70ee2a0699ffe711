//! What a piece of work cost: processor time of this thread or of the whole process, wall time, and latencies.
//!
//! Processor time decides: wall time on a shared machine measures its other users. Reads are charged to their thread;
//! writes to the process, so that background threads are paid for.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::measure::statistics::percentile;

/// Operations between two looks at the wall clock.
pub const BATCH: usize = 64;

/// Whose processor time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// The calling thread's.
    Thread,
    /// All threads' of the process.
    Process,
}

/// What one round of a workload cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Keys asked for, or records scanned or written.
    pub operations: u64,
    /// Processor time of the round.
    pub cpu_ns: f64,
    /// Wall time of the round.
    pub wall_ns: f64,
    /// Median wall time of an operation, over batches.
    pub p50_ns: f64,
    /// 99th percentile of the same.
    pub p99_ns: f64,
}

impl Sample {
    /// Processor time of an operation.
    pub fn cpu_ns_per_operation(&self) -> f64 {
        self.cpu_ns / self.operations as f64
    }

    /// Its numbers, separated by spaces: the form in which processes exchange it.
    pub fn words(&self) -> String {
        format!("{} {} {} {} {}", self.operations, self.cpu_ns, self.wall_ns, self.p50_ns, self.p99_ns)
    }

    /// Reads [`Sample::words`].
    pub fn from_numbers(numbers: &[f64]) -> Option<Self> {
        let &[operations, cpu_ns, wall_ns, p50_ns, p99_ns] = numbers else { return None };
        Some(Self { operations: operations as u64, cpu_ns, wall_ns, p50_ns, p99_ns })
    }

    /// Operations in a second of wall time.
    pub fn operations_per_second(&self) -> f64 {
        self.operations as f64 * 1e9 / self.wall_ns
    }
}

/// A running measurement.
#[derive(Debug)]
pub struct Stopwatch {
    charge: Charge,
    cpu_start_ns: f64,
    wall_start: Instant,
}

impl Stopwatch {
    /// Starts now.
    pub fn start(charge: Charge) -> Self {
        Self { charge, wall_start: Instant::now(), cpu_start_ns: cpu_ns(charge) }
    }

    /// Ends now. `operations` were done; `latencies` were taken on the way, or in a pass of its own.
    pub fn stop(self, operations: u64, latencies: Latencies) -> Sample {
        self.pause(operations).with(latencies)
    }

    /// Ends now; the sample has no latencies yet.
    pub fn pause(self, operations: u64) -> Sample {
        let cpu_ns = cpu_ns(self.charge) - self.cpu_start_ns;
        let wall_ns = self.wall_start.elapsed().as_nanos() as f64;
        Sample { operations, cpu_ns, wall_ns, p50_ns: 0.0, p99_ns: 0.0 }
    }
}

impl Sample {
    /// The same with latencies.
    pub fn with(mut self, latencies: Latencies) -> Self {
        self.p50_ns = percentile(&latencies.batches_ns, 0.50);
        self.p99_ns = percentile(&latencies.batches_ns, 0.99);
        self
    }
}

/// Wall time of batches, each divided by its operations.
#[derive(Debug)]
pub struct Latencies {
    batches_ns: Vec<f64>,
    last: Instant,
}

impl Latencies {
    /// Room for the batches of `operations`; the first batch begins now.
    pub fn with_capacity(operations: usize) -> Self {
        Self { batches_ns: Vec::with_capacity(operations / BATCH + 1), last: Instant::now() }
    }

    /// The batches of several threads together.
    pub fn joined(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut joined = Self::with_capacity(0);
        parts.into_iter().for_each(|part| joined.batches_ns.extend(part.batches_ns));
        joined
    }

    /// The first batch begins now, whatever time has passed.
    pub fn restart(&mut self) {
        self.last = Instant::now();
    }

    /// Wall time of an operation that this share of all batches does not exceed.
    pub fn percentile_ns(&self, share: f64) -> f64 {
        percentile(&self.batches_ns, share)
    }

    /// A batch of `operations` ends, and the next begins.
    #[inline]
    pub fn lap(&mut self, operations: u64) {
        let now = Instant::now();
        self.batches_ns.push((now - self.last).as_nanos() as f64 / operations as f64);
        self.last = now;
    }
}

/// Processor time so far.
pub fn cpu_ns(charge: Charge) -> f64 {
    let time = clock_gettime(match charge {
        Charge::Thread => ClockId::ThreadCPUTime,
        Charge::Process => ClockId::ProcessCPUTime,
    });
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_divides_by_its_operations() {
        let sample = Sample { operations: 4, cpu_ns: 100.0, wall_ns: 200.0, p50_ns: 0.0, p99_ns: 0.0 };
        assert_eq!(sample.cpu_ns_per_operation(), 25.0);
        assert_eq!(sample.operations_per_second(), 2e7);
        let numbers: Vec<f64> = sample.words().split(' ').map(|word| word.parse().unwrap()).collect();
        assert_eq!(Sample::from_numbers(&numbers), Some(sample));
        assert_eq!(Sample::from_numbers(&numbers[1..]), None);
    }

    #[test]
    fn latencies_have_one_entry_for_each_batch() {
        let mut latencies = Latencies::with_capacity(130);
        latencies.lap(64);
        latencies.lap(64);
        latencies.lap(2);
        assert_eq!(latencies.batches_ns.len(), 3);
        assert!(latencies.batches_ns.iter().all(|&batch| batch >= 0.0));
        assert_eq!(Latencies::joined([latencies, Latencies::with_capacity(9)]).batches_ns.len(), 3);
    }
}
