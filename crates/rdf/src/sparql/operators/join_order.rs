//! The order in which the patterns of a group are joined, chosen on ids.
//!
//! The first pattern has the fewest quads. Each next one shares a variable with those before it, if any does, and adds
//! the fewest rows to a few real rows of the join. Counting costs as much as evaluating a short query. So a pattern is
//! counted only where there is a choice, once for the same variables, and one whose terms are all known comes first
//! without a count: it only drops rows.

use spargebra::term::{NamedNodePattern, TriplePattern};

use super::scope::Places;
use crate::quads::joined::{JoinGraph, JoinPattern, JoinTerm};
use crate::sparql::evaluation::limits::{EvaluationMonitor, Stopped};
use crate::sparql::plan::JoinOrder;
use crate::sparql::plan::counts::{self, CUT_PASSES, FILTER_PASSES};
use crate::{GraphPattern, IdPattern, IdQuad, QuadStep, Quads, TermId};

/// Rows that are carried along.
const SAMPLE: usize = 4;

/// Quads of a pattern that are looked at for one row of the sample.
const QUADS_LOOKED_AT: usize = 16;

/// If so many rows of the sample have the same number of quads, the others are taken to have it too.
const ALIKE: usize = 2;

/// Quads that are looked at to see how many a value that is not known has.
const TYPICAL: usize = 2;

/// A triple pattern, on ids.
pub(super) struct Pattern<'q> {
    pub(super) triple: &'q TriplePattern,
    pub(super) graph: Option<&'q NamedNodePattern>,
    pub(super) join: JoinPattern,
    /// The places of its variables.
    pub(super) places: Vec<usize>,
}

/// Values of a row by place; what is bound and not here is not known.
pub(super) type SampleRow = Vec<Option<TermId>>;

/// What the patterns are joined to.
#[derive(Clone)]
pub(super) struct Start {
    pub(super) bound: Places,
    pub(super) rows: f64,
    pub(super) sample: Vec<SampleRow>,
}

/// A pattern of the order.
pub(super) struct Step {
    pub(super) pattern: usize,
    /// The rows after it, if these are estimated.
    pub(super) rows: f64,
}

/// Chooses the order of a group.
pub(super) struct Chooser<'o, 'q, Q> {
    /// For reads that only choose the order.
    pub(super) quads: Q,
    pub(super) watch: &'o EvaluationMonitor,
    pub(super) order: JoinOrder,
    pub(super) patterns: &'o [Pattern<'q>],
    /// The places that each filter of the group reads.
    pub(super) filters: Vec<&'o [usize]>,
    /// The pattern that binds what the rows are sorted by.
    pub(super) sorted_by: Option<usize>,
    /// Whether the rows after each pattern are estimated.
    pub(super) estimates: bool,
}

/// How far the order has come.
struct Progress {
    at: Start,
    /// Patterns without a place in the order yet.
    left: Vec<usize>,
    /// Patterns that the sample has not joined yet.
    waiting: Vec<usize>,
    /// The rows that each pattern adds to each row, where that is known.
    fanouts: Vec<Option<f64>>,
}

impl<Q: Quads> Chooser<'_, '_, Q> {
    pub(super) fn in_order(&self, start: Start) -> Result<Vec<Step>, Stopped> {
        let mut progress = self.progress(start);
        let mut steps = Vec::with_capacity(self.patterns.len());
        while !progress.left.is_empty() {
            let (choice, fanout) = self.choose(&mut progress)?;
            let pattern = progress.left.remove(choice);
            progress.at.rows *= fanout;
            steps.push(Step { pattern, rows: progress.at.rows });
            self.join(pattern, &mut progress);
        }
        Ok(steps)
    }

    fn progress(&self, start: Start) -> Progress {
        let count = self.patterns.len();
        Progress { at: start, left: (0..count).collect(), waiting: Vec::new(), fanouts: vec![None; count] }
    }

    /// Whether a pattern that shares no variable with the rows at the start has fewer quads than there would be rows
    /// after any of the others.
    pub(super) fn begins_apart(&self, start: Start) -> Result<bool, Stopped> {
        let is_joined = |pattern: &usize| self.patterns[*pattern].places.iter().any(|place| start.bound.has(*place));
        let (joined, apart): (Vec<usize>, Vec<usize>) = (0..self.patterns.len()).partition(is_joined);
        if joined.is_empty() || apart.is_empty() {
            return Ok(false);
        }
        let mut progress = self.progress(start);
        let mut fewest = f64::INFINITY;
        for pattern in joined {
            fewest = fewest.min(progress.at.rows * self.fanout(pattern, &mut progress)?);
        }
        for pattern in apart {
            if self.fanout(pattern, &mut progress)? < fewest {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The quads of the pattern that has the fewest, without values of rows.
    pub(super) fn fewest<'j>(&self, joins: impl Iterator<Item = &'j JoinPattern>) -> Result<f64, Stopped> {
        let mut fewest = f64::INFINITY;
        for join in joins {
            fewest = fewest.min(self.count(&narrowed(join, &[]))?);
        }
        Ok(fewest)
    }

    /// Binds the places of a pattern.
    fn join(&self, pattern: usize, progress: &mut Progress) {
        let Progress { at, left, waiting, fanouts } = progress;
        for place in &self.patterns[pattern].places {
            if at.bound.has(*place) {
                continue;
            }
            at.bound.add(*place);
            // What a pattern adds depends on which of its places are bound.
            for other in left.iter().filter(|other| self.patterns[**other].places.contains(place)) {
                fanouts[*other] = None;
            }
        }
        waiting.push(pattern);
    }

    /// The position among those that are left, and the rows that the pattern adds to each row.
    fn choose(&self, progress: &mut Progress) -> Result<(usize, f64), Stopped> {
        let candidates = match self.order {
            JoinOrder::Written => vec![0],
            JoinOrder::Counts => self.candidates(progress)?,
        };
        let is_known = |choice: &usize| {
            let places = &self.patterns[progress.left[*choice]].places;
            !places.is_empty() && progress.at.bound.has_all(places)
        };
        let without_choice = match *candidates {
            [only] => Some(only),
            _ => candidates.iter().copied().find(is_known),
        };
        if let Some(choice) = without_choice {
            let fanout = if self.estimates { self.fanout(progress.left[choice], progress)? } else { 1.0 };
            return Ok((choice, fanout));
        }
        let mut best: Option<(usize, f64, f64)> = None;
        for choice in candidates {
            self.watch.step()?;
            let fanout = self.fanout(progress.left[choice], progress)?;
            let weight = fanout * self.passes(progress.left[choice], &progress.at.bound);
            if best.is_none_or(|(_, _, least)| weight < least) {
                best = Some((choice, fanout, weight));
            }
        }
        let (choice, fanout, _) = best.expect("a pattern is left, and all are candidates if none is connected");
        Ok((choice, fanout))
    }

    /// Positions among those that are left: patterns that share a variable with the joined ones, and those of at most
    /// one quad, which do not multiply the rows.
    fn candidates(&self, progress: &mut Progress) -> Result<Vec<usize>, Stopped> {
        let is_connected = |pattern: usize, bound: &Places| {
            let places = &self.patterns[pattern].places;
            places.is_empty() || places.iter().any(|place| bound.has(*place))
        };
        let count = progress.left.len();
        if count == 1 || !progress.left.iter().any(|pattern| is_connected(*pattern, &progress.at.bound)) {
            return Ok((0..count).collect());
        }
        let mut candidates = Vec::with_capacity(count);
        for choice in 0..count {
            let pattern = progress.left[choice];
            if is_connected(pattern, &progress.at.bound) || self.fanout(pattern, progress)? <= 1.0 {
                candidates.push(choice);
            }
        }
        Ok(candidates)
    }

    /// The share of a pattern's rows that are expected to remain.
    fn passes(&self, pattern: usize, bound: &Places) -> f64 {
        let mut share = 1.0;
        if self.sorted_by == Some(pattern) && bound.iter().next().is_none() {
            share *= CUT_PASSES;
        }
        if self.filters.is_empty() {
            return share;
        }
        let mut with = bound.clone();
        self.patterns[pattern].places.iter().for_each(|place| with.add(*place));
        for filter in &self.filters {
            if with.has_all(filter) && !bound.has_all(filter) {
                share *= FILTER_PASSES;
            }
        }
        share
    }

    /// The rows that a pattern adds to each row.
    fn fanout(&self, pattern: usize, progress: &mut Progress) -> Result<f64, Stopped> {
        if let Some(fanout) = progress.fanouts[pattern] {
            return Ok(fanout);
        }
        let places = &self.patterns[pattern].places;
        let fanout = if places.iter().any(|place| progress.at.bound.has(*place)) {
            self.catch_up(progress)?;
            self.fanout_of_sample(pattern, &progress.at)?
        } else {
            self.count(&narrowed(&self.patterns[pattern].join, &[]))?
        };
        progress.fanouts[pattern] = Some(fanout);
        Ok(fanout)
    }

    fn fanout_of_sample(&self, pattern: usize, at: &Start) -> Result<f64, Stopped> {
        let Pattern { join, places, .. } = &self.patterns[pattern];
        let (mut total, mut first, mut are_alike) = (0.0, 0.0, true);
        for (number, row) in at.sample.iter().enumerate() {
            let is_unknown = |place: &usize| at.bound.has(*place) && value(row, *place).is_none();
            let count = match places.iter().any(is_unknown) {
                true => self.typical(join, row, &at.bound)?,
                false => self.count(&narrowed(join, row))?,
            };
            first = if number == 0 { count } else { first };
            are_alike &= count == first;
            total += count;
            if are_alike && number + 1 == ALIKE {
                return Ok(count);
            }
        }
        Ok(total / at.sample.len().max(1) as f64)
    }

    /// The quads of a pattern when values of its own quads take the places that are bound and not known.
    fn typical(&self, join: &JoinPattern, row: &[Option<TermId>], bound: &Places) -> Result<f64, Stopped> {
        let pattern = narrowed(join, row);
        let mut quads = self.quads.quads(&pattern);
        let (mut total, mut looked_at) = (0.0, 0.0);
        let mut keys_left = counts::KEYS_MAX;
        for _ in 0..TYPICAL {
            let QuadStep::Quad(quad) = counts::next(&mut quads, &mut keys_left, self.watch)? else { break };
            let mut known = pattern;
            let positions = [&mut known.subject, &mut known.predicate, &mut known.object];
            let ids = [quad.subject, quad.predicate, quad.object];
            for ((position, id), term) in positions.into_iter().zip(ids).zip(join.terms) {
                if matches!(term, JoinTerm::Variable(place) if bound.has(place)) {
                    *position = Some(id);
                }
            }
            if matches!(join.graph, JoinGraph::Variable(place) if bound.has(place)) {
                known.graph = GraphPattern::Named(quad.graph);
            }
            total += self.count(&known)?;
            looked_at += 1.0;
        }
        Ok(if looked_at > 0.0 { total / looked_at } else { self.count(&pattern)? })
    }

    /// Joins the patterns that wait to the sample.
    fn catch_up(&self, progress: &mut Progress) -> Result<(), Stopped> {
        for pattern in std::mem::take(&mut progress.waiting) {
            let join = &self.patterns[pattern].join;
            let each = (QUADS_LOOKED_AT / progress.at.sample.len().max(1)).max(1);
            let (mut joined, mut keys_left) = (Vec::new(), counts::KEYS_MAX);
            for row in &progress.at.sample {
                let mut quads = self.quads.quads(&narrowed(join, row));
                for _ in 0..each {
                    match counts::next(&mut quads, &mut keys_left, self.watch)? {
                        QuadStep::Quad(quad) => joined.extend(extended(join, row, &quad)),
                        QuadStep::Paused | QuadStep::End => break,
                    }
                }
            }
            // Without a match, the values of the rows before are still typical ones.
            if !joined.is_empty() {
                progress.at.sample = far_apart(joined.len()).map(|row| std::mem::take(&mut joined[row])).collect();
            }
        }
        Ok(())
    }

    fn count(&self, pattern: &IdPattern) -> Result<f64, Stopped> {
        counts::count(&self.quads, pattern, self.watch)
    }
}

fn value(row: &[Option<TermId>], place: usize) -> Option<TermId> {
    row.get(place).copied().flatten()
}

/// The pattern with the values of a row.
fn narrowed(join: &JoinPattern, row: &[Option<TermId>]) -> IdPattern {
    let [subject, predicate, object] = join.terms.map(|term| match term {
        JoinTerm::Term(id) => Some(id),
        JoinTerm::Variable(place) => value(row, place),
    });
    let graph = match join.graph {
        JoinGraph::Graphs(graphs) => graphs,
        JoinGraph::Variable(place) => value(row, place).map_or(GraphPattern::AnyNamed, GraphPattern::Named),
    };
    IdPattern { subject, predicate, object, graph }
}

/// The row with the values of a quad; `None` if a place would have two.
fn extended(join: &JoinPattern, row: &[Option<TermId>], quad: &IdQuad) -> Option<SampleRow> {
    let mut extended = row.to_vec();
    let mut set = |place: usize, id: TermId| {
        if extended.len() <= place {
            extended.resize(place + 1, None);
        }
        *extended[place].get_or_insert(id) == id
    };
    for (term, id) in join.terms.into_iter().zip([quad.subject, quad.predicate, quad.object]) {
        if let JoinTerm::Variable(place) = term
            && !set(place, id)
        {
            return None;
        }
    }
    match join.graph {
        JoinGraph::Variable(place) if !set(place, quad.graph) => None,
        _ => Some(extended),
    }
}

/// The numbers of as many of the rows as a sample has, far from each other: rows that follow each other often come from
/// one row.
pub(super) fn far_apart(rows: usize) -> impl Iterator<Item = usize> {
    (0..rows).step_by(rows.div_ceil(SAMPLE).max(1))
}

#[cfg(test)]
mod tests {
    use oxrdf::{GraphName, Literal, NamedNode, Quad};

    use super::*;
    use crate::sparql::Limits;
    use crate::{Order, Store, StoreOptions};

    #[test]
    fn quads_that_are_not_reached_are_not_taken_for_none() {
        let directory = tempfile::tempdir().expect("a directory");
        let orders = ["spo", "spog"].map(|name| Order::parse(name).expect("an order"));
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new().orders(orders)).expect("a store");
        let iri = NamedNode::new_unchecked("http://example.org/a");
        let quad = |number: i64| Quad::new(iri.clone(), iri.clone(), Literal::from(number), GraphName::DefaultGraph);
        let last = 2 * counts::KEYS_MAX as i64;
        store.update(|txn| (0..=last).try_for_each(|number| txn.insert(&quad(number)).map(drop))).expect("a commit");
        let snapshot = store.snapshot().expect("a snapshot");
        let object = snapshot.id(Literal::from(last).as_ref().into()).expect("a lookup").expect("a number");
        let terms = [JoinTerm::Variable(0), JoinTerm::Variable(1), JoinTerm::Term(object)];
        let join = JoinPattern { terms, graph: JoinGraph::Graphs(GraphPattern::Any) };
        let mut bound = Places::default();
        bound.add(0);
        let watch = EvaluationMonitor::start(&Limits::new());
        let chooser = Chooser {
            quads: snapshot,
            watch: &watch,
            order: JoinOrder::Counts,
            patterns: &[],
            filters: Vec::new(),
            sorted_by: None,
            estimates: false,
        };
        assert!(chooser.typical(&join, &[], &bound).expect("an estimate") > 0.0);
    }

    #[test]
    fn a_sample_is_of_few_rows_of_all_parts() {
        for (rows, sampled) in [
            (0, vec![]),
            (1, vec![0]),
            (4, vec![0, 1, 2, 3]),
            (5, vec![0, 2, 4]),
            (1 << 40, vec![0, 1 << 38, 2 << 38, 3 << 38]),
        ] {
            assert_eq!(far_apart(rows).collect::<Vec<_>>(), sampled, "of {rows} rows");
        }
    }
}
