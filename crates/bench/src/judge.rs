//! The one judge of bars: what a suite must reach, beside what was measured.
//!
//! A suite's bars stand in one table of its own; raising one is a change of one line.

use std::fmt;

use crate::report::{Contest, Report};

/// What it must reach.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// So much or more.
    AtLeast(f64),
    /// So much or less.
    AtMost(f64),
    /// Less.
    Below(f64),
}

/// What a bar is about.
pub trait Subject {
    /// What `report` has of it; of several figures the one that is furthest from `limit`.
    fn measured(&self, limit: Limit, report: &Report) -> Option<Measured>;
}

/// A figure that a bar is about.
#[derive(Debug)]
pub struct Measured {
    /// What the bar is about, in words.
    pub title: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

/// The engine that has to reach the bars: the first of every suite.
pub const MEASURED: &str = "fulgurite";

/// The contest of this workload, if the measured engine took part.
pub fn contest<'r>(report: &'r Report, workload: &str) -> Option<&'r Contest> {
    let of = |contest: &&Contest| contest.workload == workload;
    report.contests.iter().find(of).filter(|contest| contest.entries.first().is_some_and(|entry| entry.0 == MEASURED))
}

/// A bar and what was measured.
#[derive(Debug)]
pub struct Verdict {
    /// What the bar is about.
    pub title: String,
    /// What it must reach.
    pub limit: Limit,
    /// What it has reached.
    pub measured: f64,
    /// Unit of both.
    pub unit: &'static str,
}

impl Verdict {
    /// Whether the bar is met.
    pub fn met(&self) -> bool {
        match self.limit {
            Limit::AtLeast(limit) => self.measured >= limit,
            Limit::AtMost(limit) => self.measured <= limit,
            Limit::Below(limit) => self.measured < limit,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, limit) = match self.limit {
            Limit::AtLeast(limit) => ("≥", limit),
            Limit::AtMost(limit) => ("≤", limit),
            Limit::Below(limit) => ("<", limit),
        };
        let mark = if self.met() { "met   " } else { "MISSED" };
        write!(out, "{mark} {}: {:.2} {} (bar {sign} {limit})", self.title, self.measured, self.unit)
    }
}

/// Judges `report` by every bar whose figure it has; also says how many it does not have.
pub fn judge<S: Subject>(bars: &[(S, Limit)], report: &Report) -> (Vec<Verdict>, usize) {
    let verdict = |(subject, limit): &(S, Limit)| {
        let Measured { title, value, unit } = subject.measured(*limit, report)?;
        Some(Verdict { title, limit: *limit, measured: value, unit })
    };
    let verdicts: Vec<Verdict> = bars.iter().filter_map(verdict).collect();
    let unmeasured = bars.len() - verdicts.len();
    (verdicts, unmeasured)
}

/// All verdicts in words, a last line that counts them, and whether all are met. A quick run is not judged.
pub fn judgement<S: Subject>(bars: &[(S, Limit)], quick: bool, report: &Report) -> (String, bool) {
    if quick {
        return ("bars: not judged (--quick)\n".to_owned(), true);
    }
    let (verdicts, unmeasured) = judge(bars, report);
    let mut text: String = verdicts.iter().map(|verdict| format!("{verdict}\n")).collect();
    let met = verdicts.iter().filter(|verdict| verdict.met()).count();
    let rest = if unmeasured > 0 { format!(" ({unmeasured} more not measured)") } else { String::new() };
    text.push_str(&format!("bars: {met} of {} met{rest}\n", verdicts.len()));
    (text, met == verdicts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Always(f64);

    impl Subject for Always {
        fn measured(&self, _limit: Limit, _report: &Report) -> Option<Measured> {
            (self.0 > 0.0).then(|| Measured { title: "it".to_owned(), value: self.0, unit: "ns" })
        }
    }

    #[test]
    fn a_figure_that_is_not_a_number_meets_nothing() {
        let verdict = |limit| Verdict { title: String::new(), limit, measured: f64::NAN, unit: "" };
        assert!(![Limit::AtLeast(0.0), Limit::AtMost(9.0), Limit::Below(9.0)].map(verdict).iter().any(Verdict::met));
    }

    #[test]
    fn the_last_line_counts_and_a_quick_run_is_not_judged() {
        let bars =
            [(Always(5.0), Limit::AtMost(5.0)), (Always(5.0), Limit::Below(5.0)), (Always(0.0), Limit::AtMost(1.0))];
        let (text, good) = judgement(&bars, false, &Report::default());
        assert!(!good && text.ends_with("bars: 1 of 2 met (1 more not measured)\n"), "{text}");
        assert!(text.contains("MISSED it: 5.00 ns (bar < 5)"), "{text}");
        assert_eq!(judgement(&bars, true, &Report::default()), ("bars: not judged (--quick)\n".to_owned(), true));
    }
}
