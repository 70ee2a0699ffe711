//! What a measurement is: a round of it gives one figure for each of its floors, or why they cannot be had.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::Error;
use crate::floors::floor::Floor;
use crate::measure::clock::{Charge, cpu_ns};

/// Why a floor cannot be measured here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable(pub String);

impl From<Error> for Unavailable {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Where and how measurements are made.
#[derive(Clone, Debug)]
pub struct Setting {
    /// An empty directory for files.
    pub directory: PathBuf,
    /// What a round of a measurement lasts at least.
    pub span: Duration,
    /// Length of an array that no cache holds: a power of two.
    pub memory_bytes: usize,
    /// Length of the files that are read and overwritten.
    pub file_bytes: usize,
    /// Numbers of the processors that threads may run on.
    pub processors: Vec<usize>,
    /// Seed of what is read and written, and in which order.
    pub seed: u64,
}

impl Setting {
    /// The first so many processors.
    pub fn first_processors(&self, count: usize) -> Result<&[usize], Unavailable> {
        let lack = || {
            Unavailable(format!(
                "{count} threads need {count} processors; this process may use {}",
                self.processors.len()
            ))
        };
        self.processors.get(..count).ok_or_else(lack)
    }
}

/// What a round has found.
#[derive(Clone, Debug)]
pub struct Round {
    /// One figure for each floor.
    pub values: Vec<f64>,
    /// How it was measured, where that is not as usual.
    pub remark: Option<String>,
}

/// A round, or why it cannot be measured.
pub type Figures = Result<Round, Unavailable>;

/// The processors that this process may run on, as far as it may use them all at once.
pub fn processors() -> Vec<usize> {
    let at_once = std::thread::available_parallelism().map_or(1, |count| count.get());
    let Ok(set) = sched_getaffinity(None) else { return vec![0] };
    (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number)).take(at_once).collect()
}

/// Keeps the calling thread on one processor: two that share one would measure the scheduler.
pub fn stay_on(processor: usize) -> Result<(), Unavailable> {
    let mut set = CpuSet::new();
    set.set(processor);
    let lack = |error| Unavailable(format!("the system cannot keep a thread on processor {processor}: {error}"));
    sched_setaffinity(None, &set).map_err(lack)
}

/// A measurement. What it needs is made in its first round.
pub struct Probe {
    /// The floors of its figures.
    pub floors: &'static [Floor],
    /// Does a round.
    pub measure: Box<dyn FnMut() -> Figures>,
}

impl Probe {
    /// Of one floor.
    pub fn of_one(
        floors: &'static [Floor; 1],
        mut measure: impl FnMut() -> Result<f64, Unavailable> + 'static,
    ) -> Self {
        Self { floors, measure: Box::new(move || measure().map(|figure| Round { values: vec![figure], remark: None })) }
    }
}

/// Processor time of an operation, by batches that say how many they did, until the span is over.
pub fn cpu_ns_per_operation(
    span: Duration,
    mut batch: impl FnMut() -> Result<u64, Unavailable>,
) -> Result<f64, Unavailable> {
    let (started, start_ns) = (Instant::now(), cpu_ns(Charge::Thread));
    let mut operations = 0;
    loop {
        operations += batch()?;
        if started.elapsed() >= span {
            return Ok((cpu_ns(Charge::Thread) - start_ns) / operations as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_go_on_until_the_span_is_over_and_an_error_ends_them() {
        let started = Instant::now();
        let mut batches = 0;
        let figure = cpu_ns_per_operation(Duration::from_millis(5), || {
            batches += 1;
            Ok(1)
        });
        assert!(started.elapsed() >= Duration::from_millis(5) && batches > 1);
        assert!(figure.is_ok_and(|nanoseconds| nanoseconds > 0.0 && nanoseconds < 5e6));
        let lack = Unavailable("none".to_owned());
        assert_eq!(cpu_ns_per_operation(Duration::ZERO, || Err(lack.clone())), Err(lack));
    }
}
