//! Natural numbers in one to nine bytes, whose order as bytes is their order as numbers.
//!
//! The number of leading ones of the first byte is the number of bytes that follow. The other bits of the first
//! byte, and the bytes that follow, are the number minus [`STARTS`] of its length, highest byte first. So every
//! number has exactly one encoding of up to eight bytes; nine bytes can also write numbers beyond 64 bits, which do
//! not decode.

use crate::value::error::{ValueError, ValueFault};

/// The most bytes of a number.
pub const NAT_BYTES_MAX: usize = 9;

/// The smallest number of each length, from one byte on.
const STARTS: [u64; NAT_BYTES_MAX] = [
    0,
    0x80,
    0x4080,
    0x20_4080,
    0x1020_4080,
    0x08_1020_4080,
    0x0408_1020_4080,
    0x0002_0408_1020_4080,
    0x0102_0408_1020_4080,
];

/// Appends a number.
pub fn put_nat(out: &mut Vec<u8>, nat: u64) {
    if nat < STARTS[1] {
        out.push(nat as u8);
        return;
    }
    let following = STARTS.iter().rposition(|&start| nat >= start).unwrap_or(0);
    let rest = nat - STARTS[following];
    let bytes = rest.to_be_bytes();
    // The ones of the first byte; with eight bytes to follow, all of them.
    let ones = !(0xFF_u32 >> following) as u8;
    if following == 8 {
        out.push(ones);
        out.extend_from_slice(&bytes);
    } else {
        let first = 7 - following;
        out.push(ones | bytes[first]);
        out.extend_from_slice(&bytes[first + 1..]);
    }
}

/// The number as bytes.
pub fn nat_bytes(nat: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(NAT_BYTES_MAX);
    put_nat(&mut out, nat);
    out
}

/// The number at the beginning of `bytes`, and its length in bytes. `offset` is where `bytes` begin, for the error.
///
/// # Errors
///
/// [`ValueFault::Truncated`] if the bytes end too early, [`ValueFault::NatTooLarge`] if the number is beyond 64 bits.
pub fn nat_at(bytes: &[u8], offset: usize) -> Result<(u64, usize), ValueError> {
    let truncated = || ValueError { offset, fault: ValueFault::Truncated };
    let first = *bytes.first().ok_or_else(truncated)?;
    if first < 0x80 {
        return Ok((u64::from(first), 1));
    }
    let following = first.leading_ones() as usize;
    let rest = bytes.get(1..=following).ok_or_else(truncated)?;
    let head = u64::from(first) & (0x7F >> following);
    let number = rest.iter().fold(head, |number, &byte| (number << 8) | u64::from(byte));
    let nat = number.checked_add(STARTS[following]).ok_or(ValueError { offset, fault: ValueFault::NatTooLarge })?;
    Ok((nat, following + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both sides of every boundary, with bytes worked out from the description of the encoding.
    const GOLDEN: &[(u64, &[u8])] = &[
        (0, &[0x00]),
        (1, &[0x01]),
        (0x7F, &[0x7F]),
        (0x80, &[0x80, 0x00]),
        (0x81, &[0x80, 0x01]),
        (0x407F, &[0xBF, 0xFF]),
        (0x4080, &[0xC0, 0x00, 0x00]),
        (0x20_407F, &[0xDF, 0xFF, 0xFF]),
        (0x20_4080, &[0xE0, 0x00, 0x00, 0x00]),
        (0x1020_407F, &[0xEF, 0xFF, 0xFF, 0xFF]),
        (0x1020_4080, &[0xF0, 0, 0, 0, 0]),
        (0x08_1020_407F, &[0xF7, 0xFF, 0xFF, 0xFF, 0xFF]),
        (0x08_1020_4080, &[0xF8, 0, 0, 0, 0, 0]),
        (0x0408_1020_407F, &[0xFB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        (0x0408_1020_4080, &[0xFC, 0, 0, 0, 0, 0, 0]),
        (0x0002_0408_1020_407F, &[0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        (0x0002_0408_1020_4080, &[0xFE, 0, 0, 0, 0, 0, 0, 0]),
        (0x0102_0408_1020_407F, &[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        (0x0102_0408_1020_4080, &[0xFF, 0, 0, 0, 0, 0, 0, 0, 0]),
        (u64::MAX, &[0xFF, 0xFE, 0xFD, 0xFB, 0xF7, 0xEF, 0xDF, 0xBF, 0x7F]),
    ];

    #[test]
    fn numbers_on_both_sides_of_every_boundary_have_the_bytes_of_glean() {
        for &(nat, bytes) in GOLDEN {
            assert_eq!(nat_bytes(nat), bytes, "{nat:#x}");
            assert_eq!(nat_at(bytes, 0), Ok((nat, bytes.len())), "{nat:#x}");
        }
    }

    #[test]
    fn bytes_have_the_order_of_numbers() {
        for pair in GOLDEN.windows(2) {
            assert!(pair[0].1 < pair[1].1, "{:#x} and {:#x}", pair[0].0, pair[1].0);
        }
    }

    #[test]
    fn a_number_that_is_cut_off_or_too_large_is_an_error_with_its_offset() {
        for &(_, bytes) in GOLDEN {
            for length in 0..bytes.len() {
                let error = nat_at(&bytes[..length], 7).expect_err("a part of a number");
                assert_eq!(error, ValueError { offset: 7, fault: ValueFault::Truncated });
            }
        }
        let beyond = [0xFF, 0xFE, 0xFD, 0xFB, 0xF7, 0xEF, 0xDF, 0xBF, 0x80];
        assert_eq!(nat_at(&beyond, 3), Err(ValueError { offset: 3, fault: ValueFault::NatTooLarge }));
    }
}
