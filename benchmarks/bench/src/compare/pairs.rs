//! Which rows of two files are the same, and by what they are compared.
//!
//! A row is compared by its share of a reference's figure in the same round, because machines are not the same from
//! one day to the next, and a share says less of the machine. The reference is LMDB, or else the first other engine
//! that both files have; an engine of another version, or with other settings, is none.

use crate::compare::noise::Rounds;
use crate::compare::results::{Results, Row, Subject};
use crate::harness::judge::MEASURED;

/// The same row of both files.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// What was measured.
    pub subject: Subject,
    /// The engine.
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
    let values = [old.figure(figure)?, new.figure(figure)?];
    let candidates = sides.old.rows.iter().filter(|row| row.subject == old.subject && row.engine != old.engine);
    let mut references: Vec<&Row> = candidates.filter(|row| !is_measured(&row.engine)).collect();
    references.sort_by_key(|row| row.engine != FIRST_REFERENCE);
    let of_reference = references.into_iter().find_map(|reference| {
        let name = &reference.engine;
        let other = find(sides.new, &old.subject, name)?;
        let is_same = sides.old.engine(reference, name) == sides.new.engine(other, name);
        let rounds = is_same.then(|| shares(values, [reference.figure(figure)?, other.figure(figure)?]))??;
        Some(Pair { reference: Some(name.clone()), rounds, ..named(old) })
    });
    of_reference.or_else(|| Some(Pair { rounds: of_themselves(values)?, ..named(old) }))
}

fn named(row: &Row) -> Pair {
    Pair { subject: row.subject.clone(), engine: row.engine.clone(), reference: None, rounds: Rounds::default() }
}

/// The figures of each round in both files, without a reference; `None` if no round has both.
fn of_themselves([old, new]: [&[Option<f64>]; 2]) -> Option<Rounds> {
    let mut rounds = Rounds::default();
    for (old, new) in old.iter().zip(new) {
        if let (Some(old), Some(new)) = (positive(*old), positive(*new)) {
            rounds.old.push(old);
            rounds.new.push(new);
        }
    }
    (!rounds.old.is_empty()).then_some(rounds)
}

/// What each round of both files is of the reference's same round; `None` if the two have not the same rounds, or
/// none that both files have.
fn shares([old, new]: [&[Option<f64>]; 2], [reference_old, reference_new]: [&[Option<f64>]; 2]) -> Option<Rounds> {
    if old.len() != reference_old.len() || new.len() != reference_new.len() {
        return None;
    }
    let mut rounds = Rounds::default();
    for ((old, new), (before, after)) in old.iter().zip(new).zip(reference_old.iter().zip(reference_new)) {
        if let [Some(old), Some(new), Some(before), Some(after)] =
            [old, new, before, after].map(|value| positive(*value))
        {
            rounds.old.push(old / before);
            rounds.new.push(new / after);
            rounds.reference.push(after / before);
        }
    }
    (!rounds.old.is_empty()).then_some(rounds)
}

/// A value that has a logarithm.
fn positive(value: Option<f64>) -> Option<f64> {
    value.filter(|value| *value > 0.0 && value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::results::tests::results;

    const FIGURE: &str = "cpu_ns_per_op";

    fn pairs(old: &Results, new: &Results) -> Pairs {
        pair(old, new, FIGURE, is_measured)
    }

    #[test]
    fn rows_are_compared_by_their_share_of_lmdb_in_the_same_round() {
        let old = results(&[("get_hit", vec![10.0, 20.0], vec![100.0, 50.0])]);
        let new = results(&[("get_hit", vec![30.0, 40.0], vec![200.0, 50.0])]);
        let pairs = pairs(&old, &new);
        let [pair] = &pairs.both[..] else { panic!("{pairs:?}") };
        assert_eq!((&pair.engine[..], pair.reference.as_deref()), ("fulgurite", Some("lmdb")));
        assert_eq!(pair.rounds, Rounds { old: vec![0.1, 0.4], new: vec![0.15, 0.8], reference: vec![2.0, 1.0] });
    }

    #[test]
    fn without_an_engine_that_is_the_same_the_figure_itself_is_compared() {
        let old = results(&[("get_hit", vec![10.0], vec![100.0])]);
        let alone = results(&[("get_hit", vec![30.0], vec![])]);
        let mut other_version = results(&[("get_hit", vec![30.0], vec![200.0])]);
        other_version.runs[0].engines[1].version = "2".to_owned();
        let fewer_rounds = results(&[("get_hit", vec![30.0], vec![200.0, 100.0])]);
        for new in [alone, other_version, fewer_rounds] {
            let pairs = pairs(&old, &new);
            let [pair] = &pairs.both[..] else { panic!("{pairs:?}") };
            assert_eq!(pair.reference, None);
            assert_eq!(pair.rounds, Rounds { old: vec![10.0], new: vec![30.0], reference: Vec::new() });
        }
    }

    #[test]
    fn another_engine_stands_in_for_lmdb_but_no_form_of_the_measured_one() {
        let renamed = |name: &str, ours: f64| {
            let mut results = results(&[("get_hit", vec![ours], vec![100.0])]);
            results.rows[1].engine = name.to_owned();
            results
        };
        let reference = |name: &str| {
            let pairs = pairs(&renamed(name, 10.0), &renamed(name, 20.0));
            pairs.both[0].reference.clone()
        };
        assert_eq!(reference("rocksdb").as_deref(), Some("rocksdb"));
        assert_eq!(reference("fulgurite-default"), None);
        assert!(is_measured("fulgurite-default") && !is_measured("fulguritelike") && !is_measured("lmdb"));
    }

    #[test]
    fn rows_of_one_file_are_told_and_rounds_without_the_figure_do_not_count() {
        let one = |name| (name, vec![10.0, 20.0], vec![100.0, 100.0]);
        let (mut old, new) = (results(&[one("get_hit"), one("scan")]), results(&[one("get_hit"), one("get_miss")]));
        old.rows[0].figures.iter_mut().find(|(name, _)| name == FIGURE).unwrap().1[0] = None;
        let found = pairs(&old, &new);
        assert_eq!(found.both[0].rounds.old, [0.2]);
        let workloads = |alone: &[(Subject, String)]| -> Vec<String> {
            alone.iter().map(|(subject, engine)| format!("{} {engine}", subject.workload)).collect()
        };
        assert_eq!(found.alone.each_ref().map(|alone| workloads(alone)), [["scan fulgurite"], ["get_miss fulgurite"]]);
        let without = pair(&old, &new, "no_such_figure", is_measured);
        assert_eq!((without.both.len(), workloads(&without.without_figure)), (0, vec!["get_hit fulgurite".to_owned()]));
        assert_eq!(pair(&old, &new, FIGURE, |engine| engine == "lmdb").both[0].engine, "lmdb");
    }

    #[test]
    fn rows_of_other_sizes_are_other_rows() {
        let one = || results(&[("get_hit", vec![10.0], vec![100.0])]);
        let mut other = one();
        other.rows.iter_mut().for_each(|row| row.subject.records += 1);
        let found = pairs(&one(), &other);
        assert_eq!((found.both.len(), found.alone[0].len(), found.alone[1].len()), (0, 1, 1));
    }
}
