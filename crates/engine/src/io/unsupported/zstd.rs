//! Takes the place of Zstandard on platforms that Fulgurite does not support yet.

use std::io;

/// Compresses blocks: there is none on this platform.
#[derive(Debug)]
pub enum Compressor {}

impl Compressor {
    /// The levels that there would be.
    pub fn levels() -> std::ops::RangeInclusive<i32> {
        1..=22
    }

    /// Compresses at a level.
    ///
    /// # Errors
    /// Always.
    pub fn new(_level: i32) -> Result<Self, &'static str> {
        Err(UNSUPPORTED)
    }

    /// Compresses a block.
    pub fn compress(&mut self, _block: &[u8], _into: &mut [u8]) -> Option<usize> {
        match *self {}
    }
}

/// Decompresses a block.
///
/// # Errors
/// Always.
pub fn decompress(_stored: &[u8], _into: &mut [u8]) -> io::Result<usize> {
    Err(io::Error::new(io::ErrorKind::Unsupported, UNSUPPORTED))
}

const UNSUPPORTED: &str = "Zstandard, which images and checkpoints need, is not supported on this platform";
