//! [`Seek`]: facts whose keys begin with a prefix.

use std::convert::Infallible;
use std::ops::{Bound, ControlFlow};

use fulgurite::{Range, Read};

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::fact::{Fact, Part};
use crate::layout::growing::{KEYED_BYTES, key_entry, keyed_id};
use crate::reading::layer::{Facts, KEY_PREDICATE_BYTES, Layer};
use crate::reading::packed::{Found, Packed};
use crate::reading::snapshot::Snapshot;

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
    /// [`Error::NoSuchFact`](crate::Error::NoSuchFact), if `last` is not a fact of this predicate; and as
    /// [`Snapshot::id_by_key`].
    pub fn seek_after(&self, predicate: PredicateId, prefix: &[u8], last: FactId) -> Result<Seek<'_>> {
        if !self.shows(last) {
            return Err(Error::NoSuchFact { id: last });
        }
        let mut seek = Seek::from(self, predicate, prefix, last)?;
        seek.read()?;
        Ok(seek)
    }

    /// As [`Snapshot::seek_after`], with the fact itself as the first one. It may be hidden.
    pub(crate) fn seek_from(&self, predicate: PredicateId, prefix: &[u8], first: FactId) -> Result<Seek<'_>> {
        Seek::from(self, predicate, prefix, first)
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

impl Snapshot {
    /// Calls `each` with the facts that [`Snapshot::seek`] returns: their ids, keys and values. It takes a
    /// fraction of the time.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn scan(
        &self,
        predicate: PredicateId,
        prefix: &[u8],
        mut each: impl FnMut(FactId, &[u8], &[u8]),
    ) -> Result<()> {
        let ended = self.scan_until(predicate, prefix, |id, key, value| {
            each(id, key, value);
            ControlFlow::<Infallible>::Continue(())
        });
        ended.map(drop)
    }

    /// As [`Snapshot::scan`], but ends where `each` breaks: at most one fact after that one has been read. Returns what
    /// `each` breaks with.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn scan_until<B>(
        &self,
        predicate: PredicateId,
        prefix: &[u8],
        mut each: impl FnMut(FactId, &[u8], &[u8]) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>> {
        self.seek(predicate, prefix)?.each(|entry| match entry {
            Entry::Shown(id, key, value) => Ok(each(id, key, value)),
            Entry::Hidden(_) => Ok(ControlFlow::Continue(())),
        })
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

/// An entry that a seek finds.
pub(crate) enum Entry<'e> {
    /// A fact: its id, its key and its value.
    Shown(FactId, &'e [u8], &'e [u8]),
    /// A fact that is not of the section, or hidden.
    Hidden(FactId),
}

/// Where the next fact comes from.
enum Source<'t> {
    /// The next layer.
    Nothing,
    /// Entries of a growing database.
    Entries(Box<Range<'t>>),
    /// A completed database, and the next record: it has the predicate.
    Records(Packed<'t>, Found<'t>),
    /// A database in LMDB, and the next ids.
    #[cfg(feature = "lmdb")]
    Ids(&'t Layer, Box<crate::lmdb::view::Ids<'t>>),
}

impl<'t> Seek<'t> {
    pub(crate) fn new(snapshot: &'t Snapshot, predicate: PredicateId, prefix: &[u8]) -> Result<Self> {
        let (from, to) = (snapshot.starting_id(), snapshot.first_free_id());
        Self::within(snapshot, predicate, prefix, from, to)
    }

    pub(crate) fn within(
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

    pub(crate) fn from(snapshot: &'t Snapshot, predicate: PredicateId, prefix: &[u8], first: FactId) -> Result<Self> {
        let missing = || Error::NoSuchFact { id: first };
        let at = snapshot.layers.iter().position(|layer| layer.first <= first && first < layer.end);
        let at = at.ok_or_else(missing)?;
        let layer = &snapshot.layers[at];
        let source = match layer.facts() {
            // The place of the fact is that of its key too.
            Facts::Packed(packed) => {
                let found = packed.found(first)?;
                if found.piece.predicate() != predicate || !found.piece.key(found.record).starts_with(prefix) {
                    return Err(missing());
                }
                Source::Records(packed, found)
            }
            facts => {
                let fact = layer.fact(first)?;
                if fact.predicate() != predicate || !fact.key().starts_with(prefix) {
                    return Err(missing());
                }
                match facts {
                    #[cfg(feature = "lmdb")]
                    Facts::Lmdb(view) => {
                        Source::Ids(layer, Box::new(view.seek(predicate, prefix, Some((first, fact.key())))))
                    }
                    _ => source_of(layer, predicate, fact.key())?,
                }
            }
        };
        let section = (snapshot.starting_id(), snapshot.first_free_id());
        let layers = snapshot.layers[at + 1..].iter();
        Ok(Self { snapshot, predicate, prefix: prefix.into(), section, layers, source })
    }

    /// Calls `each` with each entry that is left, until it breaks. It takes a fraction of the time of the iterator.
    pub(crate) fn each<B>(
        mut self,
        mut each: impl FnMut(Entry<'_>) -> Result<ControlFlow<B>>,
    ) -> Result<ControlFlow<B>> {
        let all = (self.snapshot.starting_id(), self.snapshot.first_free_id());
        let shows_all = self.snapshot.hiding.is_empty() && self.section == all;
        loop {
            if let Source::Records(packed, found) = &mut self.source
                && shows_all
            {
                // All facts of the piece but the last, which `next_fact` returns.
                let Found { piece, record, .. } = found;
                while let Some(next) = piece.record(record.end)? {
                    let key = piece.key(*record);
                    if !begins_with(key, &self.prefix) {
                        break;
                    }
                    let flow = each(Entry::Shown(packed.first.plus(record.rank), key, piece.value(*record)))?;
                    if flow.is_break() {
                        return Ok(flow);
                    }
                    *record = next;
                }
            }
            let flow = match self.next_fact()? {
                None => return Ok(ControlFlow::Continue(())),
                Some(fact) if self.returns(fact.id()) => each(Entry::Shown(fact.id(), fact.key(), fact.value()))?,
                Some(fact) => each(Entry::Hidden(fact.id()))?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
    }

    /// Begins the next layer with ids of the section. Returns whether there is one.
    fn next_layer(&mut self) -> Result<bool> {
        let (from, to) = self.section;
        let Some(layer) = self.layers.find(|layer| layer.first < to && from < layer.end) else { return Ok(false) };
        self.source = source_of(layer, self.predicate, &self.prefix)?;
        Ok(true)
    }

    /// The next fact that is of the section and not hidden.
    fn read(&mut self) -> Result<Option<Fact<'t>>> {
        loop {
            match self.next_fact()? {
                Some(fact) if !self.returns(fact.id()) => {}
                fact => return Ok(fact),
            }
        }
    }

    /// The next fact, whether it is shown or not.
    fn next_fact(&mut self) -> Result<Option<Fact<'t>>> {
        loop {
            match &mut self.source {
                Source::Nothing => {
                    if !self.next_layer()? {
                        return Ok(None);
                    }
                }
                Source::Entries(entries) => match entries.next().transpose()? {
                    Some((key, value)) if self.is_entry(&key) => {
                        let (id, key) = (keyed_id(&value)?, Part::from(key, KEY_PREDICATE_BYTES));
                        return Ok(Some(Fact::new(id, self.predicate, key, Part::from(value, KEYED_BYTES))));
                    }
                    _ => self.source = Source::Nothing,
                },
                #[cfg(feature = "lmdb")]
                Source::Ids(layer, ids) => match ids.next()? {
                    Some(id) => {
                        let fact = layer.fact(id)?;
                        if begins_with(fact.key(), &self.prefix) {
                            return Ok(Some(fact));
                        }
                    }
                    None => self.source = Source::Nothing,
                },
                Source::Records(packed, found) if begins_with(found.piece.key(found.record), &self.prefix) => {
                    let fact = found.piece.fact(found.record, packed.first);
                    self.next_record()?;
                    return Ok(Some(fact));
                }
                Source::Records(..) => self.source = Source::Nothing,
            }
        }
    }

    /// Goes on to the next record, if there is one of the predicate.
    #[inline]
    fn next_record(&mut self) -> Result<()> {
        let Source::Records(packed, found) = &mut self.source else { return Ok(()) };
        if let Some(record) = found.piece.record(found.record.end)? {
            found.record = record;
            return Ok(());
        }
        let next = packed.next_piece(found.number)?.filter(|found| found.piece.predicate() == self.predicate);
        match next {
            Some(next) => *found = next,
            None => self.source = Source::Nothing,
        }
        Ok(())
    }

    /// Whether an entry by key is of the predicate and the prefix.
    fn is_entry(&self, key: &[u8]) -> bool {
        key.strip_prefix(&self.predicate.get().to_be_bytes()).is_some_and(|key| begins_with(key, &self.prefix))
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

/// Whether `key` begins with `prefix`. An empty slice can have an address without memory. For such an address, `memcmp`
/// of the GNU C Library with AVX-512 takes 100 ns on Intel's processors: it loads no byte, but the load faults.
#[inline]
fn begins_with(key: &[u8], prefix: &[u8]) -> bool {
    prefix.is_empty() || key.starts_with(prefix)
}

/// The facts of `layer` from a key on, as long as they have the prefix. Requires: `low` has it.
fn source_of<'t>(layer: &'t Layer, predicate: PredicateId, low: &[u8]) -> Result<Source<'t>> {
    match layer.facts() {
        Facts::Packed(packed) => {
            let found = packed.lower_bound(predicate, low)?;
            Ok(found.map_or(Source::Nothing, |found| Source::Records(packed, found)))
        }
        #[cfg(feature = "lmdb")]
        Facts::Lmdb(view) => Ok(Source::Ids(layer, Box::new(view.seek(predicate, low, None)))),
        Facts::Growing { txn, keys, .. } => {
            let low = Bound::Included(key_entry(predicate, low));
            Ok(Source::Entries(Box::new(txn.range(keys, (low, Bound::<Vec<u8>>::Unbounded))?)))
        }
    }
}
