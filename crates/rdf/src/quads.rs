//! [`Quads`]: what queries read through, be it a snapshot or what a transaction sees.

use std::sync::Arc;

use oxrdf::{Term, TermRef};

use crate::error::Result;
use crate::id::TermId;
use crate::pattern::{IdPattern, IdQuad, Position};

/// A set of quads to read from. Clones share what they read; iterators own what they need, so that they outlive the value they
/// came from and may be sent to other threads.
pub trait Quads: Clone + Send + Sync + 'static {
    /// The quads of a pattern, in the order of the index that is read ([`QuadIds::order`]). With graphs of
    /// [`GraphPattern::Any`](crate::GraphPattern::Any) the default graph comes first, then the named ones.
    fn quads(&self, pattern: &IdPattern) -> QuadIds;

    /// As [`Quads::quads`], from an index in which the quads of the pattern are sorted by `position` first; `None` if the store
    /// has no such index, or `position` is bound.
    fn quads_sorted_by(&self, pattern: &IdPattern, position: Position) -> Option<QuadIds>;

    /// How many quads a pattern has, exactly. Where the pattern is a prefix of an index ([`Quads::counts_fast`]), in time that grows
    /// with the depth of its tree; else they are gone over.
    ///
    /// # Errors
    /// As [`Quads::term`].
    fn count(&self, pattern: &IdPattern) -> Result<u64>;

    /// Whether [`Quads::count`] need not go over the quads. With the default orders that is so for every pattern.
    fn counts_fast(&self, pattern: &IdPattern) -> bool;

    /// The term of a number.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) if the number is not this store's, and what the engine reports;
    /// [`Error::TransactionEnded`](crate::Error::TransactionEnded) from the view of a transaction that has ended.
    fn term(&self, id: TermId) -> Result<Term>;

    /// The number of a term. `None`: the store has no such term, and so no quad with it. A term that is its own number has
    /// one whether the store has it or not.
    ///
    /// # Errors
    /// As [`Quads::term`]; [`Error::TooDeep`](crate::Error::TooDeep).
    fn id(&self, term: TermRef<'_>) -> Result<Option<TermId>>;

    /// Whether the quad is there.
    ///
    /// # Errors
    /// As [`Quads::term`].
    fn contains(&self, quad: &IdQuad) -> Result<bool>;

    /// The named graphs: those that have quads, and those that were created empty.
    fn graph_names(&self) -> GraphNames;

    /// Whether a named graph is there, be it empty.
    ///
    /// # Errors
    /// As [`Quads::term`].
    fn contains_graph(&self, graph: TermId) -> Result<bool>;

    /// The prefixes of namespaces and their IRIs, by prefix.
    ///
    /// # Errors
    /// As [`Quads::term`].
    fn namespaces(&self) -> Result<Vec<(String, String)>>;
}

/// Quads of a pattern. The first error ends it.
pub struct QuadIds(Arc<()>);

impl QuadIds {
    /// The places by which the quads are sorted, the most significant first. With graphs of
    /// [`GraphPattern::Any`](crate::GraphPattern::Any) that holds for the default graph and for the named ones, each by itself.
    pub fn order(&self) -> &'static [Position] {
        unimplemented!()
    }

    /// Passes over the quads whose term in the first unbound place of the order is below `id`.
    pub fn skip_to(&mut self, _id: TermId) {
        unimplemented!()
    }
}

impl Iterator for QuadIds {
    type Item = Result<IdQuad>;

    fn next(&mut self) -> Option<Self::Item> {
        let _ = &self.0;
        unimplemented!()
    }
}

/// Named graphs, in the order of their numbers. The first error ends it.
pub struct GraphNames(Arc<()>);

impl Iterator for GraphNames {
    type Item = Result<TermId>;

    fn next(&mut self) -> Option<Self::Item> {
        let _ = &self.0;
        unimplemented!()
    }
}
