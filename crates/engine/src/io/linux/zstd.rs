//! Zstandard, block by block: each block is a frame of its own.

use std::cell::RefCell;
use std::fmt;
use std::io;

use zstd_safe::{CCtx, CParameter, DCtx, get_error_name, max_c_level, min_c_level};

/// Compresses blocks by Zstandard at one level.
pub struct Compressor {
    context: CCtx<'static>,
}

impl fmt::Debug for Compressor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Compressor").finish_non_exhaustive()
    }
}

impl Compressor {
    /// The levels that there are.
    pub fn levels() -> std::ops::RangeInclusive<i32> {
        min_c_level()..=max_c_level()
    }

    /// Compresses at a level.
    ///
    /// # Errors
    /// What Zstandard says: it has no memory, or no such level.
    pub fn new(level: i32) -> Result<Self, &'static str> {
        let mut context = CCtx::try_create().ok_or("there is no memory for Zstandard")?;
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(get_error_name)?;
        Ok(Self { context })
    }

    /// Compresses a block into `into`, and returns the length. `None` if `into` has not enough room. A 256th more than
    /// the block, and 64 bytes, are enough: then `None` means that there is no memory.
    pub fn compress(&mut self, block: &[u8], into: &mut [u8]) -> Option<usize> {
        self.context.compress2(into, block).ok()
    }
}

/// Decompresses a block, and returns its length, which is at most that of `into`.
///
/// # Errors
/// `InvalidData`, with what is wrong with the stored bytes; `OutOfMemory`.
pub fn decompress(stored: &[u8], into: &mut [u8]) -> io::Result<usize> {
    thread_local! {
        /// Creating one takes longer than decompressing a block.
        static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
    }
    CONTEXT.with_borrow_mut(|kept| {
        let context = match kept {
            Some(context) => context,
            none => none.insert(DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?),
        };
        let wrong = |code| io::Error::new(io::ErrorKind::InvalidData, get_error_name(code));
        context.decompress(into, stored).map_err(wrong)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_return_and_bad_ones_are_errors() {
        let block: Vec<u8> = (0..16384_u32).map(|index| (index / 100) as u8).collect();
        let mut compressor = Compressor::new(8).unwrap();
        let mut stored = vec![0; block.len()];
        let length = compressor.compress(&block, &mut stored).unwrap();
        assert!(length < block.len() / 4);
        let mut read = vec![0; block.len()];
        assert_eq!(decompress(&stored[..length], &mut read).unwrap(), block.len());
        assert_eq!(read, block);
        assert!(decompress(&stored[..length - 1], &mut read).is_err());
        assert!(decompress(&stored[..length], &mut read[..block.len() - 1]).is_err(), "longer than it should be");
        assert!(compressor.compress(&block, &mut stored[..8]).is_none());
        assert!(Compressor::new(8).is_ok());
    }
}
