//! What the readers of all formats have in common: their result, and their errors.

use std::fmt;
use std::io;

use crate::entries::EntryForm;

/// Which fields of a record are its key and its value.
#[derive(Clone, Debug, Default)]
pub struct FieldNames {
    /// The field of the key; `key` unless given.
    pub key: Option<String>,
    /// The field of the value. Without it: `value`, or the whole record if the key's field is given.
    pub value: Option<String>,
    /// Columns have no names, and are key and value.
    pub no_header: bool,
}

/// A place in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(out, "line {line}"),
            Self::Byte(byte) => write!(out, "byte {byte}"),
        }
    }
}

/// Why no record could be read.
#[derive(Debug)]
pub enum Offence {
    /// The input cannot be read.
    Io(io::Error),
    /// What was read is wrong.
    Words(String),
}

impl From<io::Error> for Offence {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<String> for Offence {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl From<&str> for Offence {
    fn from(words: &str) -> Self {
        Self::Words(words.to_owned())
    }
}

/// A key and a value as their columns store them.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Reads one form of records.
pub trait RecordReader {
    /// The next record; none at the end.
    ///
    /// # Errors
    /// What is wrong with it.
    fn next(&mut self, form: &EntryForm) -> Result<Option<Pair>, Offence>;

    /// Where the record began that was read last, or that could not be read.
    fn place(&self) -> Place;
}
