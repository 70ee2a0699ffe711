//! [`Quads`]: what queries read through, be it a snapshot or what a transaction sees.
//!
//! Iterators read in batches, each from where the last one ended, so that they hold nothing but a key between them.

use std::ops::Bound;
use std::sync::Arc;

use fulgurite::Table;
use oxrdf::{Term, TermRef};

use crate::error::Result;
use crate::id::TermId;
use crate::pattern::{IdPattern, IdQuad, Order, Position};
use crate::plan::Step;

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

/// What iterators keep to read on from.
pub(crate) trait Source: Send + Sync {
    /// Hands keys within the bounds to `each`, `keys_min` or somewhat more.
    fn scan(
        &self,
        table: &Table,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
        keys_min: usize,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<bool>;

    /// An entry of a table that cannot have been written.
    fn damaged(&self, table: &Table) -> crate::error::Error;
}

/// Quads of a pattern. The first error ends it.
pub struct QuadIds {
    source: Arc<dyn Source>,
    /// What is still to be read, the last first. At least one, until the end.
    steps: Vec<Step>,
    order: Order,
    buffer: Vec<IdQuad>,
    next: usize,
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
    batch_keys: usize,
}

impl QuadIds {
    /// Requires: `steps` has one at least.
    pub(crate) fn new(source: Arc<dyn Source>, mut steps: Vec<Step>) -> Self {
        steps.reverse();
        let order = steps.last().expect("a plan has one step at least").index.order;
        let (buffer, unbounded) = (Vec::new(), || Bound::Unbounded);
        let mut quads =
            Self { source, steps, order, buffer, next: 0, low: unbounded(), high: unbounded(), batch_keys: 0 };
        quads.begin_step();
        quads
    }

    fn begin_step(&mut self) {
        let Some(step) = self.steps.last() else { return };
        self.order = step.index.order;
        (self.low, self.high) = step.bounds();
        self.batch_keys = BATCH_KEYS_FIRST;
    }

    /// The places by which the quads are sorted, the most significant first. With graphs of
    /// [`GraphPattern::Any`](crate::GraphPattern::Any) that holds for the default graph and for the named ones, each by itself.
    pub fn order(&self) -> &'static [Position] {
        self.order.positions()
    }

    /// Passes over the quads whose term in the first unbound place of the order is below `id`.
    pub fn skip_to(&mut self, id: TermId) {
        let Some(step) = self.steps.last() else { return };
        let Some(&position) = self.order.positions().get(step.bound_places) else { return };
        let ahead = &self.buffer[self.next..];
        let passed = ahead.partition_point(|quad| quad.at(position) < id);
        self.next += passed;
        if passed < ahead.len() {
            return;
        }
        let mut key = step.prefix;
        key.push(id);
        let is_ahead = match &self.low {
            Bound::Included(low) | Bound::Excluded(low) => &low[..] < key.as_bytes(),
            Bound::Unbounded => true,
        };
        if is_ahead && !is_empty(&self.low, &self.high) {
            self.low = Bound::Included(key.as_bytes().to_vec());
            self.batch_keys = BATCH_KEYS_FIRST;
        }
    }

    /// Reads the next quads that there are into the buffer. Tells whether there are any.
    fn fill(&mut self) -> Result<bool> {
        self.buffer.clear();
        self.next = 0;
        while let Some(step) = self.steps.last() {
            let order = self.order;
            let (mut last, mut is_damaged) = (Vec::new(), false);
            let buffer = &mut self.buffer;
            let ended = is_empty(&self.low, &self.high)
                || self.source.scan(
                    &step.index.table,
                    as_slice(&self.low),
                    as_slice(&self.high),
                    self.batch_keys,
                    &mut |key| {
                        match order.quad_of(key) {
                            Some(quad) if step.filter.as_ref().is_none_or(|filter| filter.matches(&quad)) => {
                                buffer.push(quad);
                            }
                            Some(_) => {}
                            None => is_damaged = true,
                        }
                        last.clear();
                        last.extend_from_slice(key);
                    },
                )?;
            if is_damaged {
                return Err(self.source.damaged(&step.index.table));
            }
            self.batch_keys = (self.batch_keys * 4).min(BATCH_KEYS_MAX);
            let filled = !self.buffer.is_empty();
            match (ended, filled) {
                (false, _) => self.low = Bound::Excluded(last),
                // The order of what is in the buffer is still asked for.
                (true, true) => (self.low, self.high) = NOTHING_LEFT,
                (true, false) => {
                    self.steps.pop();
                    self.begin_step();
                }
            }
            if filled {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Iterator for QuadIds {
    type Item = Result<IdQuad>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.buffer.len() {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.buffer.clear();
                    self.steps.clear();
                    return Some(Err(error));
                }
            }
        }
        let quad = self.buffer[self.next];
        self.next += 1;
        Some(Ok(quad))
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
        let (mut names, mut last, mut is_damaged) = (Vec::new(), Vec::new(), false);
        let ended = self.source.scan(&self.table, as_slice(&low), Bound::Unbounded, BATCH_KEYS_MAX, &mut |key| {
            match TermId::from_key(key) {
                Some(id) => names.push(id),
                None => is_damaged = true,
            }
            last.clear();
            last.extend_from_slice(key);
        })?;
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

/// Whether nothing can lie between the bounds.
fn is_empty(low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>) -> bool {
    match (low, high) {
        (Bound::Included(low) | Bound::Excluded(low), Bound::Excluded(high)) => low >= high,
        (Bound::Unbounded, Bound::Excluded(high)) => high.is_empty(),
        _ => false,
    }
}

/// Bounds that nothing lies between.
const NOTHING_LEFT: (Bound<Vec<u8>>, Bound<Vec<u8>>) = (Bound::Unbounded, Bound::Excluded(Vec::new()));
/// The first batch is small: most patterns have few quads.
const BATCH_KEYS_FIRST: usize = 16;
const BATCH_KEYS_MAX: usize = 1024;
