//! [`Seek`]: facts whose keys begin with a prefix.

use std::ops::Bound;

use fulgurite::{Range, Read};

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::block::Block;
use crate::layout::fact::{Fact, Part};
use crate::layout::growing::{KEYED_BYTES, key_entry, keyed_id};
use crate::layout::tables::Form;
use crate::store::layer::{KEY_PREDICATE_BYTES, Layer};
use crate::store::snapshot::Snapshot;

impl Snapshot {
    /// The facts of a predicate whose keys begin with `prefix`. Those of the base come first, then those stacked on it,
    /// each in the order of keys.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn seek(&self, predicate: PredicateId, prefix: &[u8]) -> Result<Seek<'_>> {
        Seek::new(self, predicate, prefix)
    }

    /// As [`Snapshot::seek`], continued after the fact `last`, which it returned.
    ///
    /// # Errors
    /// [`Error::NoSuchFact`](crate::Error::NoSuchFact), if `last` is no fact of this predicate; and as
    /// [`Snapshot::id_by_key`].
    pub fn seek_after(&self, predicate: PredicateId, prefix: &[u8], last: FactId) -> Result<Seek<'_>> {
        Seek::after(self, predicate, prefix, last)
    }

    /// As [`Snapshot::seek`], of the facts with ids from `from` on and before `to`.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn seek_within_section(
        &self,
        predicate: PredicateId,
        prefix: &[u8],
        from: FactId,
        to: FactId,
    ) -> Result<Seek<'_>> {
        Seek::within(self, predicate, prefix, from, to)
    }
}

/// Facts whose keys begin with a prefix; see [`Snapshot::seek`]. The first error ends it.
pub struct Seek<'t> {
    snapshot: &'t Snapshot,
    predicate: PredicateId,
    prefix: Box<[u8]>,
    /// Ids that it returns: from the first on, and before the second.
    section: (FactId, FactId),
    /// The layers after the present one.
    layers: std::slice::Iter<'t, Layer>,
    source: Source<'t>,
}

/// Where the next fact comes from.
enum Source<'t> {
    /// The next layer.
    Nothing,
    /// Entries of a growing database.
    Entries(Box<Range<'t>>),
    /// A block of a completed one. All facts of it before `end` have the prefix.
    Block { layer: &'t Layer, number: u64, block: Block<'t>, index: usize, end: usize },
}

impl<'t> Seek<'t> {
    pub(super) fn new(snapshot: &'t Snapshot, predicate: PredicateId, prefix: &[u8]) -> Result<Self> {
        let (from, to) = (snapshot.starting_id(), snapshot.first_free_id());
        Self::within(snapshot, predicate, prefix, from, to)
    }

    pub(super) fn within(
        snapshot: &'t Snapshot,
        predicate: PredicateId,
        prefix: &[u8],
        from: FactId,
        to: FactId,
    ) -> Result<Self> {
        let mut seek = Self {
            snapshot,
            predicate,
            prefix: prefix.into(),
            section: (from, to),
            layers: snapshot.layers.iter(),
            source: Source::Nothing,
        };
        seek.next_layer()?;
        Ok(seek)
    }

    pub(super) fn after(snapshot: &'t Snapshot, predicate: PredicateId, prefix: &[u8], last: FactId) -> Result<Self> {
        let missing = Error::NoSuchFact { id: last };
        let at = snapshot.layers.iter().position(|layer| layer.first <= last && last < layer.end);
        let Some(at) = at else { return Err(missing) };
        let fact = snapshot.layers[at].fact(last)?;
        if fact.predicate() != predicate || !fact.key().starts_with(prefix) {
            return Err(missing);
        }
        let mut layers = snapshot.layers[at..].iter();
        let layer = layers.next().expect("the layer at this position");
        let section = (snapshot.starting_id(), snapshot.first_free_id());
        let source = Source::Nothing;
        let mut seek = Self { snapshot, predicate, prefix: prefix.into(), section, layers, source };
        seek.source = source_of(layer, predicate, prefix, Bound::Excluded(fact.key()))?;
        Ok(seek)
    }

    /// Begins the next layer with ids of the section. Returns whether there is one.
    fn next_layer(&mut self) -> Result<bool> {
        let (from, to) = self.section;
        let Some(layer) = self.layers.find(|layer| layer.first < to && from < layer.end) else { return Ok(false) };
        self.source = source_of(layer, self.predicate, &self.prefix, Bound::Included(&self.prefix))?;
        Ok(true)
    }

    fn read(&mut self) -> Result<Option<Fact<'t>>> {
        loop {
            match &mut self.source {
                Source::Nothing => {
                    if !self.next_layer()? {
                        return Ok(None);
                    }
                }
                Source::Entries(entries) => match entries.next().transpose()? {
                    Some((key, value)) if self.is_entry(&key) => {
                        let id = keyed_id(&value)?;
                        if self.returns(id) {
                            let key = Part::from(key, KEY_PREDICATE_BYTES);
                            return Ok(Some(Fact::new(id, self.predicate, key, Part::from(value, KEYED_BYTES))));
                        }
                    }
                    _ => self.source = Source::Nothing,
                },
                Source::Block { block, index, end, .. } if *index < *end => {
                    let fact = block.fact(*index)?;
                    *index += 1;
                    if self.returns(fact.id()) {
                        return Ok(Some(fact));
                    }
                }
                Source::Block { .. } => self.next_block()?,
            }
        }
    }

    /// Goes on after a block: to the next one, if all of this block had the prefix.
    fn next_block(&mut self) -> Result<()> {
        let Source::Block { layer, number, block, end, .. } = std::mem::replace(&mut self.source, Source::Nothing)
        else {
            return Ok(());
        };
        if end < block.count() {
            return Ok(());
        }
        let number = number + 1;
        if let Some(block) = layer.block(number)?
            && block.predicate() == self.predicate
        {
            self.source = block_source(layer, &self.prefix, number, block, 0)?;
        }
        Ok(())
    }

    /// Whether an entry by key is of the predicate and the prefix.
    fn is_entry(&self, key: &[u8]) -> bool {
        key.strip_prefix(&self.predicate.get().to_be_bytes()).is_some_and(|key| key.starts_with(&self.prefix))
    }

    /// Whether the fact is of the section and not hidden.
    fn returns(&self, id: FactId) -> bool {
        let (from, to) = self.section;
        from <= id && id < to && self.snapshot.shows(id)
    }
}

impl<'t> Iterator for Seek<'t> {
    type Item = Result<Fact<'t>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let item = self.read();
        if item.is_err() {
            (self.source, self.layers) = (Source::Nothing, [].iter());
        }
        item.transpose()
    }
}

/// The facts of `layer` from a key on, as long as they have the prefix. Requires: `low` has it.
fn source_of<'t>(layer: &'t Layer, predicate: PredicateId, prefix: &[u8], low: Bound<&[u8]>) -> Result<Source<'t>> {
    if let Form::Growing { keys, .. } = &layer.tables.form {
        let low = low.map(|key| key_entry(predicate, key));
        return Ok(Source::Entries(Box::new(layer.txn.range(keys, (low, Bound::<Vec<u8>>::Unbounded))?)));
    }
    let (Bound::Included(key) | Bound::Excluded(key)) = low else { return Ok(Source::Nothing) };
    let Some((number, block)) = layer.block_of(predicate, key)? else { return Ok(Source::Nothing) };
    let index = match block.search(key)? {
        Ok(index) => index + usize::from(matches!(low, Bound::Excluded(_))),
        Err(index) => index,
    };
    block_source(layer, prefix, number, block, index)
}

/// The facts of a block from `index` on. Requires: those before it are below the prefix, or were returned.
fn block_source<'t>(
    layer: &'t Layer,
    prefix: &[u8],
    number: u64,
    block: Block<'t>,
    index: usize,
) -> Result<Source<'t>> {
    let end = match index < block.count() && block.key(block.count() - 1)?.starts_with(prefix) {
        true => block.count(),
        false => end_of_prefix(&block, index, prefix)?,
    };
    Ok(Source::Block { layer, number, block, index, end })
}

/// The index after the last key from `index` on that begins with `prefix`. Requires: keys before `index` are below it.
fn end_of_prefix(block: &Block<'_>, index: usize, prefix: &[u8]) -> Result<usize> {
    let (mut low, mut high) = (index, block.count());
    while low < high {
        let middle = low.midpoint(high);
        match block.key(middle)?.starts_with(prefix) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}
