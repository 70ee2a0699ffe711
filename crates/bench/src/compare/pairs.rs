//! Which rows of two files are the same, and by what they are compared.
//!
//! A row is compared by its share of a reference's figure in the same round, because machines are not the same from one day to the
//! next, and a share says less of the machine. The reference is LMDB, or else the first other engine that both files have; an engine of
//! another version, or with other settings, is none.

use crate::compare::noise::Rounds;
use crate::compare::results::{Results, Row, Subject};
use crate::judge::MEASURED;

/// The same row of both files.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// What was measured.
    pub subject: Subject,
    /// Of which engine.
    pub engine: String,
    /// The engine that the figure is a share of.
    pub reference: Option<String>,
    /// The figure, or the share, of all rounds that have it.
    pub rounds: Rounds,
}

/// Rows of two files, side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Rows of both, in the order of the first.
    pub both: Vec<Pair>,
    /// Rows of the first file alone, then of the second.
    pub alone: [Vec<(Subject, String)>; 2],
    /// Rows of both that have not the figure in both.
    pub without_figure: Vec<(Subject, String)>,
}

/// The reference where it can be one.
const FIRST_REFERENCE: &str = "lmdb";

/// Whether an engine is the measured one, or a form of it, which is named after it.
pub fn is_measured(engine: &str) -> bool {
    engine.strip_prefix(MEASURED).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Pairs the rows of the engines that are `wanted`, by this figure.
pub fn pair(old: &Results, new: &Results, figure: &str, wanted: impl Fn(&str) -> bool) -> Pairs {
    let mut pairs = Pairs::default();
    for row in old.rows.iter().filter(|row| wanted(&row.engine)) {
        let name = || (row.subject.clone(), row.engine.clone());
        let Some(other) = find(new, &row.subject, &row.engine) else {
            pairs.alone[0].push(name());
            continue;
        };
        match compared(Sides { old, new }, (row, other), figure) {
            Some(pair) => pairs.both.push(pair),
            None => pairs.without_figure.push(name()),
        }
    }
    let unknown = |row: &&Row| wanted(&row.engine) && find(old, &row.subject, &row.engine).is_none();
    pairs.alone[1] = new.rows.iter().filter(unknown).map(|row| (row.subject.clone(), row.engine.clone())).collect();
    pairs
}

#[derive(Clone, Copy)]
struct Sides<'r> {
    old: &'r Results,
    new: &'r Results,
}

fn find<'r>(results: &'r Results, subject: &Subject, engine: &str) -> Option<&'r Row> {
    results.rows.iter().find(|row| row.engine == engine && row.subject == *subject)
}

fn compared(sides: Sides<'_>, (old, new): (&Row, &Row), figure: &str) -> Option<Pair> {
    let (old_values, new_values) = (old.figure(figure)?, new.figure(figure)?);
    let candidates = sides.old.rows.iter().filter(|row| row.subject == old.subject && row.engine != old.engine);
    let mut references: Vec<&Row> = candidates.filter(|row| !is_measured(&row.engine)).collect();
    references.sort_by_key(|row| row.engine != FIRST_REFERENCE);
    for reference in references {
        let Some(other) = find(sides.new, &old.subject, &reference.engine) else { continue };
        let name = &reference.engine;
        if sides.old.engine(reference, name) != sides.new.engine(other, name) {
            continue;
        }
        let shares = |values, reference: &Row| shares(values, reference.figure(figure)?);
        if let (Some(old_shares), Some(new_shares)) = (shares(old_values, reference), shares(new_values, other)) {
            let rounds = Rounds { old: old_shares, new: new_shares };
            return Some(Pair { reference: Some(name.clone()), rounds, ..named(old) });
        }
    }
    let present = |values: &[Option<f64>]| -> Vec<f64> {
        values.iter().copied().flatten().filter(|&value| value > 0.0).collect()
    };
    let rounds = Rounds { old: present(old_values), new: present(new_values) };
    let is_there = !rounds.old.is_empty() && !rounds.new.is_empty();
    is_there.then(|| Pair { rounds, ..named(old) })
}

fn named(row: &Row) -> Pair {
    let rounds = Rounds { old: Vec::new(), new: Vec::new() };
    Pair { subject: row.subject.clone(), engine: row.engine.clone(), reference: None, rounds }
}

/// What each round is of the reference's same round; `None` if the two have not the same rounds.
fn shares(values: &[Option<f64>], reference: &[Option<f64>]) -> Option<Vec<f64>> {
    if values.len() != reference.len() {
        return None;
    }
    let share = |(value, reference): (&Option<f64>, &Option<f64>)| Some((*value)? / (*reference)?);
    let shares: Vec<f64> = values.iter().zip(reference).filter_map(share).collect();
    let shares: Vec<f64> = shares.into_iter().filter(|share| *share > 0.0 && share.is_finite()).collect();
    (!shares.is_empty()).then_some(shares)
}
