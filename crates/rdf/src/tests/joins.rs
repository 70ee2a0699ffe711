//! Random joins, compared with nested loops over all quads.

use oxrdf::{Literal, Term};

use super::{Chance, TestStore, iri, quad};
use crate::{
    GraphPattern, IdPattern, IdQuad, JoinGraph, JoinPattern, JoinStep, JoinTerm, Joined, Quads, StatementKinds,
    StoreOptions, TermId,
};

const STORES: u64 = 12;
const JOINS: u64 = 60;
const NODES: u64 = 6;
const VARIABLES: u64 = 4;

impl Chance {
    fn node(&mut self) -> String {
        format!("n{}", self.below(NODES))
    }
}

/// A store with random quads. Some are inferred and, in every other store, some are in named graphs.
fn place(seed: u64, chance: &mut Chance) -> TestStore {
    let place = TestStore::new(StoreOptions::new());
    let quads: Vec<_> = (0..60)
        .map(|_| {
            let object: Term = match chance.below(4) {
                0 => Literal::from(chance.below(3) as i64).into(),
                _ => iri(&chance.node()).into(),
            };
            let graph = (seed % 2 == 1 && chance.below(3) == 0).then(|| format!("n{}", chance.below(2)));
            let added = quad(&chance.node(), &format!("p{}", chance.below(2)), object, graph.as_deref());
            (added, chance.below(5) == 0)
        })
        .collect();
    let added = place.store.update(|txn| {
        quads.iter().try_for_each(|(quad, is_inferred)| {
            if *is_inferred { txn.insert_inferred(quad) } else { txn.insert(quad) }.map(drop)
        })
    });
    added.expect("it is committed");
    place
}

/// Terms of patterns.
struct Ids {
    nodes: Vec<TermId>,
    predicates: Vec<TermId>,
}

fn some(ids: &[TermId], chance: &mut Chance) -> TermId {
    ids[chance.below(ids.len() as u64) as usize]
}

/// Random patterns. Variables are used from 0, in the order of their first use.
fn patterns(ids: &Ids, chance: &mut Chance) -> Vec<JoinPattern> {
    let mut used = 0;
    let mut variable = |chance: &mut Chance| {
        let variable = chance.below((used + 1).min(VARIABLES));
        used = used.max(variable + 1);
        variable as usize
    };
    let count = 1 + chance.below(4);
    (0..count)
        .map(|_| {
            let terms = std::array::from_fn(|position| match (position, chance.below(4)) {
                (1, 1..) => JoinTerm::Term(some(&ids.predicates, chance)),
                (_, 3) => JoinTerm::Term(some(&ids.nodes, chance)),
                _ => JoinTerm::Variable(variable(chance)),
            });
            let graph = match chance.below(12) {
                0 => JoinGraph::Variable(variable(chance)),
                1 => JoinGraph::Graphs(GraphPattern::AnyNamed),
                2 => JoinGraph::Graphs(GraphPattern::Named(some(&ids.nodes, chance))),
                3..6 => JoinGraph::Graphs(GraphPattern::Default),
                _ => JoinGraph::Graphs(GraphPattern::Any),
            };
            JoinPattern { terms, graph }
        })
        .collect()
}

type Row = Vec<Option<TermId>>;

/// The row with the terms of a quad; `None` if the quad does not match.
fn extended(row: &Row, pattern: &JoinPattern, quad: &IdQuad) -> Option<Row> {
    let mut row = row.clone();
    let mut bind = |variable: usize, id: TermId| {
        row.resize(row.len().max(variable + 1), None);
        *row[variable].get_or_insert(id) == id
    };
    let matches = pattern.terms.iter().zip([quad.subject, quad.predicate, quad.object]).all(|(term, id)| match *term {
        JoinTerm::Term(wanted) => wanted == id,
        JoinTerm::Variable(variable) => bind(variable, id),
    });
    let is_named = quad.graph != TermId::DEFAULT_GRAPH;
    let is_of_graph = match pattern.graph {
        JoinGraph::Graphs(GraphPattern::Any) => true,
        JoinGraph::Graphs(GraphPattern::Default) => !is_named,
        JoinGraph::Graphs(GraphPattern::AnyNamed) => is_named,
        JoinGraph::Graphs(GraphPattern::Named(graph)) => quad.graph == graph,
        JoinGraph::Variable(variable) => is_named && matches && bind(variable, quad.graph),
    };
    (matches && is_of_graph).then_some(row)
}

/// The rows by nested loops over all quads, sorted.
fn expected(quads: &[IdQuad], patterns: &[JoinPattern]) -> Vec<Vec<TermId>> {
    let mut rows: Vec<Row> = vec![Vec::new()];
    for pattern in patterns {
        rows = rows.iter().flat_map(|row| quads.iter().filter_map(|quad| extended(row, pattern, quad))).collect();
    }
    let mut rows: Vec<Vec<TermId>> = rows.into_iter().map(|row| row.into_iter().flatten().collect()).collect();
    rows.sort_unstable();
    rows
}

/// The rows of a join that pauses after every few quads, sorted.
fn with_pauses(mut joined: Joined, chance: &mut Chance) -> Vec<Vec<TermId>> {
    let mut rows = Vec::new();
    loop {
        let mut left = chance.below(4) as usize;
        match joined.advance(&mut left).expect("it is read") {
            JoinStep::Row => rows.push(joined.row().to_vec()),
            JoinStep::Paused => assert_eq!(left, 0),
            JoinStep::End => break,
        }
    }
    assert_eq!(joined.advance(&mut 9).expect("it is at its end"), JoinStep::End);
    rows.sort_unstable();
    rows
}

fn check(view: &impl Quads, ids: &Ids, chance: &mut Chance, about: &str) -> usize {
    let quads: Vec<IdQuad> = view.quads(&IdPattern::ALL).collect::<crate::Result<_>>().expect("they are read");
    let patterns = patterns(ids, chance);
    let expected = expected(&quads, &patterns);
    let mut rows: Vec<_> = view.join(&patterns).collect::<crate::Result<_>>().expect("they are read");
    rows.sort_unstable();
    assert_eq!(rows, expected, "{about}: {patterns:?}");
    assert_eq!(with_pauses(view.join(&patterns), chance), expected, "{about}, with pauses: {patterns:?}");
    expected.len()
}

#[test]
fn joins_have_the_rows_of_nested_loops_in_snapshots_and_transactions() {
    let mut rows = 0;
    for seed in 0..STORES {
        let mut chance = Chance::new(seed);
        let place = place(seed, &mut chance);
        let snapshot = place.store.snapshot().expect("a snapshot");
        let id = |name: String| snapshot.id(iri(&name).as_ref().into()).expect("it is looked up");
        let ids = Ids {
            nodes: (0..NODES).filter_map(|node| id(format!("n{node}"))).collect(),
            predicates: (0..2).filter_map(|predicate| id(format!("p{predicate}"))).collect(),
        };
        let mut txn = place.store.begin().expect("a transaction");
        txn.insert(&quad("n0", "p0", iri("n1"), None)).expect("it is inserted");
        txn.remove(&quad("n1", "p1", iri("n0"), None)).expect("it is removed");
        for join in 0..JOINS {
            let about = format!("seed {seed}, join {join}");
            rows += check(&snapshot, &ids, &mut chance, &about);
            for kinds in [StatementKinds::Explicit, StatementKinds::Inferred] {
                rows += check(&snapshot.of_kinds(kinds), &ids, &mut chance, &about);
            }
            rows += check(&txn.view(), &ids, &mut chance, &about);
        }
    }
    assert!(rows > 10_000, "only {rows} rows were compared");
}

#[test]
fn a_pattern_with_more_quads_than_a_batch_is_read_again_for_each_row() {
    let place = TestStore::new(StoreOptions::new());
    let added = place.store.update(|txn| {
        for number in 0..100 {
            txn.insert(&quad("n0", "p0", Literal::from(number), None))?;
        }
        (0..3).try_for_each(|node| txn.insert(&quad(&format!("n{node}"), "p1", iri("n0"), None)).map(drop))
    });
    added.expect("it is committed");
    let snapshot = place.store.snapshot().expect("a snapshot");
    let id = |name| snapshot.id(iri(name).as_ref().into()).expect("it is looked up").expect("it is there");
    let pattern = |subject, predicate, object| JoinPattern {
        terms: [JoinTerm::Variable(subject), JoinTerm::Term(id(predicate)), JoinTerm::Variable(object)],
        graph: JoinGraph::Graphs(GraphPattern::Any),
    };
    let rows: Vec<_> = snapshot.join(&[pattern(0, "p1", 1), pattern(1, "p0", 2)]).collect();
    assert_eq!(rows.len(), 300);
    assert!(rows.iter().all(crate::Result::is_ok));
}

#[test]
#[should_panic(expected = "a join needs a pattern")]
fn a_join_of_no_pattern_is_refused() {
    let place = TestStore::new(StoreOptions::new());
    drop(place.store.snapshot().expect("a snapshot").join(&[]));
}
