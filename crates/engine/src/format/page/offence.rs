//! Why bytes that were read are refused, and the checks that all pages and the meta need.

use std::fmt;

/// Why a page is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offence {
    /// Byte within the page.
    pub at: u32,
    /// What is wrong there.
    pub what: &'static str,
}

impl Offence {
    /// An offence at a byte of a page.
    pub fn new(at: usize, what: &'static str) -> Self {
        Self { at: at as u32, what }
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (byte {} of the page)", self.what, self.at)
    }
}

/// Refuses bytes that are not zero. Requires: `from <= to <= bytes.len()`.
///
/// # Errors
/// The first byte that is not zero.
pub fn zeros(bytes: &[u8], from: usize, to: usize, what: &'static str) -> Result<(), Offence> {
    // Most of a page may be free space: look at 16 bytes at a time.
    let (words, rest) = bytes[from..to].as_chunks::<16>();
    if words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|&byte| byte == 0) {
        return Ok(());
    }
    let at = bytes[from..to].iter().take_while(|&&byte| byte == 0).count();
    Err(Offence::new(from + at, what))
}

/// Refuses where a condition does not hold.
///
/// # Errors
/// An offence at `at` if it does not.
pub fn require(holds: bool, at: usize, what: &'static str) -> Result<(), Offence> {
    if holds { Ok(()) } else { Err(Offence::new(at, what)) }
}
