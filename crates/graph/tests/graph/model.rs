//! Random changes of a graph, beside a graph in memory: every query gives the same edges.

use std::collections::BTreeMap;

use fulgurite::{Read, Result};
use fulgurite_graph::{Direction, Edge, EdgeQuery, Graph, GraphOptions};
use proptest::prelude::*;

use crate::database;

/// What identifies an edge, in the order of the graph.
type Id = (String, Direction, String, i64, String);

fn id_of(edge: &Edge<String, u32>) -> Id {
    (edge.source.clone(), edge.direction, edge.label.clone(), edge.time, edge.target.clone())
}

#[derive(Debug, Clone)]
enum Op {
    PutVertex(String, u32),
    RemoveVertex(String),
    PutEdge(Edge<String, u32>),
    RemoveEdge(Edge<String, u32>),
    Commit,
}

/// Ids that are prefixes of each other, or have bytes that are escaped in keys.
fn vertex_id() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "a", "a\0", "a\0b", "aa", "b", "\u{10ffff}"]).prop_map(str::to_owned)
}

fn edge() -> impl Strategy<Value = Edge<String, u32>> {
    let direction = prop::sample::select(vec![Direction::Out, Direction::In]);
    let label = prop::sample::select(vec!["", "knows", "knows\0"]);
    (vertex_id(), vertex_id(), direction, label, -2_i64..3, any::<u32>()).prop_map(
        |(source, target, direction, label, time, value)| {
            Edge::out(source, target, value).with_direction(direction).with_label(label).with_time(time)
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => (vertex_id(), any::<u32>()).prop_map(|(id, value)| Op::PutVertex(id, value)),
        1 => vertex_id().prop_map(Op::RemoveVertex),
        6 => edge().prop_map(Op::PutEdge),
        2 => edge().prop_map(Op::RemoveEdge),
        1 => Just(Op::Commit),
    ]
}

/// The direction, labels, first time, time after the last, limits and whether there is a filter, of a query.
type QueryParts = (Option<Direction>, Vec<String>, i64, i64, Option<u64>, Option<u64>, bool);

fn query() -> impl Strategy<Value = QueryParts> {
    let direction = prop::sample::select(vec![None, Some(Direction::Out), Some(Direction::In)]);
    let labels = prop::sample::subsequence(vec!["".to_owned(), "knows".to_owned(), "other".to_owned()], 0..=2);
    let limit = || prop::option::of(0_u64..3);
    (direction, labels, -3_i64..3, -3_i64..4, limit(), limit(), any::<bool>())
}

#[derive(Default)]
struct Model {
    vertices: BTreeMap<String, u32>,
    edges: BTreeMap<Id, u32>,
}

fn built((direction, labels, from, to, out, into, filters): &QueryParts) -> EdgeQuery<String, u32> {
    let mut query = EdgeQuery::new().times(*from..*to);
    if let Some(direction) = direction {
        query = query.direction(*direction);
    }
    for label in labels {
        query = query.label(label.clone());
    }
    if *filters {
        query = query.filter(|edge: &Edge<String, u32>| edge.value.is_multiple_of(2));
    }
    if let Some(most) = out {
        query = query.limit_out(*most);
    }
    if let Some(most) = into {
        query = query.limit_in(*most);
    }
    query
}

impl Model {
    /// The edges of each vertex that the query selects.
    fn edges(&self, (direction, labels, from, to, out, into, filters): &QueryParts) -> BTreeMap<String, Vec<Id>> {
        let mut found: BTreeMap<String, Vec<Id>> = BTreeMap::new();
        for (id, value) in &self.edges {
            let of_vertex = found.entry(id.0.clone()).or_default();
            let count = of_vertex.iter().filter(|other| other.1 == id.1).count() as u64;
            let limit = if id.1 == Direction::Out { out } else { into };
            let is_selected = direction.is_none_or(|direction| direction == id.1)
                && (labels.is_empty() || labels.contains(&id.2))
                && (*from..*to).contains(&id.3)
                && (!filters || value.is_multiple_of(2))
                && limit.is_none_or(|most| count < most);
            if is_selected {
                of_vertex.push(id.clone());
            }
        }
        found.retain(|_, edges| !edges.is_empty());
        found
    }

    fn check(&self, graph: &Graph<String, u32, u32>, txn: &impl Read, parts: &QueryParts) {
        let query = built(parts);
        let expected = self.edges(parts);
        let vertices: Vec<(String, u32)> =
            graph.vertices(txn).expect("no error").collect::<Result<_>>().expect("no error");
        assert_eq!(vertices, self.vertices.clone().into_iter().collect::<Vec<_>>());
        let all: Vec<Id> =
            graph.all_edges(txn, &query).expect("no error").map(|edge| id_of(&edge.expect("no error"))).collect();
        assert_eq!(all, expected.values().flatten().cloned().collect::<Vec<_>>(), "{query:?}");
        let ends: Vec<(String, String)> =
            graph.all_targets(txn, &query).expect("no error").collect::<Result<_>>().expect("no error");
        assert_eq!(ends, all.iter().map(|id| (id.0.clone(), id.4.clone())).collect::<Vec<_>>());
        assert_eq!(graph.count_all_edges(txn, &query).expect("no error"), all.len() as u64);
        for id in ["", "a", "a\0", "a\0b", "aa", "b", "\u{10ffff}", "absent"] {
            let of_vertex = expected.get(id).cloned().unwrap_or_default();
            let edges: Vec<Edge<String, u32>> =
                graph.edges(txn, id, &query).expect("no error").collect::<Result<_>>().expect("no error");
            assert_eq!(edges.iter().map(id_of).collect::<Vec<_>>(), of_vertex, "{id:?} {query:?}");
            for edge in &edges {
                assert_eq!(self.edges[&id_of(edge)], edge.value);
                assert_eq!(graph.edge_value(txn, edge).expect("no error"), Some(edge.value));
            }
            let targets: Vec<String> =
                graph.targets(txn, id, &query).expect("no error").collect::<Result<_>>().expect("no error");
            assert_eq!(targets, of_vertex.iter().map(|id| id.4.clone()).collect::<Vec<_>>());
            assert_eq!(
                graph.count_edges(txn, id, &query).expect("no error"),
                of_vertex.len() as u64,
                "{id:?} {query:?}"
            );
            let found = graph.neighbourhood(txn, id.to_owned(), &query).expect("no error");
            assert_eq!((found.vertex, found.edges), (self.vertices.get(id).copied(), edges));
        }
        let found: Vec<_> =
            graph.neighbourhoods(txn, &query).expect("no error").collect::<Result<_>>().expect("no error");
        let mut ids: Vec<String> = expected.keys().chain(self.vertices.keys()).cloned().collect();
        ids.sort();
        ids.dedup();
        assert_eq!(found.iter().map(|one| one.id.clone()).collect::<Vec<_>>(), ids);
        for one in found {
            assert_eq!(one.vertex, self.vertices.get(&one.id).copied());
            let edges: Vec<Id> = one.edges.iter().map(id_of).collect();
            assert_eq!(edges, expected.get(&one.id).cloned().unwrap_or_default());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_graph_is_the_same_as_one_in_memory(
        ops in prop::collection::vec(op(), 0..60),
        queries in prop::collection::vec(query(), 1..6),
    ) {
        let (_directory, db) = database();
        let graph = Graph::open(&db, "graph", GraphOptions::new().labels(true).times(true)).expect("no error");
        let mut model = Model::default();
        let mut txn = db.write().expect("no error");
        for op in ops {
            match op {
                Op::PutVertex(id, value) => {
                    graph.put_vertex(&mut txn, id.as_str(), value).expect("no error");
                    model.vertices.insert(id, value);
                }
                Op::RemoveVertex(id) => {
                    let existed = graph.remove_vertex(&mut txn, id.as_str()).expect("no error");
                    prop_assert_eq!(existed, model.vertices.remove(&id).is_some());
                }
                Op::PutEdge(edge) => {
                    graph.put_edge(&mut txn, &edge).expect("no error");
                    model.edges.insert(id_of(&edge), edge.value);
                }
                Op::RemoveEdge(edge) => {
                    let existed = graph.remove_edge(&mut txn, &edge).expect("no error");
                    prop_assert_eq!(existed, model.edges.remove(&id_of(&edge)).is_some());
                }
                Op::Commit => {
                    txn.commit().expect("no error");
                    txn = db.write().expect("no error");
                }
            }
        }
        // A transaction reads its own changes, and a snapshot what was committed.
        queries.iter().for_each(|parts| model.check(&graph, &txn, parts));
        txn.commit().expect("no error");
        let snapshot = db.read().expect("no error");
        queries.iter().for_each(|parts| model.check(&graph, &snapshot, parts));
        let query = built(&queries[0]);
        let selected = model.edges(&queries[0]).remove("a").unwrap_or_default();
        let removed = db.update(|txn| graph.remove_edges(txn, "a", &query)).expect("no error");
        prop_assert_eq!(removed, selected.len() as u64);
        model.edges.retain(|id, _| !selected.contains(id));
        let snapshot = db.read().expect("no error");
        queries.iter().for_each(|parts| model.check(&graph, &snapshot, parts));
    }
}
