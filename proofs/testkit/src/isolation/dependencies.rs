//! What the keys of a history show about its transactions: their dependencies, reads without an explanation, and which
//! transactions the final content shows or lacks.

use super::anomaly::{AnomalyKind, Findings};
use super::graph::{Dependency, Edge};
use super::history::{Outcome, Value};
use super::observations::{Place, Write, write_of};
use super::roles::Cast;
use super::text::{named, short};

/// What is gathered from key after key.
#[derive(Debug)]
pub(super) struct Gathered<'f> {
    pub edges: Vec<Edge>,
    pub findings: &'f mut Findings,
    /// Writes that the content at the end shows.
    pub shown: Vec<Place>,
    /// Writes that the content at the end lacks, though nothing replaced them in it.
    pub lacking: Vec<Place>,
}

/// A read whose key cannot be told from the operation alone, for reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub place: Place,
    /// The value in question; `None` for an absence.
    pub value: Option<Value>,
}

impl Gathered<'_> {
    /// Adds a dependency, unless it is one of a transaction on itself.
    pub(super) fn add(&mut self, cast: &Cast<'_, '_>, from: Place, to: Place, dependency: Dependency) {
        let undone = cast.crashed && cast.ending == Some(from.transaction);
        if from.transaction != to.transaction && !undone {
            self.edges.push(Edge::new(from, to, dependency));
        }
    }

    /// The write that a reader saw, if it is there to be seen; otherwise what is wrong with that is reported.
    pub(super) fn explain<'w>(
        &mut self,
        cast: &Cast<'_, '_>,
        writes: &'w [Write],
        reading: Reading,
        value: Value,
    ) -> Option<&'w Write> {
        let Some(write) = write_of(writes, value) else {
            self.report_unwritten(cast, reading);
            return None;
        };
        if cast.writes(write.place.transaction) {
            return Some(write);
        }
        // A transaction in doubt that was seen counts as committed, so this one was aborted.
        debug_assert_eq!(cast.outcome(write.place.transaction), Outcome::Aborted);
        self.report_two(cast, AnomalyKind::AbortedRead, reading, write.place, "which was aborted");
        None
    }

    /// Reports a value that nobody wrote.
    pub(super) fn report_unwritten(&mut self, cast: &Cast<'_, '_>, reading: Reading) {
        let reader = reading.place.transaction;
        self.findings.add(AnomalyKind::UnwrittenRead, &[reader], || {
            let operation = cast.operation(reading.place);
            let what = match reading.value {
                Some(value) => format!("found {}, which was never written to it", value.0),
                None => "found absent what was present and never deleted".into(),
            };
            format!("`{operation}` {what}\n  {}", named(cast.transactions, reader))
        });
    }

    /// Reports a read of what another transaction wrote.
    pub(super) fn report_two(
        &mut self,
        cast: &Cast<'_, '_>,
        kind: AnomalyKind,
        reading: Reading,
        writer: Place,
        why: &str,
    ) {
        let reader = reading.place.transaction;
        self.findings.add(kind, &[reader, writer.transaction], || {
            format!(
                "{}'s `{}` saw `{}` of {}, {why}\n  {}\n  {}",
                short(cast.transactions, reader),
                cast.operation(reading.place),
                cast.operation(writer),
                short(cast.transactions, writer.transaction),
                named(cast.transactions, reader),
                named(cast.transactions, writer.transaction),
            )
        });
    }

    /// Reports transactions that read the same version of a key, sorted by it, and replaced it.
    pub(super) fn report_lost_updates(&mut self, cast: &Cast<'_, '_>, updates: &mut [(u32, Place)]) {
        updates.sort_unstable_by_key(|(version, place)| (*version, place.transaction));
        for group in updates.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            let transactions: Vec<u32> = group.iter().map(|(_, place)| place.transaction).collect();
            self.findings.add(AnomalyKind::LostUpdate, &transactions, || {
                let mut text = "these read the same version of a key, and each replaced it".to_owned();
                for (_, place) in group.iter().take(3) {
                    let name = named(cast.transactions, place.transaction);
                    text.push_str(&format!("\n  by `{}`: {name}", cast.operation(*place)));
                }
                text
            });
        }
    }
}
