//! [`Transaction`]: private changes over a snapshot, committed together or not at all.

use std::sync::Arc;

use fulgurite::{Durability, Sequence};
use oxrdf::{GraphNameRef, QuadRef, Term, TermRef};

use crate::error::Result;
use crate::id::TermId;
use crate::pattern::{IdPattern, IdQuad, Position};
use crate::quads::{GraphNames, QuadIds, Quads};

/// A set of changes that is committed as one, or dropped without a trace. It reads what it has written, itself and by its
/// [views](Transaction::view).
///
/// Any number run at once. If another one has committed a change meanwhile that this one must have seen, committing fails with a
/// [retryable](crate::Error::is_retryable) error: begin again, which is what [`Store::update`](crate::Store::update) does by itself.
pub struct Transaction {
    view: TransactionView,
}

/// What a transaction sees, its own changes included, for as long as the transaction lives. An iterator sees changes that are made while it
/// runs if they lie ahead of it: collect what a change depends on before making it.
#[derive(Clone)]
pub struct TransactionView {
    shared: Arc<()>,
}

/// A state of a [`Transaction`] to return to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(fulgurite::Savepoint);

impl Transaction {
    /// What it sees, to read through; queries run on it.
    pub fn view(&self) -> TransactionView {
        let _ = &self.view.shared;
        unimplemented!()
    }

    /// Adds a quad, and its graph. Tells whether it was not there.
    ///
    /// # Errors
    /// [`Error::TooDeep`](crate::Error::TooDeep); what the engine reports.
    pub fn insert<'q>(&mut self, _quad: impl Into<QuadRef<'q>>) -> Result<bool> {
        unimplemented!()
    }

    /// As [`Transaction::insert`], of terms that have numbers.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the terms can make no quad; what the engine reports.
    pub fn insert_ids(&mut self, _quad: &IdQuad) -> Result<bool> {
        unimplemented!()
    }

    /// Takes a quad away. Tells whether it was there. Its graph stays, even if it is empty now.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn remove<'q>(&mut self, _quad: impl Into<QuadRef<'q>>) -> Result<bool> {
        unimplemented!()
    }

    /// As [`Transaction::remove`], of terms that have numbers.
    ///
    /// # Errors
    /// What the engine reports.
    pub fn remove_ids(&mut self, _quad: &IdQuad) -> Result<bool> {
        unimplemented!()
    }

    /// Takes all quads of a pattern away. Returns how many.
    ///
    /// # Errors
    /// What the engine reports; some may be gone then: return to a [`savepoint`](Transaction::savepoint) to have them all.
    pub fn remove_matching(&mut self, _pattern: &IdPattern) -> Result<u64> {
        unimplemented!()
    }

    /// The number of a term, which is given one if it has none.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn intern(&mut self, _term: TermRef<'_>) -> Result<TermId> {
        unimplemented!()
    }

    /// A blank node that no store has.
    pub fn new_blank_node(&mut self) -> Result<TermId> {
        unimplemented!()
    }

    /// Takes all quads of a graph away; the graph stays. Returns how many.
    ///
    /// # Errors
    /// As [`Transaction::remove_matching`].
    pub fn clear_graph(&mut self, _graph: GraphNameRef<'_>) -> Result<u64> {
        unimplemented!()
    }

    /// Creates an empty named graph. Tells whether it was not there.
    ///
    /// # Errors
    /// As [`Transaction::insert`]; [`Error::Invalid`](crate::Error::Invalid) for the default graph.
    pub fn create_graph(&mut self, _graph: GraphNameRef<'_>) -> Result<bool> {
        unimplemented!()
    }

    /// Takes a graph away with all its quads; of the default graph its quads. Tells whether it was there.
    ///
    /// # Errors
    /// As [`Transaction::remove_matching`].
    pub fn drop_graph(&mut self, _graph: GraphNameRef<'_>) -> Result<bool> {
        unimplemented!()
    }

    /// Takes everything away: quads, graphs; namespaces stay.
    ///
    /// # Errors
    /// As [`Transaction::remove_matching`].
    pub fn clear(&mut self) -> Result<u64> {
        unimplemented!()
    }

    /// Gives a prefix this namespace, whatever it had before.
    ///
    /// # Errors
    /// What the engine reports.
    pub fn set_namespace(&mut self, _prefix: &str, _iri: &str) -> Result<()> {
        unimplemented!()
    }

    /// Takes the namespace of a prefix away. Tells whether it had one.
    ///
    /// # Errors
    /// What the engine reports.
    pub fn remove_namespace(&mut self, _prefix: &str) -> Result<bool> {
        unimplemented!()
    }

    /// Marks the present state of the transaction.
    pub fn savepoint(&mut self) -> Savepoint {
        unimplemented!()
    }

    /// Undoes everything since `savepoint`, which may be returned to again; later savepoints may not.
    ///
    /// # Errors
    /// As the engine's [`WriteTxn::rollback_to`](fulgurite::WriteTxn::rollback_to).
    pub fn rollback_to(&mut self, _savepoint: Savepoint) -> Result<()> {
        unimplemented!()
    }

    /// Commits with the durability of the store's options.
    ///
    /// # Errors
    /// Of the engine's [`WriteTxn::commit`](fulgurite::WriteTxn::commit); [`Error::LoadRunning`](crate::Error::LoadRunning).
    pub fn commit(self) -> Result<Sequence> {
        unimplemented!()
    }

    /// Commits with the given durability.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit_with(self, _durability: Durability) -> Result<Sequence> {
        unimplemented!()
    }
}

impl Quads for TransactionView {
    fn quads(&self, _pattern: &IdPattern) -> QuadIds {
        unimplemented!()
    }

    fn quads_sorted_by(&self, _pattern: &IdPattern, _position: Position) -> Option<QuadIds> {
        unimplemented!()
    }

    fn count(&self, _pattern: &IdPattern) -> Result<u64> {
        unimplemented!()
    }

    fn counts_fast(&self, _pattern: &IdPattern) -> bool {
        unimplemented!()
    }

    fn term(&self, _id: TermId) -> Result<Term> {
        unimplemented!()
    }

    fn id(&self, _term: TermRef<'_>) -> Result<Option<TermId>> {
        unimplemented!()
    }

    fn contains(&self, _quad: &IdQuad) -> Result<bool> {
        unimplemented!()
    }

    fn graph_names(&self) -> GraphNames {
        unimplemented!()
    }

    fn contains_graph(&self, _graph: TermId) -> Result<bool> {
        unimplemented!()
    }

    fn namespaces(&self) -> Result<Vec<(String, String)>> {
        unimplemented!()
    }
}
