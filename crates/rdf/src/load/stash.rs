//! Batches that were parsed, kept until all are: their quads, and their terms in two orders.

use oxrdf::BlankNode;

use super::batch::{Batch, Slot};
use super::scratch::{Scratch, Segment, SegmentReader};
use crate::error::Result;
use crate::id::{Tag, TermId};

/// A batch that is kept.
pub struct Stashed {
    /// Four numbers for each quad.
    quads: Segment,
    /// Terms in the order of their hashes: hash, index, tag, length, bytes.
    by_hash: Segment,
    /// Terms as they came: tag, length, bytes.
    in_order: Segment,
    pub terms: u32,
    /// See [`Batch::scoped`].
    pub scoped: Vec<(u32, Vec<u32>)>,
}

/// A term of a batch.
#[derive(Default)]
pub struct Entry {
    pub hash: u128,
    pub index: u32,
    pub tag: Option<Tag>,
    pub bytes: Vec<u8>,
}

impl Stashed {
    /// # Errors
    /// [`crate::Error::Scratch`].
    pub fn keep(batch: Batch, scratch: &Scratch) -> Result<Self> {
        let Batch { quads, terms, scoped, .. } = batch;
        let mut bytes = Vec::with_capacity(quads.len() * QUAD_BYTES);
        quads.iter().flatten().for_each(|slot| bytes.extend_from_slice(&slot.to_bits().to_le_bytes()));
        let quads = scratch.keep(bytes)?;
        let mut bytes = Vec::new();
        for index in 0..terms.len() {
            push_term(&mut bytes, terms.tag(index), terms.bytes(index));
        }
        let in_order = scratch.keep(bytes)?;
        let mut sorted: Vec<(u128, u32)> = (0..terms.len()).map(|index| (terms.hash(index), index as u32)).collect();
        sorted.sort_unstable();
        let mut bytes = Vec::new();
        for (hash, index) in sorted {
            bytes.extend_from_slice(&hash.to_le_bytes());
            bytes.extend_from_slice(&index.to_le_bytes());
            push_term(&mut bytes, terms.tag(index as usize), terms.bytes(index as usize));
        }
        let by_hash = scratch.keep(bytes)?;
        Ok(Self { quads, by_hash, in_order, terms: terms.len() as u32, scoped })
    }

    pub fn by_hash<'s>(&'s self, scratch: &'s Scratch, buffer_bytes: usize) -> SegmentReader<'s> {
        SegmentReader::new(scratch, &self.by_hash, buffer_bytes)
    }

    pub fn in_order<'s>(&'s self, scratch: &'s Scratch) -> SegmentReader<'s> {
        SegmentReader::new(scratch, &self.in_order, BUFFER_BYTES)
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

/// Reads the next term of [`Stashed::by_hash`]. Tells whether there was one.
///
/// # Errors
/// [`crate::Error::Scratch`].
pub fn next_by_hash(reader: &mut SegmentReader<'_>, entry: &mut Entry) -> Result<bool> {
    if reader.is_at_end() {
        return Ok(false);
    }
    let (hash, index) = reader.take(20)?.split_at(16);
    entry.hash = u128::from_le_bytes(hash.try_into().expect("sixteen were taken"));
    entry.index = u32::from_le_bytes(index.try_into().expect("four were taken"));
    next_in_order(reader, entry)
}

/// Reads tag and bytes of the next term of [`Stashed::in_order`]. Tells whether there was one.
///
/// # Errors
/// [`crate::Error::Scratch`].
pub fn next_in_order(reader: &mut SegmentReader<'_>, entry: &mut Entry) -> Result<bool> {
    if reader.is_at_end() {
        return Ok(false);
    }
    let (tag, length) = reader.take(9)?.split_at(1);
    entry.tag = Some(Tag::of_byte(tag[0]));
    let length = u64::from_le_bytes(length.try_into().expect("eight were taken"));
    entry.bytes.clear();
    entry.bytes.extend_from_slice(reader.take(length as usize)?);
    Ok(true)
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
