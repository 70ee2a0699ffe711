//! Reading records of any form: an iterator of stored entries, or of one error that names the place.

use std::fmt;
use std::io;

use super::binary::BinaryReader;
use super::input::Input;
use super::ndjson::NdjsonReader;
use super::separated::SeparatedReader;
use crate::arguments::FileFormat;
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

/// What is wrong with an input, and where.
#[derive(Debug)]
pub struct InputError {
    input: String,
    place: Place,
    offence: Offence,
}

impl fmt::Display for InputError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.offence {
            Offence::Io(error) => write!(out, "{}: reading failed at {}: {error}", self.input, self.place),
            Offence::Words(words) => write!(out, "{}: {}: {words}", self.input, self.place),
        }
    }
}

impl std::error::Error for InputError {}

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

/// The entries of an input. Ends after the first error.
pub struct Records {
    name: String,
    reader: Box<dyn RecordReader>,
    form: EntryForm,
    ended: bool,
}

impl Records {
    /// Reads an input in this form.
    pub fn new(input: Input, format: FileFormat, fields: FieldNames, form: EntryForm) -> Self {
        let reader: Box<dyn RecordReader> = match format {
            FileFormat::Ndjson => Box::new(NdjsonReader::new(input.bytes, fields)),
            FileFormat::Csv => Box::new(SeparatedReader::csv(input.bytes, fields)),
            FileFormat::Tsv => Box::new(SeparatedReader::tsv(input.bytes, fields)),
            FileFormat::Binary => Box::new(BinaryReader::new(input.bytes)),
        };
        Self { name: input.name, reader, form, ended: false }
    }

    fn read(&mut self) -> Result<Option<Pair>, Offence> {
        let Some((key, value)) = self.reader.next(&self.form)? else { return Ok(None) };
        Ok(Some(self.form.join(key, value)?))
    }
}

impl Iterator for Records {
    type Item = Result<Pair, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.read();
        self.ended = !matches!(read, Ok(Some(_)));
        let place = |offence| InputError { input: self.name.clone(), place: self.reader.place(), offence };
        read.map_err(place).transpose()
    }
}
