//! A line of a filter: which of its bits a key sets.

/// Whether a line has all bits that this mixed hash sets: all seven at once, because a branch for each would be
/// mispredicted half of the time.
#[inline(always)]
pub fn has_bits(line: &[u8; LINE_BYTES], mixed: u64) -> bool {
    bits_of(mixed).fold(1, |all, bit| all & (line[bit / 8] >> (bit % 8))) == 1
}

/// The bits that a key with this mixed hash sets in its line.
#[inline(always)]
pub(super) fn bits_of(mixed: u64) -> impl Iterator<Item = usize> {
    (0..BITS_SET).map(move |index| (mixed >> (64 - BIT_WIDTH * (index + 1))) as usize % (8 * LINE_BYTES))
}

/// Bytes of a line. On disk: never change.
pub const LINE_BYTES: usize = 64;
/// Bits that a key sets. On disk: never change.
const BITS_SET: u32 = 7;
/// Bits that number a bit of a line.
const BIT_WIDTH: u32 = 9;
const _: () = assert!(1 << BIT_WIDTH == 8 * LINE_BYTES && BITS_SET * BIT_WIDTH <= 64);
