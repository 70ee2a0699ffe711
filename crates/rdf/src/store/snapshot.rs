//! [`Snapshot`]: all that is committed at one moment, for as long as it lives.

use std::ops::Bound;
use std::sync::Arc;

use fulgurite::{KeySuffix, ReadTxn, Sequence, Table};
use oxrdf::{Term, TermRef};

use crate::dictionary::term_batch::TermBatch;
use crate::error::{Error, Result};
use crate::model::id::TermId;
use crate::model::pattern::{IdPattern, IdQuad, Position};
use crate::quads::graph_names::GraphNames;
use crate::quads::index_choice::{Steps, is_a_range};
use crate::quads::inferred;
use crate::quads::quad_ids::{QuadIds, Reached, Source, Wanted, read_terms};
use crate::quads::reading::Quads;
use crate::quads::shared::Shared;
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
}

impl Snapshot {
    pub(crate) fn new(read: Arc<ReadTxn>, tables: Arc<Tables>, shared: Arc<Shared>) -> Self {
        Self { state: Arc::new(State { read, all: Arc::clone(&tables), tables, shared }) }
    }

    /// Returns the same snapshot restricted to statements of these kinds. A new snapshot has all kinds. Terms, graph
    /// names and namespaces are not affected.
    #[must_use]
    pub fn of_kinds(&self, kinds: StatementKinds) -> Self {
        let State { read, all, shared, .. } = &*self.state;
        let tables = all.of(kinds);
        if Arc::ptr_eq(&tables, &self.state.tables) {
            return self.clone();
        }
        let (read, shared) = (Arc::clone(read), Arc::clone(shared));
        Self { state: Arc::new(State { read, tables, all: Arc::clone(all), shared }) }
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

    pub(crate) fn read(&self) -> &ReadTxn {
        &self.state.read
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
}

impl State {
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
        QuadIds::new(self.source(), Steps::new(pattern))
    }

    fn quads_sorted_by(&self, pattern: &IdPattern, position: Position) -> Option<QuadIds> {
        Steps::sorted_by(&self.state.tables, pattern, position).map(|steps| QuadIds::new(self.source(), steps))
    }

    fn count(&self, pattern: &IdPattern) -> Result<u64> {
        self.view().count(pattern)
    }

    fn counts_fast(&self, pattern: &IdPattern) -> bool {
        is_a_range(&self.state.tables, pattern)
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
