//! A run: sorted records in a file, one after the other in the arena's form, written once and read once.
//!
//! Runs are read by the process that wrote them and by no other, so they carry no checksums; lengths are still
//! checked against the run's end, so that damage on the disk is an error here rather than a wild allocation.

use std::io;

use super::arena::{HEADER_BYTES, header, lengths};
use super::scratch::ScratchFile;
use crate::error::{Error, Result};

/// A run that is written whole.
#[derive(Debug)]
pub(super) struct Run {
    file: ScratchFile,
    length: u64,
}

/// Writes a run through a buffer.
#[derive(Debug)]
pub(super) struct RunWriter {
    file: ScratchFile,
    buffer: Vec<u8>,
    /// Bytes in the file.
    written: u64,
}

impl RunWriter {
    pub fn new(file: ScratchFile, buffer_bytes: usize) -> Self {
        Self { file, buffer: Vec::with_capacity(buffer_bytes), written: 0 }
    }

    /// Appends a record.
    ///
    /// # Panics
    /// If the length of key or value does not fit a `u32`.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let key_length = u32::try_from(key.len()).expect("the sorter refuses longer keys");
        let value_length = u32::try_from(value.len()).expect("the sorter refuses longer values");
        self.append(&header(key_length, value_length))?;
        self.append(key)?;
        self.append(value)
    }

    pub fn finish(mut self) -> Result<Run> {
        self.flush()?;
        Ok(Run { file: self.file, length: self.written })
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() > self.buffer.capacity() - self.buffer.len() {
            return self.append_past_buffer(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// What fills the buffer more than once goes to the file as it is, so that the buffer never grows.
    #[cold]
    fn append_past_buffer(&mut self, bytes: &[u8]) -> Result<()> {
        self.flush()?;
        if bytes.len() > self.buffer.capacity() {
            self.write(bytes)
        } else {
            self.buffer.extend_from_slice(bytes);
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let result = self.write(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        result
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.file.write_at(self.written, bytes);
        written.map_err(|error| Error::io("write", &self.file.path, error))?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

/// Reads a run, holding one record at a time.
///
/// Invariant: while there is a record, its header and key are in the buffer from `at` on, and so is its value if the
/// whole record is no larger than the buffer was made.
#[derive(Debug)]
pub(super) struct RunReader {
    run: Run,
    /// Grows past what it was made for only for a long key.
    buffer: Vec<u8>,
    /// How much of the buffer holds bytes of the file.
    filled: usize,
    /// Where in the file the buffer begins.
    buffer_start: u64,
    /// Where in the buffer the record begins.
    at: usize,
    key_length: usize,
    value_length: usize,
    ended: bool,
}

impl RunReader {
    /// Reads the first record.
    pub fn new(run: Run, buffer_bytes: usize) -> Result<Self> {
        let buffer_bytes = buffer_bytes.min(usize::try_from(run.length).unwrap_or(usize::MAX));
        let mut reader = Self {
            run,
            buffer: vec![0; buffer_bytes],
            filled: 0,
            buffer_start: 0,
            at: 0,
            key_length: 0,
            value_length: 0,
            ended: false,
        };
        reader.load()?;
        Ok(reader)
    }

    /// The record's key, and nothing after the last record.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        if self.ended { None } else { Some(&self.buffer[self.at + HEADER_BYTES..][..self.key_length]) }
    }

    /// The record's key and value. A value that is too large for the buffer is read into `large_value`, which is
    /// empty unless it has this value already.
    ///
    /// # Panics
    /// After the last record.
    pub fn record<'a>(&'a self, large_value: &'a mut Vec<u8>) -> Result<(&'a [u8], &'a [u8])> {
        let key = self.key().expect("the caller has seen the key");
        let value_at = self.at + HEADER_BYTES + self.key_length;
        if let Some(value) = self.buffer[value_at..self.filled].get(..self.value_length) {
            return Ok((key, value));
        }
        if large_value.is_empty() {
            large_value.resize(self.value_length, 0);
            read(&self.run, self.buffer_start + value_at as u64, large_value)?;
        }
        Ok((key, large_value))
    }

    /// Goes on to the next record, if there is one.
    ///
    /// # Panics
    /// After the last record.
    pub fn advance(&mut self) -> Result<()> {
        assert!(!self.ended, "the caller has seen a record");
        let next = self.at + HEADER_BYTES + self.key_length + self.value_length;
        if next <= self.filled {
            self.at = next;
        } else {
            self.buffer_start += next as u64;
            self.filled = 0;
            self.at = 0;
        }
        self.load()
    }

    /// Sees that the record at `at` is in the buffer, as far as the invariant demands.
    fn load(&mut self) -> Result<()> {
        let left = self.run.length - (self.buffer_start + self.at as u64);
        if left == 0 {
            self.ended = true;
            return Ok(());
        }
        if left < HEADER_BYTES as u64 {
            return Err(self.damaged());
        }
        self.fill(HEADER_BYTES)?;
        let header = self.buffer[self.at..].first_chunk().expect("the buffer was just filled so far");
        let (key_length, value_length) = lengths(*header);
        let (key_length, value_length) = (key_length as usize, value_length as usize);
        let needed = HEADER_BYTES + key_length;
        let whole = needed + value_length;
        if whole as u64 > left {
            return Err(self.damaged());
        }
        self.fill(if whole <= self.buffer.len() { whole } else { needed })?;
        self.key_length = key_length;
        self.value_length = value_length;
        Ok(())
    }

    /// Sees that `needed` bytes from `at` on are in the buffer. The run has that many.
    #[inline]
    fn fill(&mut self, needed: usize) -> Result<()> {
        if self.filled - self.at >= needed { Ok(()) } else { self.refill(needed) }
    }

    #[cold]
    fn refill(&mut self, needed: usize) -> Result<()> {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.buffer_start += self.at as u64;
        self.filled -= self.at;
        self.at = 0;
        if needed > self.buffer.len() {
            self.buffer.resize(needed, 0);
        }
        let left = self.run.length - self.buffer_start;
        let filled = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        read(&self.run, self.buffer_start + self.filled as u64, &mut self.buffer[self.filled..filled])?;
        self.filled = filled;
        Ok(())
    }

    fn damaged(&self) -> Error {
        let source = io::Error::new(io::ErrorKind::InvalidData, "the bytes are not those that were written");
        Error::io("read", &self.run.file.path, source)
    }
}

fn read(run: &Run, offset: u64, buffer: &mut [u8]) -> Result<()> {
    run.file.file.read_at(offset, buffer).map_err(|error| Error::io("read", &run.file.path, error))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::io::MemoryDisk;
    use crate::sort::scratch::Scratch;
    use crate::sync::Arc;

    fn scratch_file() -> ScratchFile {
        Scratch::new(Arc::new(MemoryDisk::new()), Path::new("x.ful")).create().unwrap()
    }

    #[test]
    fn records_of_all_sizes_come_back_through_buffers_of_all_sizes() {
        let sizes = [0, 1, 7, 8, 9, 55, 56, 57, 63, 64, 65, 200, 1000];
        let records: Vec<(Vec<u8>, Vec<u8>)> =
            sizes.iter().flat_map(|&key| sizes.map(|value| (vec![1; key], vec![2; value]))).collect();
        for buffer_bytes in [16, 64, 100, 4096] {
            let mut writer = RunWriter::new(scratch_file(), buffer_bytes);
            for (key, value) in &records {
                writer.push(key, value).unwrap();
            }
            let mut reader = RunReader::new(writer.finish().unwrap(), buffer_bytes).unwrap();
            let mut large_value = Vec::new();
            for (key, value) in &records {
                assert_eq!(reader.key(), Some(&key[..]));
                large_value.clear();
                assert_eq!(reader.record(&mut large_value).unwrap(), (&key[..], &value[..]));
                assert_eq!(reader.record(&mut large_value).unwrap(), (&key[..], &value[..]));
                reader.advance().unwrap();
            }
            assert_eq!(reader.key(), None);
        }
    }

    #[test]
    fn damaged_lengths_are_an_error_and_allocate_nothing() {
        for damage in [header(u32::MAX, 0), header(0, u32::MAX), header(4, 6)] {
            let mut writer = RunWriter::new(scratch_file(), 64);
            writer.push(b"key", b"value").unwrap();
            let run = writer.finish().unwrap();
            run.file.file.write_at(0, &damage).unwrap();
            let error = RunReader::new(run, 64).unwrap_err();
            assert!(matches!(error, Error::Io { operation: "read", .. }), "{error}");
        }
    }
}
