//! Raw memory, as the engine's arena allocates it. A thread that reads a piece must have learnt of it after its
//! allocation, and the piece is not allocated again before all reads are over. Otherwise loom reports accesses that
//! are not ordered.

use std::ptr::NonNull;

use crate::sync::shadow;

/// The allocator returned `bytes` bytes from `start` on; their former content was freed, in any order.
pub fn allocated(start: NonNull<u8>, bytes: usize) {
    let start = start.as_ptr().addr();
    shadow::forget_pieces(start..start + bytes);
}

/// The caller has exclusive access to `bytes` bytes from `start` on.
pub fn handed_out(start: NonNull<u8>, bytes: usize) {
    let start = start.as_ptr().addr();
    shadow::write_piece(start..start + bytes);
}

/// What was written at `address` is about to be read.
pub fn looked_at(address: NonNull<u8>) {
    shadow::read_piece(address.as_ptr().addr());
}
