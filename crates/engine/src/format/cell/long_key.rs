//! The stored form of keys that are too long for a page, in leaves and in branches.
#![allow(unsafe_code)] // Reads of a verified page without bounds checks.

use crate::format::bytes::{array_at, get_u64, slice_at, u64_at};
use crate::format::cell::entry::{CellKey, LONG_KEY_BYTES};
use crate::format::cell::overflow::OverflowRef;
use crate::format::page::{INLINE_KEY_BYTES_MAX, Offence, require};

/// The long key stored at `at`.
///
/// # Safety
/// Verification found a long key there.
#[cold]
#[inline(never)]
pub unsafe fn long_key_at(page: &[u8], at: usize) -> CellKey<'_> {
    // SAFETY: verification proved that a long key takes 1,056 bytes inside the body.
    let prefix = unsafe { slice_at(page, at, INLINE_KEY_BYTES_MAX) };
    // SAFETY: as above.
    let hash = unsafe { u64_at(page, at + INLINE_KEY_BYTES_MAX) };
    // SAFETY: as above.
    let reference = unsafe { array_at(page, at + INLINE_KEY_BYTES_MAX + 8) };
    CellKey::Overflow { prefix, hash, at: OverflowRef::from_bytes(reference) }
}

/// Checks the stored form of a long key, and returns its hash. Requires: `at + length <= page.len()`.
///
/// # Errors
/// The first offence.
pub fn verify_long_key(page: &[u8], at: usize, length: usize) -> Result<u64, Offence> {
    require(length == LONG_KEY_BYTES, at, "overflow key of a wrong stored length")?;
    let reference_at = at + INLINE_KEY_BYTES_MAX + 8;
    let key = verify_reference(page, reference_at)?;
    require(key.length as usize > INLINE_KEY_BYTES_MAX, reference_at, "overflow key that would fit its cell")?;
    let hash = get_u64(page, at + INLINE_KEY_BYTES_MAX);
    require(hash == key.checksum, reference_at, "hash of an overflow key is not its checksum")?;
    Ok(hash)
}

/// Checks a stored reference. Requires: `at + 24 <= page.len()`.
///
/// # Errors
/// The first offence.
pub fn verify_reference(page: &[u8], at: usize) -> Result<OverflowRef, Offence> {
    let mut bytes = [0; OverflowRef::BYTES];
    bytes.copy_from_slice(&page[at..at + OverflowRef::BYTES]);
    match OverflowRef::offence(&bytes) {
        None => Ok(OverflowRef::from_bytes(&bytes)),
        Some(what) => Err(Offence::new(at, what)),
    }
}
