//! [`Quads`]: the reads that snapshots and the views of transactions have in common.

use oxrdf::{GraphNameRef, NamedNodeRef, NamedOrBlankNodeRef, Term, TermRef};

use crate::error::Result;
use crate::model::id::TermId;
use crate::model::pattern::{GraphPattern, IdPattern, IdQuad, Position};
use crate::quads::graph_names::GraphNames;
use crate::quads::joined::{JoinPattern, Joined};
use crate::quads::quad_ids::QuadIds;
use crate::quads::statements::Statements;

/// A readable set of quads: a snapshot or the view of a transaction. Clones share the snapshot. Iterators own what they
/// need, so they can outlive the value they came from, and be sent to other threads.
pub trait Quads: Clone + Send + Sync + 'static {
    /// Returns the quads that match a pattern, in the order of the index that is read ([`QuadIds::order`]). With graphs
    /// of [`GraphPattern::Any`](crate::GraphPattern::Any) the default graph comes first, then the named ones.
    fn quads(&self, pattern: &IdPattern) -> QuadIds;

    /// Returns the same quads, for reads on which no result depends, such as counts that only choose an order of joins.
    /// A transaction does not conflict with others that change what it reads in this way only.
    #[must_use]
    fn unchecked(&self) -> Self {
        self.clone()
    }

    /// Returns the quads that match a pattern as terms, in the order of [`Quads::quads`]. [`Statements::from`] converts
    /// other iterators of ids.
    fn statements(&self, pattern: &IdPattern) -> Statements {
        self.quads(pattern).into()
    }

    /// Returns the statements with these terms. `None` matches any term or any graph. There are no statements if the
    /// store does not contain one of the terms.
    ///
    /// ```
    /// # fn main() -> fulgurite_rdf::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// use fulgurite_rdf::oxrdf::{GraphName, GraphNameRef, Literal, NamedNode, Quad};
    /// use fulgurite_rdf::{Quads, Store, StoreOptions};
    ///
    /// let store = Store::create(directory.path().join("a.ful"), StoreOptions::new())?;
    /// let (alice, age) = (NamedNode::new_unchecked("http://a/alice"), NamedNode::new_unchecked("http://a/age"));
    /// let quad = Quad::new(alice.clone(), age, Literal::from(42), GraphName::DefaultGraph);
    /// store.update(|txn| txn.insert(&quad))?;
    /// let of_alice = store.snapshot()?.matching(Some(alice.as_ref().into()), None, None, Some(GraphNameRef::DefaultGraph))?;
    /// assert_eq!(of_alice.collect::<fulgurite_rdf::Result<Vec<_>>>()?, [quad]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Quads::id`].
    fn matching(
        &self,
        subject: Option<NamedOrBlankNodeRef<'_>>,
        predicate: Option<NamedNodeRef<'_>>,
        object: Option<TermRef<'_>>,
        graph: Option<GraphNameRef<'_>>,
    ) -> Result<Statements> {
        let terms = [subject.map(TermRef::from), predicate.map(TermRef::from), object];
        let (mut ids, mut is_there) = ([None; 3], true);
        for (id, term) in ids.iter_mut().zip(terms) {
            if let Some(term) = term {
                *id = self.id(term)?;
                is_there &= id.is_some();
            }
        }
        let graph = match graph {
            None => GraphPattern::Any,
            Some(GraphNameRef::DefaultGraph) => GraphPattern::Default,
            Some(GraphNameRef::NamedNode(node)) => named(self.id(node.into())?, &mut is_there),
            Some(GraphNameRef::BlankNode(node)) => named(self.id(node.into())?, &mut is_there),
        };
        let [subject, predicate, object] = ids;
        let mut statements = self.statements(&IdPattern { subject, predicate, object, graph });
        if is_there {
            ids.into_iter().zip(terms).for_each(|(id, term)| statements.know(id, term));
        } else {
            statements.end();
        }
        Ok(statements)
    }

    /// As [`Quads::quads`], from an index in which the quads of the pattern are sorted by `position` first; `None` if
    /// the store has no such index, or `position` is bound.
    fn quads_sorted_by(&self, pattern: &IdPattern, position: Position) -> Option<QuadIds>;

    /// Returns the rows of ids that match several patterns together, in the order of the patterns. For an order of
    /// least work, and for other forms than patterns, use [`sparql::Query`](crate::sparql::Query).
    ///
    /// ```
    /// # fn main() -> fulgurite_rdf::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// use fulgurite_rdf::{
    ///     GraphPattern, JoinGraph, JoinPattern, JoinTerm, LoadInput, LoadOptions, Quads, RdfFormat, Store,
    ///     StoreOptions,
    /// };
    /// use fulgurite_rdf::oxrdf::NamedNode;
    ///
    /// let store = Store::create(directory.path().join("a.ful"), StoreOptions::new())?;
    /// let turtle = "@prefix : <http://a/> . :ann :knows :bob . :bob :knows :cid .";
    /// store.load(vec![LoadInput::reader("a", turtle.as_bytes(), RdfFormat::Turtle)], &LoadOptions::new())?;
    /// let snapshot = store.snapshot()?;
    /// let knows = NamedNode::new_unchecked("http://a/knows");
    /// let knows = snapshot.id(knows.as_ref().into())?.expect("it was loaded");
    /// let knows = |left, right| JoinPattern {
    ///     terms: [JoinTerm::Variable(left), JoinTerm::Term(knows), JoinTerm::Variable(right)],
    ///     graph: JoinGraph::Graphs(GraphPattern::Default),
    /// };
    /// let rows: Vec<_> = snapshot.join(&[knows(0, 1), knows(1, 2)]).collect::<fulgurite_rdf::Result<_>>()?;
    /// assert_eq!(rows.len(), 1);
    /// assert_eq!(snapshot.term(rows[0][2])?.to_string(), "<http://a/cid>");
    /// # Ok(()) }
    /// ```
    ///
    /// # Panics
    /// If there is no pattern, or the number of a variable is [`JoinTerm::VARIABLES_MAX`](crate::JoinTerm) or more.
    fn join(&self, patterns: &[JoinPattern]) -> Joined {
        Joined::new(patterns, |pattern| self.quads(pattern))
    }

    /// Returns the exact number of quads that match a pattern. If the pattern is a prefix of an index
    /// ([`Quads::counts_fast`]), the time grows with the depth of the tree; otherwise the quads are scanned.
    ///
    /// # Errors
    /// As [`Quads::term`].
    fn count(&self, pattern: &IdPattern) -> Result<u64>;

    /// Whether [`Quads::count`] needs no scan. With the default indexes this is true for every pattern.
    fn counts_fast(&self, pattern: &IdPattern) -> bool;

    /// Returns the term of an id.
    ///
    /// # Errors
    /// [`Error::NoSuchTerm`](crate::Error::NoSuchTerm) if this store has no term with this id, for example after a
    /// [sweep](crate::Store::sweep), and no quad uses it; [`Error::Damaged`](crate::Error::Damaged) if a quad uses it;
    /// errors of the engine; [`Error::TransactionEnded`](crate::Error::TransactionEnded) from the view of a transaction
    /// that has ended.
    fn term(&self, id: TermId) -> Result<Term>;

    /// Calls `each` with the terms of these ids, in their order. This is faster than [`Quads::term`] for each of them.
    /// If it fails, `each` may have received some of the terms.
    ///
    /// # Errors
    /// As [`Quads::term`].
    fn terms(&self, ids: &[TermId], each: &mut dyn FnMut(TermRef<'_>)) -> Result<()> {
        ids.iter().try_for_each(|&id| {
            each(self.term(id)?.as_ref());
            Ok(())
        })
    }

    /// Returns the id of a term, or `None` if the store does not contain the term, and so no quad with it. Inline terms
    /// always have an id.
    ///
    /// # Errors
    /// As [`Quads::term`]; [`Error::TooDeep`](crate::Error::TooDeep).
    fn id(&self, term: TermRef<'_>) -> Result<Option<TermId>>;

    /// Whether the set contains the quad.
    ///
    /// # Errors
    /// As [`Quads::term`].
    fn contains(&self, quad: &IdQuad) -> Result<bool>;

    /// Returns the named graphs: those with quads, and those that were created empty.
    fn graph_names(&self) -> GraphNames;

    /// Whether a named graph exists, even if it is empty.
    ///
    /// # Errors
    /// As [`Quads::term`].
    fn contains_graph(&self, graph: TermId) -> Result<bool>;

    /// Returns the prefixes and IRIs of namespaces, sorted by prefix.
    ///
    /// # Errors
    /// As [`Quads::term`].
    fn namespaces(&self) -> Result<Vec<(String, String)>>;
}

fn named(graph: Option<TermId>, is_there: &mut bool) -> GraphPattern {
    *is_there &= graph.is_some();
    graph.map_or(GraphPattern::AnyNamed, GraphPattern::Named)
}
