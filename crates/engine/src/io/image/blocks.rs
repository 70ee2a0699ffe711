//! The blocks of an image, by number.
//!
//! Invariants: (1) A block is returned only if its stored bytes have the checksum of the index and decompress to
//! exactly its length. (2) A page of the index is verified when it is first needed, and kept. (3) What is allocated is
//! bounded by the length of the file, whatever it holds.

use std::fmt;
use std::io;

use crate::format::{ImageBlock, ImageHeader};
use crate::io::disk::File;
use crate::io::{Fill, decompress};
use crate::sync::{Arc, OnceLock};

/// The blocks of an image.
pub struct Blocks {
    pub(super) file: Arc<dyn File>,
    pub(super) header: ImageHeader,
    /// The pages of the index, each once it was needed, in leaves of [`LEAF_PAGES`].
    index: Box<[OnceLock<Leaf>]>,
}

/// A part of the pages of the index.
type Leaf = Box<[OnceLock<Box<[ImageBlock]>>]>;

/// Opening takes memory for each leaf: for 16 GiB of blocks of 16 KiB.
const LEAF_PAGES: u64 = 4096;

impl fmt::Debug for Blocks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Blocks").field("file", &self.file).field("header", &self.header).finish_non_exhaustive()
    }
}

impl Blocks {
    /// Requires: the file has the length that the header says.
    ///
    /// # Errors
    /// `OutOfMemory`. A file with holes may be longer than any memory.
    pub fn new(file: Arc<dyn File>, header: ImageHeader) -> io::Result<Self> {
        let leaves = header.index_pages().div_ceil(LEAF_PAGES);
        let leaves = usize::try_from(leaves).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mut index = Vec::new();
        index.try_reserve_exact(leaves).map_err(|_| io::ErrorKind::OutOfMemory)?;
        index.resize_with(leaves, OnceLock::new);
        Ok(Self { file, header, index: index.into_boxed_slice() })
    }

    fn entry(&self, block: u64) -> io::Result<ImageBlock> {
        let page = block / ImageHeader::INDEX_PAGE_BLOCKS;
        let place = (block % ImageHeader::INDEX_PAGE_BLOCKS) as usize;
        let leaf = self.index.get((page / LEAF_PAGES) as usize).ok_or_else(|| damaged("has no such block"))?;
        let leaf = leaf.get_or_init(|| (0..LEAF_PAGES).map(|_| OnceLock::new()).collect());
        let slot = &leaf[(page % LEAF_PAGES) as usize];
        let entries = match slot.get() {
            Some(entries) => entries,
            None => {
                let entries = self.read_index(page)?;
                // Two threads that read it have read the same.
                slot.get_or_init(|| entries)
            }
        };
        entries.get(place).copied().ok_or_else(|| damaged("has no such block"))
    }

    /// Reads stored bytes. The file had its length when it was opened.
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_at(at, into).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged("was truncated while it was open"),
            _ => error,
        })
    }

    fn read_index(&self, page: u64) -> io::Result<Box<[ImageBlock]>> {
        let mut bytes = [0; ImageHeader::INDEX_PAGE_BYTES];
        self.read(self.header.index_at + page * bytes.len() as u64, &mut bytes)?;
        let entries = self.header.decode_index(page, &bytes);
        entries.map_err(|what| damaged(&format!("has damage in page {page} of its index: {what}")))
    }
}

impl Fill for Blocks {
    fn part_bytes(&self) -> u64 {
        u64::from(self.header.block_bytes)
    }

    fn content_bytes(&self) -> u64 {
        self.header.content_bytes
    }

    fn fill(&self, block: u64, into: &mut [u8]) -> io::Result<()> {
        let entry = self.entry(block)?;
        assert!(into.len() == self.header.length_of(block), "a block is read as a whole");
        let check = |stored: &[u8]| match self.header.block_checksum(block, stored) == entry.checksum {
            true => Ok(()),
            false => Err(damaged(&format!("has a damaged block {block}: checksum does not match"))),
        };
        let length = entry.stored_bytes as usize;
        if length == 0 {
            into.fill(0);
            return Ok(());
        }
        if length == into.len() {
            self.read(entry.at, into)?;
            return check(into);
        }
        // The index was checked: this is shorter than the block.
        let mut stored = vec![0; length];
        self.read(entry.at, &mut stored)?;
        check(&stored)?;
        match decompress(&stored, into) {
            Ok(decompressed) if decompressed == into.len() => Ok(()),
            Ok(_) => Err(damaged(&format!("has a damaged block {block}: it is too short"))),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(damaged(&format!("has a damaged block {block}: {error}")))
            }
            Err(error) => Err(error),
        }
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the image {what}"))
}
