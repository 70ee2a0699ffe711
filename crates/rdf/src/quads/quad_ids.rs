//! [`QuadIds`]: reads the quads of a pattern in batches.
//!
//! Each batch begins after the key at which the last one ended, so an iterator holds only a key between batches.

use std::ops::Bound;
use std::sync::Arc;

use fulgurite::{KeySuffix, Table};
use oxrdf::TermRef;

use crate::dictionary::term_batch::TermBatch;
use crate::error::{Error, Result};
use crate::meter;
use crate::model::id::{IdKey, TermId};
use crate::model::pattern::{IdPattern, IdQuad, Position};
use crate::quads::index_choice::{Step, Steps};
use crate::tables::Tables;

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

    /// The error of a statement whose term cannot be at its position.
    fn misplaced_term(&self, id: TermId) -> Error;
}

/// Calls `each` with the terms of these ids, in their order. They are read together.
///
/// # Errors
/// As [`Quads::term`](crate::Quads::term).
pub(crate) fn read_terms(source: &dyn Source, ids: &[TermId], each: &mut dyn FnMut(TermRef<'_>)) -> Result<()> {
    let mut terms = source.lend_terms();
    let mut places = Vec::with_capacity(ids.len());
    let read = read_into(&mut terms, source, ids, &mut places);
    match read {
        Ok(()) => places.iter().for_each(|&place| each(terms.term(place))),
        // Some of its places have no term.
        Err(_) => terms.clear(),
    }
    source.take_back(terms);
    read
}

/// Reads terms, and notes their places.
fn read_into(terms: &mut TermBatch, source: &dyn Source, ids: &[TermId], places: &mut Vec<u32>) -> Result<()> {
    for &id in ids {
        places.push(terms.place(id, false).ok_or_else(|| source.misplaced_term(id))?);
    }
    source.read_terms(terms)
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

/// The result of [`QuadIds::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuadStep {
    /// A quad.
    Quad(IdQuad),
    /// The keys that it may look at are used up, and there may be more quads.
    Paused,
    /// There are no more quads.
    End,
}

/// An iterator over the quads that match a pattern, as ids. The first error ends it.
///
/// As an iterator it returns one quad at a time. To read many quads, use [batches](QuadIds::next_batch), or
/// [`for_each`](Iterator::for_each) and [`fold`](Iterator::fold), which use batches.
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
    /// Whether the buffer has all quads of the pattern that were read.
    is_new: bool,
    /// Whether the buffer has all quads of the pattern.
    is_whole: bool,
}

impl QuadIds {
    /// Requires: `steps` has one at least.
    pub(crate) fn new(source: Arc<dyn Source>, mut steps: Steps) -> Self {
        let step = steps.next(source.tables()).expect("a store has indexes of both");
        let low = Some(Bound::Included(step.prefix));
        let (buffer, batch_keys) = (Vec::new(), BATCH_KEYS_FIRST);
        Self { source, steps, step, low, buffer, next: 0, batch_keys, is_new: true, is_whole: false }
    }

    /// The positions by which the quads are sorted, most significant first. With
    /// [`GraphPattern::Any`](crate::GraphPattern::Any) the quads of the default graph and those of named graphs are
    /// sorted separately.
    pub fn order(&self) -> &'static [Position] {
        self.step.order.positions()
    }

    /// Returns the next batch of quads in order, at least one. `None` at the end.
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

    /// As [`Iterator::next`], but looks at about `keys_max` keys of indexes at most, and subtracts them. Without an
    /// index for its pattern, an iterator may look at every key to find few quads.
    ///
    /// # Errors
    /// As the iterator's items.
    #[inline]
    pub fn advance(&mut self, keys_max: &mut usize) -> Result<QuadStep> {
        loop {
            if let Some(quad) = self.next_buffered() {
                return Ok(QuadStep::Quad(quad));
            }
            if *keys_max == 0 {
                return Ok(QuadStep::Paused);
            }
            match self.read_once()? {
                Some(keys) => *keys_max = keys_max.saturating_sub(keys),
                None => return Ok(QuadStep::End),
            }
        }
    }

    /// Skips quads whose term in the first unbound position of the order is below `id`.
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
            self.is_new = false;
        }
    }

    /// Whether other quads than those of the pattern are gone over.
    pub(crate) fn goes_over_others(&self) -> bool {
        self.step.is_filtered
    }

    pub(crate) fn source(&self) -> &dyn Source {
        &*self.source
    }

    /// The pattern.
    pub(crate) fn pattern(&self) -> &IdPattern {
        self.steps.pattern()
    }

    /// Begins with the quads of another pattern. If it is the same one and all its quads are in the buffer, it reads
    /// nothing.
    pub(crate) fn begin_again(&mut self, pattern: &IdPattern) {
        if self.is_whole && self.steps.pattern() == pattern {
            self.next = 0;
            return;
        }
        self.buffer.clear();
        self.next = 0;
        self.steps = Steps::new(pattern);
        let step = self.steps.next(self.source.tables()).expect("a store has indexes of both");
        (self.step, self.low, self.batch_keys) = (step, Some(Bound::Included(step.prefix)), BATCH_KEYS_FIRST);
        (self.is_new, self.is_whole) = (true, false);
    }

    /// No quad is left.
    pub(crate) fn end(&mut self) {
        self.buffer.clear();
        self.next = 0;
        self.is_whole = false;
        self.low = None;
        self.steps.end();
    }

    /// The next quad of the buffer.
    #[inline]
    pub(crate) fn next_buffered(&mut self) -> Option<IdQuad> {
        let quad = self.buffer.get(self.next).copied()?;
        self.next += 1;
        Some(quad)
    }

    /// Reads the next quads into the buffer. Returns whether there are any. After an error there are none.
    #[inline(never)]
    fn fill(&mut self) -> Result<bool> {
        while self.read_once()?.is_some() {
            if !self.buffer.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Looks at the next keys, and puts the quads among them that match into the buffer: perhaps none, though others
    /// follow. Returns how many keys it may have looked at, at least 1; `None` if none were left.
    pub(crate) fn read_once(&mut self) -> Result<Option<usize>> {
        if self.is_at_end() {
            return Ok(None);
        }
        self.is_new &= self.buffer.is_empty();
        self.is_whole = false;
        self.buffer.clear();
        self.next = 0;
        let low = match self.low.take() {
            Some(low) => low,
            None => {
                let Some(step) = self.steps.next(self.source.tables()) else {
                    self.is_whole = self.is_new;
                    return Ok(None);
                };
                (self.step, self.batch_keys) = (step, BATCH_KEYS_FIRST);
                Bound::Included(step.prefix)
            }
        };
        let keys = self.batch_keys;
        let filter = self.step.is_filtered.then(|| self.steps.pattern());
        let wanted = Wanted { step: &self.step, low: &low, filter, keys_min: keys };
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
        self.batch_keys = (keys * 4).min(BATCH_KEYS_MAX);
        self.is_whole = self.is_new && self.is_at_end();
        let looked_at = if self.step.is_filtered { keys } else { self.buffer.len() };
        Ok(Some(looked_at.max(1)))
    }

    /// Whether nothing is left to read. The buffer may have quads.
    fn is_at_end(&self) -> bool {
        self.low.is_none() && self.steps.is_at_end()
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

/// The first batch is small: most patterns have few quads.
const BATCH_KEYS_FIRST: usize = 32;
/// Keys of the largest batch.
pub(super) const BATCH_KEYS_MAX: usize = 1024;
