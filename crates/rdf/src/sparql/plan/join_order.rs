//! The order of joins, from exact counts.
//!
//! The operands of one group (triple patterns, paths and others) are put in an order. The first operand is the one with
//! the fewest rows. Each next operand shares a variable with the ones before, if any does, and leaves the fewest rows.

use spargebra::algebra::{GraphPattern, PropertyPathExpression};
use spargebra::term::{NamedNodePattern, TermPattern};

use super::counts::{COMPARED_ROWS_MAX, CUT_PASSES, FILTER_PASSES};
use super::estimate::{Estimator, Progress, Slots};
use super::first_rows::Cut;
use super::names::Names;
use crate::Quads;
use crate::sparql::evaluation::limits::Stopped;

/// How the patterns of a group are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinOrder {
    /// By exact counts of the store: the fewest rows first.
    #[default]
    Counts,
    /// As the text has them.
    Written,
}

/// The assumed rows of a pattern that cannot be counted.
pub const UNKNOWN_ROWS: f64 = 1_000.0;

/// The most triple patterns and paths of a nested pattern that are counted to estimate its rows.
const LOOKED_AT_MAX: usize = 32;

/// What surrounds a pattern.
#[derive(Clone)]
pub struct Context {
    pub graph: Option<NamedNodePattern>,
    /// Variables that are bound before the pattern is evaluated.
    pub outer: Names,
    /// How often the pattern is evaluated.
    pub times: f64,
    /// The variables of each filter around the pattern.
    pub filters: Vec<Names>,
}

impl Context {
    pub fn within(&self, names: &Names, rows: f64) -> Self {
        Self { graph: self.graph.clone(), outer: self.outer.clone().with(names), times: rows, filters: Vec::new() }
    }

    /// The number of filters that can be applied once the element is joined, and could not before.
    fn filters_first_met(&self, element: &Element, progress: &Progress) -> i32 {
        if self.filters.is_empty() {
            return 0;
        }
        let with = progress.bound.clone().with(&element.names);
        let met = |names: &&Names| names.are_within(&with) && !names.are_within(&progress.bound);
        i32::try_from(self.filters.iter().filter(met).count()).unwrap_or(i32::MAX)
    }

    pub fn alone(&self) -> Self {
        Self { graph: self.graph.clone(), outer: Names::default(), times: 1.0, filters: Vec::new() }
    }
}

/// An operand of a group.
pub struct Element {
    pub pattern: GraphPattern,
    pub graph: Option<NamedNodePattern>,
    pub names: Names,
    pub body: Body,
}

/// The kind of an operand.
pub enum Body {
    Triple(Slots),
    Path {
        path: PropertyPathExpression,
        ends: [Names; 2],
    },
    Values,
    /// Evaluated for each row of the pattern before.
    Substituted,
    /// Evaluated once, then joined.
    Apart {
        rows: f64,
    },
}

/// Chooses the operand to join next.
pub struct Chooser<'c, 'p, Q> {
    pub order: JoinOrder,
    pub estimator: &'c Estimator<'p, Q>,
    /// As in the planner.
    pub ignores_row_totals: bool,
    /// How the results are cut off.
    pub cut: Option<&'c Cut>,
}

impl<Q: Quads> Chooser<'_, '_, Q> {
    /// Returns the place of the element to join next, and the rows that it adds to each row.
    pub fn choose(
        &self,
        elements: &[Element],
        progress: &mut Progress,
        context: &Context,
    ) -> Result<(usize, f64), Stopped> {
        if self.ignores_row_totals && (elements.len() == 1 || self.order == JoinOrder::Written) {
            return Ok((0, 1.0));
        }
        // Joined later, all of their rows would be compared with each row.
        let large_values = |element: &Element| match &element.pattern {
            GraphPattern::Values { bindings, .. } => bindings.len() > COMPARED_ROWS_MAX,
            _ => false,
        };
        let forced = match self.order {
            JoinOrder::Written => Some(0),
            JoinOrder::Counts => elements.iter().position(large_values),
        };
        let candidates = match forced {
            Some(place) => vec![place],
            None => self.candidates(elements, progress)?,
        };
        if let ([place], true) = (&*candidates, self.ignores_row_totals) {
            return Ok((*place, 1.0));
        }
        self.estimator.catch_up(progress, |name| elements.iter().any(|element| element.names.contains(name)))?;
        let mut best: Option<(usize, f64, f64)> = None;
        for place in candidates {
            let element = &elements[place];
            let mut passes = FILTER_PASSES.powi(context.filters_first_met(element, progress));
            if progress.bound.is_empty() && self.cut.is_some_and(|cut| cut.is_bound_by(&element.pattern)) {
                passes *= CUT_PASSES;
            }
            // From there on it is not the best.
            let enough = best.map_or(f64::INFINITY, |(_, _, least)| least / passes);
            let fanout = self.fanout(element, progress, enough)?;
            if best.is_none_or(|(_, _, least)| fanout * passes < least) {
                best = Some((place, fanout, fanout * passes));
            }
        }
        let (place, fanout, _) = best.expect("what is connected is a candidate, and all are if nothing is");
        Ok((place, fanout))
    }

    /// The elements that may be joined next: those that share a variable with the joined ones, and those with at most
    /// one row. One row does not multiply the others, and binds variables for what follows.
    fn candidates(&self, elements: &[Element], progress: &Progress) -> Result<Vec<usize>, Stopped> {
        let connected = |element: &Element| element.names.is_empty() || element.names.shares_with(&progress.bound);
        if !elements.iter().any(connected) {
            return Ok((0..elements.len()).collect());
        }
        let mut candidates = Vec::with_capacity(elements.len());
        for (place, element) in elements.iter().enumerate() {
            let is_candidate = match &element.body {
                _ if connected(element) => true,
                Body::Triple(slots) => self.estimator.fanout_apart(slots)? <= 1.0,
                _ => false,
            };
            if is_candidate {
                candidates.push(place);
            }
        }
        Ok(candidates)
    }

    /// Rows that the element adds to each row. If that is `enough` or more, any number that is at least `enough`.
    fn fanout(&self, element: &Element, progress: &Progress, enough: f64) -> Result<f64, Stopped> {
        match &element.body {
            Body::Triple(slots) => self.estimator.fanout(slots, progress, enough),
            Body::Path { path, ends } => {
                let bound = |names: &Names| names.is_empty() || names.shares_with(&progress.bound);
                let ends_bound = ends.iter().filter(|names| bound(names)).count();
                self.estimator.path_fanout(path, element.graph.as_ref(), ends_bound)
            }
            Body::Values => Ok(match &element.pattern {
                // A row that has the variables already meets at most a few of the table's.
                GraphPattern::Values { .. } if element.names.shares_with(&progress.bound) => FILTER_PASSES,
                GraphPattern::Values { bindings, .. } => bindings.len() as f64,
                _ => 1.0,
            }),
            Body::Substituted => {
                let mut looked_at = 0;
                self.rough_fanout(&element.pattern, element.graph.as_ref(), progress, &mut looked_at)
            }
            Body::Apart { rows } if element.names.shares_with(&progress.bound) => Ok(rows / progress.rows.max(1.0)),
            Body::Apart { rows } => Ok(*rows),
        }
    }

    /// Rows that a pattern adds to one row, by its cheapest parts, without planning it: each group around it would plan
    /// it again.
    fn rough_fanout(
        &self,
        pattern: &GraphPattern,
        graph: Option<&NamedNodePattern>,
        progress: &Progress,
        looked_at: &mut usize,
    ) -> Result<f64, Stopped> {
        if *looked_at >= LOOKED_AT_MAX {
            return Ok(UNKNOWN_ROWS);
        }
        let bound = |term: &TermPattern| {
            let mut names = Names::default();
            names.term(term);
            names.is_empty() || names.shares_with(&progress.bound)
        };
        match pattern {
            GraphPattern::Bgp { patterns } => {
                let mut least = if patterns.is_empty() { 1.0 } else { f64::INFINITY };
                for triple in patterns.iter().take(LOOKED_AT_MAX.saturating_sub(*looked_at)) {
                    *looked_at += 1;
                    let slots = self.estimator.slots(triple, graph)?;
                    least = least.min(self.estimator.fanout(&slots, progress, least)?);
                }
                Ok(least)
            }
            GraphPattern::Path { subject, path, object } => {
                *looked_at += 1;
                let ends_bound = [subject, object].into_iter().filter(|end| bound(end)).count();
                self.estimator.path_fanout(path, graph, ends_bound)
            }
            GraphPattern::Values { bindings, .. } => Ok(bindings.len() as f64),
            GraphPattern::Join { left, right } | GraphPattern::Lateral { left, right } => {
                let left = self.rough_fanout(left, graph, progress, looked_at)?;
                Ok(left.min(self.rough_fanout(right, graph, progress, looked_at)?))
            }
            GraphPattern::Union { left, right } => {
                let left = self.rough_fanout(left, graph, progress, looked_at)?;
                Ok(left + self.rough_fanout(right, graph, progress, looked_at)?)
            }
            GraphPattern::Graph { name, inner } => self.rough_fanout(inner, Some(name), progress, looked_at),
            GraphPattern::Filter { inner, .. } => {
                Ok(self.rough_fanout(inner, graph, progress, looked_at)? * FILTER_PASSES)
            }
            _ => Ok(UNKNOWN_ROWS),
        }
    }
}
