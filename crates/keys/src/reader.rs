//! A cursor over encoded bytes, from which keys and values decode themselves.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::escape::unescape;

/// Bytes that are not decoded yet. Every method removes bytes from the front or returns an error.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from their start.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Takes exactly `count` bytes.
    ///
    /// # Errors
    /// [`Error::Truncated`] if fewer are left.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(Error::Truncated { needed_bytes: count, left_bytes: self.rest.len() });
        };
        self.rest = rest;
        Ok(taken)
    }

    /// Takes exactly `N` bytes.
    ///
    /// # Errors
    /// [`Error::Truncated`] if fewer are left.
    #[inline]
    pub fn take_array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(Error::Truncated { needed_bytes: N, left_bytes: self.rest.len() });
        };
        self.rest = rest;
        Ok(*taken)
    }

    /// Takes a byte that is `00` or `01`.
    ///
    /// # Errors
    /// [`Error::Truncated`] at the end, [`Error::BadTag`], naming `element`, for any other byte.
    #[inline]
    pub fn take_tag(&mut self, element: &'static str) -> Result<bool> {
        match self.take_array::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [byte] => Err(Error::BadTag { element, byte }),
        }
    }

    /// Takes an escaped byte string and its terminator, the form of strings inside keys.
    ///
    /// # Errors
    /// [`Error::Unterminated`] or [`Error::BadEscape`].
    pub fn take_escaped(&mut self) -> Result<Cow<'a, [u8]>> {
        let (taken, rest) = unescape(self.rest)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes a byte string after its length (`u32`, little-endian), the form of strings inside values.
    ///
    /// # Errors
    /// [`Error::Truncated`] if fewer bytes are left than the length says.
    pub fn take_counted(&mut self) -> Result<&'a [u8]> {
        let count = u32::from_le_bytes(self.take_array()?);
        self.take(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Takes all remaining bytes.
    #[inline]
    pub fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// How many bytes are left.
    #[inline]
    pub const fn left_bytes(&self) -> usize {
        self.rest.len()
    }

    /// Checks that no bytes remain.
    ///
    /// # Errors
    /// [`Error::TrailingBytes`] if bytes remain.
    #[inline]
    pub const fn finish(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(Error::TrailingBytes { count: self.rest.len() }) }
    }
}

/// Decodes `bytes` as UTF-8.
pub(crate) fn utf8(bytes: Cow<'_, [u8]>) -> Result<String> {
    let result = match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(str::to_owned),
        Cow::Owned(bytes) => String::from_utf8(bytes).map_err(|error| error.utf8_error()),
    };
    result.map_err(|error| Error::NotUtf8 { valid_up_to: error.valid_up_to() })
}

/// The character with this scalar value.
pub(crate) fn character(number: u32) -> Result<char> {
    char::from_u32(number).ok_or(Error::NotAChar { number })
}
