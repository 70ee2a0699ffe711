//! What fills a window of memory.

use std::fmt;
use std::io;

/// What fills a window of memory, part by part.
pub trait Fill: Send + Sync + fmt::Debug {
    /// Length of a part, except the last, which may be shorter.
    fn part_bytes(&self) -> u64;

    /// Length of all parts.
    fn content_bytes(&self) -> u64;

    /// Writes a part, by its number from 0, to `into`, which has its length. Does not read `into`.
    ///
    /// # Errors
    /// The disk's; `InvalidData` if the part is damaged. What `into` holds is unspecified then.
    fn fill(&self, part: u64, into: &mut [u8]) -> io::Result<()>;
}
