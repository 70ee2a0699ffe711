//! Which index answers a pattern, and the range of it.

use std::ops::Bound;

use crate::id::{IdKey, prefix_end};
use crate::pattern::{GraphPattern, IdPattern, Position};
use crate::tables::{Index, Tables};

/// A range of one index.
#[derive(Clone, Debug)]
pub struct Step {
    pub index: Index,
    /// What all keys of the range begin with: the terms of the first places of the order, as many as are bound.
    pub prefix: IdKey,
    /// How many places that are.
    pub bound_places: usize,
    /// If more is bound than those: what quads must match.
    pub filter: Option<IdPattern>,
}

impl Step {
    fn new(index: &Index, pattern: &IdPattern) -> Self {
        let order = index.order;
        let bound_places = order.bound_places(pattern);
        let mut prefix = IdKey::default();
        order.positions()[..bound_places]
            .iter()
            .filter_map(|&position| pattern.at(position))
            .for_each(|id| prefix.push(id));
        let bound = order.positions().iter().filter(|&&position| pattern.at(position).is_some()).count();
        Self { index: index.clone(), prefix, bound_places, filter: (bound > bound_places).then_some(*pattern) }
    }

    /// Where the range begins and ends.
    pub fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let prefix = self.prefix.as_bytes();
        let high = prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded);
        (Bound::Included(prefix.to_vec()), high)
    }
}

/// The ranges that have the quads of a pattern: one at least.
pub fn plan(tables: &Tables, pattern: &IdPattern) -> Vec<Step> {
    parts(tables, pattern)
        .into_iter()
        .map(|(indexes, pattern)| {
            // The first of the best.
            let best = indexes.iter().rev().max_by_key(|index| index.order.bound_places(&pattern));
            Step::new(best.expect("a store has indexes of both"), &pattern)
        })
        .collect()
}

/// As [`plan`], with ranges in which the quads are sorted by `position`; `None` if an index for that is missing.
pub fn plan_sorted(tables: &Tables, pattern: &IdPattern, position: Position) -> Option<Vec<Step>> {
    if pattern.at(position).is_some() {
        return None;
    }
    parts(tables, pattern)
        .into_iter()
        .map(|(indexes, pattern)| {
            let is_sorted = |index: &&Index| {
                let places = index.order.bound_places(&pattern);
                index.order.positions().get(places) == Some(&position)
            };
            let best = indexes.iter().rev().filter(is_sorted).max_by_key(|index| index.order.bound_places(&pattern));
            best.map(|index| Step::new(index, &pattern))
        })
        .collect()
}

/// The indexes to choose from, and what to look for in each.
fn parts<'t>(tables: &'t Tables, pattern: &IdPattern) -> Vec<(&'t [Index], IdPattern)> {
    let default_graph = IdPattern { graph: GraphPattern::Default, ..*pattern };
    let named_graphs = IdPattern { graph: GraphPattern::AnyNamed, ..*pattern };
    match pattern.graph {
        GraphPattern::Default => vec![(&tables.default_graph, default_graph)],
        GraphPattern::Named(graph) if graph == crate::id::TermId::DEFAULT_GRAPH => {
            vec![(&tables.default_graph, default_graph)]
        }
        GraphPattern::Named(_) => vec![(&tables.named_graphs, *pattern)],
        GraphPattern::AnyNamed => vec![(&tables.named_graphs, named_graphs)],
        GraphPattern::Any => vec![(&tables.default_graph, default_graph), (&tables.named_graphs, named_graphs)],
    }
}
