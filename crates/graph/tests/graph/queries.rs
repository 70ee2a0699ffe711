//! What graphs without labels or times do, and what is refused.

use std::cell::Cell;
use std::time::Duration;

use fulgurite::keys::{AsKey, Key, KeyBuffer, Reader, Type};
use fulgurite::{Error, Read, Result};
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

/// Rows of edges that are longer than what is read one by one, so that the rest of each is skipped.
#[test]
fn queries_of_all_vertices_skip_long_rows_of_other_edges() {
    let options = GraphOptions::new().labels(true).times(true);
    let (_directory, db) = database();
    let graph: Graph<u8, u8, u8> = Graph::open(&db, "g", options).unwrap();
    let mut edges: Vec<Edge<u8, u8>> = Vec::new();
    for source in 0..3 {
        for direction in [Direction::Out, Direction::In] {
            for label in ["", "a", "b", "c"] {
                let edge = |time: i64| Edge::out(source, time as u8, 0).with_time(time).with_direction(direction);
                edges.extend((0..24).chain([i64::MAX]).map(|time| edge(time).with_label(label)));
            }
        }
    }
    graph.bulk_load(&db, [], edges.clone(), Duration::from_secs(10)).unwrap();
    let snapshot = db.read().unwrap();
    let check = |query: EdgeQuery<u8, u8>, selects: fn(&Edge<u8, u8>) -> bool| {
        let expected: Vec<Edge<u8, u8>> = edges.iter().filter(|edge| selects(edge)).cloned().collect();
        let found: Vec<Edge<u8, u8>> = graph.all_edges(&snapshot, &query).unwrap().collect::<Result<_>>().unwrap();
        assert_eq!(found, expected, "{query:?}");
        let of_one: Vec<Edge<u8, u8>> = graph.edges(&snapshot, 1_u8, &query).unwrap().collect::<Result<_>>().unwrap();
        assert!(of_one.iter().eq(expected.iter().filter(|edge| edge.source == 1)), "{query:?}");
    };
    let (out, into) = (Direction::Out, Direction::In);
    check(EdgeQuery::new().direction(into), |edge| edge.direction == Direction::In);
    check(EdgeQuery::new().direction(out).label("b"), |edge| edge.direction == Direction::Out && edge.label == "b");
    check(EdgeQuery::new().label("").label("c"), |edge| ["", "c"].contains(&&*edge.label));
    check(EdgeQuery::new().label("bb"), |_| false);
    check(EdgeQuery::new().times(23..), |edge| edge.time >= 23);
    check(EdgeQuery::new().times(20..22).label("c").direction(into), |edge| {
        edge.direction == Direction::In && edge.label == "c" && (20..22).contains(&edge.time)
    });
    use std::ops::Bound::{Excluded, Unbounded};
    check(EdgeQuery::new().times((Excluded(23), Unbounded)), |edge| edge.time > 23);
    check(EdgeQuery::new().times((Excluded(i64::MAX), Unbounded)), |_| false);
    check(EdgeQuery::new().direction(into).limit_in(1), |edge| {
        edge.direction == Direction::In && edge.label.is_empty() && edge.time == 0
    });
}

thread_local! {
    /// How many ids this thread has decoded.
    static DECODED: Cell<u32> = const { Cell::new(0) };
}

/// A number whose decodings are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id(u32);

impl AsKey<Id> for Id {
    fn encode_inner(&self, out: &mut KeyBuffer) {
        self.0.encode_inner(out);
    }
}

impl Key for Id {
    const FIXED_WIDTH: Option<usize> = u32::FIXED_WIDTH;

    fn key_type() -> Type {
        u32::key_type()
    }

    fn decode_inner(reader: &mut Reader<'_>) -> fulgurite::keys::Result<Self> {
        DECODED.set(DECODED.get() + 1);
        Key::decode_inner(reader).map(Self)
    }
}

#[test]
fn a_query_of_all_vertices_reads_few_of_the_edges_that_it_does_not_select() {
    let (_directory, db) = database();
    let graph: Graph<Id, u8, u8> = Graph::open(&db, "g", GraphOptions::new()).unwrap();
    let outgoing = (0..3).flat_map(|source| (0..500).map(move |target| Edge::out(Id(source), Id(target), 0)));
    let incoming = (0..3).map(|source| Edge::out(Id(7), Id(source), 0).reversed());
    graph.bulk_load(&db, [], outgoing.chain(incoming), Duration::from_secs(10)).unwrap();
    let snapshot = db.read().unwrap();
    let query = EdgeQuery::new().direction(Direction::In);
    DECODED.set(0);
    assert_eq!(graph.all_edges(&snapshot, &query).unwrap().count(), 3);
    assert!(DECODED.get() < 200, "{} ids of 1,503 edges", DECODED.get());
}

/// The edges were read into memory with their values before they were removed.
#[test]
fn edges_of_whole_ranges_are_removed_without_being_decoded() {
    let (_directory, db) = database();
    let graph: Graph<u32, u8, u64> = Graph::open(&db, "g", GraphOptions::new().labels(true)).unwrap();
    let edges = (0..6).map(|target| Edge::out(1, target, 0).with_label(if target < 4 { "a" } else { "b" }));
    db.update(|txn| edges.clone().try_for_each(|edge| graph.put_edge(txn, &edge))).unwrap();
    let table = db.open_table("g.edges").unwrap();
    let snapshot = db.read().unwrap();
    let keys: Vec<Vec<u8>> = snapshot.range(&table, ..).unwrap().map(|entry| entry.unwrap().0.to_vec()).collect();
    db.update(|txn| keys.iter().try_for_each(|key| txn.put(&table, key, b"no number"))).unwrap();
    let query = EdgeQuery::new().direction(Direction::Out).label("a");
    assert_eq!(db.update(|txn| graph.remove_edges(txn, 1_u32, &query)).unwrap(), 4);
    assert_eq!(db.update(|txn| graph.remove_edges(txn, 1_u32, &EdgeQuery::new())).unwrap(), 2);
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
