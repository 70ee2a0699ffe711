//! The engine's own numbers against what was read and written. They only add to what is found: a history without them
//! is judged by its dependencies alone.

use super::anomaly::{AnomalyKind, Findings};
use super::graph::{Dependency, Edge};
use super::history::{Sequence, Tick};
use super::roles::Cast;
use super::text::named;

/// Reports dependencies that lead against the sequences of commits and snapshots, and sequences given twice.
pub(super) fn report(edges: &[Edge], cast: &Cast<'_, '_>, findings: &mut Findings) {
    for edge in edges {
        let from = cast.transactions[edge.from as usize];
        let to = cast.transactions[edge.to as usize];
        let (against, what) = match edge.dependency {
            Dependency::WriteWrite => (later_or_same(from.sequence, to.sequence), "replaced what a later commit wrote"),
            Dependency::WriteRead if to.snapshot.is_some() => {
                (later(from.sequence, to.snapshot), "read what is not in its snapshot yet")
            }
            Dependency::WriteRead => (later_or_same(from.sequence, to.sequence), "read what a later commit wrote"),
            Dependency::ReadWrite | Dependency::PredicateReadWrite => {
                (later_or_same(from.snapshot, to.sequence), "had not seen what its snapshot holds")
            }
            Dependency::Session | Dependency::RealTime => (false, ""),
        };
        if against {
            let anti = edge.dependency.is_anti();
            let (subject, other) = if anti { (edge.from, edge.to) } else { (edge.to, edge.from) };
            report_two(cast, findings, subject, other, what);
        }
    }
    let writers = writers_by_sequence(cast);
    for pair in writers.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        report_two(cast, findings, pair[0].1, pair[1].1, "has the sequence of another commit");
    }
}

/// Reports commits whose sequences contradict real time, and snapshots that lack what was committed before they were
/// taken.
pub(super) fn report_real_time(cast: &Cast<'_, '_>, findings: &mut Findings) {
    let writers = writers_by_sequence(cast);
    // The latest beginning of those with smaller sequences.
    let mut latest: Option<(Tick, u32)> = None;
    for (_, number) in &writers {
        let transaction = cast.transactions[*number as usize];
        if let Some((_, other)) = latest.filter(|(begin, _)| transaction.end < *begin) {
            report_two(cast, findings, *number, other, "ended before one began that has a smaller sequence");
        }
        latest = latest.max(Some((transaction.begin, *number)));
    }
    let mut ends: Vec<(Tick, Sequence, u32)> = writers
        .iter()
        .map(|(sequence, number)| (cast.transactions[*number as usize].end, *sequence, *number))
        .collect();
    ends.sort_unstable();
    let mut newest: Vec<(Sequence, u32)> = Vec::with_capacity(ends.len());
    for (_, sequence, number) in &ends {
        let before = newest.last().copied();
        newest.push(before.map_or((*sequence, *number), |before| before.max((*sequence, *number))));
    }
    for number in (0..cast.transactions.len() as u32).filter(|number| cast.reads(*number)) {
        let transaction = cast.transactions[number as usize];
        let Some(snapshot) = transaction.snapshot else { continue };
        let ended = ends.partition_point(|(end, _, _)| *end < transaction.begin);
        let before = ended.checked_sub(1).map(|last| newest[last]);
        if let Some((_, other)) = before.filter(|(sequence, _)| *sequence > snapshot) {
            report_two(cast, findings, number, other, "reads a snapshot without what was committed before it began");
        }
    }
}

/// Commits that changed something and have a sequence, and whose end was seen.
fn writers_by_sequence(cast: &Cast<'_, '_>) -> Vec<(Sequence, u32)> {
    let mut writers: Vec<(Sequence, u32)> = (0..cast.transactions.len() as u32)
        .filter(|number| cast.outcome(*number) == super::history::Outcome::Committed)
        .filter(|number| cast.transactions[*number as usize].writes())
        .filter_map(|number| Some((cast.transactions[number as usize].sequence?, number)))
        .collect();
    writers.sort_unstable();
    writers
}

fn later(one: Option<Sequence>, other: Option<Sequence>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one > other)
}

fn later_or_same(one: Option<Sequence>, other: Option<Sequence>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one >= other)
}

fn report_two(cast: &Cast<'_, '_>, findings: &mut Findings, subject: u32, other: u32, what: &str) {
    findings.add(AnomalyKind::SequenceMismatch, &[subject, other], || {
        let (one, two) = (named(cast.transactions, subject), named(cast.transactions, other));
        format!("T{subject} {what}: T{other}\n  {one}\n  {two}")
    });
}
