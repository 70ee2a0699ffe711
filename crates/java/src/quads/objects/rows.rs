//! The iterator of quads that Java reads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;

use fulgurite_rdf::{GraphPattern, IdPattern, IdQuad, Position, QuadIds, Quads, Result, StatementKinds, TermId};

/// Quads of patterns, in any order or sorted by a position.
pub struct Rows {
    /// Quads in any order; none if they are sorted.
    unsorted: Option<QuadIds>,
    /// The ranges of sorted quads, and the position that sorts them.
    ranges: Vec<Peekable<QuadIds>>,
    sorted_by: Option<Position>,
    /// The heads of the ranges that are not at their ends, the least on top. `None` before the first quad is read.
    heads: Option<BinaryHeap<Reverse<Head>>>,
}

/// The term by which the next quad of a range is sorted, and the place of the range. An error has no term, so it comes
/// first, and nothing follows it.
type Head = (Option<TermId>, usize);

impl Rows {
    /// Quads in any order.
    pub fn new(quads: QuadIds) -> Self {
        Self { unsorted: Some(quads), ranges: Vec::new(), sorted_by: None, heads: None }
    }

    /// Whether [`Rows::sorted`] can sort the quads of a view by a position.
    pub fn can_sort(view: &impl Quads, pattern: &IdPattern, position: Position) -> bool {
        let sorts = |&graph: &GraphPattern| range(view, &IdPattern { graph, ..*pattern }, position).is_some();
        graphs(&pattern.graph).iter().all(sorts)
    }

    /// Quads of patterns, merged by a position. A quad that several patterns match comes once for each. `None` if an
    /// index for the order is missing. `view` restricts a view to some kinds of statements.
    pub fn sorted<V: Quads>(
        view: impl Fn(StatementKinds) -> V,
        kinds: StatementKinds,
        patterns: &[IdPattern],
        position: Position,
    ) -> Option<Self> {
        if let [pattern] = patterns
            && pattern.at(position).is_some()
        {
            return Some(Self::new(view(kinds).quads(pattern)));
        }
        let kinds: &[StatementKinds] = match kinds {
            StatementKinds::All => &[StatementKinds::Explicit, StatementKinds::Inferred],
            ref kinds => std::slice::from_ref(kinds),
        };
        let mut ranges = Vec::new();
        for kind in kinds {
            let view = view(*kind);
            for pattern in patterns {
                for &graph in graphs(&pattern.graph) {
                    ranges.push(range(&view, &IdPattern { graph, ..*pattern }, position)?.peekable());
                }
            }
        }
        Some(Self { unsorted: None, ranges, sorted_by: Some(position), heads: None })
    }
}

/// The parts of a pattern's graphs that indexes sort separately.
fn graphs(pattern: &GraphPattern) -> &[GraphPattern] {
    match pattern {
        GraphPattern::Any => &[GraphPattern::Default, GraphPattern::AnyNamed],
        graph => std::slice::from_ref(graph),
    }
}

/// The quads of a pattern, sorted by a position: in any order if all of them have the same term there. `None` if no
/// index has the order.
fn range(view: &impl Quads, pattern: &IdPattern, position: Position) -> Option<QuadIds> {
    if pattern.at(position).is_some() {
        return Some(view.quads(pattern));
    }
    view.quads_sorted_by(pattern, position)
}

/// The head of a range; `None` at its end.
fn head(range: &mut Peekable<QuadIds>, place: usize, position: Position) -> Option<Head> {
    range.peek().map(|quad| (quad.as_ref().ok().map(|quad| quad.at(position)), place))
}

/// The heads of all ranges.
fn heads(ranges: &mut [Peekable<QuadIds>], position: Position) -> BinaryHeap<Reverse<Head>> {
    let all = ranges.iter_mut().enumerate();
    all.filter_map(|(place, range)| head(range, place, position)).map(Reverse).collect()
}

impl Iterator for Rows {
    type Item = Result<IdQuad>;

    fn next(&mut self) -> Option<Result<IdQuad>> {
        if let Some(quads) = &mut self.unsorted {
            return quads.next();
        }
        let position = self.sorted_by?;
        let open = self.heads.get_or_insert_with(|| heads(&mut self.ranges, position));
        let Reverse((_, place)) = open.pop()?;
        let range = self.ranges.get_mut(place)?;
        let quad = range.next();
        open.extend(head(range, place, position).map(Reverse));
        quad
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{GraphName, NamedNode, Quad};
    use fulgurite_rdf::{Store, StoreOptions};

    use super::*;

    fn iri(name: &str) -> NamedNode {
        NamedNode::new_unchecked(format!("http://a/{name}"))
    }

    /// A quad of one of four graphs. The default graph is one of them.
    fn quad(number: u32) -> Quad {
        let graph = match number % 4 {
            0 => GraphName::DefaultGraph,
            graph => iri(&format!("g{graph}")).into(),
        };
        // The subjects of one graph are between those of the others.
        Quad::new(iri(&format!("s{}", number * 7 % 100)), iri("p"), iri(&format!("o{}", number % 10)), graph)
    }

    /// A store in which every third quad is inferred.
    fn store(directory: &std::path::Path) -> Store {
        let store = Store::create(directory.join("a.ful"), StoreOptions::new()).unwrap();
        store
            .update(|txn| {
                for number in 0..100 {
                    let is_new = match number % 3 {
                        0 => txn.insert_inferred(&quad(number))?,
                        _ => txn.insert(&quad(number))?,
                    };
                    assert!(is_new);
                }
                Ok(())
            })
            .unwrap();
        store
    }

    #[test]
    fn quads_of_several_graphs_are_merged_by_each_position() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(directory.path());
        let snapshot = store.snapshot().unwrap();
        let graph = |name: &str| snapshot.id(iri(name).as_ref().into()).unwrap().unwrap();
        let (first, second) = (IdPattern::of_graph(graph("g2")), IdPattern::of_graph(graph("g1")));
        let default = IdPattern::of_graph(TermId::DEFAULT_GRAPH);
        for kinds in [StatementKinds::All, StatementKinds::Explicit, StatementKinds::Inferred] {
            for patterns in [&[first, second, default][..], &[default, first], &[second, first], &[first], &[]] {
                let view = snapshot.of_kinds(kinds);
                let mut expected: Vec<IdQuad> =
                    patterns.iter().flat_map(|pattern| view.quads(pattern)).map(|quad| quad.unwrap()).collect();
                for position in Position::ALL {
                    let rows = Rows::sorted(|kinds| snapshot.of_kinds(kinds), kinds, patterns, position).unwrap();
                    let mut found: Vec<IdQuad> = rows.map(|quad| quad.unwrap()).collect();
                    assert!(found.is_sorted_by_key(|quad| quad.at(position)), "{patterns:?} {position:?}");
                    let by_all = |quad: &IdQuad| Position::ALL.map(|position| quad.at(position));
                    expected.sort_by_key(by_all);
                    found.sort_by_key(by_all);
                    assert!(found == expected, "{patterns:?} {position:?}");
                }
            }
        }
    }

    #[test]
    fn quads_of_all_graphs_are_sorted_by_each_position() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(directory.path());
        let snapshot = store.snapshot().unwrap();
        for position in Position::ALL {
            assert!(Rows::can_sort(&snapshot, &IdPattern::ALL, position), "{position:?}");
            let view = |kinds| snapshot.of_kinds(kinds);
            let rows = Rows::sorted(view, StatementKinds::All, &[IdPattern::ALL], position).unwrap();
            let keys: Vec<TermId> = rows.map(|quad| quad.unwrap().at(position)).collect();
            assert!(keys.len() == 100 && keys.is_sorted(), "{position:?}");
        }
    }
}
