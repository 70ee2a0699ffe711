//! The iterator of quads that Java reads.

use std::iter::Peekable;

use fulgurite_rdf::{GraphPattern, IdPattern, IdQuad, Position, QuadIds, Quads, Result, StatementKinds};

/// Quads of a pattern, in any order or sorted by a position.
pub struct Rows {
    /// Quads in any order; none if they are sorted.
    unsorted: Option<QuadIds>,
    /// The ranges of sorted quads, and the position that sorts them.
    ranges: Vec<Peekable<QuadIds>>,
    sorted_by: Option<Position>,
}

impl Rows {
    /// Quads in any order.
    pub fn new(quads: QuadIds) -> Self {
        Self { unsorted: Some(quads), ranges: Vec::new(), sorted_by: None }
    }

    /// Whether [`Rows::sorted`] can sort the quads of a view by a position.
    pub fn can_sort(view: &impl Quads, pattern: &IdPattern, position: Position) -> bool {
        let sorts = |&graph: &GraphPattern| view.quads_sorted_by(&IdPattern { graph, ..*pattern }, position).is_some();
        pattern.at(position).is_some() || graphs(&pattern.graph).iter().all(sorts)
    }

    /// Quads sorted by a position. `None` if no index has the order. `view` restricts a view to some kinds of
    /// statements.
    pub fn sorted<V: Quads>(
        view: impl Fn(StatementKinds) -> V,
        kinds: StatementKinds,
        pattern: &IdPattern,
        position: Position,
    ) -> Option<Self> {
        if pattern.at(position).is_some() {
            return Some(Self::new(view(kinds).quads(pattern)));
        }
        let graphs = graphs(&pattern.graph);
        let kinds: &[StatementKinds] = match kinds {
            StatementKinds::All => &[StatementKinds::Explicit, StatementKinds::Inferred],
            ref kinds => std::slice::from_ref(kinds),
        };
        let mut ranges = Vec::new();
        for kind in kinds {
            let view = view(*kind);
            for &graph in graphs {
                ranges.push(view.quads_sorted_by(&IdPattern { graph, ..*pattern }, position)?.peekable());
            }
        }
        Some(Self { unsorted: None, ranges, sorted_by: Some(position) })
    }
}

/// The parts of a pattern's graphs that indexes sort separately.
fn graphs(pattern: &GraphPattern) -> &[GraphPattern] {
    match pattern {
        GraphPattern::Any => &[GraphPattern::Default, GraphPattern::AnyNamed],
        graph => std::slice::from_ref(graph),
    }
}

impl Iterator for Rows {
    type Item = Result<IdQuad>;

    fn next(&mut self) -> Option<Result<IdQuad>> {
        if let Some(quads) = &mut self.unsorted {
            return quads.next();
        }
        let position = self.sorted_by?;
        // An error comes first, so that nothing follows it.
        let key = |quads: &mut Peekable<QuadIds>| match quads.peek() {
            Some(Ok(quad)) => Some(Some(quad.at(position))),
            Some(Err(_)) => Some(None),
            None => None,
        };
        let keys = self.ranges.iter_mut().map(key).enumerate();
        let first = keys.filter_map(|(index, key)| Some((key?, index))).min()?.1;
        self.ranges.get_mut(first)?.next()
    }
}
