//! The content at the end against the commits: after a clean end all are in it, after a crash all those that were to
//! survive, each whole, and with each all that came before it.

use super::anomaly::{AnomalyKind, Findings};
use super::graph::{Dependencies, Graph};
use super::history::{Durability, End, Outcome, Sequence, Tick};
use super::observations::Place;
use super::roles::Cast;
use super::text::named;

/// What the content at the end says about each transaction; both, if it has a part of it. Of one whose every write was
/// replaced later nothing is said.
struct Fates {
    shown: Vec<bool>,
    lost: Vec<Option<Place>>,
}

/// Reports what is missing. `shown` and `lacking` are the writes that the content shows and lacks.
pub(super) fn report(
    end: &End,
    (shown, lacking): (&[Place], &[Place]),
    graph: &Graph,
    cast: &Cast<'_, '_>,
    findings: &mut Findings,
) {
    let count = cast.transactions.len();
    let mut fates = Fates { shown: vec![false; count], lost: vec![None; count] };
    shown.iter().for_each(|place| fates.shown[place.transaction as usize] = true);
    lacking.iter().for_each(|place| fates.lost[place.transaction as usize] = Some(*place));
    match end {
        End::Open => {}
        End::Closed(_) => report_lost(&fates, cast, findings),
        End::Crashed { survives, synced, .. } => {
            report_lost_durable(&fates, *survives, *synced, cast, findings);
            report_fractured(&fates, cast, findings);
            if let Some((lost, survivor, why)) = by_sequence(&fates, cast)
                .or_else(|| by_real_time(&fates, cast))
                .or_else(|| by_dependency(&fates, graph, cast))
            {
                findings.add(AnomalyKind::NonPrefix, &[lost, survivor], || {
                    let (one, two) = (named(cast.transactions, lost), named(cast.transactions, survivor));
                    format!("T{lost} is lost and T{survivor} survived, {why}\n  {one}\n  {two}")
                });
            }
        }
    }
}

impl Fates {
    fn lost(&self) -> impl Iterator<Item = (u32, Place)> {
        (0..).zip(&self.lost).filter_map(|(number, place)| place.map(|place| (number, place)))
    }

    /// Those that lost nothing.
    fn survivors(&self) -> impl Iterator<Item = u32> {
        (0..)
            .zip(&self.shown)
            .zip(&self.lost)
            .filter(|((_, shown), lost)| **shown && lost.is_none())
            .map(|((n, _), _)| n)
    }

    /// Those that show nothing.
    fn gone(&self) -> impl Iterator<Item = u32> {
        self.lost().map(|(number, _)| number).filter(|number| !self.shown[*number as usize])
    }
}

fn report_lost(fates: &Fates, cast: &Cast<'_, '_>, findings: &mut Findings) {
    for (number, place) in fates.lost() {
        findings.add(AnomalyKind::LostCommit, &[number], || {
            let name = named(cast.transactions, number);
            format!("`{}` is not in the content at the end\n  {name}", cast.operation(place))
        });
    }
}

fn report_lost_durable(
    fates: &Fates,
    survives: Durability,
    synced: Option<Tick>,
    cast: &Cast<'_, '_>,
    findings: &mut Findings,
) {
    for (number, place) in fates.lost() {
        let transaction = cast.transactions[number as usize];
        let by_level = transaction.durability >= survives;
        let by_sync = synced.is_some_and(|synced| transaction.end < synced);
        if transaction.outcome == Outcome::Committed && (by_level || by_sync) {
            findings.add(AnomalyKind::LostDurable, &[number], || {
                let why = if by_level { "its level" } else { "a later sync" };
                let name = named(cast.transactions, number);
                format!("`{}` was to survive by {why}, and did not\n  {name}", cast.operation(place))
            });
        }
    }
}

fn report_fractured(fates: &Fates, cast: &Cast<'_, '_>, findings: &mut Findings) {
    for (number, place) in fates.lost().filter(|(number, _)| fates.shown[*number as usize]) {
        findings.add(AnomalyKind::FracturedCommit, &[number], || {
            let name = named(cast.transactions, number);
            format!("`{}` is lost, and another part survived\n  {name}", cast.operation(place))
        });
    }
}

type Pair = (u32, u32, &'static str);

/// A lost commit with a smaller sequence than one that survived.
fn by_sequence(fates: &Fates, cast: &Cast<'_, '_>) -> Option<Pair> {
    let sequence =
        |number: u32| -> Option<(Sequence, u32)> { Some((cast.transactions[number as usize].sequence?, number)) };
    let (first_lost, lost) = fates.gone().filter_map(sequence).min()?;
    let (last_survivor, survivor) = fates.survivors().filter_map(sequence).max()?;
    (first_lost < last_survivor).then_some((lost, survivor, "which has a larger sequence"))
}

/// A lost commit that had ended when one began that survived.
fn by_real_time(fates: &Fates, cast: &Cast<'_, '_>) -> Option<Pair> {
    let committed = |number: &u32| cast.outcome(*number) == Outcome::Committed;
    let ends = fates.gone().filter(committed).map(|number| (cast.transactions[number as usize].end, number));
    let begins = fates.survivors().map(|number| (cast.transactions[number as usize].begin, number));
    let ((end, lost), (begin, survivor)) = (ends.min()?, begins.max()?);
    (end < begin).then_some((lost, survivor, "which began only after its end"))
}

/// A lost commit that one which survived depends on.
fn by_dependency(fates: &Fates, graph: &Graph, cast: &Cast<'_, '_>) -> Option<Pair> {
    let kinds = Dependencies::WW | Dependencies::WR;
    let reached = graph.reached_from(fates.gone(), kinds);
    let is_commit = |number: &u32| Some(*number) != cast.ending;
    let survivor = fates.survivors().filter(is_commit).find(|number| reached[*number as usize].is_some())?;
    Some((reached[survivor as usize]?, survivor, "which read or replaced what it wrote, or depends on one that did"))
}
