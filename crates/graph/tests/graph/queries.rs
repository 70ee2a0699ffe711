//! What graphs without labels or times do, and what is refused.

use std::time::Duration;

use fulgurite::{Error, Result};
use fulgurite_graph::{Direction, Edge, EdgeQuery, Graph, GraphOptions};

use crate::database;

#[test]
fn a_graph_without_labels_and_times_refuses_them_and_takes_queries_for_them() {
    let (_directory, db) = database();
    let graph: Graph<u64, [u8; 0], u8> = Graph::open(&db, "g", GraphOptions::new()).unwrap();
    let edge = Edge::out(1, 2, 7);
    let put = |edge: Edge<u64, u8>| db.update(|txn| graph.put_edge(txn, &edge));
    put(edge.clone()).unwrap();
    for (edge, expected) in
        [(edge.clone().with_label("knows"), "GraphOptions::labels"), (edge.clone().with_time(3), "GraphOptions::times")]
    {
        let refused = put(edge).expect_err("refused");
        assert!(matches!(&refused, Error::Invalid { message } if message.contains(expected)), "{refused}");
    }
    let snapshot = db.read().unwrap();
    let count = |query: EdgeQuery<u64, u8>| {
        let counted = graph.count_edges(&snapshot, 1_u64, &query).unwrap();
        assert_eq!(graph.edges(&snapshot, 1_u64, &query).unwrap().count() as u64, counted);
        counted
    };
    assert_eq!(count(EdgeQuery::new().label("knows")), 0);
    assert_eq!(count(EdgeQuery::new().label("")), 1);
    assert_eq!((count(EdgeQuery::new().times(1..)), count(EdgeQuery::new().times(..1))), (0, 1));
    assert_eq!(count(EdgeQuery::new().times(0..).direction(Direction::In)), 0);
}

#[test]
fn a_bulk_load_is_one_commit_of_vertices_and_edges() {
    let (_directory, db) = database();
    let graph: Graph<u32, u8, u8> = Graph::open(&db, "g", GraphOptions::new()).unwrap();
    let edges = || (0..1000).map(|number| Edge::out(number % 7, number, 1));
    let second = Duration::from_secs(1);
    graph.bulk_load(&db, (0..7).rev().map(|id| (id, 9)), edges(), second).unwrap();
    let snapshot = db.read().unwrap();
    assert_eq!(graph.vertices(&snapshot).unwrap().count(), 7);
    let counts = (0..7_u32).map(|id| graph.count_edges(&snapshot, id, &EdgeQuery::new()).unwrap());
    assert_eq!(counts.sum::<u64>(), 1000);
    let wrong = edges().chain([Edge::out(1, 1, 1).with_time(5)]);
    assert!(matches!(graph.bulk_load(&db, [(8, 1)], wrong, second), Err(Error::Input { .. } | Error::Invalid { .. })));
    assert_eq!(graph.vertex(&db.read().unwrap(), 8_u32).unwrap(), None);
    let _writer = db.begin_exclusive(second).unwrap();
    let refused = graph.bulk_load(&db, [], [], Duration::from_millis(1)).expect_err("another writes");
    assert!(refused.to_string().contains("1ms"), "{refused}");
}

#[test]
fn times_at_the_ends_of_their_type_are_selected() {
    let (_directory, db) = database();
    let graph: Graph<u32, u8, u8> = Graph::open(&db, "g", GraphOptions::new().times(true)).unwrap();
    db.update(|txn| {
        [i64::MIN, -1, 0, i64::MAX]
            .into_iter()
            .try_for_each(|time| graph.put_edge(txn, &Edge::out(1, u32::MAX, 0).with_time(time)))
    })
    .unwrap();
    let snapshot = db.read().unwrap();
    let count = |query: EdgeQuery<u32, u8>| {
        let both = query.direction(Direction::Out);
        let counted = graph.count_edges(&snapshot, 1_u32, &both).unwrap();
        assert_eq!(graph.targets(&snapshot, 1_u32, &both).unwrap().count() as u64, counted);
        counted
    };
    use std::ops::Bound::{Excluded, Unbounded};
    assert_eq!(count(EdgeQuery::new().times(i64::MIN..=i64::MAX)), 4);
    assert_eq!(count(EdgeQuery::new().times((Excluded(i64::MIN), Excluded(i64::MAX)))), 2);
    assert_eq!(count(EdgeQuery::new().times((Excluded(i64::MAX), Unbounded))), 0);
    assert_eq!(count(EdgeQuery::new().times(..=-1)), 2);
    assert_eq!(count(EdgeQuery::new().times(..i64::MIN)), 0);
    // Bounds in the wrong order.
    let (late, early) = (5, 3);
    assert_eq!(count(EdgeQuery::new().times(late..early)), 0);
}

#[test]
fn a_graph_is_not_opened_as_another() {
    let (_directory, db) = database();
    let _: Graph<u64, u8, u8> = Graph::open(&db, "g", GraphOptions::new()).unwrap();
    let other_types: Result<Graph<String, u8, u8>> = Graph::open(&db, "g", GraphOptions::new());
    let other_options: Result<Graph<u64, u8, u8>> = Graph::open(&db, "g", GraphOptions::new().labels(true));
    for opened in [other_types.map(drop), other_options.map(drop)] {
        let error = opened.expect_err("another graph");
        assert!(matches!(error, Error::TableMismatch { .. }), "{error}");
    }
}

#[test]
fn an_edge_is_found_from_both_ends_if_it_is_put_for_both() {
    let (_directory, db) = database();
    let graph: Graph<String, u8, u8> = Graph::open(&db, "g", GraphOptions::new()).unwrap();
    let edge = Edge::out("ann".to_owned(), "bob".to_owned(), 1);
    db.update(|txn| {
        graph.put_edge(txn, &edge)?;
        graph.put_edge(txn, &edge.clone().reversed())
    })
    .unwrap();
    let snapshot = db.read().unwrap();
    let query = EdgeQuery::new().direction(Direction::In);
    let of_bob: Vec<String> = graph.targets(&snapshot, "bob", &query).unwrap().collect::<Result<_>>().unwrap();
    assert_eq!(of_bob, ["ann"]);
    assert_eq!(edge.clone().reversed().reversed(), edge);
}
