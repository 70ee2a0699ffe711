//! The iterator of quads that Java reads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fulgurite_rdf::{
    GraphPattern, IdPattern, IdQuad, Position, QuadIds, QuadStep, Quads, Result, StatementKinds, TermId,
};

/// The keys of indexes that a call looks at, so that closing its object does not wait long, and Java can look for
/// interrupts.
pub const KEYS_MAX: usize = 1 << 14;

/// Quads of patterns, in any order or sorted by a position.
pub struct Rows {
    /// Quads in any order; none if they are sorted.
    unsorted: Option<QuadIds>,
    /// The ranges of sorted quads, and the position that sorts them.
    ranges: Vec<QuadIds>,
    sorted_by: Option<Position>,
    /// The places of ranges whose next quad is not in `heads`.
    unread: Vec<usize>,
    /// The next quads of the other ranges that are not at their ends, the least on top.
    heads: BinaryHeap<Reverse<Head>>,
}

/// The term by which the next quad of a range is sorted, the place of the range, and the quad.
type Head = (TermId, usize, IdQuad);

impl Rows {
    /// Quads in any order.
    pub fn new(quads: QuadIds) -> Self {
        Self {
            unsorted: Some(quads),
            ranges: Vec::new(),
            sorted_by: None,
            unread: Vec::new(),
            heads: BinaryHeap::new(),
        }
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
                    ranges.push(range(&view, &IdPattern { graph, ..*pattern }, position)?);
                }
            }
        }
        let unread = (0..ranges.len()).collect();
        Some(Self { unsorted: None, ranges, sorted_by: Some(position), unread, heads: BinaryHeap::new() })
    }

    /// The next quad. Looks at about `keys_max` keys of indexes at most, and subtracts them.
    ///
    /// # Errors
    /// Errors of the store. An error ends the quads.
    pub fn advance(&mut self, keys_max: &mut usize) -> Result<QuadStep> {
        match &mut self.unsorted {
            Some(quads) => quads.advance(keys_max),
            None => self.advance_sorted(keys_max).inspect_err(|_| self.end()),
        }
    }

    fn advance_sorted(&mut self, keys_max: &mut usize) -> Result<QuadStep> {
        let Some(position) = self.sorted_by else { return Ok(QuadStep::End) };
        while let Some(&place) = self.unread.last() {
            let Some(range) = self.ranges.get_mut(place) else { return Ok(QuadStep::End) };
            match range.advance(keys_max)? {
                QuadStep::Quad(quad) => self.heads.push(Reverse((quad.at(position), place, quad))),
                QuadStep::Paused => return Ok(QuadStep::Paused),
                QuadStep::End => {}
            }
            self.unread.pop();
        }
        let Some(Reverse((_, place, quad))) = self.heads.pop() else { return Ok(QuadStep::End) };
        self.unread.push(place);
        Ok(QuadStep::Quad(quad))
    }

    fn end(&mut self) {
        self.unread.clear();
        self.heads.clear();
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

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{GraphName, NamedNode, Quad};
    use fulgurite_rdf::{Order, Store, StoreOptions};

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

    /// All quads, by calls that look at few keys.
    fn all(mut rows: Rows) -> Vec<IdQuad> {
        let mut found = Vec::new();
        loop {
            match rows.advance(&mut 1).unwrap() {
                QuadStep::Quad(quad) => found.push(quad),
                QuadStep::Paused => {}
                QuadStep::End => return found,
            }
        }
    }

    #[test]
    fn a_call_looks_at_few_keys_if_no_index_has_the_pattern() {
        let directory = tempfile::tempdir().unwrap();
        let orders = ["spo", "spog"].map(|name| Order::parse(name).unwrap());
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new().orders(orders)).unwrap();
        let quad = |number: u32| {
            Quad::new(iri(&format!("s{number}")), iri("p"), iri(&format!("o{number}")), GraphName::DefaultGraph)
        };
        store.update(|txn| (0..500).try_for_each(|number| txn.insert(&quad(number)).map(drop))).unwrap();
        let snapshot = store.snapshot().unwrap();
        let object = snapshot.id(iri("o499").as_ref().into()).unwrap();
        let pattern = IdPattern { object, ..IdPattern::ALL };
        let unsorted = Rows::new(snapshot.quads(&pattern));
        let view = |kinds| snapshot.of_kinds(kinds);
        let sorted = Rows::sorted(view, StatementKinds::All, &[pattern], Position::Subject).unwrap();
        for mut rows in [unsorted, sorted] {
            let mut keys = 100;
            assert_eq!(rows.advance(&mut keys).unwrap(), QuadStep::Paused);
            assert_eq!(keys, 0);
            assert_eq!(all(rows).len(), 1);
        }
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
                    let mut found = all(rows);
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
            let keys: Vec<TermId> = all(rows).iter().map(|quad| quad.at(position)).collect();
            assert!(keys.len() == 100 && keys.is_sorted(), "{position:?}");
        }
    }
}
