//! Tests of the whole store.

mod additions;
mod check;
mod damage;
mod full;
mod inferred;
mod inferred_writers;
mod isolation;
mod joins;
mod model;
mod sweep;
mod terms;
mod writers;
mod writing;

use fulgurite::{Database, Table, WriteTxn};
use oxrdf::{GraphName, Literal, NamedNode, Quad, Term};
use proptest::test_runner::{RngAlgorithm, TestRng};
use tempfile::TempDir;

use crate::{IdPattern, Isolation, Quads, Snapshot, Store, StoreOptions, Transaction};

const LEVELS: [Isolation; 2] = [Isolation::Serializable, Isolation::Snapshot];

/// A store in a directory of its own.
struct TestStore {
    store: Store,
    directory: TempDir,
}

impl TestStore {
    fn new(options: StoreOptions) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::create(directory.path().join("a.ful"), options).expect("a new store");
        Self { store, directory }
    }

    /// The same store after its last handle was closed.
    fn reopen(self) -> Self {
        let Self { store, directory } = self;
        store.close().expect("it closes");
        let store = Store::open(directory.path().join("a.ful")).expect("it opens");
        Self { store, directory }
    }

    /// The same store, opened again after `change` has changed one of its tables.
    fn reopen_changed(
        self,
        table: &str,
        change: impl Fn(&mut WriteTxn, &Table) -> fulgurite::Result<()>,
    ) -> crate::Result<Self> {
        let Self { store, directory } = self;
        let path = directory.path().join("a.ful");
        store.close().expect("it closes");
        let database = Database::open(&path).expect("it opens");
        let changed = database.open_table(table).expect("the table is there");
        database.update(|txn| change(txn, &changed)).expect("it is changed");
        database.close().expect("it closes");
        Ok(Self { store: Store::open(&path)?, directory })
    }
}

/// Numbers drawn from a seed that failures name.
struct Chance(TestRng);

impl Chance {
    fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_be_bytes());
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    fn below(&mut self, bound: u64) -> u64 {
        use proptest::prelude::Rng;
        self.0.next_u64() % bound
    }
}

fn iri(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{name}"))
}

fn quad(subject: &str, predicate: &str, object: impl Into<Term>, graph: Option<&str>) -> Quad {
    let graph = graph.map_or(GraphName::DefaultGraph, |name| iri(name).into());
    Quad::new(iri(subject), iri(predicate), object, graph)
}

/// What tests of inferred quads infer, and state.
fn fact() -> Quad {
    quad("cat", "is", iri("animal"), None)
}

fn change<T>(store: &Store, change: impl FnMut(&mut Transaction) -> crate::Result<T>) -> T {
    store.update(change).expect("it is committed")
}

#[track_caller]
fn expect_sound(store: &Store) {
    let check = store.check().expect("it is checked");
    assert!(check.is_sound(), "{check:?}");
}

/// All quads of a snapshot as terms, in order of their texts.
fn texts(quads: &impl Quads) -> Vec<String> {
    let term = |id| quads.term(id).expect("it has a term").to_string();
    let mut texts: Vec<String> = quads
        .quads(&IdPattern::ALL)
        .map(|quad| quad.expect("it is read"))
        .map(|quad| {
            let graph = if quad.graph == crate::TermId::DEFAULT_GRAPH { "-".into() } else { term(quad.graph) };
            format!("{} {} {} {graph}", term(quad.subject), term(quad.predicate), term(quad.object))
        })
        .collect();
    texts.sort();
    texts
}

fn count(snapshot: &Snapshot) -> u64 {
    snapshot.count(&IdPattern::ALL).expect("it is counted")
}

#[test]
fn a_store_is_created_once_and_opened_by_its_path() {
    let place = TestStore::new(StoreOptions::new());
    let path = place.directory.path().join("a.ful");
    place.store.update(|txn| txn.insert(&quad("a", "b", Literal::from(1), None))).expect("it is committed");
    let again = Store::create(&path, StoreOptions::new());
    assert!(matches!(again, Err(crate::Error::StoreExists { .. })));
    assert!(Store::open(path.with_extension("other")).is_err());
    let second = Store::open(&path).expect("a second handle");
    assert_eq!(count(&second.snapshot().expect("a snapshot")), 1);
}

#[test]
fn a_database_of_something_else_is_no_store() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("a.ful");
    let database = fulgurite::Database::create(&path).expect("a database");
    database.create_table("fruit", fulgurite::TableOptions::new()).expect("a table");
    for opened in [Store::open(&path), Store::open_or_create(&path, StoreOptions::new())] {
        assert!(matches!(opened, Err(crate::Error::NotAStore { is_empty: false, .. })));
    }
    // The database stays open for its other handle.
    database.create_table("vegetables", fulgurite::TableOptions::new()).expect("a table");
    database.close().expect("it closes");
    // Alone, it is closed: no log and no lock file stay.
    assert!(Store::open_or_create(&path, StoreOptions::new()).is_err());
    assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 1);
}

#[test]
fn an_empty_database_is_no_store_and_may_be_one_of_another_process() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("a.ful");
    fulgurite::Database::create(&path).expect("a database").close().expect("it closes");
    let read_only = || Store::open_with(fulgurite::Database::options().read_only(true), &path, StoreOptions::new());
    for opened in [read_only(), Store::open(&path)] {
        let Err(error) = opened else { panic!("it is no store") };
        assert!(matches!(error, crate::Error::NotAStore { is_empty: true, .. }), "{error}");
        assert!(error.to_string().contains("first checkpoint"), "{error}");
    }
}

#[test]
fn graphs_are_remembered_until_they_are_dropped_and_namespaces_until_they_are_removed() {
    let place = TestStore::new(StoreOptions::new());
    let graph = iri("g");
    let created = place.store.update(|txn| {
        txn.set_namespace("ex", "http://example.org/")?;
        txn.insert(&quad("a", "b", Literal::from(1), Some("g")))?;
        txn.clear_graph(graph.as_ref().into())?;
        txn.create_graph(iri("empty").as_ref().into())
    });
    assert_eq!(created.ok(), Some(true));
    let place = place.reopen();
    let snapshot = place.store.snapshot().expect("a snapshot");
    assert_eq!((count(&snapshot), snapshot.graph_names().count()), (0, 2));
    assert_eq!(snapshot.namespaces().expect("they are read"), [("ex".into(), "http://example.org/".into())]);
    let dropped = place.store.update(|txn| {
        assert!(txn.remove_namespace("ex")?);
        txn.drop_graph(graph.as_ref().into())
    });
    assert_eq!(dropped.ok(), Some(true));
    let after = place.store.snapshot().expect("a snapshot");
    let names: Vec<_> = after.graph_names().map(|id| after.term(id.expect("it is read")).expect("a term")).collect();
    assert_eq!(names, [Term::from(iri("empty"))]);
    assert_eq!(snapshot.graph_names().count(), 2);
    assert!(after.namespaces().expect("they are read").is_empty());
}

#[test]
fn the_view_of_a_transaction_sees_its_changes_and_ends_with_it() {
    let place = TestStore::new(StoreOptions::new());
    let mut txn = place.store.begin().expect("a transaction");
    let view = txn.view();
    txn.insert(&quad("a", "b", iri("c"), None)).expect("it is inserted");
    let mut quads = view.quads(&IdPattern::ALL);
    assert_eq!(texts(&view).len(), 1);
    assert_eq!(count(&place.store.snapshot().expect("a snapshot")), 0);
    drop(txn);
    assert!(matches!(quads.next(), Some(Err(crate::Error::TransactionEnded))));
    assert!(matches!(view.count(&IdPattern::ALL), Err(crate::Error::TransactionEnded)));
}

#[test]
fn statistics_count_quads_terms_and_graphs() {
    let place = TestStore::new(StoreOptions::new());
    let inserted = place.store.update(|txn| {
        txn.insert(&quad("a", "b", Literal::from(1), None))?;
        txn.insert(&quad("a", "b", Literal::from(2), Some("g")))
    });
    assert_eq!(inserted.ok(), Some(true));
    let stats = place.store.stats().expect("statistics");
    assert_eq!((stats.quads, stats.terms), (2, 3));
    let entries = |name: &str| stats.tables.iter().find(|(table, _)| table == name).map(|(_, entries)| *entries);
    assert_eq!((entries("terms"), entries("spo"), entries("gspo"), entries("none")), (Some(3), Some(1), Some(1), None));
    let graphs: Vec<_> = stats.graphs.iter().map(|graph| (graph.name.clone(), graph.quads)).collect();
    assert_eq!(graphs, [(None, 1), (Some(iri("g").into()), 1)]);
}
