//! Raw memory, as the engine's arena hands it out: who reads a piece must have learnt of it after it was handed out,
//! and it is not handed out again before all reads are over. Otherwise loom reports accesses that are not ordered.

use std::ptr::NonNull;

use crate::sync::shadow;

/// The allocator gave `bytes` bytes from `start` on: what was there before was given back to it, in whatever order.
pub fn allocated(start: NonNull<u8>, bytes: usize) {
    let start = start.as_ptr().addr();
    shadow::forget_pieces(start..start + bytes);
}

/// Whoever called gets `bytes` bytes from `start` on for himself.
pub fn handed_out(start: NonNull<u8>, bytes: usize) {
    let start = start.as_ptr().addr();
    shadow::write_piece(start..start + bytes);
}

/// What was written at `address` is about to be read.
pub fn looked_at(address: NonNull<u8>) {
    shadow::read_piece(address.as_ptr().addr());
}
