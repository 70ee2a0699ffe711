//! How long after the commit of an event a follower has it, as figures.

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
    /// The figures of a follower that has seen the events at these times.
    ///
    /// # Errors
    /// [`Error::Wrong`] about the workload of this name if events are missing.
    pub fn figures(&self, name: &'static str, events: usize, seen: &[u64]) -> Result<Figures> {
        if self.committed.len() != events || seen.len() != events {
            let appended = self.committed.len();
            let what = format!("of {events} events {appended} were appended, and the follower has seen {}", seen.len());
            return Err(Error::Wrong { workload: name, what });
        }
        let after = |from: &[u64]| -> Vec<f64> {
            // A follower may see an event before the call that appends it returns.
            from.iter().zip(seen).map(|(from, seen)| seen.saturating_sub(*from) as f64).collect()
        };
        let (commits, calls) = (after(&self.committed), after(&self.begun));
        let mut figures = Figures::default();
        let spans = self.committed.last().zip(self.begun.first()).map(|(end, begin)| end - begin);
        figures.set("ops_per_s", events as f64 * 1e9 / spans.unwrap_or(1) as f64);
        let calls_ns: u64 = self.committed.iter().zip(&self.begun).map(|(end, begin)| end - begin).sum();
        figures.set("ns of an append, by the clock", calls_ns as f64 / events as f64);
        let earlier = self.committed.iter().zip(seen).filter(|(committed, seen)| seen < committed).count();
        figures.set("% seen before the append returned", 100.0 * earlier as f64 / events as f64);
        for (figure, share) in
            [("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p99.9_ns", 0.999), ("max_ns", 1.0)]
        {
            figures.set(figure, percentile(&commits, share));
        }
        figures.set("µs p50 from the begin of the append", percentile(&calls, 0.5) / 1e3);
        figures.set("µs p99 from the begin of the append", percentile(&calls, 0.99) / 1e3);
        Ok(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_begin_when_the_append_returns_and_are_never_negative() {
        let times = Times { begun: vec![1000, 2000], committed: vec![1400, 2400] };
        let figures = times.figures("follow", 2, &[1300, 2900]).unwrap();
        let of = |name: &str| figures.get(name).unwrap();
        assert_eq!((of("max_ns"), of("p50_ns")), (500.0, 0.0));
        assert_eq!(of("% seen before the append returned"), 50.0);
        assert_eq!((of("ns of an append, by the clock"), of("µs p99 from the begin of the append")), (400.0, 0.9));
        assert_eq!(of("ops_per_s").round(), (2e9_f64 / 1400.0).round());
    }

    #[test]
    fn missing_events_are_an_error() {
        let times = Times { begun: vec![1, 2], committed: vec![1, 2] };
        assert!(times.figures("follow", 2, &[3]).is_err());
        assert!(times.figures("follow", 3, &[3, 4]).is_err());
    }
}
