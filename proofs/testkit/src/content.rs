//! The bytes of one file, in pages that copies share until one of them changes: a crash image costs what differs.
//!
//! Invariants: (1) Bytes past the length are zero. (2) An absent page reads as zeros. (3) A page stays at its index
//! in every copy, so that its hash, which includes the index, can be kept with it.

use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::random::mix;

/// The bytes of one file. Cloning is cheap and copies nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    pages: Arc<Vec<Option<Arc<Page>>>>,
    length: u64,
}

impl Content {
    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        while done < buffer.len() {
            let (index, within) = place(offset + done as u64);
            let part = (buffer.len() - done).min(PAGE_BYTES - within);
            let target = &mut buffer[done..done + part];
            match &self.pages[index] {
                Some(page) => target.copy_from_slice(&page.bytes[within..within + part]),
                None => target.fill(0),
            }
            done += part;
        }
        Ok(())
    }

    /// Writes a whole payload, growing the file if it reaches past the end. Pages it covers are shared with it.
    pub fn write(&mut self, payload: &Payload) {
        if payload.length() > 0 {
            self.grow(payload.end());
        }
        for piece in payload.pieces() {
            self.put(piece);
        }
    }

    /// Writes part of a payload, growing the file if it reaches past the end.
    pub fn write_bytes(&mut self, offset: u64, bytes: &[u8]) {
        self.grow(offset + bytes.len() as u64);
        let mut done = 0;
        while done < bytes.len() {
            let (index, within) = place(offset + done as u64);
            let part = (bytes.len() - done).min(PAGE_BYTES - within);
            self.page_mut(index)[within..within + part].copy_from_slice(&bytes[done..done + part]);
            done += part;
        }
    }

    /// Cuts the file, or grows it by zeros.
    pub fn set_length(&mut self, length: u64) {
        if length == self.length {
            return;
        }
        let (last, within) = place(length);
        let count = if within == 0 { last } else { last + 1 };
        if count != self.pages.len() {
            Arc::make_mut(&mut self.pages).resize(count, None);
        }
        if within != 0 && length < self.length && self.pages[last].is_some() {
            self.page_mut(last)[within..].fill(0);
        }
        self.length = length;
    }

    /// Grows the file by zeros to at least `length`.
    pub fn grow(&mut self, length: u64) {
        if length > self.length {
            self.set_length(length);
        }
    }

    /// Takes over all bytes of `newer` and keeps what it has past them.
    pub fn overlay(&mut self, newer: &Self) {
        if newer.length >= self.length {
            *self = newer.clone();
            return;
        }
        let (whole_pages, within) = place(newer.length);
        let pages = Arc::make_mut(&mut self.pages);
        pages[..whole_pages].clone_from_slice(&newer.pages[..whole_pages]);
        if within != 0 {
            let mut bytes = vec![0; within];
            let start = newer.length - within as u64;
            newer.read(start, &mut bytes).expect("the range ends at the file's end");
            self.write_bytes(start, &bytes);
        }
    }

    /// A hash of length and bytes. Contents that read the same have the same, however they came about.
    pub fn hash(&self) -> u64 {
        let pages = self.pages.iter().enumerate();
        let sum = pages.filter_map(|(index, page)| Some(page.as_ref()?.hash(index)));
        sum.fold(mix(self.length), u64::wrapping_add)
    }

    /// Requires: the piece ends at or before the file's end.
    fn put(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Part { offset, bytes } => self.write_bytes(offset, bytes),
            Piece::Page { index, page } => Arc::make_mut(&mut self.pages)[index] = Some(Arc::clone(page)),
        }
    }

    fn page_mut(&mut self, index: usize) -> &mut [u8; PAGE_BYTES] {
        let page = Arc::make_mut(Arc::make_mut(&mut self.pages)[index].get_or_insert_default());
        page.hash = OnceLock::new();
        &mut page.bytes
    }
}

/// What one write brings, cut at page boundaries, so that applying it to many images shares its whole pages.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    offset: u64,
    head: Box<[u8]>,
    pages: Vec<Arc<Page>>,
    tail: Box<[u8]>,
}

/// A part of a payload within one page.
pub(crate) enum Piece<'p> {
    Part { offset: u64, bytes: &'p [u8] },
    Page { index: usize, page: &'p Arc<Page> },
}

impl Piece<'_> {
    pub fn offset_and_bytes(&self) -> (u64, &[u8]) {
        match self {
            Self::Part { offset, bytes } => (*offset, bytes),
            Self::Page { index, page } => ((*index * PAGE_BYTES) as u64, &page.bytes),
        }
    }
}

impl Payload {
    pub fn new(offset: u64, bytes: &[u8]) -> Self {
        let within = (offset % PAGE_BYTES as u64) as usize;
        let head_bytes = if within == 0 { 0 } else { bytes.len().min(PAGE_BYTES - within) };
        let (head, rest) = bytes.split_at(head_bytes);
        let (pages, tail) = rest.as_chunks::<PAGE_BYTES>();
        let pages = pages.iter().map(|bytes| Arc::new(Page { bytes: *bytes, hash: OnceLock::new() })).collect();
        Self { offset, head: head.into(), pages, tail: tail.into() }
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }

    pub fn length(&self) -> u64 {
        (self.head.len() + self.pages.len() * PAGE_BYTES + self.tail.len()) as u64
    }

    pub fn end(&self) -> u64 {
        self.offset + self.length()
    }

    /// The parts outside of a range: all, a part before, a part after.
    pub fn outside(&self, range: &Range<u64>) -> Vec<Self> {
        if self.end() <= range.start || range.end <= self.offset {
            return vec![self.clone()];
        }
        let bytes: Vec<u8> = self.pieces().flat_map(|piece| piece.offset_and_bytes().1.to_vec()).collect();
        let before = range.start.saturating_sub(self.offset) as usize;
        let behind = (range.end.min(self.end()) - self.offset) as usize;
        let parts = [Self::new(self.offset, &bytes[..before]), Self::new(range.end, &bytes[behind..])];
        parts.into_iter().filter(|part| part.length() > 0).collect()
    }

    /// The payload in order, each piece within one page.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let after_head = self.offset + self.head.len() as u64;
        let first = (after_head / PAGE_BYTES as u64) as usize;
        let tail_offset = self.end() - self.tail.len() as u64;
        let head = Piece::Part { offset: self.offset, bytes: &self.head };
        let tail = Piece::Part { offset: tail_offset, bytes: &self.tail };
        let pages = self.pages.iter().enumerate();
        let pages = pages.map(move |(number, page)| Piece::Page { index: first + number, page });
        std::iter::once(head)
            .chain(pages)
            .chain(std::iter::once(tail))
            .filter(|piece| !piece.offset_and_bytes().1.is_empty())
    }
}

/// One page, with its hash once it was computed.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    bytes: [u8; PAGE_BYTES],
    hash: OnceLock<u64>,
}

impl Default for Page {
    fn default() -> Self {
        Self { bytes: [0; PAGE_BYTES], hash: OnceLock::new() }
    }
}

impl Page {
    /// 0 for a page of zeros, which must hash like an absent one.
    fn hash(&self, index: usize) -> u64 {
        *self.hash.get_or_init(|| {
            let zeros = self.bytes.iter().all(|byte| *byte == 0);
            if zeros { 0 } else { xxh3_64_with_seed(&self.bytes, index as u64) }
        })
    }
}

/// Which page holds the byte at `offset`, and where.
fn place(offset: u64) -> (usize, usize) {
    ((offset / PAGE_BYTES as u64) as usize, (offset % PAGE_BYTES as u64) as usize)
}

const PAGE_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn random_changes_read_like_a_plain_vector_and_copies_stay_as_they_were() {
        let mut random = Random::new(7);
        let mut content = Content::default();
        let mut model: Vec<u8> = Vec::new();
        let mut copies: Vec<(Content, Vec<u8>)> = Vec::new();
        for round in 0..600 {
            let offset = random.below(20_000);
            match random.below(4) {
                0 => {
                    content.set_length(offset);
                    model.resize(offset as usize, 0);
                }
                1 => {
                    let (copy, bytes) =
                        copies.get(random.below(copies.len() as u64 + 1) as usize).cloned().unwrap_or_default();
                    content.overlay(&copy);
                    let shared = bytes.len().min(model.len());
                    model[..shared].copy_from_slice(&bytes[..shared]);
                    model.extend_from_slice(&bytes[shared..]);
                }
                _ => {
                    let bytes = vec![round as u8; 1 + random.index(10_000)];
                    content.write(&Payload::new(offset, &bytes));
                    let end = offset as usize + bytes.len();
                    model.resize(model.len().max(end), 0);
                    model[offset as usize..end].copy_from_slice(&bytes);
                }
            }
            if random.below(20) == 0 {
                copies.push((content.clone(), model.clone()));
            }
            assert_reads_as(&content, &model);
        }
        for (copy, model) in &copies {
            assert_reads_as(copy, model);
        }
    }

    #[test]
    fn equal_bytes_hash_equal_however_they_came_about() {
        let mut first = Content::default();
        first.write_bytes(5000, &[1; 100]);
        let mut second = Content::default();
        second.write(&Payload::new(0, &[9; 9000]));
        second.write_bytes(0, &[0; 5000]);
        second.set_length(5100);
        second.write_bytes(5000, &[1; 100]);
        assert_eq!(first.hash(), second.hash());
        second.write_bytes(5099, &[2]);
        assert_ne!(first.hash(), second.hash());
        first.grow(5101);
        assert_ne!(first.hash(), second.hash());
    }

    fn assert_reads_as(content: &Content, model: &[u8]) {
        assert_eq!(content.length(), model.len() as u64);
        let mut bytes = vec![0xee; model.len()];
        content.read(0, &mut bytes).expect("the whole file can be read");
        assert!(bytes == model, "the bytes differ from the model's");
    }
}
