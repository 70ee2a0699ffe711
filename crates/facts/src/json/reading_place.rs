//! How far a text is read, in lines and columns.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};

/// The place of the last byte that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadingPlace {
    /// Its line, from 1.
    line: u64,
    /// Its column in bytes, from 1.
    column: u64,
}

impl Default for ReadingPlace {
    fn default() -> Self {
        Self { line: 1, column: 0 }
    }
}

impl fmt::Display for ReadingPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}", self.line, self.column)
    }
}

/// A reader that notes how far it has read.
pub(super) struct Tracked<'p, R> {
    reader: R,
    place: &'p Cell<ReadingPlace>,
}

impl<'p, R: Read> Tracked<'p, R> {
    pub fn new(reader: R, place: &'p Cell<ReadingPlace>) -> Self {
        Self { reader, place }
    }
}

impl<R: Read> Read for Tracked<'_, R> {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let mut place = self.place.get();
        for &byte in buffer.iter().take(count) {
            place = match byte {
                b'\n' => ReadingPlace { line: place.line + 1, column: 0 },
                _ => ReadingPlace { column: place.column + 1, ..place },
            };
        }
        self.place.set(place);
        Ok(count)
    }
}
