//! The terms of all batches, each once, in the order of their hashes; on the way each place in a batch gets its number.
//!
//! A term's number is that of the first place where it came: the first number of that batch and the index there. So terms that came together
//! have numbers, and lie, together; the numbers of places where terms came again are left out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::progress::Watch;
use super::scratch::{Scratch, Segment, SegmentReader};
use super::stash::{Entry, Stashed, next_by_hash};
use crate::error::Result;
use crate::id::{Tag, TermId};

/// The numbers of a batch's terms.
pub struct Numbering {
    /// The first number of dictionary terms, and that of blank nodes.
    first: u64,
    first_blank: u64,
    /// Terms that came in an earlier batch: index and number.
    again: Vec<Segment>,
    /// Such as are not kept yet.
    pending: Vec<u8>,
}

impl Numbering {
    pub fn new(first: u64, first_blank: u64) -> Self {
        Self { first, first_blank, again: Vec::new(), pending: Vec::new() }
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

    /// Hands the terms that came in an earlier batch to `each`. Requires: the merge has ended.
    ///
    /// # Errors
    /// [`crate::Error::Scratch`].
    pub fn again(&self, scratch: &Scratch, mut each: impl FnMut(u32, TermId)) -> Result<()> {
        for segment in &self.again {
            let mut reader = SegmentReader::new(scratch, segment, PENDING_BYTES_MAX);
            while !reader.is_at_end() {
                let index = reader.take(4)?.try_into().expect("four were taken");
                let id = TermId::from_bits(reader.take_u64()?).expect("it was written so");
                each(u32::from_le_bytes(index), id);
            }
        }
        Ok(())
    }

    /// The number of each term, and whether it came here first. Requires: the merge has ended.
    ///
    /// # Errors
    /// [`crate::Error::Scratch`].
    pub fn ids(&self, stashed: &Stashed, scratch: &Scratch) -> Result<Vec<(TermId, bool)>> {
        let mut ids = Vec::with_capacity(stashed.terms as usize);
        let (mut reader, mut entry) = (stashed.in_order(scratch), Entry::default());
        while super::stash::next_in_order(&mut reader, &mut entry)? {
            let tag = entry.tag.expect("it was read");
            ids.push((self.id(tag, ids.len() as u32), true));
        }
        self.again(scratch, |index, id| ids[index as usize] = (id, false))?;
        Ok(ids)
    }
}

/// The entries of the table `ids`, in order.
pub struct TermMerge<'m> {
    scratch: &'m Scratch,
    batches: &'m [Stashed],
    numberings: &'m mut [Numbering],
    watch: &'m Watch,
    readers: Vec<SegmentReader<'m>>,
    /// The next term of each batch.
    next: Vec<Entry>,
    heap: BinaryHeap<Reverse<(u128, usize)>>,
    /// Places of the hash at hand.
    group: Vec<(usize, Entry)>,
    /// Hashes so far.
    hashes: u64,
    /// Terms of the dictionary so far.
    pub terms: u64,
}

impl<'m> TermMerge<'m> {
    /// # Errors
    /// [`crate::Error::Scratch`].
    pub fn new(
        scratch: &'m Scratch,
        batches: &'m [Stashed],
        numberings: &'m mut [Numbering],
        watch: &'m Watch,
        memory_bytes: usize,
    ) -> Result<Self> {
        let buffer_bytes = (memory_bytes / batches.len().max(1)).clamp(READ_BYTES_MIN, READ_BYTES_MAX);
        let readers = batches.iter().map(|batch| batch.by_hash(scratch, buffer_bytes)).collect();
        let (next, heap, group) = (Vec::new(), BinaryHeap::new(), Vec::new());
        let mut merge = Self { scratch, batches, numberings, watch, readers, next, heap, group, hashes: 0, terms: 0 };
        for batch in 0..batches.len() {
            merge.next.push(Entry::default());
            merge.advance(batch)?;
        }
        Ok(merge)
    }

    fn advance(&mut self, batch: usize) -> Result<()> {
        if next_by_hash(&mut self.readers[batch], &mut self.next[batch])? {
            self.heap.push(Reverse((self.next[batch].hash, batch)));
        }
        Ok(())
    }

    /// Gathers the places of the next hash, by batch and index.
    fn gather(&mut self) -> Result<Option<u128>> {
        let Some(&Reverse((hash, _))) = self.heap.peek() else { return Ok(None) };
        self.group.clear();
        while let Some(&Reverse((next, batch))) = self.heap.peek()
            && next == hash
        {
            self.heap.pop();
            self.group.push((batch, std::mem::take(&mut self.next[batch])));
            self.advance(batch)?;
        }
        Ok(Some(hash))
    }

    /// The next entry: a hash and the numbers of its terms.
    fn entry(&mut self) -> Result<Option<([u8; 16], Vec<u8>)>> {
        loop {
            let Some(hash) = self.gather()? else {
                let scratch = self.scratch;
                self.numberings.iter_mut().try_for_each(|numbering| numbering.flush(scratch))?;
                return Ok(None);
            };
            let chain = self.number_group()?;
            self.hashes += 1;
            if self.hashes.is_multiple_of(HASHES_PER_LOOK) {
                self.watch.look()?;
            }
            if !chain.is_empty() {
                return Ok(Some((hash.to_be_bytes(), chain)));
            }
        }
    }

    /// Gives each place of the group its number. Returns the numbers that belong into the table.
    fn number_group(&mut self) -> Result<Vec<u8>> {
        let mut chain = Vec::new();
        let mut firsts: Vec<(usize, TermId)> = Vec::with_capacity(1);
        for place in 0..self.group.len() {
            let (batch, entry) = &self.group[place];
            let known = firsts.iter().find(|(first, _)| self.group[*first].1.bytes == entry.bytes);
            if let Some(&(_, id)) = known {
                self.numberings[*batch].note(entry.index, id, self.scratch)?;
                continue;
            }
            let tag = entry.tag.expect("it was read");
            let id = self.numberings[*batch].id(tag, entry.index);
            firsts.push((place, id));
            self.terms += u64::from(tag.is_of_dictionary());
            if tag.is_of_dictionary() && !self.is_scoped(*batch, entry.index) {
                chain.extend_from_slice(id.key().as_bytes());
            }
        }
        Ok(chain)
    }

    fn is_scoped(&self, batch: usize, index: u32) -> bool {
        self.batches[batch].scoped.binary_search_by_key(&index, |(triple, _)| *triple).is_ok()
    }
}

impl Iterator for TermMerge<'_> {
    type Item = Result<([u8; 16], Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entry().transpose()
    }
}

/// Of each batch so much is kept before it is put away.
const PENDING_BYTES_MAX: usize = 12 << 10;
const READ_BYTES_MIN: usize = 4 << 10;
const READ_BYTES_MAX: usize = 256 << 10;
const HASHES_PER_LOOK: u64 = 1 << 14;
