//! Batches that were parsed, kept until all are: their quads, and their terms in two orders.

use oxrdf::BlankNode;

use super::batch::{Batch, Slot};
use super::scratch::{Scratch, Segment, SegmentReader};
use crate::error::Result;
use crate::model::id::{Tag, TermId};

/// A batch that is kept.
pub struct Stashed {
    /// Four numbers for each quad.
    quads: Segment,
    pub quads_count: u64,
    /// Whether any quads are of the default graph, and of named ones.
    pub has_default: bool,
    pub has_named: bool,
    /// Blank nodes in the order of their hashes: hash, index, tag, length, bytes.
    blanks: Segment,
    /// The other terms in that order and form, but for the triple terms whose bytes are not yet those that are stored.
    others: Segment,
    /// Terms as they came: tag, length, bytes.
    in_order: Segment,
    pub terms: u32,
    /// Tags of the dictionary that terms have.
    tags: Vec<Tag>,
    /// See [`Batch::scoped`].
    pub scoped: Vec<(u32, Vec<u32>)>,
}

/// A term of a batch.
#[derive(Clone)]
pub struct Entry {
    pub hash: u128,
    pub index: u32,
    pub tag: Tag,
    pub bytes: Vec<u8>,
}

impl Default for Entry {
    fn default() -> Self {
        Self { hash: 0, index: 0, tag: Tag::IRI, bytes: Vec::new() }
    }
}

impl Stashed {
    /// # Errors
    /// [`crate::Error::Scratch`].
    pub fn keep(batch: Batch, scratch: &Scratch) -> Result<Self> {
        let Batch { quads, terms, scoped, .. } = batch;
        let mut bytes = Vec::with_capacity(quads.len() * QUAD_BYTES);
        quads.iter().flatten().for_each(|slot| bytes.extend_from_slice(&slot.to_bits().to_le_bytes()));
        let is_of_default = |quad: &[Slot; 4]| quad[3] == Slot::of_id(TermId::DEFAULT_GRAPH);
        let (has_default, has_named) = (quads.iter().any(is_of_default), !quads.iter().all(is_of_default));
        let quads_count = quads.len() as u64;
        let quads = scratch.keep(bytes)?;
        let mut bytes = Vec::new();
        for index in 0..terms.len() {
            push_term(&mut bytes, terms.tag(index), terms.bytes(index));
        }
        let in_order = scratch.keep(bytes)?;
        let of_dictionary = Tag::DICTIONARY.into_iter();
        let tags = of_dictionary.filter(|&tag| (0..terms.len()).any(|index| terms.tag(index) == tag)).collect();
        let mut sorted: Vec<(u128, u32)> = (0..terms.len()).map(|index| (terms.hash(index), index as u32)).collect();
        sorted.sort_unstable();
        let (mut blanks, mut others) = (Vec::new(), Vec::new());
        for (hash, index) in sorted {
            let tag = terms.tag(index as usize);
            if scoped.binary_search_by_key(&index, |(triple, _)| *triple).is_ok() {
                continue;
            }
            let out = if tag == Tag::BLANK { &mut blanks } else { &mut others };
            push_hashed(out, hash, index, tag, terms.bytes(index as usize));
        }
        let (blanks, others) = (scratch.keep(blanks)?, scratch.keep(others)?);
        let terms = terms.len() as u32;
        Ok(Self { quads, quads_count, has_default, has_named, blanks, others, in_order, terms, tags, scoped })
    }

    /// Its blank nodes, for [`next_by_hash`].
    pub fn blanks<'s>(&'s self, scratch: &'s Scratch, buffer_bytes: usize) -> SegmentReader<'s> {
        SegmentReader::new(scratch, &self.blanks, buffer_bytes)
    }

    /// Its other terms, for [`next_by_hash`].
    pub fn others<'s>(&'s self, scratch: &'s Scratch, buffer_bytes: usize) -> SegmentReader<'s> {
        SegmentReader::new(scratch, &self.others, buffer_bytes)
    }

    /// All its terms, for [`next_in_order`].
    pub fn in_order<'s>(&'s self, scratch: &'s Scratch) -> SegmentReader<'s> {
        SegmentReader::new(scratch, &self.in_order, BUFFER_BYTES)
    }

    /// Whether it has terms of this tag, which is one of the dictionary.
    pub fn has(&self, tag: Tag) -> bool {
        self.tags.contains(&tag)
    }

    /// Hands all quads to `each`.
    ///
    /// # Errors
    /// [`crate::Error::Scratch`]; those of `each`.
    pub fn quads(&self, scratch: &Scratch, mut each: impl FnMut([Slot; 4]) -> Result<()>) -> Result<()> {
        let mut reader = SegmentReader::new(scratch, &self.quads, BUFFER_BYTES);
        while !reader.is_at_end() {
            let mut quad = [Slot::of_id(TermId::DEFAULT_GRAPH); 4];
            for slot in &mut quad {
                *slot = Slot::from_bits(reader.take_u64()?);
            }
            each(quad)?;
        }
        Ok(())
    }
}

/// Reads the next term in the order of hashes. Returns whether there was one.
///
/// # Errors
/// [`crate::Error::Scratch`].
pub fn next_by_hash(reader: &mut SegmentReader<'_>, entry: &mut Entry) -> Result<bool> {
    if reader.is_at_end() {
        return Ok(false);
    }
    entry.hash = u128::from_le_bytes(reader.take_array()?);
    entry.index = u32::from_le_bytes(reader.take_array()?);
    next_in_order(reader, entry)
}

/// Reads tag and bytes of the next term of [`Stashed::in_order`]. Returns whether there was one.
///
/// # Errors
/// [`crate::Error::Scratch`].
pub fn next_in_order(reader: &mut SegmentReader<'_>, entry: &mut Entry) -> Result<bool> {
    if reader.is_at_end() {
        return Ok(false);
    }
    let [tag] = reader.take_array()?;
    let tag = Tag::of_byte(tag).filter(|&tag| tag == Tag::BLANK || tag.is_of_dictionary());
    entry.tag = tag.ok_or_else(|| reader.scratch().damaged("a term has a tag that no term has"))?;
    // A length beyond memory is beyond the segment, too.
    let length = usize::try_from(reader.take_u64()?).unwrap_or(usize::MAX);
    entry.bytes.clear();
    entry.bytes.extend_from_slice(reader.take(length)?);
    Ok(true)
}

/// Appends a term as [`next_by_hash`] reads it.
pub fn push_hashed(out: &mut Vec<u8>, hash: u128, index: u32, tag: Tag, bytes: &[u8]) {
    out.extend_from_slice(&hash.to_le_bytes());
    out.extend_from_slice(&index.to_le_bytes());
    push_term(out, tag, bytes);
}

fn push_term(out: &mut Vec<u8>, tag: Tag, bytes: &[u8]) {
    out.push(tag.to_byte());
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The node of a number that a blank node of a document was given.
pub fn blank_node(id: TermId) -> Option<BlankNode> {
    match id.inline_term() {
        Some(oxrdf::Term::BlankNode(node)) => Some(node),
        _ => None,
    }
}

const QUAD_BYTES: usize = 32;
const BUFFER_BYTES: usize = 256 << 10;
