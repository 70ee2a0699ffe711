//! What the record of a segment means, and how a failure is reported.

use std::fmt::{self, Write as _};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::super::anomaly::Report;
use super::super::history::{Content, End, History};
use super::super::{Options, check};
use super::counts;
use super::shapes::Shape;
use super::world::Segment;

/// What is wrong with a run.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The shape.
    pub shape: &'static str,
    /// The seed of its world.
    pub seed: u64,
    /// Transactions of its world.
    pub world: u64,
    /// How many anomalies there are; 0 if the run could not go on for another reason.
    pub anomalies: u64,
    /// What happened, in words.
    pub text: String,
    /// Where the history is written.
    pub history: Option<PathBuf>,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, seed, world, text, .. } = self;
        writeln!(out, "shape {shape}, seed {seed}: {}", text.trim_end())?;
        if let Some(path) = &self.history {
            writeln!(out, "the history is in {}", path.display())?;
        }
        let arguments = format!("--shape {shape} --seed {seed} --world {world} --transactions 1");
        write!(out, "repeat, as far as threads repeat: cargo xtask isolation {arguments}")
    }
}

/// Checks a segment. Returns how many kinds of write skew it has that its level allows.
///
/// # Errors
/// How many anomalies it has, and the first ones in words.
pub(super) fn judge(segment: &Segment, shape: &Shape) -> Result<u64, (u64, String)> {
    let level = shape.level();
    let options = Options { real_time: true, aborted_reads: true, examples_max: 3, ..Options::new(level) };
    let report = match check(&segment.history, &options) {
        Ok(report) => report,
        Err(error) => return Err((0, format!("the record is no history: {error}"))),
    };
    let mut wrong = counts::wrong(&segment.history, &segment.notes);
    wrong.extend(segment.wrong.iter().cloned());
    let count = |forbidden: bool| -> u64 {
        report.counts.iter().filter(|(kind, _)| level.forbids(**kind) == forbidden).map(|(_, count)| count).sum()
    };
    let anomalies = count(true) + wrong.len() as u64;
    if report.is_sound() && wrong.is_empty() {
        Ok(count(false))
    } else {
        Err((anomalies.max(1), told(&report, &wrong)))
    }
}

fn told(report: &Report, wrong: &[String]) -> String {
    let mut text = String::new();
    for anomaly in &report.anomalies {
        let _ = writeln!(text, "{anomaly}");
    }
    for wrong in wrong.iter().take(3) {
        let _ = writeln!(text, "{wrong}");
    }
    for (kind, count) in &report.counts {
        let _ = writeln!(text, "{count} x {kind}");
    }
    text
}

/// Writes a history for people, in a directory.
///
/// # Errors
/// The system's.
pub(super) fn write_history(history: &History, directory: &Path, name: &str) -> std::io::Result<PathBuf> {
    let path = directory.join(name);
    let mut out = BufWriter::new(std::fs::File::create(&path)?);
    writeln!(out, "initial content\n{}", content(&history.initial))?;
    for (number, transaction) in history.transactions.iter().enumerate() {
        let (begin, end) = (transaction.begin.0, transaction.end.0);
        let sequence = |sequence: Option<super::super::history::Sequence>| match sequence {
            Some(sequence) => sequence.0.to_string(),
            None => "-".into(),
        };
        let operations: Vec<String> = transaction.operations.iter().map(ToString::to_string).collect();
        writeln!(
            out,
            "T{number} process {} ticks {begin}..{end} {:?} {:?} snapshot {} sequence {}: {}",
            transaction.process.0,
            transaction.outcome,
            transaction.durability,
            sequence(transaction.snapshot),
            sequence(transaction.sequence),
            operations.join("; ")
        )?;
    }
    match &history.end {
        End::Open => writeln!(out, "nobody looked at the end")?,
        End::Closed(end) => writeln!(out, "content at the end\n{}", content(end))?,
        End::Crashed { content: end, survives, synced } => {
            writeln!(out, "content after a crash that {survives:?} survives, synced {synced:?}\n{}", content(end))?;
        }
    }
    out.flush()?;
    Ok(path)
}

fn content(content: &Content) -> String {
    let mut text = String::new();
    for (key, elements) in &content.lists {
        let elements: Vec<String> = elements.iter().map(|element| element.0.to_string()).collect();
        let _ = writeln!(text, "  list {}: {}", key.0, elements.join(" "));
    }
    for (key, value) in &content.registers {
        let _ = writeln!(text, "  register {}: {}", key.0, value.0);
    }
    text
}
