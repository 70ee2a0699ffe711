//! The trailer of a page: written when the page is complete, checked before the body.

use crate::format::bytes::{get_u64, put};
use crate::format::hash::{Identity, checksum};
use crate::format::page::layout::{PageSize, TRAILER_BYTES};
use crate::format::page::offence::{Offence, zeros};
use crate::ids::{Birth, PageRef};

/// Distance of the birth from the end of the page.
const BIRTH_FROM_END: usize = 16;
/// Distance of the checksum from the end of the page.
const CHECKSUM_FROM_END: usize = 8;

const _: () = assert!(TRAILER_BYTES - BIRTH_FROM_END >= 28, "encryption needs 28 bytes");

/// Completes a page: writes trailer and checksum. The body must be final.
///
/// # Panics
/// If `bytes` is not a page long.
pub fn seal_page(bytes: &mut [u8], identity: &Identity, at: PageRef, birth: Birth) {
    assert!(PageSize::from_bytes(bytes.len()).is_some(), "a page has 8 or 16 KiB");
    let end = bytes.len();
    bytes[end - TRAILER_BYTES..end - BIRTH_FROM_END].fill(0);
    put(bytes, end - BIRTH_FROM_END, birth.0.to_le_bytes());
    let sum = checksum(&bytes[..end - CHECKSUM_FROM_END], identity.page_seed(at));
    put(bytes, end - CHECKSUM_FROM_END, sum.to_le_bytes());
}

/// Checks what all pages share: length, checksum, birth and the reserved bytes of the trailer.
///
/// # Errors
/// The first offence.
pub fn verify_seal(bytes: &[u8], identity: &Identity, at: PageRef, birth: Birth) -> Result<(), Offence> {
    if PageSize::from_bytes(bytes.len()).is_none() {
        return Err(Offence::new(0, "not the length of a page"));
    }
    let end = bytes.len();
    let sum = checksum(&bytes[..end - CHECKSUM_FROM_END], identity.page_seed(at));
    if get_u64(bytes, end - CHECKSUM_FROM_END) != sum {
        return Err(Offence::new(end - CHECKSUM_FROM_END, "checksum does not match"));
    }
    if get_u64(bytes, end - BIRTH_FROM_END) != birth.0 {
        return Err(Offence::new(end - BIRTH_FROM_END, "page is older or younger than its extent"));
    }
    zeros(bytes, end - TRAILER_BYTES, end - BIRTH_FROM_END, "reserved bytes of the trailer are not zero")
}
