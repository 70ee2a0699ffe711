//! The judge of bars: what a suite must reach, beside what was measured.
//!
//! The bars of a suite are one table; raising a bar changes one line.

use std::fmt;

use crate::floors::floor::Floor;
use crate::harness::contest::Contest;
use crate::harness::report::Report;

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

    /// What a dependent load took where the limit was set, in nanoseconds, if the limit is a time: on a slower
    /// machine more is needed.
    fn load_ns_where_set(&self) -> Option<f64> {
        None
    }
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
    /// What distinguishes a slow machine from a slow engine, if the limit is a time.
    pub machine: Option<String>,
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
        write!(out, "{mark} {}: {:.2} {} (bar {sign} {limit})", self.title, self.measured, self.unit)?;
        match self.machine.as_ref().filter(|_| !self.met()) {
            Some(machine) => write!(out, "; {machine}"),
            None => Ok(()),
        }
    }
}

/// Judges `report` by every bar whose figure it has; also says how many it does not have.
pub fn judge<S: Subject>(bars: &[(S, Limit)], report: &Report) -> (Vec<Verdict>, usize) {
    let verdict = |(subject, limit): &(S, Limit)| {
        let Measured { title, value, unit } = subject.measured(*limit, report)?;
        let machine = subject.load_ns_where_set().map(|there| beside(report, there));
        Some(Verdict { title, limit: *limit, measured: value, unit, machine })
    };
    let verdicts: Vec<Verdict> = bars.iter().filter_map(verdict).collect();
    let unmeasured = bars.len() - verdicts.len();
    (verdicts, unmeasured)
}

/// This machine's dependent loads beside those of the machine where a bar was set: from huge pages, as the engine's
/// files have.
fn beside(report: &Report, there: f64) -> String {
    let here = report.limits.as_ref().map(|around| [&around.before, &around.after]);
    match here.map(|floors| floors.map(|floors| floors.get(Floor::DependentMemoryHuge))) {
        Some([Some(before), Some(after)]) => {
            let times = (before + after) / 2.0 / there;
            let here = format!("a dependent load took {before:.0} ns before the run and {after:.0} after it");
            format!("{here}, and {there:.0} where the bar was set: {times:.2} times as long")
        }
        _ => format!("a dependent load took {there:.0} ns where the bar was set, and was not measured here"),
    }
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
    use crate::floors::around::Around;
    use crate::floors::around::tests::planted;

    struct Always(f64);

    impl Subject for Always {
        fn measured(&self, _limit: Limit, _report: &Report) -> Option<Measured> {
            (self.0 > 0.0).then(|| Measured { title: "it".to_owned(), value: self.0, unit: "ns" })
        }
    }

    #[test]
    fn a_figure_that_is_not_a_number_meets_nothing() {
        let verdict = |limit| Verdict { title: String::new(), limit, measured: f64::NAN, unit: "", machine: None };
        assert!(![Limit::AtLeast(0.0), Limit::AtMost(9.0), Limit::Below(9.0)].map(verdict).iter().any(Verdict::met));
    }

    struct Timed(f64);

    impl Subject for Timed {
        fn measured(&self, _limit: Limit, _report: &Report) -> Option<Measured> {
            Some(Measured { title: "it".to_owned(), value: self.0, unit: "ns" })
        }

        fn load_ns_where_set(&self) -> Option<f64> {
            Some(100.0)
        }
    }

    #[test]
    fn a_time_that_is_missed_stands_beside_the_machine_s_loads_and_stays_missed() {
        let loads = |before, after| {
            let floors = |nanoseconds| planted([1.0, nanoseconds, 1.0, 1.0, 1.0, 1.0]);
            Report { limits: Some(Around { before: floors(before), after: floors(after) }), ..Report::default() }
        };
        let bars = [(Timed(9.0), Limit::AtMost(5.0)), (Timed(4.0), Limit::AtMost(5.0))];
        let (text, good) = judgement(&bars, false, &loads(150.0, 170.0));
        assert!(!good && text.ends_with("bars: 1 of 2 met\n"), "{text}");
        let told = "MISSED it: 9.00 ns (bar ≤ 5); a dependent load took 150 ns before the run and 170 after it, and 100 where the \
                    bar was set: 1.60 times as long\n";
        assert!(text.starts_with(told) && text.matches("dependent").count() == 1, "{text}");
        let (text, good) = judgement(&bars, false, &Report::default());
        assert!(
            !good && text.contains("(bar ≤ 5); a dependent load took 100 ns where the bar was set, and was not"),
            "{text}"
        );
        let ratios = [(Always(5.0), Limit::Below(5.0))];
        assert!(!judgement(&ratios, false, &loads(150.0, 170.0)).0.contains("dependent"));
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
