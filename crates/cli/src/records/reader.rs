//! Reading records of any form: an iterator of stored entries, or of one error that names the place.

use std::fmt;

use super::binary::BinaryReader;
use super::input::Input;
use super::ndjson::NdjsonReader;
use super::record::{FieldNames, Offence, Pair, Place, RecordReader};
use super::separated::SeparatedReader;
use crate::arguments::FileFormat;
use crate::entries::EntryForm;

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
