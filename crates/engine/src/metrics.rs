//! Reports values to the metrics recorder of the program, through the `metrics` facade. Without the feature `metrics`
//! these functions do nothing.
//!
//! `docs/reference/metrics.md` lists every name with its unit.

use std::time::Duration;

use crate::error::{ConflictReason, Error};

/// A transaction was committed, with so many bytes of log.
#[inline]
pub fn commit(log_bytes: usize) {
    #[cfg(feature = "metrics")]
    record(|| {
        metrics::counter!("fulgurite_commits_total").increment(1);
        metrics::counter!("fulgurite_log_bytes_total").increment(log_bytes as u64);
    });
    let _ = log_bytes;
}

/// A transaction has spilled so many bytes.
#[inline]
pub fn spilled(bytes: u64) {
    #[cfg(feature = "metrics")]
    record(|| metrics::counter!("fulgurite_spilled_bytes_total").increment(bytes));
    let _ = bytes;
}

/// A commit was refused.
#[inline]
pub fn conflict(error: &Error) {
    #[cfg(feature = "metrics")]
    if let Some(reason) = reason(error) {
        record(|| metrics::counter!("fulgurite_conflicts_total", "reason" => reason).increment(1));
    }
    let _ = error;
}

/// The log was flushed, and so many commits became durable by that.
#[inline]
pub fn flush(took: Duration, commits: u64) {
    #[cfg(feature = "metrics")]
    record(|| {
        metrics::histogram!("fulgurite_flush_seconds").record(took);
        metrics::histogram!("fulgurite_flush_commits").record(commits as f64);
    });
    let _ = (took, commits);
}

/// A checkpoint has ended. The state that the oldest snapshot reads was replaced so long ago.
#[inline]
pub fn checkpoint(took: Duration, failed: bool, oldest_snapshot: Duration) {
    #[cfg(feature = "metrics")]
    record(|| {
        metrics::histogram!("fulgurite_checkpoint_seconds").record(took);
        metrics::counter!("fulgurite_checkpoint_failures_total").increment(u64::from(failed));
        metrics::gauge!("fulgurite_oldest_snapshot_seconds").set(oldest_snapshot);
    });
    let _ = (took, failed, oldest_snapshot);
}

/// The active deltas take so much memory as a checkpoint begins.
#[inline]
pub fn delta_bytes(bytes: u64) {
    #[cfg(feature = "metrics")]
    record(|| metrics::gauge!("fulgurite_delta_bytes").set(bytes as f64));
    let _ = bytes;
}

/// Calls the recorder, which is the program's. A panic there ends nothing of the engine and poisons no lock that the
/// caller holds: the value is lost.
#[cfg(feature = "metrics")]
fn record(call: impl FnOnce()) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
}

#[cfg(feature = "metrics")]
fn reason(error: &Error) -> Option<&'static str> {
    match error {
        Error::Conflict { reason: ConflictReason::Read, .. } => Some("read"),
        Error::Conflict { reason: ConflictReason::Range, .. } => Some("range"),
        Error::Conflict { reason: ConflictReason::Write, .. } => Some("write"),
        Error::Conflict { reason: ConflictReason::Tables, .. } => Some("tables"),
        Error::Conflict { reason: ConflictReason::BulkLoad, .. } => Some("bulk_load"),
        Error::TransactionTooOld => Some("too_old"),
        _ => None,
    }
}

/// The reasons for which commits are refused, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflicts {
    /// See [`ConflictReason::Read`].
    pub read: u64,
    /// See [`ConflictReason::Range`].
    pub range: u64,
    /// See [`ConflictReason::Write`].
    pub write: u64,
    /// See [`ConflictReason::Tables`].
    pub tables: u64,
    /// See [`ConflictReason::BulkLoad`].
    pub bulk_load: u64,
    /// See [`Error::TransactionTooOld`].
    pub too_old: u64,
}

impl Conflicts {
    /// Counts a refusal.
    pub(crate) fn note(&mut self, error: &Error) {
        let counter = match error {
            Error::Conflict { reason: ConflictReason::Read, .. } => &mut self.read,
            Error::Conflict { reason: ConflictReason::Range, .. } => &mut self.range,
            Error::Conflict { reason: ConflictReason::Write, .. } => &mut self.write,
            Error::Conflict { reason: ConflictReason::Tables, .. } => &mut self.tables,
            Error::Conflict { reason: ConflictReason::BulkLoad, .. } => &mut self.bulk_load,
            Error::TransactionTooOld => &mut self.too_old,
            _ => return,
        };
        *counter += 1;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.read + self.range + self.write + self.tables + self.bulk_load + self.too_old
    }
}

#[cfg(all(test, feature = "metrics"))]
mod tests {
    use metrics::{
        Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit, with_local_recorder,
    };

    use super::*;

    struct Panicking;

    impl Recorder for Panicking {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
            panic!("no counter")
        }

        fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
            panic!("no gauge")
        }

        fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
            panic!("no histogram")
        }
    }

    #[test]
    fn a_recorder_that_panics_ends_nothing() {
        let calls: [fn(); 6] = [
            || commit(1),
            || spilled(1),
            || conflict(&Error::TransactionTooOld),
            || flush(Duration::ZERO, 1),
            || checkpoint(Duration::ZERO, false, Duration::ZERO),
            || delta_bytes(1),
        ];
        with_local_recorder(&Panicking, || calls.iter().for_each(|call| call()));
    }
}
