//! [`Snapshot`]: all that is committed at one moment, for as long as it lives.

use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use fulgurite::{KeySuffix, Read, ReadTxn, Sequence, Table};
use oxrdf::{Term, TermRef};

use crate::dictionary::term_batch::TermBatch;
use crate::error::{Error, Result};
use crate::model::id::TermId;
use crate::model::pattern::{GraphPattern, IdPattern, IdQuad, Position};
use crate::quads::graph_names::GraphNames;
use crate::quads::index_choice::{Steps, is_a_range};
use crate::quads::inferred;
use crate::quads::quad_ids::{QuadIds, Reached, Source, Wanted, read_terms};
use crate::quads::reading::Quads;
use crate::quads::shared::Shared;
use crate::quads::stored_terms;
use crate::quads::view::View;
use crate::tables::StatementKinds;
use crate::tables::Tables;

/// A snapshot of a store. Later commits do not change what it reads. It blocks no writer and waits for none. Clones
/// share it.
#[derive(Clone)]
pub struct Snapshot {
    state: Arc<State>,
}

struct State {
    read: Arc<ReadTxn>,
    /// What is read.
    tables: Arc<Tables>,
    /// What there is.
    all: Arc<Tables>,
    shared: Arc<Shared>,
    /// Whether named graphs have quads of any kind, once a read of all graphs has asked.
    has_named_quads: Arc<OnceLock<bool>>,
}

impl Snapshot {
    pub(crate) fn new(read: Arc<ReadTxn>, tables: Arc<Tables>, shared: Arc<Shared>) -> Self {
        let has_named_quads = Arc::default();
        Self { state: Arc::new(State { read, all: Arc::clone(&tables), tables, shared, has_named_quads }) }
    }

    /// Returns the same snapshot restricted to statements of these kinds. A new snapshot has all kinds. Terms, graph
    /// names and namespaces are not affected.
    #[must_use]
    pub fn of_kinds(&self, kinds: StatementKinds) -> Self {
        let State { read, all, shared, has_named_quads, .. } = &*self.state;
        let tables = all.of(kinds);
        if Arc::ptr_eq(&tables, &self.state.tables) {
            return self.clone();
        }
        let (read, shared, has_named_quads) = (Arc::clone(read), Arc::clone(shared), Arc::clone(has_named_quads));
        Self { state: Arc::new(State { read, tables, all: Arc::clone(all), shared, has_named_quads }) }
    }

    /// Whether this snapshot is known to see the newest commit. After a checkpoint this is `false` for a snapshot from
    /// before it, even if nothing was committed.
    ///
    /// # Errors
    /// As [`Store::snapshot`](crate::Store::snapshot).
    pub fn is_newest(&self) -> Result<bool> {
        Ok(self.state.read.sees_the_same_as(&self.state.shared.database.read()?))
    }

    /// The sequence of the newest commit that it sees.
    pub fn sequence(&self) -> Sequence {
        self.state.read.sequence()
    }

    /// Whether a quad is inferred, even if it is also explicit, and whatever kinds this snapshot is restricted to.
    ///
    /// # Errors
    /// As [`Quads::term`].
    pub fn is_inferred(&self, quad: &IdQuad) -> Result<bool> {
        View { tables: &self.state.all, ..self.view() }.is_inferred(quad)
    }

    /// As [`Quads::terms`], for distinct ids. Most terms are passed on from where they are stored, without a copy. A
    /// repeated id is read again. If it fails, `each` may have received some of the terms.
    ///
    /// # Errors
    /// As [`Quads::term`].
    pub fn for_each_term(&self, ids: &[TermId], each: &mut dyn FnMut(TermRef<'_>)) -> Result<()> {
        stored_terms::for_each_term(&self.view(), ids, each)
    }

    pub(crate) fn read(&self) -> &ReadTxn {
        &self.state.read
    }

    /// What is read.
    pub(crate) fn tables(&self) -> &Tables {
        &self.state.tables
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.state.shared
    }

    /// All that there are.
    pub(crate) fn all_tables(&self) -> &Arc<Tables> {
        &self.state.all
    }

    fn source(&self) -> Arc<dyn Source> {
        Arc::clone(&self.state) as Arc<dyn Source>
    }

    fn view(&self) -> View<'_, ReadTxn> {
        self.state.view()
    }

    /// The same quads as a pattern that is read faster: if named graphs have none, all graphs are the default graph.
    fn narrowed(&self, pattern: &IdPattern) -> IdPattern {
        let graph = match pattern.graph {
            GraphPattern::Any if !self.state.has_named_quads() => GraphPattern::Default,
            graph => graph,
        };
        IdPattern { graph, ..*pattern }
    }
}

impl State {
    /// Whether named graphs have quads of any kind. If that cannot be read, they may have some.
    fn has_named_quads(&self) -> bool {
        *self.has_named_quads.get_or_init(|| {
            let inferred = self.all.inferred.as_ref().and_then(|inferred| inferred.named_graphs.first());
            let mut indexes = self.all.named_graphs.first().into_iter().chain(inferred);
            indexes.any(|index| !self.read.is_empty(&index.table).unwrap_or(false))
        })
    }

    fn view(&self) -> View<'_, ReadTxn> {
        View { reads: &self.read, tables: &self.tables, shared: &self.shared }
    }
}

impl Source for State {
    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn read_quads(&self, wanted: &Wanted<'_>, quads: &mut Vec<IdQuad>) -> Result<Reached> {
        self.view().read_quads(wanted, quads)
    }

    fn scan(
        &self,
        table: &Table,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
        keys_min: usize,
        each: &mut dyn FnMut(KeySuffix<'_>),
    ) -> Result<bool> {
        Ok(inferred::scan(&*self.read, &self.tables, table, (low, high), keys_min, each)?)
    }

    fn read_terms(&self, terms: &mut TermBatch) -> Result<()> {
        self.view().read_committed_terms(terms)
    }

    fn lend_terms(&self) -> TermBatch {
        self.shared.term_batches.lend()
    }

    fn take_back(&self, terms: TermBatch) {
        self.shared.term_batches.take_back(terms);
    }

    fn damaged(&self, table: &Table) -> Error {
        self.shared.damaged_key(table)
    }

    fn misplaced_term(&self, id: TermId) -> Error {
        self.shared.misplaced_term(id)
    }
}

impl Quads for Snapshot {
    fn quads(&self, pattern: &IdPattern) -> QuadIds {
        QuadIds::new(self.source(), Steps::new(&self.narrowed(pattern)))
    }

    fn quads_sorted_by(&self, pattern: &IdPattern, position: Position) -> Option<QuadIds> {
        let pattern = self.narrowed(pattern);
        Steps::sorted_by(&self.state.tables, &pattern, position).map(|steps| QuadIds::new(self.source(), steps))
    }

    fn count(&self, pattern: &IdPattern) -> Result<u64> {
        self.view().count(&self.narrowed(pattern))
    }

    fn counts_fast(&self, pattern: &IdPattern) -> bool {
        is_a_range(&self.state.tables, &self.narrowed(pattern))
    }

    fn terms(&self, ids: &[TermId], each: &mut dyn FnMut(TermRef<'_>)) -> Result<()> {
        read_terms(&*self.state, ids, each)
    }

    fn term(&self, id: TermId) -> Result<Term> {
        // A number that no quad of these statements has may be one of others.
        View { tables: &self.state.all, ..self.view() }.term(id)
    }

    fn id(&self, term: TermRef<'_>) -> Result<Option<TermId>> {
        self.view().id(term)
    }

    fn contains(&self, quad: &IdQuad) -> Result<bool> {
        self.view().contains(quad)
    }

    fn graph_names(&self) -> GraphNames {
        GraphNames::new(self.source(), self.state.tables.graphs.clone())
    }

    fn contains_graph(&self, graph: TermId) -> Result<bool> {
        self.view().contains_graph(graph)
    }

    fn namespaces(&self) -> Result<Vec<(String, String)>> {
        self.view().namespaces()
    }
}

#[cfg(test)]
mod tests {
    use oxrdf::{GraphName, Literal, NamedNode, Quad};

    use super::*;
    use crate::{Store, StoreOptions};

    fn quad(object: i64, graph: Option<&str>) -> Quad {
        let iri = |name: &str| NamedNode::new_unchecked(format!("http://a/{name}"));
        let graph = graph.map_or(GraphName::DefaultGraph, |name| iri(name).into());
        Quad::new(iri("s"), iri("p"), Literal::from(object), graph)
    }

    /// The numbers of quads in all graphs and in named ones, by each way of reading them.
    fn counts(snapshot: &Snapshot) -> (usize, usize) {
        let quads: Vec<IdQuad> = snapshot.quads(&IdPattern::ALL).collect::<Result<_>>().expect("they are read");
        assert_eq!(snapshot.count(&IdPattern::ALL).expect("they are counted"), quads.len() as u64);
        let sorted = snapshot.quads_sorted_by(&IdPattern::ALL, Position::Subject).expect("there is an index");
        assert_eq!(sorted.count(), quads.len());
        for quad in &quads {
            let known = IdPattern { subject: Some(quad.subject), object: Some(quad.object), ..IdPattern::ALL };
            let found: Vec<IdQuad> = snapshot.quads(&known).collect::<Result<_>>().expect("they are read");
            assert_eq!(found, [*quad]);
        }
        (quads.len(), quads.iter().filter(|quad| quad.graph != TermId::DEFAULT_GRAPH).count())
    }

    #[test]
    fn all_graphs_are_read_and_named_graphs_only_if_they_have_quads() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).expect("a new store");
        store.update(|txn| txn.insert(&quad(1, None))).expect("it is committed");
        let before = store.snapshot().expect("a snapshot");
        assert_eq!(counts(&before), (1, 0));
        assert!(!before.state.has_named_quads());

        store.update(|txn| txn.insert_inferred(&quad(2, Some("g")))).expect("it is committed");
        let inferred = store.snapshot().expect("a snapshot");
        let explicit = inferred.of_kinds(StatementKinds::Explicit);
        assert_eq!((counts(&explicit), counts(&inferred)), ((1, 0), (2, 1)));

        store.update(|txn| txn.remove_inferred(&quad(2, Some("g")))).expect("it is committed");
        let removed = store.snapshot().expect("a snapshot");
        assert_eq!(counts(&removed), (1, 0));
        assert!(!removed.state.has_named_quads());

        store.update(|txn| txn.insert(&quad(3, Some("g")))).expect("it is committed");
        assert_eq!(counts(&store.snapshot().expect("a snapshot")), (2, 1));
        assert_eq!(counts(&before), (1, 0), "a snapshot keeps its state");
    }

    #[test]
    fn terms_are_read_in_groups_of_every_size() {
        let sizes = [1, 2, 8, 9, 32, 33];
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).expect("a new store");
        let iri = NamedNode::new_unchecked("http://a/s");
        let inserted = store.update(|txn| {
            (0..sizes.iter().sum::<usize>()).try_for_each(|number| {
                let text = Literal::new_simple_literal(format!("a text that is longer than a number: {number}"));
                txn.insert(&Quad::new(iri.clone(), iri.clone(), text, GraphName::DefaultGraph)).map(drop)
            })
        });
        inserted.expect("it is committed");
        let snapshot = store.snapshot().expect("a snapshot");
        let quads = snapshot.quads(&IdPattern::ALL);
        let mut ids: Vec<TermId> = quads.map(|quad| quad.expect("it is read").object).collect();
        for size in sizes {
            let group = ids.split_off(ids.len() - size);
            let mut texts = Vec::new();
            snapshot.terms(&group, &mut |term| texts.push(term.to_string())).expect("they are read");
            let expected = group.iter().map(|&id| snapshot.term(id).expect("it is read").to_string());
            assert_eq!(texts, expected.collect::<Vec<_>>());
        }
        assert!(ids.is_empty());
    }
}
