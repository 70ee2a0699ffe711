//! How long after the begin of its append a follower has an event, as figures.

use crate::error::{Error, Result};
use crate::harness::row::Figures;
use crate::measure::statistics::percentile;

/// When events were appended, in nanoseconds of the clock that all processes share.
#[derive(Debug, Default)]
pub struct Times {
    /// When the calls began.
    pub begun: Vec<u64>,
    /// When the calls returned.
    pub committed: Vec<u64>,
}

impl Times {
    /// The figures of a follower that has seen the events at these times. Latencies count from the begin of the append:
    /// within the call, no clock shows when the commit is visible, and a follower may see an event before the call
    /// returns.
    ///
    /// # Errors
    /// [`Error::Wrong`] about the workload of this name if events are missing.
    pub fn figures(&self, name: &'static str, events: usize, rate: u32, seen: &[u64]) -> Result<Figures> {
        if self.committed.len() != events || seen.len() != events {
            let appended = self.committed.len();
            let what = format!("of {events} events {appended} were appended, and the follower has seen {}", seen.len());
            return Err(Error::Wrong { workload: name, what });
        }
        let after = |from: &[u64]| -> Vec<f64> {
            from.iter().zip(seen).map(|(from, seen)| seen.saturating_sub(*from) as f64).collect()
        };
        let (calls, returns) = (after(&self.begun), after(&self.committed));
        let mut figures = Figures::default();
        let span_ns = self.committed.last().zip(self.begun.first()).map_or(1, |(end, begin)| end - begin);
        let appended = events as f64 * 1e9 / span_ns as f64;
        figures.set("ops_per_s", appended);
        figures.set(RATE_PART, appended / f64::from(rate));
        let calls_ns: u64 = self.committed.iter().zip(&self.begun).map(|(end, begin)| end - begin).sum();
        figures.set("ns of an append, by the clock", calls_ns as f64 / events as f64);
        let earlier = self.committed.iter().zip(seen).filter(|(committed, seen)| seen < committed).count();
        figures.set("% seen before the append returned", 100.0 * earlier as f64 / events as f64);
        for (figure, share) in
            [("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p99.9_ns", 0.999), ("max_ns", 1.0)]
        {
            figures.set(figure, percentile(&calls, share));
        }
        figures.set("µs p50 from the return of the append", percentile(&returns, 0.5) / 1e3);
        figures.set("µs p99 from the return of the append", percentile(&returns, 0.99) / 1e3);
        Ok(figures)
    }
}

/// The name of a figure: events that were appended a second, by those that were asked for.
pub const RATE_PART: &str = "of the events a second that are asked for";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_begin_when_the_append_begins_and_the_rate_is_set_beside_the_asked_one() {
        let times = Times { begun: vec![1000, 2000], committed: vec![1400, 2400] };
        let figures = times.figures("follow", 2, 1_000_000, &[1300, 2900]).unwrap();
        let of = |name: &str| figures.get(name).unwrap();
        assert_eq!((of("max_ns"), of("p50_ns")), (900.0, 300.0));
        assert_eq!(of("% seen before the append returned"), 50.0);
        assert_eq!((of("ns of an append, by the clock"), of("µs p99 from the return of the append")), (400.0, 0.5));
        assert_eq!(of("ops_per_s").round(), (2e9_f64 / 1400.0).round());
        assert_eq!((1e3 * of(RATE_PART)).round(), 1429.0);
    }

    #[test]
    fn missing_events_are_an_error() {
        let times = Times { begun: vec![1, 2], committed: vec![1, 2] };
        assert!(times.figures("follow", 2, 1, &[3]).is_err());
        assert!(times.figures("follow", 3, 1, &[3, 4]).is_err());
    }
}
