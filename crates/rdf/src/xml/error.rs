//! What is wrong with a document, and where.

use std::io;

/// A place in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: u64,
    /// From 1, in characters.
    pub column: u64,
}

/// Why a document is read no further.
#[derive(Debug)]
pub enum XmlError {
    /// Its bytes cannot be read.
    Read(io::Error),
    /// It breaks a rule.
    Malformed { place: Place, message: String },
    /// It asks for more memory than any document may.
    TooLarge { place: Place, message: String },
}

pub type Result<T, E = XmlError> = std::result::Result<T, E>;

/// What is wrong at some byte behind the place where a function began.
#[derive(Debug)]
pub struct Problem {
    pub offset: usize,
    pub message: String,
    pub is_too_large: bool,
}

impl Problem {
    pub fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into(), is_too_large: false }
    }

    pub fn too_large(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into(), is_too_large: true }
    }

    pub fn at(self, place: Place) -> XmlError {
        match self.is_too_large {
            true => XmlError::TooLarge { place, message: self.message },
            false => XmlError::Malformed { place, message: self.message },
        }
    }
}
