//! What is wrong with the bytes of a value.

use std::fmt;

/// Bytes that are no value of their type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    /// Where, in bytes from the beginning of the value.
    pub offset: usize,
    /// The fault.
    pub fault: ValueFault,
}

/// A fault at an offset of a value's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueFault {
    /// The bytes end in the middle of a value.
    Truncated,
    /// Bytes follow the end of the value.
    TrailingBytes,
    /// A number needs more than 64 bits.
    NatTooLarge,
    /// A zero byte of a string is followed by neither 0 nor 1.
    StringEscape,
    /// A string is not UTF-8.
    StringNotUtf8,
    /// A sum, an enumeration, a `maybe` or a `bool` has an alternative that its type does not have.
    UnknownAlternative,
    /// The elements of a set are not in ascending order.
    SetOrder,
    /// A reference is to fact 0, which never exists.
    NoFact,
    /// A value does not have the form of its type.
    WrongType,
    /// An array has more elements without content, as `{}` is, than one may have.
    TooManyEmptyElements,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.fault {
            ValueFault::Truncated => "the value is cut off",
            ValueFault::TrailingBytes => "bytes follow the end of the value",
            ValueFault::NatTooLarge => "the number needs more than 64 bits",
            ValueFault::StringEscape => "a zero byte of a string is followed by neither 0 nor 1",
            ValueFault::StringNotUtf8 => "the string is not UTF-8",
            ValueFault::UnknownAlternative => "the type has no such alternative",
            ValueFault::SetOrder => "the elements of the set are not in ascending order",
            ValueFault::NoFact => "the reference is to fact 0, which never exists",
            ValueFault::WrongType => "the value does not have the form of its type",
            ValueFault::TooManyEmptyElements => "an array has at most 256 elements without content, as {} is",
        };
        write!(f, "byte {} of the value: {what}; check the schema and the program that wrote it", self.offset)
    }
}

impl std::error::Error for ValueError {}
