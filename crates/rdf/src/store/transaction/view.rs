//! [`TransactionView`]: reads of a transaction, which see its own changes.

use std::ops::Bound;
use std::sync::Arc;

use fulgurite::{KeySuffix, Table};
use oxrdf::{Term, TermRef};

use super::inner::{Inner, QuadReads};
use crate::dictionary::term_batch::TermBatch;
use crate::error::{Error, Result};
use crate::model::id::TermId;
use crate::model::pattern::{IdPattern, IdQuad, Position};
use crate::quads::graph_names::GraphNames;
use crate::quads::index_choice::{Steps, is_a_range};
use crate::quads::inferred::scan;
use crate::quads::quad_ids::{QuadIds, Reached, Source, Wanted, read_terms};
use crate::quads::reading::Quads;
use crate::tables::{StatementKinds, Tables};

/// A view of a transaction's snapshot and its own changes, valid while the transaction exists. An iterator may or may
/// not see changes that are made while it runs: collect the results that a change depends on before making the change.
#[derive(Clone)]
pub struct TransactionView {
    pub(super) inner: Arc<Inner>,
    pub(super) reads: QuadReads,
}

/// The source of a view's iterators. Each step reads the current state of the transaction.
struct ViewSource {
    inner: Arc<Inner>,
    reads: QuadReads,
    /// The tables of explicit quads; those of all kinds of statements have the same indexes.
    tables: Arc<Tables>,
}

impl Source for ViewSource {
    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn read_quads(&self, wanted: &Wanted<'_>, quads: &mut Vec<IdQuad>) -> Result<Reached> {
        self.inner.read_quads(self.reads, |view| view.read_quads(wanted, quads))
    }

    fn scan(
        &self,
        table: &Table,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
        keys_min: usize,
        each: &mut dyn FnMut(KeySuffix<'_>),
    ) -> Result<bool> {
        self.inner.read(|view| Ok(scan(view.reads, view.tables, table, (low, high), keys_min, each)?))
    }

    fn read_terms(&self, terms: &mut TermBatch) -> Result<()> {
        self.inner.read(|view| view.read_terms(terms))
    }

    fn damaged(&self, table: &Table) -> Error {
        self.inner.shared.damaged_key(table)
    }

    fn misplaced_term(&self, id: TermId) -> Error {
        self.inner.shared.misplaced_term(id)
    }
}

impl TransactionView {
    fn source(&self) -> Arc<dyn Source> {
        let (inner, tables) = (Arc::clone(&self.inner), self.inner.tables());
        Arc::new(ViewSource { inner, reads: self.reads, tables })
    }

    /// Returns the same view restricted to statements of these kinds.
    /// [`Transaction::view`](crate::Transaction::view) has all kinds. Terms, graph names and namespaces are not
    /// affected.
    #[must_use]
    pub fn of_kinds(&self, kinds: StatementKinds) -> Self {
        Self { inner: Arc::clone(&self.inner), reads: QuadReads { statements: kinds, ..self.reads } }
    }
}

impl Quads for TransactionView {
    fn unchecked(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), reads: QuadReads { are_checked: false, ..self.reads } }
    }

    fn quads(&self, pattern: &IdPattern) -> QuadIds {
        QuadIds::new(self.source(), Steps::new(pattern))
    }

    fn quads_sorted_by(&self, pattern: &IdPattern, position: Position) -> Option<QuadIds> {
        Steps::sorted_by(&self.inner.tables(), pattern, position).map(|steps| QuadIds::new(self.source(), steps))
    }

    fn count(&self, pattern: &IdPattern) -> Result<u64> {
        self.inner.read_quads(self.reads, |view| view.count(pattern))
    }

    fn counts_fast(&self, pattern: &IdPattern) -> bool {
        is_a_range(&self.inner.tables(), pattern)
    }

    fn terms(&self, ids: &[TermId], each: &mut dyn FnMut(TermRef<'_>)) -> Result<()> {
        read_terms(&*self.source(), ids, each)
    }

    fn term(&self, id: TermId) -> Result<Term> {
        match self.inner.read(|view| view.term(id)) {
            // An inferred quad may have it.
            Err(Error::NoSuchTerm { .. }) => self.inner.read_quads(QuadReads::ALL, |view| view.term(id)),
            read => read,
        }
    }

    fn id(&self, term: TermRef<'_>) -> Result<Option<TermId>> {
        self.inner.read(|view| view.id(term))
    }

    fn contains(&self, quad: &IdQuad) -> Result<bool> {
        self.inner.read_quads(self.reads, |view| view.contains(quad))
    }

    fn graph_names(&self) -> GraphNames {
        GraphNames::new(self.source(), self.inner.tables().graphs.clone())
    }

    fn contains_graph(&self, graph: TermId) -> Result<bool> {
        self.inner.read(|view| view.contains_graph(graph))
    }

    fn namespaces(&self) -> Result<Vec<(String, String)>> {
        self.inner.read(|view| view.namespaces())
    }
}
