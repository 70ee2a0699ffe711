//! [`Statements`]: the quads of a pattern as terms.
//!
//! Numbers are read in batches; the terms that a batch lacks are read side by side, so that the waits for memory
//! overlap.

use oxrdf::{GraphNameRef, NamedNodeRef, NamedOrBlankNodeRef, Quad, QuadRef, TermRef};

use crate::dictionary::term_batch::TermBatch;
use crate::error::Result;
use crate::model::id::{TermId, TermKind};
use crate::model::pattern::IdQuad;
use crate::quads::quad_ids::{QuadIds, Source};

/// An iterator over the quads that match a pattern, as terms, in the order of the index. The first error ends it.
///
/// As an iterator it returns one owned [`Quad`] at a time. Batches return borrowed terms, which is several times
/// faster:
///
/// ```
/// # fn main() -> fulgurite_rdf::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// use fulgurite_rdf::oxrdf::{GraphName, Literal, NamedNode, Quad};
/// use fulgurite_rdf::{IdPattern, Quads, Store, StoreOptions};
///
/// let store = Store::create(directory.path().join("a.ful"), StoreOptions::new())?;
/// let (alice, age) = (NamedNode::new_unchecked("http://a/alice"), NamedNode::new_unchecked("http://a/age"));
/// let quad = Quad::new(alice, age, Literal::from(42), GraphName::DefaultGraph);
/// store.update(|txn| txn.insert(&quad))?;
/// let mut statements = store.snapshot()?.statements(&IdPattern::ALL);
/// while let Some(batch) = statements.next_batch() {
///     for statement in batch?.iter() {
///         assert_eq!(statement, quad.as_ref());
///     }
/// }
/// # Ok(()) }
/// ```
pub struct Statements {
    quads: QuadIds,
    terms: TermBatch,
    /// The terms of each statement of the batch.
    batch: Vec<Places>,
    /// The first of the batch that was not given yet.
    next: usize,
}

/// Where the terms of a statement are: subject, predicate, object and graph.
#[derive(Clone, Copy)]
struct Places([u32; 4]);

/// A batch of statements, at least one.
#[derive(Clone, Copy)]
pub struct StatementBatch<'s> {
    terms: &'s TermBatch,
    batch: &'s [Places],
}

/// The statements of a [`StatementBatch`], in order.
#[derive(Clone)]
pub struct StatementRefs<'s> {
    terms: &'s TermBatch,
    batch: std::slice::Iter<'s, Places>,
}

impl From<QuadIds> for Statements {
    /// The quads that are left.
    fn from(quads: QuadIds) -> Self {
        let terms = quads.source().lend_terms();
        Self { quads, terms, batch: Vec::new(), next: 0 }
    }
}

impl Drop for Statements {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // It may want terms still.
            return;
        }
        self.quads.source().take_back(std::mem::take(&mut self.terms));
    }
}

impl Statements {
    /// Returns the next batch of statements in order, at least one. `None` at the end.
    ///
    /// # Errors
    /// As the items of the iterator: [`Error::Damaged`](crate::Error::Damaged) if an id has no term, or a term that is
    /// not allowed in its position, and as [`QuadIds`].
    pub fn next_batch(&mut self) -> Option<Result<StatementBatch<'_>>> {
        if self.next == self.batch.len() {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        let first = std::mem::replace(&mut self.next, self.batch.len());
        Some(Ok(StatementBatch { terms: &self.terms, batch: &self.batch[first..] }))
    }

    /// Spares it from reading a term that the caller has.
    pub(crate) fn know(&mut self, id: Option<TermId>, term: Option<TermRef<'_>>) {
        if let (Some(id), Some(TermRef::NamedNode(iri))) = (id, term) {
            self.terms.know_iri(id, iri.as_str());
        }
    }

    /// No statement is left.
    pub(crate) fn end(&mut self) {
        self.batch.clear();
        self.next = 0;
        self.quads.end();
    }

    /// Reads the next statements that there are. Returns whether there are any. After an error there are none.
    #[inline(never)]
    fn fill(&mut self) -> Result<bool> {
        self.batch.clear();
        self.next = 0;
        self.terms.trim();
        let read = match self.quads.next_batch_and_source() {
            None => return Ok(false),
            Some(Err(error)) => return Err(error),
            Some(Ok((quads, source))) => read(quads, source, &mut self.terms, &mut self.batch),
        };
        if let Err(error) = read {
            self.batch.clear();
            self.terms.clear();
            self.quads.end();
            return Err(error);
        }
        Ok(true)
    }
}

/// Finds the terms of quads.
fn read(quads: &[IdQuad], source: &dyn Source, terms: &mut TermBatch, batch: &mut Vec<Places>) -> Result<()> {
    batch.reserve(quads.len());
    let mut last = (None, [NO_PLACE; 4]);
    for quad in quads {
        let ids = [quad.subject, quad.predicate, quad.object, quad.graph];
        let (before, mut places) = last;
        // In the order of an index, what was there before is often there again.
        let is_again = before.map_or([false; 4], |before: [TermId; 4]| std::array::from_fn(|at| before[at] == ids[at]));
        for (index, place) in places.iter_mut().enumerate() {
            if !is_again[index] {
                *place = place_of(index, ids[index], terms).ok_or_else(|| source.misplaced_term(ids[index]))?;
            }
        }
        batch.push(Places(places));
        last = (Some(ids), places);
    }
    source.read_terms(terms)
}

/// `None` if a statement cannot have the number in this place.
#[inline]
fn place_of(index: usize, id: TermId, terms: &mut TermBatch) -> Option<u32> {
    let kind = id.kind();
    let fits = match index {
        0 => matches!(kind, TermKind::Iri | TermKind::BlankNode),
        1 => kind == TermKind::Iri,
        2 => kind != TermKind::DefaultGraph,
        _ if id == TermId::DEFAULT_GRAPH => return Some(NO_PLACE),
        _ => matches!(kind, TermKind::Iri | TermKind::BlankNode),
    };
    if fits { terms.place(id, index == 1) } else { None }
}

impl Iterator for Statements {
    type Item = Result<Quad>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(places) = self.batch.get(self.next) {
                self.next += 1;
                return Some(Ok(statement(&self.terms, *places).into_owned()));
            }
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl<'s> StatementBatch<'s> {
    /// The number of statements.
    #[allow(clippy::len_without_is_empty)] // It never is.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// The statements, in order.
    pub fn iter(&self) -> StatementRefs<'s> {
        StatementRefs { terms: self.terms, batch: self.batch.iter() }
    }
}

impl<'s> IntoIterator for StatementBatch<'s> {
    type Item = QuadRef<'s>;
    type IntoIter = StatementRefs<'s>;

    fn into_iter(self) -> StatementRefs<'s> {
        self.iter()
    }
}

impl<'s> Iterator for StatementRefs<'s> {
    type Item = QuadRef<'s>;

    #[inline]
    fn next(&mut self) -> Option<QuadRef<'s>> {
        self.batch.next().map(|places| statement(self.terms, *places))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.batch.size_hint()
    }
}

impl ExactSizeIterator for StatementRefs<'_> {}

#[inline]
fn statement(terms: &TermBatch, Places([subject, predicate, object, graph]): Places) -> QuadRef<'_> {
    QuadRef {
        subject: node(terms.term(subject)),
        predicate: name(terms.term(predicate)),
        object: terms.term(object),
        graph_name: if graph == NO_PLACE { GraphNameRef::DefaultGraph } else { node(terms.term(graph)).into() },
    }
}

#[inline]
fn node(term: TermRef<'_>) -> NamedOrBlankNodeRef<'_> {
    match term {
        TermRef::NamedNode(node) => node.into(),
        TermRef::BlankNode(node) => node.into(),
        TermRef::Literal(_) | TermRef::Triple(_) => unreachable!("its number was seen to be that of a node"),
    }
}

#[inline]
fn name(term: TermRef<'_>) -> NamedNodeRef<'_> {
    match term {
        TermRef::NamedNode(node) => node,
        _ => unreachable!("its number was seen to be that of an IRI"),
    }
}

/// Of the default graph, which is not a term.
const NO_PLACE: u32 = u32::MAX;
