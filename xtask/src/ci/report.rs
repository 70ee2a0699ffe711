//! What `cargo xtask test` prints about its steps: a line when each ends, the table at the end, the list.

use std::time::Duration;

use crate::step::{Outcome, Step};

/// A step that has ended.
#[derive(Debug)]
pub struct Record {
    /// The step's name.
    pub name: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took; of a step that went beside others, how long its programs ran, added up.
    pub time: Duration,
}

/// One line on a step that has just ended.
pub fn line(record: &Record) -> String {
    format!("{} {} ({:.1} s)", record.name, verdict(&record.outcome), record.time.as_secs_f64())
}

/// The table of all steps, how long they took together, then the counts; the last line is the same whatever was
/// skipped, for scripts to read.
pub fn summary(records: &[Record], together: Duration) -> String {
    let mut text = format!("\n{:<14} {:>8}  result\n", "step", "seconds");
    for record in records {
        let seconds = record.time.as_secs_f64();
        text.push_str(&format!("{:<14} {seconds:>8.1}  {}\n", record.name, verdict(&record.outcome)));
    }
    text.push_str(&format!("{:<14} {:>8.1}  from beginning to end\n", "all", together.as_secs_f64()));
    let count = |is: fn(&Outcome) -> bool| records.iter().filter(|record| is(&record.outcome)).count();
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    if skipped > 0 {
        text.push_str(&format!("{skipped} skipped: what they check is NOT known to hold here\n"));
    }
    let passed = count(|outcome| matches!(outcome, Outcome::Passed));
    let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    text.push_str(&format!("{passed} passed, {failed} failed\n"));
    text
}

/// The steps and what each does.
pub fn list(steps: &[Step]) -> String {
    steps
        .iter()
        .map(|step| format!("{:<14}{}{}\n", step.name, step.what, if step.long { " (long)" } else { "" }))
        .collect()
}

fn verdict(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed => "passed".into(),
        Outcome::Failed(reason) => format!("FAILED: {reason}"),
        Outcome::Skipped(reason) => format!("SKIPPED: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &'static str, outcome: Outcome) -> Record {
        Record { name, outcome, time: Duration::from_millis(1_250) }
    }

    #[test]
    fn the_last_line_is_the_count_of_passed_and_failed_steps() {
        let records = [record("format", Outcome::Passed), record("tidy", Outcome::Failed("2 findings".into()))];
        let text = summary(&records, Duration::from_secs(2));
        assert_eq!(text.lines().last(), Some("1 passed, 1 failed"));
        assert!(text.contains("FAILED: 2 findings"));
        assert!(
            text.contains("all                 2.0  from beginning to end"),
            "side by side, steps take less than the sum"
        );
    }

    #[test]
    fn a_skipped_step_is_loud_and_counts_as_neither() {
        let text = summary(&[record("miri", Outcome::Skipped("no rustup".into()))], Duration::ZERO);
        assert!(text.contains("SKIPPED: no rustup"));
        assert!(text.contains("1 skipped: what they check is NOT known to hold here"));
        assert_eq!(text.lines().last(), Some("0 passed, 0 failed"));
    }
}
