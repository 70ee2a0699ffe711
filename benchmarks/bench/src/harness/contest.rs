//! Times of a workload: all rounds of every engine, which ran side by side, and what follows from them.

use std::fmt::Write;

use crate::data::dataset::Dataset;
use crate::json::number;
use crate::measure::clock::Sample;
use crate::measure::statistics::{median, spread};

/// All rounds of one workload on one data set: the measured engine first, then its rivals.
#[derive(Debug)]
pub struct Contest {
    /// The suite it belongs to.
    pub suite: &'static str,
    /// What was done.
    pub workload: &'static str,
    /// Threads that did it.
    pub threads: usize,
    /// Kind of key.
    pub shape: &'static str,
    /// Records in the store.
    pub records: u64,
    /// Bytes of a key, rounded if they differ.
    pub key_bytes: u64,
    /// Bytes of a value.
    pub value_bytes: u64,
    /// Each engine's name and rounds.
    pub entries: Vec<(&'static str, Vec<Sample>)>,
}

impl Contest {
    /// Of one thread of the core suite, on `data`.
    pub fn new(workload: &'static str, data: &Dataset, entries: Vec<(&'static str, Vec<Sample>)>) -> Self {
        Self {
            suite: "core",
            workload,
            threads: 1,
            shape: data.spec.shape.name(),
            records: data.stored.len() as u64,
            key_bytes: data.key_bytes(),
            value_bytes: data.values.length() as u64,
            entries,
        }
    }

    /// How many times less processor time the first engine needs than its best rival: the median over the rounds, in
    /// which both ran side by side.
    pub fn ratio(&self) -> f64 {
        let Some(((_, ours), rivals)) = self.entries.split_first() else { return f64::NAN };
        let best = rivals.iter().min_by(|a, b| cpu_ns(&a.1).total_cmp(&cpu_ns(&b.1)));
        let Some((_, theirs)) = best else { return f64::NAN };
        paired_ratio(ours, theirs)
    }

    /// The same for one rival, `None` if it was not measured.
    pub fn ratio_to(&self, rival: &str) -> Option<f64> {
        let ((_, ours), rivals) = self.entries.split_first()?;
        let (_, theirs) = rivals.iter().find(|(name, _)| *name == rival)?;
        Some(paired_ratio(ours, theirs))
    }

    /// How many times more operations in a second of wall time the first engine does than one rival: the median over
    /// the rounds.
    pub fn wall_ratio_to(&self, rival: &str) -> Option<f64> {
        let ((_, ours), rivals) = self.entries.split_first()?;
        let (_, theirs) = rivals.iter().find(|(name, _)| *name == rival)?;
        let ratio = |(ours, theirs): (&Sample, &Sample)| ours.operations_per_second() / theirs.operations_per_second();
        Some(median(&ours.iter().zip(theirs).map(ratio).collect::<Vec<_>>()))
    }

    /// Data set as the table shows it, such as `hashed 32/100 10,000,000`.
    pub fn data_name(&self) -> String {
        if self.key_bytes == 0 && self.value_bytes == 0 {
            return format!("{} × {}", self.shape, self.records);
        }
        format!("{} {}/{} × {}", self.shape, self.key_bytes, self.value_bytes, self.records)
    }

    /// A line of JSON for each engine.
    pub fn lines(&self, out: &mut String) {
        for (position, (engine, samples)) in self.entries.iter().enumerate() {
            let of = |field: fn(&Sample) -> f64| median(&samples.iter().map(field).collect::<Vec<_>>());
            let cpu: Vec<f64> = samples.iter().map(Sample::cpu_ns_per_operation).collect();
            let ratio = if position == 0 { number(self.ratio(), 3) } else { "null".to_owned() };
            writeln!(
                out,
                "{{\"suite\":\"{}\",\"workload\":\"{}\",\"shape\":\"{}\",\"engine\":\"{engine}\",\"records\":{},\
                 \"key_bytes\":{},\"value_bytes\":{},\"threads\":{},\"ops_per_s\":{},\"cpu_ns_per_op\":{},\
                 \"p50_ns\":{},\"p99_ns\":{},\"rounds\":{},\"spread\":{},\"ratio\":{ratio}}}",
                self.suite,
                self.workload,
                self.shape,
                self.records,
                self.key_bytes,
                self.value_bytes,
                self.threads,
                number(of(Sample::operations_per_second), 1),
                number(of(Sample::cpu_ns_per_operation), 2),
                number(of(|sample| sample.p50_ns), 2),
                number(of(|sample| sample.p99_ns), 2),
                samples.len(),
                number(spread(&cpu), 3),
            )
            .expect("writing to memory does not fail");
        }
    }
}

/// The median over the rounds of how many times more processor time `theirs` needed.
fn paired_ratio(ours: &[Sample], theirs: &[Sample]) -> f64 {
    let ratio = |(ours, theirs): (&Sample, &Sample)| theirs.cpu_ns_per_operation() / ours.cpu_ns_per_operation();
    median(&ours.iter().zip(theirs).map(ratio).collect::<Vec<_>>())
}

/// The median over the rounds of the processor time of an operation.
pub fn cpu_ns(samples: &[Sample]) -> f64 {
    median(&samples.iter().map(Sample::cpu_ns_per_operation).collect::<Vec<_>>())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A round that took so much processor time for an operation.
    pub fn sample(cpu_ns: f64) -> Sample {
        Sample { operations: 100, cpu_ns: cpu_ns * 100.0, wall_ns: 1000.0, p50_ns: 1.0, p99_ns: 2.0 }
    }

    /// The rounds of these engines.
    pub fn contest(entries: Vec<(&'static str, Vec<Sample>)>) -> Contest {
        Contest {
            suite: "core",
            workload: "get_hit",
            threads: 1,
            shape: "hashed",
            records: 1000,
            key_bytes: 32,
            value_bytes: 100,
            entries,
        }
    }

    #[test]
    fn the_ratio_is_the_median_over_paired_rounds_to_the_best_rival() {
        let ours = vec![sample(100.0), sample(200.0), sample(100.0)];
        let slow = vec![sample(900.0); 3];
        let best = vec![sample(300.0), sample(800.0), sample(500.0)];
        let contest = contest(vec![("ours", ours), ("slow", slow), ("best", best)]);
        assert_eq!(contest.ratio(), 4.0);
        assert_eq!(contest.ratio_to("slow"), Some(9.0));
        assert_eq!(contest.ratio_to("unknown"), None);
        assert_eq!(contest.wall_ratio_to("slow"), Some(1.0));
    }
}
