//! The reads of quads and terms, written once for snapshots and transactions.

use std::borrow::Cow;
use std::ops::Bound;

use fulgurite::KeySuffix;
use oxrdf::{Term, TermRef};

use crate::dictionary::term_batch::TermBatch;
use crate::dictionary::{self, bytes};
use crate::error::Result;
use crate::model::id::{IdKey, KeyReader, TermId};
use crate::model::pattern::{IdPattern, IdQuad, Order};
use crate::quads::index_choice::Steps;
use crate::quads::inferred;
use crate::quads::quad_ids::{Reached, Wanted};
use crate::quads::shared::Shared;
use crate::tables::Index;
use crate::tables::{KeySink, Reads, Tables, damaged};

/// What is read, and by whom.
pub struct View<'v, R> {
    pub reads: &'v R,
    pub tables: &'v Tables,
    pub shared: &'v Shared,
}

impl<R: Reads> View<'_, R> {
    pub fn count(&self, pattern: &IdPattern) -> Result<u64> {
        let (mut steps, mut total) = (Steps::new(pattern), 0);
        while let Some(step) = steps.next(self.tables) {
            let index = step.index(self.tables);
            if step.is_filtered {
                let range = KeyRange::Prefix(&step.prefix);
                self.for_each_quad(index, &range, usize::MAX, |quad| total += u64::from(pattern.matches(&quad)))?;
                continue;
            }
            // Two terms have few quads in common, most often.
            let is_narrow = step.bound_places > 1;
            total += inferred::count_prefix(self.reads, self.tables, &index.table, &step.prefix, is_narrow)?;
        }
        Ok(total)
    }

    /// Appends quads to `quads`.
    pub fn read_quads(&self, wanted: &Wanted<'_>, quads: &mut Vec<IdQuad>) -> Result<Reached> {
        if wanted.step.is_one_key() {
            let (index, key) = (wanted.step.index(self.tables), wanted.step.prefix.as_bytes());
            let quad = index.order.quad_of(key).ok_or_else(|| self.shared.damaged_key(&index.table))?;
            if self.contains(&quad)? {
                quads.push(quad);
            }
            return Ok(Reached::End);
        }
        let index = wanted.step.index(self.tables);
        // Most lookups give fewer than they ask for, long ones have the room already.
        quads.reserve(wanted.keys_min.min(QUADS_FIRST));
        let range = KeyRange::of(wanted);
        let (has_ended, last) = match wanted.filter {
            None => {
                let has_ended = self.for_each_quad(index, &range, wanted.keys_min, |quad| quads.push(quad))?;
                (has_ended, quads.last().copied())
            }
            Some(filter) => {
                let mut last = None;
                let has_ended = self.for_each_quad(index, &range, wanted.keys_min, |quad| {
                    last = Some(quad);
                    if filter.matches(&quad) {
                        quads.push(quad);
                    }
                })?;
                (has_ended, last)
            }
        };
        match last {
            Some(last) if !has_ended => Ok(Reached::Key(index.order.key_of(&last))),
            _ => Ok(Reached::End),
        }
    }

    /// Hands the quads of a range of keys to `each`, as [`Reads::scan`] does.
    #[inline]
    fn for_each_quad(
        &self,
        index: &Index,
        range: &KeyRange<'_>,
        keys_min: usize,
        each: impl FnMut(IdQuad),
    ) -> Result<bool> {
        if index.order.is_of_named_graphs() {
            self.for_each_quad_of::<4>(index, range, keys_min, each)
        } else {
            self.for_each_quad_of::<3>(index, range, keys_min, each)
        }
    }

    fn for_each_quad_of<const PLACES: usize>(
        &self,
        index: &Index,
        range: &KeyRange<'_>,
        keys_min: usize,
        each: impl FnMut(IdQuad),
    ) -> Result<bool> {
        let mut sink = QuadSink::<PLACES, _> { reader: KeyReader::new(), order: index.order, is_damaged: false, each };
        let has_ended = match range {
            KeyRange::Prefix(prefix) => {
                inferred::scan_prefix(self.reads, self.tables, &index.table, prefix, keys_min, &mut sink)?
            }
            KeyRange::From(low, prefix) => {
                let end = prefix.end();
                let high = end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(end.as_bytes()));
                let low = low.as_ref().map(IdKey::as_bytes);
                inferred::scan(self.reads, self.tables, &index.table, (low, high), keys_min, &mut sink)?
            }
        };
        if sink.is_damaged { Err(self.shared.damaged_key(&index.table)) } else { Ok(has_ended) }
    }

    pub fn term(&self, id: TermId) -> Result<Term> {
        if let Some(term) = id.inline_term() {
            return Ok(term);
        }
        let path = self.shared.database.path();
        if !id.tag().is_of_dictionary() {
            return Err(dictionary::damaged_term(path, id, "a number that stands for no term"));
        }
        dictionary::term(self.reads, self.tables, &self.shared.iri_namespaces, path, id)
    }

    /// As [`View::read_terms`], with the predicates that the store knows, of what is committed.
    pub fn read_committed_terms(&self, batch: &mut TermBatch) -> Result<()> {
        let known = &self.shared.predicates;
        let mut predicates = std::mem::take(&mut batch.wanted_predicates);
        predicates.retain(|(id, place)| match known.get(*id) {
            Some(iri) => {
                batch.fill_iri(*place, iri);
                false
            }
            None => true,
        });
        batch.wanted.extend(&predicates);
        self.read_terms(batch)?;
        for (id, place) in &predicates {
            if let TermRef::NamedNode(iri) = batch.term(*place) {
                known.remember(*id, iri.as_str());
            }
        }
        predicates.clear();
        batch.wanted_predicates = predicates;
        Ok(())
    }

    /// Reads the terms that a batch wants.
    pub fn read_terms(&self, batch: &mut TermBatch) -> Result<()> {
        batch.wanted.append(&mut batch.wanted_predicates);
        let wanted = std::mem::take(&mut batch.wanted);
        let outcome = wanted.chunks(TERMS_AT_ONCE).try_for_each(|group| self.read_some_terms(group, batch));
        batch.wanted = wanted;
        batch.wanted.clear();
        outcome
    }

    fn read_some_terms(&self, wanted: &[(TermId, u32)], batch: &mut TermBatch) -> Result<()> {
        match wanted {
            [(id, place)] => {
                let stored = self.reads.get(&self.tables.terms, id.key().as_bytes())?;
                self.fill_term(*id, *place, stored.as_deref(), batch)
            }
            _ if wanted.len() <= FEW_TERMS => self.read_side_by_side::<FEW_TERMS>(wanted, batch),
            _ => self.read_side_by_side::<TERMS_AT_ONCE>(wanted, batch),
        }
    }

    /// Requires: `wanted` has at most `MOST` terms.
    fn read_side_by_side<const MOST: usize>(&self, wanted: &[(TermId, u32)], batch: &mut TermBatch) -> Result<()> {
        let mut keys = [IdKey::default(); MOST];
        keys.iter_mut().zip(wanted).for_each(|(key, (id, _))| *key = id.key());
        let keys: [&[u8]; MOST] = std::array::from_fn(|index| keys[index].as_bytes());
        let (mut rest, mut outcome) = (wanted.iter(), Ok(()));
        self.reads.get_many_with(&self.tables.terms, &keys[..wanted.len()], |stored| {
            if let (Some((id, place)), Ok(())) = (rest.next(), &outcome) {
                outcome = self.fill_term(*id, *place, stored.as_deref(), batch);
            }
        })?;
        outcome
    }

    fn fill_term(&self, id: TermId, place: u32, stored: Option<&[u8]>, batch: &mut TermBatch) -> Result<()> {
        let path = self.shared.path();
        let stored = dictionary::checked(path, id, stored)?;
        let namespace = match bytes::namespace_of(stored) {
            Some((number, _)) => self.shared.iri_namespaces.text(self.reads, self.tables, path, number)?,
            None => Cow::Borrowed(""),
        };
        batch.fill(place, stored, &namespace).map_err(|offence| dictionary::damaged_term(path, id, offence))
    }

    pub fn id(&self, term: TermRef<'_>) -> Result<Option<TermId>> {
        if let Some(id) = TermId::of_inline(term) {
            return Ok(Some(id));
        }
        let mut encoded = Vec::new();
        bytes::encode(term, &mut encoded)?;
        self.find(self.shared.hasher.hash(&encoded), &encoded)
    }

    pub fn find(&self, hash: u128, encoded: &[u8]) -> Result<Option<TermId>> {
        let path = self.shared.database.path();
        dictionary::find(self.reads, self.tables, &self.shared.iri_namespaces, path, hash, encoded)
    }

    pub fn contains(&self, quad: &IdQuad) -> Result<bool> {
        inferred::contains(self.reads, self.tables, quad)
    }

    /// Requires: the tables are all that there are.
    pub fn is_inferred(&self, quad: &IdQuad) -> Result<bool> {
        self.tables.inferred.as_ref().map_or(Ok(false), |inferred| inferred.has(self.reads, quad))
    }

    pub fn contains_graph(&self, graph: TermId) -> Result<bool> {
        Ok(self.reads.get(&self.tables.graphs, graph.key().as_bytes())?.is_some())
    }

    pub fn namespaces(&self) -> Result<Vec<(String, String)>> {
        let text = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).map(String::from);
            text.map_err(|_| damaged(self.shared.database.path(), "table `namespaces`", "an entry is not UTF-8"))
        };
        let range = self.reads.range(&self.tables.namespaces, ..)?;
        range
            .map(|entry| entry.map_err(Into::into).and_then(|(prefix, iri)| Ok((text(&prefix)?, text(&iri)?))))
            .collect()
    }
}

/// Hands the quads of an index's keys to `each`.
struct QuadSink<const PLACES: usize, F> {
    reader: KeyReader<PLACES>,
    order: Order,
    /// Whether a key was that of no quad. Then no other is taken.
    is_damaged: bool,
    each: F,
}

impl<const PLACES: usize, F: FnMut(IdQuad)> KeySink for &mut QuadSink<PLACES, F> {
    /// One loop without a call: scans spend their time here.
    #[inline]
    fn take<'k>(&mut self, keys: impl Iterator<Item = KeySuffix<'k>>) {
        if self.is_damaged {
            return;
        }
        let QuadSink { reader, order, is_damaged, each } = &mut **self;
        // The order is asked for once, where most scans need not change it.
        *is_damaged = match order.is_of_quads() {
            true => !read_all(keys, reader, |ids| each(IdQuad::of(ids))),
            false => !read_all(keys, reader, |ids| each(order.quad(ids))),
        };
    }
}

/// Hands the numbers of keys to `each`. Returns whether all keys were those of quads; none behind one that is not is
/// read.
#[inline(always)]
fn read_all<'k, const PLACES: usize>(
    keys: impl Iterator<Item = KeySuffix<'k>>,
    reader: &mut KeyReader<PLACES>,
    mut each: impl FnMut([TermId; 4]),
) -> bool {
    for key in keys {
        match reader.read(&key) {
            Some(ids) => each(ids),
            None => return false,
        }
    }
    true
}

/// Keys of an index.
enum KeyRange<'k> {
    /// Those that begin with this.
    Prefix(&'k IdKey),
    /// Those of them that lie above a bound.
    From(&'k Bound<IdKey>, &'k IdKey),
}

impl<'k> KeyRange<'k> {
    fn of(wanted: &Wanted<'k>) -> Self {
        let prefix = &wanted.step.prefix;
        match wanted.low {
            Bound::Included(low) if low.as_bytes() == prefix.as_bytes() => Self::Prefix(prefix),
            low => Self::From(low, prefix),
        }
    }
}

/// Quads for which there is room at once.
const QUADS_FIRST: usize = 32;
/// As many terms as the engine reads side by side.
pub(super) const TERMS_AT_ONCE: usize = 32;
/// Reads of up to this many terms use an array of this size.
pub(super) const FEW_TERMS: usize = 8;
