//! Errors in stored bytes, in the text form of keys and values, and in names of types.

use std::fmt;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why bytes or text could not be read. Hostile input causes one of these errors, never a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes end inside an element.
    Truncated {
        /// Bytes the element needs.
        needed_bytes: usize,
        /// Bytes that were left.
        left_bytes: usize,
    },
    /// Bytes are left over after the last element.
    TrailingBytes {
        /// How many.
        count: usize,
    },
    /// An escaped string has no `00 00` at its end.
    Unterminated,
    /// In an escaped string, a byte other than `00` or `FF` follows a `00`.
    BadEscape {
        /// The byte that follows.
        byte: u8,
    },
    /// A tag byte is neither `00` nor `01`.
    BadTag {
        /// The type of the element: `bool` or `option`.
        element: &'static str,
        /// The byte found.
        byte: u8,
    },
    /// The bytes of a string are not UTF-8.
    NotUtf8 {
        /// The length of the valid part, in bytes.
        valid_up_to: usize,
    },
    /// A number in the place of a `char` is not a Unicode scalar value.
    NotAChar {
        /// The number.
        number: u32,
    },
    /// A key of a fixed-width multimap has the wrong width.
    WrongWidth {
        /// The multimap's width.
        expected_bytes: usize,
        /// The key's width.
        found_bytes: usize,
    },
    /// Text is not a value of the type.
    BadText {
        /// The type's name.
        type_name: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// Text is not the name of a type.
    BadTypeName {
        /// The text.
        name: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// A value has another type than the one expected.
    TypeMismatch {
        /// The name of the expected type.
        type_name: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { needed_bytes, left_bytes } => {
                write!(out, "cut short: {needed_bytes} bytes are needed where {left_bytes} are left")
            }
            Self::TrailingBytes { count } => write!(out, "{count} bytes are left over at the end"),
            Self::Unterminated => write!(out, "a string inside has no 00 00 at its end"),
            Self::BadEscape { byte } => write!(out, "byte {byte:02x} follows a 00 in a string, where 00 or ff must"),
            Self::BadTag { element, byte } => write!(out, "{byte:02x} is not a tag of {element}; 00 and 01 are"),
            Self::NotUtf8 { valid_up_to } => write!(out, "a string is not UTF-8 from its byte {valid_up_to} on"),
            Self::NotAChar { number } => write!(out, "{number:#x} is not a Unicode scalar value"),
            Self::WrongWidth { expected_bytes, found_bytes } => {
                write!(out, "the key has {found_bytes} bytes where all keys have {expected_bytes}")
            }
            Self::BadText { type_name, reason } => write!(out, "not a {type_name}: {reason}"),
            Self::BadTypeName { name, reason } => write!(out, "`{name}` names no type: {reason}"),
            Self::TypeMismatch { type_name } => write!(out, "the value is not a {type_name}"),
        }
    }
}

impl std::error::Error for Error {}
