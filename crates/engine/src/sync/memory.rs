//! Reports the use of raw memory to a model checker, which cannot see it. Here these functions do nothing.

use std::ptr::NonNull;

/// The allocator gave `bytes` bytes from `start` on.
#[inline(always)]
pub const fn allocated(_start: NonNull<u8>, _bytes: usize) {}

/// The caller owns `bytes` bytes from `start` on, and will write them before any other thread knows of them.
#[inline(always)]
pub const fn handed_out(_start: NonNull<u8>, _bytes: usize) {}

/// The bytes at `address` are about to be read.
#[inline(always)]
pub const fn looked_at(_address: NonNull<u8>) {}
