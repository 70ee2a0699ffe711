//! Parts of encoded values: where a value ends, and its pieces, without building it.
//!
//! Values are compared, joined and copied as bytes, because each value has exactly one encoding.

use crate::value::error::{ValueError, ValueFault};
use crate::value::nat::{nat_at, put_nat};
use crate::value::types::Type;

/// Appends a string with its zero bytes escaped and its terminator.
pub fn put_string(out: &mut Vec<u8>, string: &str) {
    put_string_prefix(out, string);
    out.extend_from_slice(&[0, 0]);
}

/// Appends the beginning of all strings that begin with `string`.
pub fn put_string_prefix(out: &mut Vec<u8>, string: &str) {
    for byte in string.bytes() {
        out.push(byte);
        if byte == 0 {
            out.push(1);
        }
    }
}

/// A reader over an encoded value.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The bytes that are not yet read.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The bytes read since `offset`. Requires: `offset` is at most [`Cursor::offset`].
    pub fn since(&self, offset: usize) -> &'a [u8] {
        &self.bytes[offset..self.at]
    }

    /// Skips `length` bytes. Requires: as many are left.
    pub fn advance(&mut self, length: usize) {
        assert!(length <= self.bytes.len() - self.at, "skips bytes that are there");
        self.at += length;
    }

    /// An error here.
    pub fn fault(&self, fault: ValueFault) -> ValueError {
        ValueError { offset: self.at, fault }
    }

    /// Reads a byte.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn byte(&mut self) -> Result<u8, ValueError> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.fault(ValueFault::Truncated))?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads so many bytes.
    ///
    /// # Errors
    ///
    /// If there are fewer.
    pub fn take(&mut self, length: u64) -> Result<&'a [u8], ValueError> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let bytes = self.rest().get(..length).ok_or_else(|| self.fault(ValueFault::Truncated))?;
        self.at += length;
        Ok(bytes)
    }

    /// Reads a number.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn nat(&mut self) -> Result<u64, ValueError> {
        let (nat, length) = nat_at(self.rest(), self.at)?;
        self.at += length;
        Ok(nat)
    }

    /// Reads a string, without checking that it is UTF-8, and returns its bytes, still escaped, without terminator.
    ///
    /// # Errors
    ///
    /// If it does not end, or an escape is wrong.
    pub fn escaped_string(&mut self) -> Result<&'a [u8], ValueError> {
        let start = self.at;
        loop {
            let Some(zero) = self.rest().iter().position(|&byte| byte == 0) else {
                self.at = start;
                return Err(self.fault(ValueFault::Truncated));
            };
            self.at += zero + 1;
            match self.bytes.get(self.at) {
                Some(0) => {
                    self.at += 1;
                    return Ok(&self.bytes[start..self.at - 2]);
                }
                Some(1) => self.at += 1,
                Some(_) => return Err(self.fault(ValueFault::StringEscape)),
                None => return Err(self.fault(ValueFault::Truncated)),
            }
        }
    }

    /// Skips a value of a type, which may have unknown alternatives: see [`crate::value::conversion`].
    ///
    /// # Errors
    ///
    /// If the bytes are no such value. Not everything is checked: [`crate::decode`] does that.
    pub fn skip(&mut self, ty: &Type) -> Result<(), ValueError> {
        match ty {
            Type::Byte => self.byte().map(drop),
            Type::Nat | Type::Predicate(_) | Type::Enum(_) | Type::Bool => self.nat().map(drop),
            Type::String => self.escaped_string().map(drop),
            Type::Array(element) | Type::Set(element) => self.skip_elements(element),
            Type::Record(fields) => fields.iter().try_for_each(|field| self.skip(&field.ty)),
            Type::Maybe(element) => match self.nat()? {
                0 => Ok(()),
                1 => self.skip(element),
                _ => Err(self.fault(ValueFault::UnknownAlternative)),
            },
            Type::Sum(alternatives) => {
                let tag = usize::try_from(self.nat()?).unwrap_or(usize::MAX);
                match alternatives.get(tag) {
                    Some(alternative) => self.skip(&alternative.ty),
                    None if tag == alternatives.len() => Ok(()),
                    None => Err(self.fault(ValueFault::UnknownAlternative)),
                }
            }
        }
    }

    fn skip_elements(&mut self, element: &Type) -> Result<(), ValueError> {
        let length = self.nat()?;
        match element {
            Type::Byte => self.take(length).map(drop),
            // Their number is all there is to read.
            element if element.is_without_bytes() => Ok(()),
            _ => (0..length).try_for_each(|_| self.skip(element)),
        }
    }

    /// Succeeds at the end.
    ///
    /// # Errors
    ///
    /// If bytes follow.
    pub fn end(&self) -> Result<(), ValueError> {
        if self.rest().is_empty() { Ok(()) } else { Err(self.fault(ValueFault::TrailingBytes)) }
    }
}

/// The string that escaped bytes stand for. `offset` is where they begin, for the error.
///
/// # Errors
///
/// If it is not UTF-8.
pub fn unescape(escaped: &[u8], offset: usize) -> Result<String, ValueError> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut after_zero = false;
    for &byte in escaped {
        // Only escapes follow zero bytes: `escaped_string` has seen to that.
        if !after_zero {
            bytes.push(byte);
        }
        after_zero = byte == 0;
    }
    String::from_utf8(bytes).map_err(|error| ValueError {
        offset: offset + error.utf8_error().valid_up_to(),
        fault: ValueFault::StringNotUtf8,
    })
}

/// Appends an array or a set of encoded elements.
pub fn put_elements<'a>(out: &mut Vec<u8>, count: usize, elements: impl Iterator<Item = &'a [u8]>) {
    put_nat(out, count as u64);
    elements.for_each(|element| out.extend_from_slice(element));
}
