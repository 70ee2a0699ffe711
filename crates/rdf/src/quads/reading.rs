//! [`Quads`]: what queries read through, be it a snapshot or what a transaction sees.
//!
//! Iterators read in batches, each from where the last one ended, so that they hold nothing but a key between them.

use std::ops::Bound;
use std::sync::Arc;

use fulgurite::{KeySuffix, Table};
use oxrdf::{GraphNameRef, NamedNodeRef, NamedOrBlankNodeRef, Term, TermRef};

use crate::dictionary::term_batch::TermBatch;
use crate::error::{Error, Result};
use crate::model::id::{IdKey, TermId};
use crate::model::pattern::{GraphPattern, IdPattern, IdQuad, Position};
use crate::quads::index_choice::{Step, Steps};
use crate::quads::statements::Statements;
use crate::quads::tables::Tables;
use crate::sparql::evaluation::meter;

/// A set of quads to read from. Clones share what they read; iterators own what they need, so that they outlive the
/// value they came from and may be sent to other threads.
pub trait Quads: Clone + Send + Sync + 'static {
    /// The quads of a pattern, in the order of the index that is read ([`QuadIds::order`]). With graphs of
    /// [`GraphPattern::Any`](crate::GraphPattern::Any) the default graph comes first, then the named ones.
    fn quads(&self, pattern: &IdPattern) -> QuadIds;

    /// The quads of a pattern as terms, in the order of [`Quads::quads`]. What else gives numbers gives statements by
    /// [`Statements::from`].
    fn statements(&self, pattern: &IdPattern) -> Statements {
        self.quads(pattern).into()
    }

    /// The statements with these terms, of which each can be any: of a graph, the default one or a named one; of any
    /// graph, as [`IdPattern::ALL`]. None if the store has not one of the terms.
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

    /// How many quads a pattern has, exactly. Where the pattern is a prefix of an index ([`Quads::counts_fast`]), in
    /// time that grows with the depth of its tree; else they are gone over.
    ///
    /// # Errors
    /// As [`Quads::term`].
    fn count(&self, pattern: &IdPattern) -> Result<u64>;

    /// Whether [`Quads::count`] need not go over the quads. With the default orders that is so for every pattern.
    fn counts_fast(&self, pattern: &IdPattern) -> bool;

    /// The term of a number.
    ///
    /// # Errors
    /// [`Error::NoSuchTerm`](crate::Error::NoSuchTerm) if the number stands for no term of this store, as after a
    /// [sweep](crate::Store::sweep), and no quad has it; [`Error::Damaged`](crate::Error::Damaged) if one has; what the
    /// engine reports; [`Error::TransactionEnded`](crate::Error::TransactionEnded) from the view of a transaction that
    /// has ended.
    fn term(&self, id: TermId) -> Result<Term>;

    /// The number of a term. `None`: the store has no such term, and so no quad with it. A term that is its own number
    /// has one whether the store has it or not.
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

fn named(graph: Option<TermId>, is_there: &mut bool) -> GraphPattern {
    *is_there &= graph.is_some();
    graph.map_or(GraphPattern::AnyNamed, GraphPattern::Named)
}

/// What iterators keep to read on from.
pub(crate) trait Source: Send + Sync {
    /// The tables that are read.
    fn tables(&self) -> &Tables;

    /// Appends what is wanted to `quads`.
    fn read_quads(&self, wanted: &Wanted<'_>, quads: &mut Vec<IdQuad>) -> Result<Reached>;

    /// Hands keys within the bounds to `each`, `keys_min` or somewhat more.
    fn scan(
        &self,
        table: &Table,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
        keys_min: usize,
        each: &mut dyn FnMut(KeySuffix<'_>),
    ) -> Result<bool>;

    /// Reads the terms that a batch wants.
    fn read_terms(&self, terms: &mut TermBatch) -> Result<()>;

    /// A batch to read terms into, which may have some.
    fn lend_terms(&self) -> TermBatch {
        TermBatch::default()
    }

    /// Takes back what was lent.
    fn take_back(&self, terms: TermBatch) {
        drop(terms);
    }

    /// An entry of a table that cannot have been written.
    fn damaged(&self, table: &Table) -> Error;

    /// A number of a quad that stands for nothing that can be in its place.
    fn damaged_term(&self, id: TermId) -> Error;
}

/// Some quads of a range.
pub(crate) struct Wanted<'w> {
    /// The range.
    pub step: &'w Step,
    /// Where in it to begin.
    pub low: &'w Bound<IdKey>,
    /// What the quads must match, where not all of the range do.
    pub filter: Option<&'w IdPattern>,
    /// So many keys are looked at, or somewhat more, as far as there are.
    pub keys_min: usize,
}

/// How far a range was read.
pub(crate) enum Reached {
    /// To its end.
    End,
    /// Up to this key, and including it.
    Key(IdKey),
}

/// Quads of a pattern. The first error ends it.
///
/// As an iterator it gives one quad after the other. Who goes over many takes them in [batches](QuadIds::next_batch),
/// or by [`for_each`](Iterator::for_each) and [`fold`](Iterator::fold), which do the same.
pub struct QuadIds {
    source: Arc<dyn Source>,
    /// What is to be read after this step.
    steps: Steps,
    step: Step,
    /// Where the step is read on from; `None` at its end.
    low: Option<Bound<IdKey>>,
    buffer: Vec<IdQuad>,
    /// The first of the buffer that was not given yet.
    next: usize,
    batch_keys: usize,
}

impl QuadIds {
    /// Requires: `steps` has one at least.
    pub(crate) fn new(source: Arc<dyn Source>, mut steps: Steps) -> Self {
        let step = steps.next(source.tables()).expect("a store has indexes of both");
        let low = Some(Bound::Included(step.prefix));
        Self { source, steps, step, low, buffer: Vec::new(), next: 0, batch_keys: BATCH_KEYS_FIRST }
    }

    /// The places by which the quads are sorted, the most significant first. With graphs of
    /// [`GraphPattern::Any`](crate::GraphPattern::Any) that holds for the default graph and for the named ones, each by
    /// itself.
    pub fn order(&self) -> &'static [Position] {
        self.step.order.positions()
    }

    /// The next quads in the order of the iterator: as many as suit, at least one. `None` when there are no more.
    ///
    /// ```
    /// # fn main() -> fulgurite_rdf::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// use fulgurite_rdf::{IdPattern, Quads, Store, StoreOptions};
    ///
    /// let store = Store::create(directory.path().join("a.ful"), StoreOptions::new())?;
    /// let (mut quads, mut count) = (store.snapshot()?.quads(&IdPattern::ALL), 0);
    /// while let Some(batch) = quads.next_batch() {
    ///     count += batch?.len();
    /// }
    /// assert_eq!(count, 0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As the iterator's items.
    pub fn next_batch(&mut self) -> Option<Result<&[IdQuad]>> {
        self.next_batch_and_source().map(|batch| batch.map(|(quads, _)| quads))
    }

    #[inline]
    pub(crate) fn next_batch_and_source(&mut self) -> Option<Result<(&[IdQuad], &dyn Source)>> {
        if self.next == self.buffer.len() {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        let first = std::mem::replace(&mut self.next, self.buffer.len());
        Some(Ok((&self.buffer[first..], &*self.source)))
    }

    /// Passes over the quads whose term in the first unbound place of the order is below `id`.
    pub fn skip_to(&mut self, id: TermId) {
        let Some(&position) = self.order().get(self.step.bound_places) else { return };
        let ahead = &self.buffer[self.next..];
        let passed = ahead.partition_point(|quad| quad.at(position) < id);
        self.next += passed;
        if passed < ahead.len() {
            return;
        }
        let Some(Bound::Included(low) | Bound::Excluded(low)) = &self.low else { return };
        let mut key = self.step.prefix;
        key.push(id);
        if low.as_bytes() < key.as_bytes() {
            self.low = Some(Bound::Included(key));
            self.batch_keys = BATCH_KEYS_FIRST;
        }
    }

    /// Whether other quads than those of the pattern are gone over.
    pub(crate) fn goes_over_others(&self) -> bool {
        self.step.is_filtered
    }

    pub(crate) fn source(&self) -> &dyn Source {
        &*self.source
    }

    /// No quad is left.
    pub(crate) fn end(&mut self) {
        self.buffer.clear();
        self.next = 0;
        self.low = None;
        self.steps.end();
    }

    /// Reads the next quads that there are into the buffer. Tells whether there are any. After an error there are none.
    #[inline(never)]
    fn fill(&mut self) -> Result<bool> {
        self.buffer.clear();
        self.next = 0;
        loop {
            let Some(low) = self.low.take() else {
                let Some(step) = self.steps.next(self.source.tables()) else { return Ok(false) };
                (self.step, self.low, self.batch_keys) = (step, Some(Bound::Included(step.prefix)), BATCH_KEYS_FIRST);
                continue;
            };
            let filter = self.step.is_filtered.then(|| self.steps.pattern());
            let wanted = Wanted { step: &self.step, low: &low, filter, keys_min: self.batch_keys };
            let room_before = self.buffer.capacity();
            let read = meter::uncounted(|| self.source.read_quads(&wanted, &mut self.buffer));
            meter::count(((self.buffer.capacity() - room_before) * size_of::<IdQuad>()) as i64);
            match read {
                Ok(Reached::End) => {}
                Ok(Reached::Key(key)) => self.low = Some(Bound::Excluded(key)),
                Err(error) => {
                    self.end();
                    return Err(error);
                }
            }
            self.batch_keys = (self.batch_keys * 4).min(BATCH_KEYS_MAX);
            if !self.buffer.is_empty() {
                return Ok(true);
            }
        }
    }
}

impl Iterator for QuadIds {
    type Item = Result<IdQuad>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(quad) = self.buffer.get(self.next) {
                self.next += 1;
                return Some(Ok(*quad));
            }
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, mut folded: B, mut f: F) -> B {
        while let Some(batch) = self.next_batch() {
            match batch {
                Ok(quads) => folded = quads.iter().fold(folded, |folded, quad| f(folded, Ok(*quad))),
                Err(error) => folded = f(folded, Err(error)),
            }
        }
        folded
    }
}

/// Named graphs, in the order of their numbers. The first error ends it.
pub struct GraphNames {
    source: Arc<dyn Source>,
    table: Table,
    buffer: std::vec::IntoIter<TermId>,
    low: Option<Bound<Vec<u8>>>,
}

impl GraphNames {
    pub(crate) fn new(source: Arc<dyn Source>, table: Table) -> Self {
        Self { source, table, buffer: Vec::new().into_iter(), low: Some(Bound::Unbounded) }
    }

    fn fill(&mut self) -> Result<()> {
        let Some(low) = self.low.take() else { return Ok(()) };
        // The key that was read last, whole.
        let (mut names, mut last, mut is_damaged) = (Vec::new(), Vec::new(), false);
        let mut each = |key: KeySuffix<'_>| {
            key.complete(&mut last);
            match TermId::from_key(&last) {
                Some(id) => names.push(id),
                None => is_damaged = true,
            }
        };
        let ended = meter::uncounted(|| {
            self.source.scan(&self.table, as_slice(&low), Bound::Unbounded, BATCH_KEYS_MAX, &mut each)
        });
        meter::count((names.capacity() * size_of::<TermId>() + last.capacity()) as i64);
        let ended = ended?;
        if is_damaged {
            return Err(self.source.damaged(&self.table));
        }
        self.low = (!ended).then_some(Bound::Excluded(last));
        self.buffer = names.into_iter();
        Ok(())
    }
}

impl Iterator for GraphNames {
    type Item = Result<TermId>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(id) = self.buffer.next() {
            return Some(Ok(id));
        }
        match self.fill() {
            Ok(()) => self.buffer.next().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// The first batch is small: most patterns have few quads.
const BATCH_KEYS_FIRST: usize = 32;
const BATCH_KEYS_MAX: usize = 1024;
