//! Self-delimiting form of a byte string: each `00` becomes `00 FF`, and `00 00` ends it.
//!
//! It keeps the order. Take two strings at the first byte where they differ: if neither has ended there, the escaped
//! forms differ there in the same way (`00 FF` stands for `00`, and `00` is below every other byte as before). If one
//! has ended, it goes on with `00 00`, which is below `00 FF` and below every byte that is not `00`. And since no
//! escaped string is a prefix of another one, whatever follows does not matter until the strings are equal.

use std::borrow::Cow;

use crate::buffer::KeyBuffer;
use crate::error::{Error, Result};

/// What ends an escaped string.
const TERMINATOR: [u8; 2] = [0, 0];

/// Appends `bytes`, escaped, without the end: all extensions of `bytes` go on from here.
pub(crate) fn escape_open(bytes: &[u8], out: &mut KeyBuffer) {
    let mut rest = bytes;
    while let Some(zero) = rest.iter().position(|&byte| byte == 0) {
        out.push(&rest[..=zero]);
        out.push(&[0xFF]);
        rest = &rest[zero + 1..];
    }
    out.push(rest);
}

/// Appends `bytes`, escaped and ended.
pub(crate) fn escape(bytes: &[u8], out: &mut KeyBuffer) {
    escape_open(bytes, out);
    out.push(&TERMINATOR);
}

/// Reads an escaped string from the start of `bytes`; gives it and what follows it. Borrows where nothing was escaped.
pub(crate) fn unescape(bytes: &[u8]) -> Result<(Cow<'_, [u8]>, &[u8])> {
    let mut copy: Vec<u8> = Vec::new();
    let mut rest = bytes;
    loop {
        let zero = rest.iter().position(|&byte| byte == 0).ok_or(Error::Unterminated)?;
        let follower = *rest.get(zero + 1).ok_or(Error::Unterminated)?;
        let after = &rest[zero + 2..];
        match follower {
            0x00 if copy.is_empty() => return Ok((Cow::Borrowed(&rest[..zero]), after)),
            0x00 => {
                copy.extend_from_slice(&rest[..zero]);
                return Ok((Cow::Owned(copy), after));
            }
            0xFF => copy.extend_from_slice(&rest[..=zero]),
            byte => return Err(Error::BadEscape { byte }),
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(bytes: &[u8]) -> Vec<u8> {
        let mut out = KeyBuffer::new();
        escape(bytes, &mut out);
        out.into_vec()
    }

    #[test]
    fn every_short_string_over_the_difficult_bytes_keeps_its_order_and_comes_back() {
        let mut strings: Vec<Vec<u8>> = vec![Vec::new()];
        let mut longest = strings.clone();
        for _ in 0..4 {
            longest = longest
                .iter()
                .flat_map(|start| [0x00, 0x01, 0xFE, 0xFF].map(|byte| [start.as_slice(), &[byte]].concat()))
                .collect();
            strings.extend_from_slice(&longest);
        }
        strings.sort();
        // What follows an escaped string must never matter, so each pair is tried with the worst continuations.
        for pair in strings.windows(2) {
            let mut low = escaped(&pair[0]);
            low.extend_from_slice(&[0xFF; 4]);
            let high = escaped(&pair[1]);
            assert!(low < high, "{pair:?}");
            let (back, rest) = unescape(&low).unwrap();
            assert_eq!((&*back, rest), (pair[0].as_slice(), &[0xFF; 4][..]));
        }
    }

    #[test]
    fn a_string_without_zeros_is_borrowed() {
        let bytes = escaped(b"plain");
        assert!(matches!(unescape(&bytes).unwrap().0, Cow::Borrowed(b"plain")));
    }

    #[test]
    fn malformed_escapes_are_errors() {
        assert_eq!(unescape(b""), Err(Error::Unterminated));
        assert_eq!(unescape(b"abc"), Err(Error::Unterminated));
        assert_eq!(unescape(b"abc\0"), Err(Error::Unterminated));
        assert_eq!(unescape(b"abc\0\xFF"), Err(Error::Unterminated));
        assert_eq!(unescape(b"abc\0\x01"), Err(Error::BadEscape { byte: 1 }));
    }
}
