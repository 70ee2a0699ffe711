//! The fields of an index of SCIP one by one, so that memory holds one document at a time, and errors have a place.
//!
//! The bytes come from anywhere: lengths are compared with what the file has, and with a limit, before memory is taken
//! for them. Without the limit, a small file that is compressed could ask for all memory.

use std::io::{self, ErrorKind, Read};

/// What is wrong, and at which byte.
#[derive(Debug)]
pub struct Fault {
    pub offset: u64,
    pub message: String,
}

/// A field of the index.
#[derive(Debug)]
pub struct Frame {
    /// Its number.
    pub field: u64,
    /// Where its content begins.
    pub offset: u64,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Reads fields.
pub struct Frames<R> {
    input: R,
    offset: u64,
    length: u64,
}

impl<R: Read> Frames<R> {
    /// Reads `input`, which has `length` bytes.
    pub fn new(input: R, length: u64) -> Self {
        Self { input, offset: 0, length }
    }

    /// The next field that has content of a length. `None` at the end.
    pub fn next(&mut self) -> Result<Option<Frame>, Fault> {
        while self.offset < self.length {
            let begin = self.offset;
            let tag = self.varint()?;
            let (field, wire_type) = (tag >> 3, tag & 7);
            match wire_type {
                _ if field == 0 => return Err(foreign(begin)),
                LENGTH => {
                    let length = self.varint()?;
                    let offset = self.offset;
                    return Ok(Some(Frame { field, offset, bytes: self.take(length)? }));
                }
                // Fields of later versions.
                VARINT => drop(self.varint()?),
                EIGHT_BYTES => drop(self.take(8)?),
                FOUR_BYTES => drop(self.take(4)?),
                _ => return Err(foreign(begin)),
            }
        }
        Ok(None)
    }

    fn take(&mut self, length: u64) -> Result<Vec<u8>, Fault> {
        let left = self.length - self.offset;
        if length > left {
            let message =
                format!("a part of {length} bytes begins here, but the file ends after {left}; it is cut off");
            return Err(Fault { offset: self.offset, message });
        }
        if length > PART_BYTES_MAX {
            let message = format!("a part of {length} bytes begins here; at most {PART_BYTES_MAX} are read");
            return Err(Fault { offset: self.offset, message });
        }
        let mut bytes = vec![0; usize::try_from(length).expect("the file has as many bytes")];
        self.read(&mut bytes)?;
        Ok(bytes)
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let begin = self.offset;
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            if self.offset == self.length {
                return Err(Fault { offset: begin, message: "the file ends within a number; it is cut off".into() });
            }
            let mut byte = [0];
            self.read(&mut byte)?;
            number |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(number);
            }
        }
        Err(foreign(begin))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Fault> {
        let offset = self.offset;
        let fault = |error: io::Error| Fault {
            offset,
            message: match error.kind() {
                ErrorKind::UnexpectedEof => "the file was cut off while it was read".into(),
                _ => error.to_string(),
            },
        };
        self.input.read_exact(bytes).map_err(fault)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

fn foreign(offset: u64) -> Fault {
    Fault { offset, message: "this is not an index of SCIP; give a file that an indexer wrote".into() }
}

/// A part describes one source file. Few parts have a hundredth of this length.
const PART_BYTES_MAX: u64 = 256 << 20;
/// Types of fields in Protocol Buffers.
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const LENGTH: u64 = 2;
const FOUR_BYTES: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of a few megabytes of gzip, with one part of zeros, took gigabytes of memory.
    #[test]
    fn a_part_that_is_too_large_is_an_error_before_it_is_read() {
        // Field 2, with 2³⁰ bytes.
        let begin: &[u8] = &[0x12, 0x80, 0x80, 0x80, 0x80, 0x04];
        let mut frames = Frames::new(begin.chain(io::repeat(0)), 2 << 30);
        let fault = frames.next().expect_err("it is too large");
        assert_eq!(fault.offset, 6);
        assert!(fault.message.starts_with("a part of 1073741824 bytes begins here; at most "), "{}", fault.message);
    }
}
