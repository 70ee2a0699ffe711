//! Which index answers a pattern, and the range of it.

use crate::model::id::{IdKey, TermId};
use crate::model::pattern::{GraphPattern, IdPattern, Order, Position};
use crate::tables::Index;
use crate::tables::Tables;

/// The ranges that have the quads of a pattern, one after the other: one at least, and two at most. Small, so that who
/// looks up quads one by one pays for nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    pattern: IdPattern,
    sorted_by: Option<Position>,
    next: Option<Part>,
}

/// A range of one index.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    part: Part,
    /// The index's place among those of its part.
    place: usize,
    /// The order of the index.
    pub order: Order,
    /// What all keys of the range begin with: the terms of the first places of the order, as many as are bound.
    pub prefix: IdKey,
    /// How many places that are.
    pub bound_places: usize,
    /// Whether more is bound than those, so that not all quads of the range match.
    pub is_filtered: bool,
}

/// Graphs that have indexes of their own.
#[derive(Clone, Copy, Debug)]
enum Part {
    DefaultGraph,
    NamedGraphs,
}

impl Part {
    fn indexes(self, tables: &Tables) -> &[Index] {
        match self {
            Self::DefaultGraph => &tables.default_graph,
            Self::NamedGraphs => &tables.named_graphs,
        }
    }
}

impl Steps {
    /// The ranges that have the quads of a pattern.
    pub fn new(pattern: &IdPattern) -> Self {
        let first = match pattern.graph {
            GraphPattern::Default | GraphPattern::Any => Part::DefaultGraph,
            GraphPattern::Named(graph) if graph == TermId::DEFAULT_GRAPH => Part::DefaultGraph,
            GraphPattern::Named(_) | GraphPattern::AnyNamed => Part::NamedGraphs,
        };
        Self { pattern: *pattern, sorted_by: None, next: Some(first) }
    }

    /// As [`Steps::new`], with ranges in which the quads are sorted by `position`; `None` if an index for that is
    /// missing.
    pub fn sorted_by(tables: &Tables, pattern: &IdPattern, position: Position) -> Option<Self> {
        if pattern.at(position).is_some() {
            return None;
        }
        let steps = Self { sorted_by: Some(position), ..Self::new(pattern) };
        let mut rest = steps;
        while let Some(part) = rest.next {
            rest.step(tables, part)?;
            rest.pass(part);
        }
        Some(steps)
    }

    /// The pattern.
    pub fn pattern(&self) -> &IdPattern {
        &self.pattern
    }

    /// The next range, if one is left.
    pub fn next(&mut self, tables: &Tables) -> Option<Step> {
        let part = self.next?;
        self.pass(part);
        self.step(tables, part)
    }

    /// Whether no range is left.
    pub fn is_at_end(&self) -> bool {
        self.next.is_none()
    }

    /// No range is left.
    pub fn end(&mut self) {
        self.next = None;
    }

    fn pass(&mut self, part: Part) {
        let goes_on = matches!(part, Part::DefaultGraph) && self.pattern.graph == GraphPattern::Any;
        self.next = goes_on.then_some(Part::NamedGraphs);
    }

    /// The range of the first of the best indexes of a part.
    fn step(&self, tables: &Tables, part: Part) -> Option<Step> {
        let mut best: Option<(usize, usize)> = None;
        for (place, index) in part.indexes(tables).iter().enumerate() {
            let positions = index.order.positions();
            let bound = index.order.bound_places(&self.pattern);
            let is_sorted = |position| positions.get(bound) == Some(&position);
            if self.sorted_by.is_none_or(is_sorted) && best.is_none_or(|(most, _)| bound > most) {
                best = Some((bound, place));
                if positions[bound..].iter().all(|&position| self.pattern.at(position).is_none()) {
                    // All that is bound leads the way: no index is better.
                    break;
                }
            }
        }
        best.map(|(bound_places, place)| self.range(tables, part, place, bound_places))
    }

    fn range(&self, tables: &Tables, part: Part, place: usize, bound_places: usize) -> Step {
        let order = part.indexes(tables)[place].order;
        let (in_front, behind) = order.positions().split_at(bound_places);
        let mut prefix = IdKey::default();
        in_front.iter().filter_map(|&position| self.pattern.at(position)).for_each(|id| prefix.push(id));
        let is_filtered = behind.iter().any(|&position| self.pattern.at(position).is_some());
        Step { part, place, order, prefix, bound_places, is_filtered }
    }
}

impl Step {
    /// The index.
    pub fn index<'t>(&self, tables: &'t Tables) -> &'t Index {
        &self.part.indexes(tables)[self.place]
    }

    /// Whether the range is one key, with all its places bound.
    pub fn is_one_key(&self) -> bool {
        self.bound_places == self.order.positions().len()
    }
}

/// Whether the pattern is a range of each index that answers it.
pub fn is_a_range(tables: &Tables, pattern: &IdPattern) -> bool {
    let mut steps = Steps::new(pattern);
    std::iter::from_fn(|| steps.next(tables)).all(|step| !step.is_filtered)
}
