//! Graphs with versions.

use std::collections::BTreeMap;
use std::time::Duration;

use fulgurite::{Error, ReadTxn, Result};
use fulgurite_graph::{Direction, Edge, EdgeQuery, GraphOptions, VersionedGraph};
use proptest::prelude::*;

use crate::database;

type Days = VersionedGraph<u32, u8, u8>;

fn version() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![0_u64, 1, 7, u64::MAX])
}

/// Values by version and id, and of edges by version, source and target.
#[derive(Default)]
struct Model {
    vertices: BTreeMap<(u64, u32), u8>,
    edges: BTreeMap<(u64, u32, u32), u8>,
}

impl Model {
    fn check_vertex(&self, graph: &Days, snapshot: &ReadTxn, id: u32) {
        let mut versions: Vec<u64> =
            self.vertices.keys().filter(|(_, other)| *other == id).map(|(version, _)| *version).collect();
        versions.reverse();
        assert_eq!(graph.versions(snapshot, id).expect("no error"), versions);
        assert_eq!(graph.latest_version(snapshot, id).expect("no error"), versions.first().copied());
        let values: Vec<(u64, u8)> = versions.iter().map(|&version| (version, self.vertices[&(version, id)])).collect();
        assert_eq!(graph.vertex_versions(snapshot, id).expect("no error"), values);
    }

    fn check_version(&self, graph: &Days, snapshot: &ReadTxn, version: u64) {
        let query = EdgeQuery::new();
        let vertices = self.vertices.iter().filter(|((other, _), _)| *other == version);
        let vertices: Vec<(u32, u8)> = vertices.map(|((_, id), value)| (*id, *value)).collect();
        let found: Vec<(u32, u8)> =
            graph.vertices(snapshot, version).expect("no error").collect::<Result<_>>().expect("no error");
        assert_eq!(found, vertices);
        let mut all = Vec::new();
        for id in 0..5_u32 {
            let edges = self.edges.keys().filter(|(other, source, _)| (*other, *source) == (version, id));
            let targets: Vec<u32> = edges.map(|edge| edge.2).collect();
            let found: Vec<u32> = graph
                .targets(snapshot, version, id, &query)
                .expect("no error")
                .collect::<Result<_>>()
                .expect("no error");
            assert_eq!(found, targets);
            assert_eq!(graph.count_edges(snapshot, version, id, &query).expect("no error"), targets.len() as u64);
            let one = graph.neighbourhood(snapshot, version, id, &query).expect("no error");
            assert_eq!(one.vertex, self.vertices.get(&(version, id)).copied());
            let edges: Vec<_> =
                graph.edges(snapshot, version, id, &query).expect("no error").collect::<Result<_>>().expect("no error");
            assert_eq!(one.edges, edges);
            all.extend(edges);
        }
        for edge in &all {
            assert_eq!(self.edges[&(version, edge.source, edge.target)], edge.value);
            assert_eq!(graph.edge_value(snapshot, version, edge).expect("no error"), Some(edge.value));
        }
        let found: Vec<_> =
            graph.all_edges(snapshot, version, &query).expect("no error").collect::<Result<_>>().expect("no error");
        assert_eq!(found, all);
        assert_eq!(graph.count_all_edges(snapshot, version, &query).expect("no error"), all.len() as u64);
        let found = graph.neighbourhoods(snapshot, version, &query).expect("no error");
        let found: Vec<_> = found.collect::<Result<_>>().expect("no error");
        assert_eq!(found.into_iter().flat_map(|one| one.edges).collect::<Vec<_>>(), all);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn each_version_is_a_graph_of_its_own(
        vertices in prop::collection::vec((version(), 0_u32..4, any::<u8>(), any::<bool>()), 0..40),
        edges in prop::collection::vec((version(), 0_u32..4, 0_u32..4, any::<u8>()), 0..40),
    ) {
        let (_directory, db) = database();
        let graph: Days = VersionedGraph::open(&db, "g", GraphOptions::new()).expect("no error");
        let mut model = Model::default();
        let mut txn = db.write().expect("no error");
        for (version, id, value, removes) in vertices {
            if removes {
                let existed = model.vertices.remove(&(version, id)).is_some();
                prop_assert_eq!(graph.remove_vertex(&mut txn, version, id).expect("no error"), existed);
            } else {
                graph.put_vertex(&mut txn, version, id, value).expect("no error");
                model.vertices.insert((version, id), value);
            }
        }
        for (version, source, target, value) in edges {
            graph.put_edge(&mut txn, version, &Edge::out(source, target, value)).expect("no error");
            model.edges.insert((version, source, target), value);
        }
        txn.commit().expect("no error");
        let snapshot = db.read().expect("no error");
        (0..5).for_each(|id| model.check_vertex(&graph, &snapshot, id));
        [0, 1, 2, 7, u64::MAX].into_iter().for_each(|version| model.check_version(&graph, &snapshot, version));
        // The same graph, loaded version by version.
        let loaded: Days = VersionedGraph::open(&db, "loaded", GraphOptions::new()).expect("no error");
        for version in [7, u64::MAX, 0, 1] {
            let of_version = model.vertices.iter().filter(|((other, _), _)| *other == version);
            let vertices: Vec<(u32, u8)> = of_version.map(|((_, id), value)| (*id, *value)).rev().collect();
            let of_version = model.edges.iter().filter(|((other, ..), _)| *other == version);
            let edges = of_version.map(|((_, source, target), value)| Edge::out(*source, *target, *value)).rev();
            loaded.bulk_load(&db, version, vertices, edges, Duration::from_secs(10)).expect("no error");
        }
        let after_loads = db.read().expect("no error");
        (0..5).for_each(|id| model.check_vertex(&loaded, &after_loads, id));
        [0, 1, 2, 7, u64::MAX].into_iter().for_each(|version| model.check_version(&loaded, &after_loads, version));
        if let Some(&(version, source, target)) = model.edges.keys().next() {
            let edge = Edge::out(source, target, 0);
            prop_assert!(db.update(|txn| graph.remove_edge(txn, version, &edge)).expect("no error"));
            prop_assert!(!db.update(|txn| graph.remove_edge(txn, version, &edge)).expect("no error"));
            model.edges.remove(&(version, source, target));
        }
        for version in [7, u64::MAX] {
            let removed = db.update(|txn| graph.remove_version(txn, version)).expect("no error");
            let before = model.vertices.len() + model.edges.len();
            model.vertices.retain(|&(other, _), _| other != version);
            model.edges.retain(|&(other, ..), _| other != version);
            prop_assert_eq!(removed, (before - model.vertices.len() - model.edges.len()) as u64);
        }
        let after_removals = db.read().expect("no error");
        (0..5).for_each(|id| model.check_vertex(&graph, &after_removals, id));
        [0, 1, 2, 7, u64::MAX].into_iter().for_each(|version| model.check_version(&graph, &after_removals, version));
    }
}

#[test]
fn edges_that_a_query_selects_are_removed_from_one_version() {
    let (_directory, db) = database();
    let graph: Days = VersionedGraph::open(&db, "g", GraphOptions::new().labels(true)).expect("no error");
    let edge = |target: u32, label: &str| Edge::out(1, target, 5).with_label(label);
    db.update(|txn| {
        for version in [3, 4] {
            for target in 0..10 {
                graph.put_edge(txn, version, &edge(target, if target < 4 { "few" } else { "many" }))?;
            }
            graph.put_edge(txn, version, &edge(2, "few").with_direction(Direction::In))?;
        }
        Ok(())
    })
    .expect("no error");
    let query = EdgeQuery::new().direction(Direction::Out).label("few");
    assert_eq!(db.update(|txn| graph.remove_edges(txn, 4, 1_u32, &query)).expect("no error"), 4);
    assert_eq!(db.update(|txn| graph.remove_edges(txn, 4, 1_u32, &query)).expect("no error"), 0);
    assert_eq!(db.update(|txn| graph.remove_edges(txn, 5, 1_u32, &EdgeQuery::new())).expect("no error"), 0);
    let snapshot = db.read().expect("no error");
    let count = |version| graph.count_edges(&snapshot, version, 1_u32, &EdgeQuery::new()).expect("no error");
    assert_eq!((count(3), count(4), count(5)), (11, 7, 0));
    let value = |version, edge: &Edge<u32, u8>| graph.edge_value(&snapshot, version, edge).expect("no error");
    assert_eq!((value(3, &edge(2, "few")), value(4, &edge(2, "few"))), (Some(5), None));
    assert_eq!(value(4, &edge(2, "few").with_direction(Direction::In)), Some(5));
}

#[test]
fn a_bulk_load_of_a_version_keeps_what_it_has_and_a_refused_one_loads_nothing() {
    let (_directory, db) = database();
    let graph: Days = VersionedGraph::open(&db, "g", GraphOptions::new()).expect("no error");
    let second = Duration::from_secs(1);
    db.update(|txn| {
        graph.put_vertex(txn, 1, 1_u32, 10)?;
        graph.put_vertex(txn, 1, 2_u32, 20)?;
        graph.put_edge(txn, 1, &Edge::out(1, 2, 1))
    })
    .expect("no error");
    graph.bulk_load(&db, 1, [(2, 21), (3, 30)], [Edge::out(1, 3, 2)], second).expect("no error");
    let snapshot = db.read().expect("no error");
    let vertices: Vec<(u32, u8)> =
        graph.vertices(&snapshot, 1).expect("no error").collect::<Result<_>>().expect("no error");
    assert_eq!(vertices, [(1, 10), (2, 21), (3, 30)]);
    assert_eq!(graph.versions(&snapshot, 3_u32).expect("no error"), [1]);
    assert_eq!(graph.count_edges(&snapshot, 1, 1_u32, &EdgeQuery::new()).expect("no error"), 2);
    let wrong = [Edge::out(1, 4, 1), Edge::out(1, 5, 1).with_time(5)];
    let refused = graph.bulk_load(&db, 2, [(4, 40)], wrong, second).expect_err("edges have no times");
    assert!(matches!(refused, Error::Input { .. } | Error::Invalid { .. }), "{refused}");
    assert_eq!(graph.latest_version(&db.read().expect("no error"), 4_u32).expect("no error"), None);
    let _writer = db.begin_exclusive(second).expect("no error");
    let refused = graph.bulk_load(&db, 2, [], [], Duration::from_millis(1)).expect_err("another writes");
    assert!(refused.to_string().contains("1ms"), "{refused}");
}
