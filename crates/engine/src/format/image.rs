//! The header and the index of an image: a database in compressed blocks.
//!
//! Invariant: a header that [`ImageHeader::decode`] accepts describes a file of exactly [`ImageHeader::file_bytes`], in
//! which every block and every page of the index has its place; no sum of its fields overflows.

use std::mem::offset_of;

use super::bytes::{get_u32, get_u64, put};
use super::hash::{Identity, checksum};
use crate::ids::{ExtentId, PageRef};

/// The header of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageHeader {
    /// Random: seeds the checksums of the blocks and of the index.
    pub uuid: [u8; 16],
    /// Bytes of a block before compression, a power of two.
    pub block_bytes: u32,
    /// Length of the database in bytes.
    pub content_bytes: u64,
    /// Where the index begins.
    pub index_at: u64,
}

/// Where a block is, and what its stored bytes hash to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageBlock {
    /// Its first byte in the file.
    pub at: u64,
    /// Its stored length: 0 if all its bytes are zero, its own length if it is not compressed.
    pub stored_bytes: u32,
    /// See [`ImageHeader::block_checksum`].
    pub checksum: u32,
}

/// Why a header is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageFault {
    /// It is damaged: what is wrong.
    Damaged(&'static str),
    /// It is of a newer version, or has features that this version does not know.
    Unsupported(String),
}

impl ImageHeader {
    /// Length of the stored form.
    pub const BYTES: usize = 512;
    /// The first bytes of every image.
    pub const MAGIC: &[u8; 8] = b"FULGIMAG";
    /// Bytes of a page of the index.
    pub const INDEX_PAGE_BYTES: usize = 4096;
    /// Entries of a page of the index.
    pub const INDEX_PAGE_BLOCKS: u64 = 255;
    /// Sizes of blocks.
    pub const BLOCK_BYTES: std::ops::RangeInclusive<u32> = 4 << 10..=1 << 20;

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.content_bytes.div_ceil(u64::from(self.block_bytes))
    }

    /// Number of pages of the index.
    pub fn index_pages(&self) -> u64 {
        self.blocks().div_ceil(Self::INDEX_PAGE_BLOCKS)
    }

    /// Length of the whole file.
    pub fn file_bytes(&self) -> u64 {
        self.index_at + self.index_pages() * Self::INDEX_PAGE_BYTES as u64
    }

    /// Length of a block before compression: the last one may be shorter.
    ///
    /// Requires: there is such a block.
    pub fn length_of(&self, block: u64) -> usize {
        let start = block * u64::from(self.block_bytes);
        assert!(start < self.content_bytes, "the image has no such block");
        (self.content_bytes - start).min(u64::from(self.block_bytes)) as usize
    }

    /// The checksum of a block's stored bytes.
    pub fn block_checksum(&self, block: u64, stored: &[u8]) -> u32 {
        checksum(stored, self.seed(block)) as u32
    }

    /// The stored form.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..Self::MAGIC.len()].copy_from_slice(Self::MAGIC);
        put(&mut bytes, VERSION, IMAGE_VERSION.to_le_bytes());
        put(&mut bytes, BLOCK_BYTES, self.block_bytes.to_le_bytes());
        put(&mut bytes, UUID, self.uuid);
        put(&mut bytes, CONTENT_BYTES, self.content_bytes.to_le_bytes());
        put(&mut bytes, INDEX_AT, self.index_at.to_le_bytes());
        let sum = checksum(&bytes[..CHECKSUM], 0);
        put(&mut bytes, CHECKSUM, sum.to_le_bytes());
        bytes
    }

    /// Reads the stored form. The caller has seen the magic.
    ///
    /// # Errors
    /// See [`ImageFault`].
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, ImageFault> {
        let damaged = |what| Err(ImageFault::Damaged(what));
        if get_u64(bytes, CHECKSUM) != checksum(&bytes[..CHECKSUM], 0) {
            return damaged("checksum does not match");
        }
        let version = get_u32(bytes, VERSION);
        if version != IMAGE_VERSION {
            return Err(ImageFault::Unsupported(format!("version {version} of images")));
        }
        if let Some(at) = (RESERVED..CHECKSUM).find(|&at| bytes[at] != 0) {
            return Err(ImageFault::Unsupported(format!("byte {at} of the header of an image")));
        }
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&bytes[UUID..UUID + 16]);
        let header = Self {
            uuid,
            block_bytes: get_u32(bytes, BLOCK_BYTES),
            content_bytes: get_u64(bytes, CONTENT_BYTES),
            index_at: get_u64(bytes, INDEX_AT),
        };
        if !header.block_bytes.is_power_of_two() || !Self::BLOCK_BYTES.contains(&header.block_bytes) {
            return damaged("impossible size of blocks");
        }
        if header.content_bytes == 0 || header.content_bytes >= LENGTH_END {
            return damaged("impossible length");
        }
        if header.index_at < Self::BYTES as u64 || header.index_at >= LENGTH_END {
            return damaged("impossible place of the index");
        }
        Ok(header)
    }

    /// A page of the index, with the blocks from `page * INDEX_PAGE_BLOCKS` on.
    ///
    /// Requires: as many blocks as the page has, at most.
    pub fn encode_index(&self, page: u64, blocks: &[ImageBlock]) -> [u8; Self::INDEX_PAGE_BYTES] {
        let mut bytes = [0; Self::INDEX_PAGE_BYTES];
        assert!(blocks.len() as u64 <= Self::INDEX_PAGE_BLOCKS, "a page has room for them");
        for (index, block) in blocks.iter().enumerate() {
            let at = index * ENTRY_BYTES;
            put(&mut bytes, at, block.at.to_le_bytes());
            put(&mut bytes, at + 8, block.stored_bytes.to_le_bytes());
            put(&mut bytes, at + 12, block.checksum.to_le_bytes());
        }
        let sum = checksum(&bytes[..INDEX_CHECKSUM], self.index_seed(page));
        put(&mut bytes, INDEX_CHECKSUM, sum.to_le_bytes());
        bytes
    }

    /// The blocks of a page of the index, whose places are all within the file.
    ///
    /// # Errors
    /// What is wrong with the page.
    pub fn decode_index(
        &self,
        page: u64,
        bytes: &[u8; Self::INDEX_PAGE_BYTES],
    ) -> Result<Box<[ImageBlock]>, &'static str> {
        if get_u64(bytes, INDEX_CHECKSUM) != checksum(&bytes[..INDEX_CHECKSUM], self.index_seed(page)) {
            return Err("checksum does not match");
        }
        let first = page * Self::INDEX_PAGE_BLOCKS;
        let count = self.blocks().saturating_sub(first).min(Self::INDEX_PAGE_BLOCKS) as usize;
        let blocks: Box<[_]> = bytes.chunks_exact(ENTRY_BYTES).take(count).map(decode_entry).collect();
        let is_possible = |(number, block): (u64, &ImageBlock)| match block.stored_bytes {
            0 => *block == ImageBlock::default(),
            length => {
                let end = block.at.checked_add(u64::from(length));
                block.at >= Self::BYTES as u64
                    && end.is_some_and(|end| end <= self.index_at)
                    && length as usize <= self.length_of(number)
            }
        };
        match (first..).zip(&blocks).all(is_possible) {
            true => Ok(blocks),
            false => Err("a block has an impossible place"),
        }
    }

    fn index_seed(&self, page: u64) -> u64 {
        // Blocks are numbered below this.
        self.seed(LENGTH_END + page)
    }

    fn seed(&self, number: u64) -> u64 {
        let at = PageRef { extent: ExtentId((number >> 32) as u32), slot: number as u32 };
        Identity::new(self.uuid).page_seed(at)
    }
}

fn decode_entry(bytes: &[u8]) -> ImageBlock {
    ImageBlock { at: get_u64(bytes, 0), stored_bytes: get_u32(bytes, 8), checksum: get_u32(bytes, 12) }
}

const IMAGE_VERSION: u32 = 1;
/// Lengths and places are below this, so that their sums are numbers too.
const LENGTH_END: u64 = 1 << 62;
const ENTRY_BYTES: usize = 16;
const INDEX_CHECKSUM: usize = ImageHeader::INDEX_PAGE_BYTES - 8;

/// The header as stored, for its offsets only.
#[repr(C)]
struct Layout {
    magic: [u8; 8],
    version: u32,
    block_bytes: u32,
    uuid: [u8; 16],
    content_bytes: u64,
    index_at: u64,
    reserved: [u8; 456],
    checksum: u64,
}

const VERSION: usize = offset_of!(Layout, version);
const BLOCK_BYTES: usize = offset_of!(Layout, block_bytes);
const UUID: usize = offset_of!(Layout, uuid);
const CONTENT_BYTES: usize = offset_of!(Layout, content_bytes);
const INDEX_AT: usize = offset_of!(Layout, index_at);
const RESERVED: usize = offset_of!(Layout, reserved);
const CHECKSUM: usize = offset_of!(Layout, checksum);

const _: () = assert!(size_of::<Layout>() == ImageHeader::BYTES && offset_of!(Layout, magic) == 0);
const _: () = assert!(VERSION == 8 && BLOCK_BYTES == 12 && UUID == 16 && CONTENT_BYTES == 32);
const _: () = assert!(INDEX_AT == 40 && RESERVED == 48 && CHECKSUM == 504);
const _: () = assert!(ImageHeader::INDEX_PAGE_BLOCKS as usize * ENTRY_BYTES + 16 == ImageHeader::INDEX_PAGE_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> ImageHeader {
        let uuid = std::array::from_fn(|index| index as u8);
        ImageHeader { uuid, block_bytes: 16384, content_bytes: 300 * 16384 + 8192, index_at: 100_000 }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_examples_of_the_document_are_what_is_written() {
        let bytes = header().encode();
        assert_eq!(ImageHeader::decode(&bytes), Ok(header()));
        let document = include_str!("../../../../docs/reference/file-format.md");
        let block = ImageBlock { at: 512, stored_bytes: 7000, checksum: header().block_checksum(0, b"stored") };
        let raw = ImageBlock { at: 7512, stored_bytes: 8192, checksum: 9 };
        let page = header().encode_index(1, &[block, ImageBlock::default(), raw]);
        for line in
            [&bytes[..16], &bytes[16..32], &bytes[32..48], &bytes[496..], &page[..16], &page[32..48], &page[4080..]]
        {
            // An interpreter takes longer to look through the document than to make the bytes.
            assert!(cfg!(miri) || document.contains(&hex(line)), "the document has no {}", hex(line));
        }
    }

    #[test]
    fn a_changed_byte_of_the_header_or_of_the_index_is_refused() {
        let bytes = header().encode();
        for at in (0..bytes.len()).step_by(if cfg!(miri) { 61 } else { 1 }) {
            let mut changed = bytes;
            changed[at] ^= 4;
            assert!(ImageHeader::decode(&changed).is_err(), "byte {at}");
        }
        let block = ImageBlock { at: 600, stored_bytes: 7000, checksum: 3 };
        let page = header().encode_index(0, &[block; 255]);
        assert_eq!(header().decode_index(0, &page).as_deref(), Ok(&[block; 255][..]));
        assert!(header().decode_index(1, &page).is_err(), "a page of another place");
        for at in (0..page.len()).step_by(if cfg!(miri) { 509 } else { 7 }) {
            let mut changed = page;
            changed[at] ^= 4;
            assert!(header().decode_index(0, &changed).is_err(), "byte {at}");
        }
    }

    #[test]
    fn headers_and_blocks_that_cannot_be_are_refused_though_their_checksums_match() {
        let impossible = [
            ImageHeader { block_bytes: 0, ..header() },
            ImageHeader { block_bytes: 2048, ..header() },
            ImageHeader { block_bytes: 12288, ..header() },
            ImageHeader { block_bytes: 1 << 21, ..header() },
            ImageHeader { content_bytes: 0, ..header() },
            ImageHeader { content_bytes: u64::MAX, ..header() },
            ImageHeader { index_at: 511, ..header() },
            ImageHeader { index_at: u64::MAX, ..header() },
        ];
        let step = if cfg!(miri) { 3 } else { 1 };
        for header in impossible.into_iter().step_by(step) {
            assert!(matches!(ImageHeader::decode(&header.encode()), Err(ImageFault::Damaged(_))), "{header:?}");
        }
        let blocks = [
            ImageBlock { at: 0, stored_bytes: 10, checksum: 0 },
            ImageBlock { at: 99_999, stored_bytes: 2, checksum: 0 },
            ImageBlock { at: u64::MAX, stored_bytes: 2, checksum: 0 },
            ImageBlock { at: 600, stored_bytes: 16385, checksum: 0 },
            ImageBlock { at: 600, stored_bytes: 0, checksum: 0 },
        ];
        for block in blocks.into_iter().step_by(step) {
            assert!(header().decode_index(0, &header().encode_index(0, &[block])).is_err(), "{block:?}");
        }
    }
}
