//! [`Transaction`]: private changes over a snapshot, committed together or not at all.

mod additions;
mod inferred;
mod inner;
mod known;
mod settling;
mod state;
mod view;

use std::collections::HashSet;
use std::sync::Arc;

use fulgurite::{Durability, Sequence, WriteTxn};
use oxrdf::{GraphNameRef, QuadRef, TermRef};

use crate::error::{Error, Result};
use crate::model::id::{TermId, TermKind};
use crate::model::pattern::{GraphPattern, IdPattern, IdQuad};
use crate::quads::changes;
use crate::quads::reading::Quads;
use crate::quads::shared::Shared;
use crate::store::transaction::inner::{Inner, QuadReads};
use crate::store::transaction::state::State;
use crate::tables::StatementKinds;
use crate::tables::Tables;

pub use view::TransactionView;

/// A write transaction: a set of changes that is committed atomically, or discarded. Its [view](Transaction::view)
/// reads its own changes.
///
/// Any number of transactions run concurrently. If another transaction has committed a conflicting change, the commit
/// fails with a [retryable](crate::Error::is_retryable) error: run the transaction again, or use
/// [`Store::update`](crate::Store::update), which does so. Two transactions that add the same new term conflict;
/// additions of different terms do not. A transaction that drops a graph conflicts, at every isolation level, with one
/// that inserts into it, or the graph exists again after both.
///
/// Additions are buffered and written in batches. So when the engine fails, for instance because the disk is full, an
/// earlier change may be only partly written. The transaction then refuses further changes and the commit with
/// [`Error::TransactionBroken`], until it is [rolled back](Transaction::rollback_to) to an earlier savepoint.
pub struct Transaction {
    view: TransactionView,
}

/// A state of a [`Transaction`] that it can roll back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    inner: fulgurite::Savepoint,
    /// Whether the transaction was broken there.
    is_broken: bool,
    /// Whether tables of inferred quads were known to be there.
    has_inferred: bool,
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // Views may live on.
        let mut state = self.view.inner.lock();
        let ended = (state.txn.take(), std::mem::take(&mut state.additions));
        drop(state);
        drop(ended);
    }
}

impl Transaction {
    /// Requires: `tables` are all that `txn` sees, if they are known.
    pub(crate) fn new(txn: WriteTxn, tables: Option<Arc<Tables>>, shared: Arc<Shared>) -> Self {
        let state = State {
            txn: Some(txn),
            tables,
            guards_tables: false,
            additions: Default::default(),
            checked: HashSet::default(),
            has_refreshed_namespaces: false,
            is_broken: false,
            failure: None,
        };
        let inner = Arc::new(Inner::new(state, shared));
        Self { view: TransactionView { inner, reads: QuadReads::ALL } }
    }

    fn inner(&self) -> &Inner {
        &self.view.inner
    }

    /// Returns a view of the transaction, for reads and queries.
    pub fn view(&self) -> TransactionView {
        self.view.clone()
    }

    /// Adds an explicit quad, and its graph if it is new. Returns whether the quad was new as an explicit one. A quad
    /// that is already inferred is then both.
    ///
    /// # Errors
    /// [`Error::TooDeep`]; [`Error::TransactionBroken`]; errors of the engine.
    pub fn insert<'q>(&mut self, quad: impl Into<QuadRef<'q>>) -> Result<bool> {
        let inner = self.inner();
        inner.lock().insert(&inner.shared, quad.into())
    }

    fn intern_quad(&mut self, quad: QuadRef<'_>) -> Result<IdQuad> {
        Ok(IdQuad {
            subject: self.intern(quad.subject.into())?,
            predicate: self.intern(quad.predicate.into())?,
            object: self.intern(quad.object)?,
            graph: self.intern_graph(quad.graph_name)?,
        })
    }

    /// As [`Transaction::insert`], by term ids.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the kinds of the terms do not form a quad, or an id is of no term that the transaction
    /// sees, such as one that was rolled back; [`Error::TransactionBroken`]; errors of the engine.
    pub fn insert_ids(&mut self, quad: &IdQuad) -> Result<bool> {
        check_kinds(quad)?;
        let inner = self.inner();
        let mut state = inner.lock();
        let is_unwritten = state.check_terms(&inner.shared, quad)?;
        state.insert_known(&inner.shared, quad, is_unwritten)
    }

    /// Removes an explicit quad. Returns whether it existed as an explicit one. Its graph remains, even if it is now
    /// empty. A quad that is also inferred remains inferred.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn remove<'q>(&mut self, quad: impl Into<QuadRef<'q>>) -> Result<bool> {
        match self.find_quad(quad.into())? {
            Some(quad) => self.remove_ids(&quad),
            None => Ok(false),
        }
    }

    /// The numbers of a quad's terms, if they all have one.
    fn find_quad(&self, quad: QuadRef<'_>) -> Result<Option<IdQuad>> {
        let graph = self.graph_id(quad.graph_name)?;
        let subject = self.view.id(quad.subject.into())?;
        let (predicate, object) = (self.view.id(quad.predicate.into())?, self.view.id(quad.object)?);
        Ok(match (subject, predicate, object, graph) {
            (Some(subject), Some(predicate), Some(object), Some(graph)) => {
                Some(IdQuad { subject, predicate, object, graph })
            }
            _ => None,
        })
    }

    /// As [`Transaction::remove`], by term ids.
    ///
    /// # Errors
    /// [`Error::TransactionBroken`]; errors of the engine.
    pub fn remove_ids(&mut self, quad: &IdQuad) -> Result<bool> {
        self.inner().remove(quad)
    }

    /// Removes all explicit quads that match a pattern; their graphs remain. Returns the number of removed quads.
    /// Inferred quads remain inferred.
    ///
    /// # Errors
    /// [`Error::TransactionBroken`]; errors of the engine. Some quads may be removed by then; roll back to a
    /// [`savepoint`](Transaction::savepoint) to restore them.
    pub fn remove_matching(&mut self, pattern: &IdPattern) -> Result<u64> {
        let removed = self.remove_parts(pattern);
        self.broken_by_error(removed)
    }

    /// Marks the transaction as broken if a removal failed: it may have removed some of its quads by then.
    fn broken_by_error<T>(&self, removed: Result<T>) -> Result<T> {
        if removed.is_err() {
            self.inner().lock().is_broken = true;
        }
        removed
    }

    fn remove_parts(&self, pattern: &IdPattern) -> Result<u64> {
        let parts = match pattern.graph {
            GraphPattern::Any => vec![GraphPattern::Default, GraphPattern::AnyNamed],
            graph => vec![graph],
        };
        let mut removed = 0;
        for graph in parts {
            let part = IdPattern { graph, ..*pattern };
            // Where something is inferred, each may be both.
            let is_by_range = part.is_all_of_its_graphs() && self.inner().tables_to_change()?.inferred.is_none();
            removed += if is_by_range { self.remove_all(graph)? } else { self.remove_each(&part)? };
        }
        Ok(removed)
    }

    /// Takes all quads of whole tables away, by ranges.
    fn remove_all(&self, graph: GraphPattern) -> Result<u64> {
        let is_named = graph == GraphPattern::AnyNamed;
        self.inner().write_quads(|txn, tables| {
            let indexes = if is_named { &tables.named_graphs } else { &tables.default_graph };
            let mut removed = 0;
            for index in indexes {
                // All indexes have the same quads.
                removed = txn.delete_range(&index.table, ..)?;
            }
            Ok(removed)
        })
    }

    fn remove_each(&self, pattern: &IdPattern) -> Result<u64> {
        let mut removed = 0;
        // It reads on behind what it has given, whatever became of that.
        for quad in self.view.of_kinds(StatementKinds::Explicit).quads(pattern) {
            removed += u64::from(self.inner().remove(&quad?)?);
        }
        Ok(removed)
    }

    /// Takes all quads of a pattern away, explicit and inferred.
    fn remove_all_kinds(&self, pattern: &IdPattern) -> Result<()> {
        if self.inner().tables_to_change()?.inferred.is_none() {
            return self.remove_parts(pattern).map(drop);
        }
        for quad in self.view.quads(pattern) {
            let quad = quad?;
            self.inner()
                .write_quads(|txn, tables| changes::remove_all_kinds(txn, tables, self.inner().shared.path(), &quad))?;
        }
        Ok(())
    }

    /// Returns the id of a term, and assigns one if it has none.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn intern(&mut self, term: TermRef<'_>) -> Result<TermId> {
        let inner = self.inner();
        inner.lock().intern(&inner.shared, term)
    }

    fn intern_graph(&mut self, graph: GraphNameRef<'_>) -> Result<TermId> {
        match graph {
            GraphNameRef::NamedNode(node) => self.intern(node.into()),
            GraphNameRef::BlankNode(node) => self.intern(node.into()),
            GraphNameRef::DefaultGraph => Ok(TermId::DEFAULT_GRAPH),
        }
    }

    /// Returns a new blank node that no store contains, as [`TermId::new_blank`].
    pub fn new_blank_node(&self) -> TermId {
        TermId::new_blank()
    }

    /// Removes all explicit quads of a graph; the graph remains. Returns the number of removed quads.
    ///
    /// # Errors
    /// As [`Transaction::remove_matching`].
    pub fn clear_graph(&mut self, graph: GraphNameRef<'_>) -> Result<u64> {
        match self.graph_id(graph)? {
            Some(graph) => self.remove_matching(&IdPattern::of_graph(graph)),
            None => Ok(0),
        }
    }

    /// Creates an empty named graph. Returns whether it was new.
    ///
    /// # Errors
    /// As [`Transaction::insert`]; [`Error::Invalid`] for the default graph.
    pub fn create_graph(&mut self, graph: GraphNameRef<'_>) -> Result<bool> {
        let id = self.intern_graph(graph)?;
        if id == TermId::DEFAULT_GRAPH {
            return Err(Error::Invalid { message: "the default graph is always there; name another to create".into() });
        }
        let inner = self.inner();
        inner.write(|txn| Ok(txn.insert(&inner.tables().graphs, id.key().as_bytes(), &[])?))
    }

    /// Removes a graph with all its quads, inferred ones included. Of the default graph only the quads are removed.
    /// Returns whether the graph existed.
    ///
    /// # Errors
    /// As [`Transaction::remove_matching`].
    pub fn drop_graph(&mut self, graph: GraphNameRef<'_>) -> Result<bool> {
        let Some(id) = self.graph_id(graph)? else { return Ok(false) };
        self.broken_by_error(self.remove_all_kinds(&IdPattern::of_graph(id)))?;
        if id == TermId::DEFAULT_GRAPH {
            return Ok(true);
        }
        let inner = self.inner();
        inner.write(|txn| Ok(txn.delete(&inner.tables().graphs, id.key().as_bytes())?))
    }

    fn graph_id(&self, graph: GraphNameRef<'_>) -> Result<Option<TermId>> {
        match graph {
            GraphNameRef::NamedNode(node) => self.view.id(node.into()),
            GraphNameRef::BlankNode(node) => self.view.id(node.into()),
            GraphNameRef::DefaultGraph => Ok(Some(TermId::DEFAULT_GRAPH)),
        }
    }

    /// Removes all quads, explicit and inferred, and all named graphs; namespaces remain. Returns the number of removed
    /// quads.
    ///
    /// Terms keep their ids until a [sweep](crate::Store::sweep), because other transactions may be about to insert
    /// quads of them.
    ///
    /// # Errors
    /// As [`Transaction::remove_matching`].
    pub fn clear(&mut self) -> Result<u64> {
        let removed = self.view.count(&IdPattern::ALL)?;
        self.broken_by_error(self.remove_all_kinds(&IdPattern::ALL))?;
        let (inner, tables) = (self.inner(), self.inner().tables());
        inner.write(|txn| Ok(txn.delete_range(&tables.graphs, ..)?))?;
        Ok(removed)
    }

    /// Sets the namespace of a prefix, and replaces an existing one.
    ///
    /// # Errors
    /// [`Error::TransactionBroken`]; errors of the engine.
    pub fn set_namespace(&mut self, prefix: &str, iri: &str) -> Result<()> {
        let inner = self.inner();
        inner.write_one_step(|txn| txn.put(&inner.tables().namespaces, prefix.as_bytes(), iri.as_bytes()))
    }

    /// Sets the namespaces of prefixes that have none yet. So the prefixes of a loaded document do not change existing
    /// ones.
    ///
    /// # Errors
    /// As [`Transaction::set_namespace`].
    pub fn note_namespaces<'n>(&mut self, namespaces: impl Iterator<Item = (&'n str, &'n str)>) -> Result<()> {
        let (inner, tables) = (self.inner(), self.inner().tables());
        for (prefix, iri) in namespaces {
            inner.write_one_step(|txn| txn.insert(&tables.namespaces, prefix.as_bytes(), iri.as_bytes()))?;
        }
        Ok(())
    }

    /// Removes the namespace of a prefix. Returns whether it had one.
    ///
    /// # Errors
    /// [`Error::TransactionBroken`]; what the engine reports.
    pub fn remove_namespace(&mut self, prefix: &str) -> Result<bool> {
        let inner = self.inner();
        inner.write_one_step(|txn| txn.delete(&inner.tables().namespaces, prefix.as_bytes()))
    }

    /// Returns a savepoint: the current state of the transaction.
    pub fn savepoint(&mut self) -> Savepoint {
        let mut state = self.inner().lock();
        // If it fails, the transaction is broken here. The next change reports the failure.
        if let Err(failure) = state.settle(&self.inner().shared) {
            state.failure = Some(failure);
        }
        let has_inferred = state.tables.as_ref().is_some_and(|tables| tables.inferred.is_some());
        let txn = state.txn.as_mut().expect("it ends when it is taken or dropped, and here it is");
        Savepoint { inner: txn.savepoint(), is_broken: state.is_broken, has_inferred }
    }

    /// Undoes all changes since `savepoint`. It can be used again; later savepoints become invalid. A transaction that
    /// was [broken](Error::TransactionBroken) by a later change can be used again.
    ///
    /// # Errors
    /// As the engine's [`WriteTxn::rollback_to`].
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let mut state = self.inner().lock();
        // Some of these terms may be gone.
        state.additions.clear();
        state.failure = None;
        state.checked.clear();
        // If it fails, what was to be undone may be there still.
        state.is_broken = true;
        state.txn.as_mut().ok_or(Error::TransactionEnded)?.rollback_to(savepoint.inner)?;
        state.is_broken = savepoint.is_broken;
        if !savepoint.has_inferred {
            // If it had made them, they are gone.
            state.tables = None;
        }
        Ok(())
    }

    /// Commits with the durability of the engine's options.
    ///
    /// # Errors
    /// [`Error::TransactionBroken`] if a change failed halfway and was not rolled back: nothing is committed. Errors of
    /// the engine's [`WriteTxn::commit`].
    pub fn commit(self) -> Result<Sequence> {
        self.finish(WriteTxn::commit)
    }

    /// Commits with the given durability.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit_with(self, durability: Durability) -> Result<Sequence> {
        self.finish(|txn| txn.commit_with(durability))
    }

    fn finish(self, commit: impl FnOnce(WriteTxn) -> fulgurite::Result<Sequence>) -> Result<Sequence> {
        let mut state = self.inner().lock();
        state.settle(&self.inner().shared)?;
        state.writable()?;
        let txn = state.txn.take().ok_or(Error::TransactionEnded)?;
        drop(state);
        Ok(commit(txn)?)
    }
}

/// Checks that terms of such kinds make a quad. A triple term may be the subject, as in RDF-star.
///
/// # Errors
/// [`Error::Invalid`].
pub fn check_kinds(quad: &IdQuad) -> Result<()> {
    let wrong = |place: &str, allowed: &str| {
        Err(Error::Invalid { message: format!("the {place} of a quad is {allowed}; put another term there") })
    };
    if !matches!(quad.subject.kind(), TermKind::Iri | TermKind::BlankNode | TermKind::Triple) {
        return wrong("subject", "an IRI, a blank node or a triple term");
    }
    if quad.predicate.kind() != TermKind::Iri {
        return wrong("predicate", "an IRI");
    }
    if quad.object.kind() == TermKind::DefaultGraph {
        return wrong("object", "a term");
    }
    if !matches!(quad.graph.kind(), TermKind::Iri | TermKind::BlankNode | TermKind::DefaultGraph) {
        return wrong("graph", "an IRI, a blank node, or the default graph");
    }
    Ok(())
}
