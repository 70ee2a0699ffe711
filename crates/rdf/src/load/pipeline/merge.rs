//! The terms of all batches, each once, in the order of their hashes; on the way each place in a batch gets its number.
//!
//! A term that the store has keeps its number. A new one gets that of the first place where it came: the first number
//! of that batch and the index there. So terms that came together have numbers, and lie, together; the numbers of
//! places where terms came again are left out.
//!
//! Blank nodes are numbered before all others ([`number_blanks`]), because triple terms with blank nodes have their
//! bytes, and their hash, only then ([`resolve_scoped`]).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fulgurite::ReadTxn;

use super::progress::LoadMonitor;
use super::scratch::{Scratch, Segment, SegmentReader};
use super::stash::{Entry, Stashed, blank_node, next_by_hash, next_in_order, push_hashed};
use crate::dictionary::{self, bytes};
use crate::error::Result;
use crate::model::id::{Tag, TermId};
use crate::quads::shared::Shared;
use crate::tables::Tables;

/// The numbers of a batch's terms.
pub struct Numbering {
    /// The first number of dictionary terms, and that of blank nodes.
    first: u64,
    first_blank: u64,
    /// How many terms there are.
    terms: u32,
    /// Terms that came in an earlier batch, or that the store has: index and number.
    again: Vec<Segment>,
    /// Such as are not kept yet.
    pending: Vec<u8>,
}

impl Numbering {
    /// For each batch one: blank nodes have numbers from `first_blank` on.
    pub fn of_all(batches: &[Stashed], mut first_blank: u64) -> Vec<Self> {
        let mut next = |batch: &Stashed| {
            let (again, pending) = (Vec::new(), Vec::new());
            let numbering = Self { first: 0, first_blank, terms: batch.terms, again, pending };
            first_blank += u64::from(batch.terms);
            numbering
        };
        batches.iter().map(&mut next).collect()
    }

    /// Lets dictionary terms have numbers from `first` on.
    pub fn start_at(numberings: &mut [Self], batches: &[Stashed], mut first: u64) {
        for (numbering, batch) in numberings.iter_mut().zip(batches) {
            numbering.first = first;
            first += u64::from(batch.terms);
        }
    }

    fn id(&self, tag: Tag, index: u32) -> TermId {
        let first = if tag == Tag::BLANK { self.first_blank } else { self.first };
        TermId::new(tag, first + u64::from(index))
    }

    fn note(&mut self, index: u32, id: TermId, scratch: &Scratch) -> Result<()> {
        self.pending.extend_from_slice(&index.to_le_bytes());
        self.pending.extend_from_slice(&id.to_bits().to_le_bytes());
        if self.pending.len() >= PENDING_BYTES_MAX { self.flush(scratch) } else { Ok(()) }
    }

    fn flush(&mut self, scratch: &Scratch) -> Result<()> {
        if !self.pending.is_empty() {
            self.again.push(scratch.keep(std::mem::take(&mut self.pending))?);
        }
        Ok(())
    }

    /// The number of each term, and whether it is new and came here first. Requires: what was merged so far was merged
    /// to its end.
    ///
    /// # Errors
    /// [`crate::Error::Scratch`].
    pub fn ids(&self, stashed: &Stashed, scratch: &Scratch) -> Result<Vec<(TermId, bool)>> {
        let mut ids = Vec::with_capacity(stashed.terms as usize);
        let (mut reader, mut entry) = (stashed.in_order(scratch), Entry::default());
        while next_in_order(&mut reader, &mut entry)? {
            ids.push((self.id(entry.tag, ids.len() as u32), true));
        }
        for segment in &self.again {
            let mut reader = SegmentReader::new(scratch, segment, PENDING_BYTES_MAX);
            while !reader.is_at_end() {
                let index = u32::from_le_bytes(reader.take_array()?);
                let id = TermId::from_bits(reader.take_u64()?);
                match (ids.get_mut(index as usize), id) {
                    (Some(place), Some(id)) => *place = (id, false),
                    _ => return Err(scratch.damaged("a term has a number that no term has")),
                }
            }
        }
        if ids.len() == stashed.terms as usize { Ok(ids) } else { Err(scratch.damaged("terms are missing")) }
    }
}

/// Gives all blank nodes their numbers.
///
/// # Errors
/// [`crate::Error::Scratch`], [`crate::Error::Cancelled`].
pub fn number_blanks(
    scratch: &Scratch,
    batches: &[Stashed],
    numberings: &mut [Numbering],
    watch: &LoadMonitor,
    memory_bytes: usize,
) -> Result<()> {
    let buffer_bytes = buffer_bytes(memory_bytes, batches.len());
    let readers = batches.iter().map(|batch| batch.blanks(scratch, buffer_bytes)).enumerate().collect();
    let mut groups = Groups::new(readers)?;
    while groups.gather(watch)?.is_some() {
        groups
            .number(numberings, scratch, |numbering, entry| Ok(Number::New(numbering.id(Tag::BLANK, entry.index))))?;
    }
    numberings.iter_mut().try_for_each(|numbering| numbering.flush(scratch))
}

/// The triple terms with blank nodes of each batch, with the bytes that they have now. Requires: blank nodes have their
/// numbers.
///
/// # Errors
/// [`crate::Error::Scratch`].
pub fn resolve_scoped(
    scratch: &Scratch,
    batches: &[Stashed],
    numberings: &[Numbering],
    shared: &Shared,
) -> Result<Vec<(usize, Segment)>> {
    let mut resolved = Vec::new();
    for (number, (batch, numbering)) in batches.iter().zip(numberings).enumerate() {
        if batch.scoped.is_empty() {
            continue;
        }
        let ids = numbering.ids(batch, scratch)?;
        let (mut reader, mut entry, mut index) = (batch.in_order(scratch), Entry::default(), 0);
        let (mut scoped, mut terms) = (batch.scoped.iter().peekable(), Vec::new());
        while next_in_order(&mut reader, &mut entry)? {
            if let Some((_, blanks)) = scoped.next_if(|(triple, _)| *triple == index) {
                let encoded = unscoped(&entry.bytes, blanks, &ids, scratch)?;
                terms.push((shared.hasher.hash(&encoded), index, encoded));
            }
            index += 1;
        }
        terms.sort_unstable();
        let mut bytes = Vec::new();
        terms.iter().for_each(|(hash, index, encoded)| push_hashed(&mut bytes, *hash, *index, Tag::TRIPLE, encoded));
        resolved.push((number, scratch.keep(bytes)?));
    }
    Ok(resolved)
}

/// The bytes of a triple term of a document whose `blanks`, from left to right, have numbers in `ids`.
///
/// # Errors
/// [`crate::Error::Scratch`].
pub fn unscoped(scoped: &[u8], blanks: &[u32], ids: &[(TermId, bool)], scratch: &Scratch) -> Result<Vec<u8>> {
    let mut nodes = blanks.iter().map(|&blank| ids.get(blank as usize).and_then(|(id, _)| blank_node(*id)));
    let term = bytes::decode_scoped(scoped, &mut || nodes.next().flatten());
    let term = term.map_err(|offence| scratch.damaged(offence))?;
    let mut encoded = Vec::new();
    bytes::encode(term.as_ref(), &mut encoded)?;
    Ok(encoded)
}

/// Terms of several readers in the order of their hashes, those of one hash together.
struct Groups<'m> {
    /// Each with the number of its batch.
    readers: Vec<(usize, SegmentReader<'m>)>,
    /// The next term of each reader.
    next: Vec<Entry>,
    heap: BinaryHeap<Reverse<(u128, usize)>>,
    /// Places of the hash at hand, with the number of the batch.
    group: Vec<(usize, Entry)>,
    /// Hashes so far.
    hashes: u64,
}

/// What a term is called that comes for the first time.
enum Number {
    /// The store has it.
    Stored(TermId),
    New(TermId),
}

impl<'m> Groups<'m> {
    fn new(readers: Vec<(usize, SegmentReader<'m>)>) -> Result<Self> {
        let next = vec![Entry::default(); readers.len()];
        let mut groups = Self { readers, next, heap: BinaryHeap::new(), group: Vec::new(), hashes: 0 };
        (0..groups.readers.len()).try_for_each(|reader| groups.advance(reader))?;
        Ok(groups)
    }

    fn advance(&mut self, reader: usize) -> Result<()> {
        if next_by_hash(&mut self.readers[reader].1, &mut self.next[reader])? {
            self.heap.push(Reverse((self.next[reader].hash, reader)));
        }
        Ok(())
    }

    /// Gathers the places of the next hash.
    fn gather(&mut self, watch: &LoadMonitor) -> Result<Option<u128>> {
        let Some(&Reverse((hash, _))) = self.heap.peek() else { return Ok(None) };
        self.group.clear();
        while let Some(&Reverse((next, reader))) = self.heap.peek()
            && next == hash
        {
            self.heap.pop();
            self.group.push((self.readers[reader].0, std::mem::take(&mut self.next[reader])));
            self.advance(reader)?;
        }
        self.hashes += 1;
        if self.hashes.is_multiple_of(HASHES_PER_LOOK) {
            watch.look()?;
        }
        Ok(Some(hash))
    }

    /// Gives each place of the group its number. `first` returns the number of a new term.
    fn number(
        &self,
        numberings: &mut [Numbering],
        scratch: &Scratch,
        mut first: impl FnMut(&Numbering, &Entry) -> Result<Number>,
    ) -> Result<()> {
        let mut firsts: Vec<(&Entry, TermId)> = Vec::with_capacity(1);
        for (batch, entry) in &self.group {
            let numbering = &mut numberings[*batch];
            if entry.index >= numbering.terms {
                return Err(scratch.damaged("a term has a place that its batch has not"));
            }
            if let Some(&(_, id)) = firsts.iter().find(|(first, _)| first.bytes == entry.bytes) {
                numbering.note(entry.index, id, scratch)?;
                continue;
            }
            match first(numbering, entry)? {
                Number::New(id) => firsts.push((entry, id)),
                Number::Stored(id) => {
                    numbering.note(entry.index, id, scratch)?;
                    firsts.push((entry, id));
                }
            }
        }
        Ok(())
    }
}

/// The terms that a store has.
pub struct Known<'m> {
    pub read: ReadTxn,
    pub tables: &'m Tables,
    pub shared: &'m Shared,
}

/// All terms, with their numbers.
pub struct Numbered {
    /// For each batch one.
    pub numberings: Vec<Numbering>,
    /// Terms of the dictionary that are new.
    pub terms: u64,
}

/// The entries of the table `ids` that are new or changed, in order.
pub struct TermMerge<'m> {
    scratch: &'m Scratch,
    watch: &'m LoadMonitor,
    numbered: Numbered,
    groups: Groups<'m>,
    /// `None` if the store has no terms.
    known: Option<Known<'m>>,
    /// Gets the numbers when all have one.
    on_end: Option<Box<dyn FnOnce(Numbered) + 'm>>,
}

impl<'m> TermMerge<'m> {
    /// Requires: `scoped` is what [`resolve_scoped`] has answered for these batches.
    ///
    /// # Errors
    /// [`crate::Error::Scratch`].
    pub fn new(
        (scratch, watch): (&'m Scratch, &'m LoadMonitor),
        batches: &'m [Stashed],
        scoped: &'m [(usize, Segment)],
        numberings: Vec<Numbering>,
        memory_bytes: usize,
    ) -> Result<Self> {
        let buffer_bytes = buffer_bytes(memory_bytes, batches.len() + scoped.len());
        let others = batches.iter().map(|batch| batch.others(scratch, buffer_bytes)).enumerate();
        let scoped = scoped.iter().map(|(batch, segment)| (*batch, SegmentReader::new(scratch, segment, buffer_bytes)));
        let groups = Groups::new(others.chain(scoped).collect())?;
        let numbered = Numbered { numberings, terms: 0 };
        Ok(Self { scratch, watch, numbered, groups, known: None, on_end: None })
    }

    /// Terms are looked for here first.
    pub fn looking_in(mut self, known: Option<Known<'m>>) -> Self {
        self.known = known;
        self
    }

    /// What is called with the numbers when all terms have one. It is not if that fails.
    pub fn on_end(mut self, on_end: impl FnOnce(Numbered) + 'm) -> Self {
        self.on_end = Some(Box::new(on_end));
        self
    }

    /// The next entry: a hash and the numbers of its terms.
    fn entry(&mut self) -> Result<Option<([u8; 16], Vec<u8>)>> {
        while let Some(hash) = self.groups.gather(self.watch)? {
            if let Some(chain) = self.number_group(hash)? {
                return Ok(Some((hash.to_be_bytes(), chain)));
            }
        }
        self.end()?;
        Ok(None)
    }

    /// Gives each place of the group its number. Returns the numbers that belong into the table, if any are new.
    fn number_group(&mut self, hash: u128) -> Result<Option<Vec<u8>>> {
        let Self { scratch, numbered, groups, known, .. } = self;
        let mut chain = match known {
            Some(Known { read, tables, .. }) => {
                read.get(&tables.ids, &hash.to_be_bytes())?.map_or_else(Vec::new, |chain| chain.to_vec())
            }
            None => Vec::new(),
        };
        let stored_bytes = chain.len();
        let terms = &mut numbered.terms;
        groups.number(&mut numbered.numberings, scratch, |numbering, entry| {
            if let Some(Known { read, tables, shared }) = known
                && stored_bytes > 0
            {
                let (namespaces, path) = (&shared.iri_namespaces, shared.path());
                let stored = &chain[..stored_bytes];
                if let Some(id) = dictionary::find_in_chain(read, tables, namespaces, path, stored, &entry.bytes)? {
                    return Ok(Number::Stored(id));
                }
            }
            let id = numbering.id(entry.tag, entry.index);
            *terms += 1;
            chain.extend_from_slice(id.key().as_bytes());
            Ok(Number::New(id))
        })?;
        Ok((chain.len() > stored_bytes).then_some(chain))
    }

    fn end(&mut self) -> Result<()> {
        let Some(on_end) = self.on_end.take() else { return Ok(()) };
        // What the load replaces can be freed when nobody reads it.
        self.known = None;
        let mut numbered = Numbered { numberings: std::mem::take(&mut self.numbered.numberings), ..self.numbered };
        numbered.numberings.iter_mut().try_for_each(|numbering| numbering.flush(self.scratch))?;
        on_end(numbered);
        Ok(())
    }
}

impl Iterator for TermMerge<'_> {
    type Item = Result<([u8; 16], Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entry().transpose()
    }
}

fn buffer_bytes(memory_bytes: usize, readers: usize) -> usize {
    (memory_bytes / readers.max(1)).clamp(READ_BYTES_MIN, READ_BYTES_MAX)
}

/// Of each batch so much is kept before it is put away.
const PENDING_BYTES_MAX: usize = 12 << 10;
const READ_BYTES_MIN: usize = 4 << 10;
const READ_BYTES_MAX: usize = 256 << 10;
const HASHES_PER_LOOK: u64 = 1 << 14;
