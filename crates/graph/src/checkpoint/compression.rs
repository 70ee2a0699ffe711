//! Compression of files of data, block by block.
//!
//! A compressed file has its content in blocks of 256 KiB; the last one may be shorter. Each block is compressed by
//! itself, so writing and reading keep one block in memory. A block has, least significant bytes first:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `50 2A 4D 18 10 00 00 00`: decompressors of Zstandard skip this and the 16 bytes after it |
//! | 4 | the length of the frame |
//! | 4 | the length of its content, at least 1 |
//! | 8 | the XXH3-64 hash of the frame |
//! | | the frame of Zstandard |
//!
//! So the program `zstd` decompresses a file, too.
//!
//! Invariant: a reader checks the lengths of a block before it reserves memory, and the hash of a frame before it
//! decompresses the frame. The caller checks that a file has all of its blocks: it knows the length and hash of the
//! whole content.

use std::io::{self, BufRead as _, BufReader, Read, Write};

use fulgurite::io::{Compressor, decompress};
use xxhash_rust::xxh3::xxh3_64;

/// How files of data are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Their content as it is.
    Off,
    /// Compressed at this level.
    Zstandard(i32),
}

impl Compression {
    /// The level of Zstandard, at most 22; none with 0.
    pub fn of_level(level: u32) -> Self {
        match level.min(LEVEL_MAX) {
            0 => Self::Off,
            level => Self::Zstandard(level as i32),
        }
    }

    /// Writes a file, whose content `fill` writes. Returns what `fill` does, and the length of the file.
    ///
    /// # Errors
    /// Those of `fill` and of `out`; `OutOfMemory`; an error if the platform has no Zstandard.
    pub fn write<W: Write, T>(
        self,
        out: W,
        fill: impl FnOnce(&mut Packed<W>) -> io::Result<T>,
    ) -> io::Result<(T, u64)> {
        let mut packed = Packed::new(out, self)?;
        let filled = fill(&mut packed)?;
        packed.end_block()?;
        Ok((filled, packed.bytes))
    }
}

/// Writes content to a file, compressed or as it is.
pub struct Packed<W> {
    out: W,
    /// `None` if the content is written as it is.
    compressor: Option<Compressor>,
    /// The content of the block that is being filled.
    content: Vec<u8>,
    /// Where a block is compressed.
    packed: Vec<u8>,
    /// What was written to `out`.
    bytes: u64,
}

impl<W: Write> Packed<W> {
    fn new(out: W, compression: Compression) -> io::Result<Self> {
        let compressor = match compression {
            Compression::Off => None,
            Compression::Zstandard(level) => Some(Compressor::new(level).map_err(io::Error::other)?),
        };
        Ok(Self { out, compressor, content: Vec::new(), packed: Vec::new(), bytes: 0 })
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.content.is_empty() {
            return Ok(());
        }
        let stored: &[u8] = match &mut self.compressor {
            Some(compressor) => compress(compressor, &self.content, &mut self.packed)?,
            None => &self.content,
        };
        self.out.write_all(stored)?;
        self.bytes += stored.len() as u64;
        self.content.clear();
        Ok(())
    }
}

impl<W: Write> Write for Packed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(BLOCK_BYTES - self.content.len());
        self.content.extend_from_slice(&bytes[..count]);
        if self.content.len() == BLOCK_BYTES {
            self.end_block()?;
        }
        Ok(count)
    }

    /// Blocks end where they are full, so that a flush does not change the file.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Compresses content to a block, which begins at the start of `packed`. The memory of `packed` is reused.
fn compress<'p>(compressor: &mut Compressor, content: &[u8], packed: &'p mut Vec<u8>) -> io::Result<&'p [u8]> {
    let bytes_max = HEADER_BYTES + frame_bytes_max(content.len());
    if packed.len() < bytes_max {
        packed.resize(bytes_max, 0);
    }
    let (header, frame) = packed.split_at_mut(HEADER_BYTES);
    let length = compressor.compress(content, frame).ok_or(io::ErrorKind::OutOfMemory)?;
    let (frame_bytes, content_bytes) = (length as u32, content.len() as u32);
    let parts = [
        &SKIPPED[..],
        &frame_bytes.to_le_bytes(),
        &content_bytes.to_le_bytes(),
        &xxh3_64(&frame[..length]).to_le_bytes(),
    ];
    header.copy_from_slice(&parts.concat());
    Ok(&packed[..HEADER_BYTES + length])
}

/// Reads the content of a compressed file.
pub struct Unpacked<R> {
    input: BufReader<R>,
    frame: Vec<u8>,
    /// The content of a block, which is read up to `at`.
    content: Vec<u8>,
    at: usize,
}

impl<R: Read> Unpacked<R> {
    /// Reads from the beginning of the file.
    pub fn new(input: R) -> Self {
        Self { input: BufReader::new(input), frame: Vec::new(), content: Vec::new(), at: 0 }
    }

    /// Reads the next block; false at the end of the file.
    fn read_block(&mut self) -> io::Result<bool> {
        self.at = 0;
        self.content.clear();
        if self.input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        if self.array::<8>()? != SKIPPED {
            return Err(damaged("a block does not begin as one"));
        }
        let frame_bytes = u32::from_le_bytes(self.array()?) as usize;
        let content_bytes = u32::from_le_bytes(self.array()?) as usize;
        let hash = u64::from_le_bytes(self.array()?);
        if !(1..=BLOCK_BYTES).contains(&content_bytes) || frame_bytes > frame_bytes_max(BLOCK_BYTES) {
            return Err(damaged(&format!("a block has {content_bytes} bytes in a frame of {frame_bytes}")));
        }
        self.frame.resize(frame_bytes, 0);
        self.input.read_exact(&mut self.frame)?;
        if xxh3_64(&self.frame) != hash {
            return Err(damaged("a block is not what was stored"));
        }
        self.content.resize(content_bytes, 0);
        match decompress(&self.frame, &mut self.content) {
            Ok(length) if length == content_bytes => Ok(true),
            Ok(length) => Err(damaged(&format!("a block has {length} bytes, and not {content_bytes}"))),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(damaged(&format!("a block cannot be decompressed: {error}")))
            }
            Err(error) => Err(error),
        }
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map(|()| bytes)
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.content.len() && !self.read_block()? {
            return Ok(0);
        }
        let left = &self.content[self.at..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.at += count;
        Ok(count)
    }
}

fn damaged(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// The most bytes that Zstandard needs for a frame with this content.
const fn frame_bytes_max(content_bytes: usize) -> usize {
    content_bytes + content_bytes / 256 + 64
}

/// The level of checkpoints whose level was not set: the fastest one.
pub const LEVEL_DEFAULT: u32 = 1;
const LEVEL_MAX: u32 = 22;
/// The content of a block.
const BLOCK_BYTES: usize = 256 << 10;
/// The beginning of a frame of 16 bytes that decompressors skip.
const SKIPPED: [u8; 8] = [0x50, 0x2a, 0x4d, 0x18, 16, 0, 0, 0];
const HEADER_BYTES: usize = SKIPPED.len() + 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(content: &[u8], compression: Compression) -> Vec<u8> {
        let mut file = Vec::new();
        let ((), bytes) = compression.write(&mut file, |out| out.write_all(content)).unwrap();
        assert_eq!(bytes, file.len() as u64);
        file
    }

    fn unpacked(file: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        Unpacked::new(file).read_to_end(&mut content).map(|_| content)
    }

    /// Half of it is compressible.
    fn content(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = |index: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if index % 2000 < 1000 { 7 } else { (state >> 56) as u8 }
        };
        (0..bytes).map(next).collect()
    }

    #[test]
    fn content_of_every_length_returns() {
        for bytes in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES + 7] {
            let content = content(bytes);
            assert!(packed(&content, Compression::Off) == content, "{bytes}");
            let file = packed(&content, Compression::of_level(LEVEL_DEFAULT));
            assert!(bytes < 1000 || file.len() < bytes * 3 / 4, "{bytes}");
            assert!(unpacked(&file).unwrap() == content, "{bytes}");
        }
    }

    #[test]
    fn levels_beyond_the_last_are_the_last() {
        assert_eq!(Compression::of_level(0), Compression::Off);
        assert_eq!(Compression::of_level(u32::MAX), Compression::Zstandard(22));
        let content = content(3000);
        assert!(unpacked(&packed(&content, Compression::of_level(99))).unwrap() == content);
    }

    #[test]
    fn every_changed_byte_and_every_cut_in_a_block_is_an_error() {
        let file = packed(&content(1100), Compression::of_level(LEVEL_DEFAULT));
        let is_damaged = |file: &[u8], at: usize| {
            let kind = unpacked(file).map_err(|error| error.kind());
            let is_error = matches!(kind, Err(io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof));
            assert!(is_error, "{at}: {kind:?}");
        };
        for at in 0..file.len() {
            for mask in [1, 0x80] {
                let mut changed = file.clone();
                changed[at] ^= mask;
                is_damaged(&changed, at);
            }
            if at > 0 {
                is_damaged(&file[..at], at);
            }
        }
    }

    /// The frame is whole and has its hash, but not the content that the header promises.
    #[test]
    fn a_block_with_more_or_less_content_than_it_says_is_an_error() {
        let file = packed(&[7; 100_000], Compression::of_level(LEVEL_DEFAULT));
        for claimed in [0, 1, 99_999, 100_001, BLOCK_BYTES as u32 + 1, u32::MAX] {
            let mut hostile = file.clone();
            hostile[12..16].copy_from_slice(&claimed.to_le_bytes());
            let error = unpacked(&hostile).expect_err("refused");
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{claimed}: {error}");
        }
    }
}
