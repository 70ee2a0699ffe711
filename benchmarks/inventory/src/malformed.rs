//! Why bytes are not what was stored.

use std::fmt;

/// Bytes that are not what the codec has written.
#[derive(Debug)]
pub struct Malformed {
    /// What was expected.
    pub expected: &'static str,
    /// What is wrong, in the words of the decoder.
    pub reason: String,
}

impl Malformed {
    /// The error of a decoder. Not inlined, to keep it out of timed loops.
    #[cold]
    #[inline(never)]
    pub(crate) fn new(expected: &'static str, reason: impl fmt::Display) -> Self {
        Self { expected, reason: reason.to_string() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the bytes are not {}: {}", self.expected, self.reason)
    }
}

impl std::error::Error for Malformed {}
