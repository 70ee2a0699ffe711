//! A run: sorted records in a file, one after the other, written once and read once: lengths of key and value, their
//! checksums, key, value.
//!
//! Runs are read by the process that wrote them and by no other, and are not synced. A file system that is full may
//! lose what it has taken (ext4 does, where blocks are allocated late), and then returns zeros. So each key and each
//! value has a checksum.

use std::io;

use xxhash_rust::xxh3::xxh3_64_with_seed;

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
        let place = self.written + self.buffer.len() as u64;
        let mut header = Header { key_length, value_length, ..Header::default() };
        header.key_checksum = header.of_key(place, key);
        header.value_checksum = header.of_value(value);
        self.append(&header.to_bytes())?;
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

/// The header of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Header {
    key_length: u32,
    value_length: u32,
    key_checksum: u32,
    value_checksum: u32,
}

impl Header {
    /// The checksum of the lengths and the key of a record at a place of the file. That of a record of zeros is not 0.
    #[inline]
    fn of_key(&self, place: u64, key: &[u8]) -> u32 {
        let lengths = u64::from(self.key_length) << 32 | u64::from(self.value_length);
        xxh3_64_with_seed(key, place.rotate_left(40) ^ lengths ^ SEED) as u32
    }

    /// The checksum of the value of a record whose key has one.
    #[inline]
    fn of_value(&self, value: &[u8]) -> u32 {
        // Many records are only keys.
        if value.is_empty() { self.key_checksum } else { xxh3_64_with_seed(value, u64::from(self.key_checksum)) as u32 }
    }

    #[inline]
    fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let fields = [self.key_length, self.value_length, self.key_checksum, self.value_checksum];
        bytes.chunks_exact_mut(4).zip(fields).for_each(|(place, field)| place.copy_from_slice(&field.to_le_bytes()));
        bytes
    }

    #[inline]
    fn parse(bytes: &[u8; HEADER_BYTES]) -> Self {
        let field = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Self { key_length: field(0), value_length: field(4), key_checksum: field(8), value_checksum: field(12) }
    }
}

/// Bytes before each key.
const HEADER_BYTES: usize = 16;
/// So that the checksum of a record of zeros is not zero.
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

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
    header: Header,
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
            header: Header::default(),
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
            let read = read(&self.run, self.buffer_start + value_at as u64, large_value);
            let is_sound = |()| self.header.of_value(large_value) == self.header.value_checksum;
            match read.map(is_sound) {
                Ok(true) => {}
                outcome => {
                    large_value.clear();
                    return Err(outcome.err().unwrap_or_else(|| self.damaged()));
                }
            }
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
        let header = Header::parse(self.buffer[self.at..].first_chunk().expect("the buffer was just filled so far"));
        let (key_length, value_length) = (header.key_length as usize, header.value_length as usize);
        let needed = HEADER_BYTES + key_length;
        let whole = needed + value_length;
        if whole as u64 > left {
            return Err(self.damaged());
        }
        let has_value = whole <= self.buffer.len();
        self.fill(if has_value { whole } else { needed })?;
        let (key, rest) = self.buffer[self.at + HEADER_BYTES..].split_at(key_length);
        let place = self.buffer_start + self.at as u64;
        let is_sound = header.of_key(place, key) == header.key_checksum
            && (!has_value || header.of_value(&rest[..value_length]) == header.value_checksum);
        if !is_sound {
            return Err(self.damaged());
        }
        self.header = header;
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
        let what = "the system lost bytes of this temporary file, as it may where a disk is full or fails; free space, \
                    and repeat the operation";
        Error::io("read", &self.run.file.path, io::Error::new(io::ErrorKind::InvalidData, what))
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
        for (key_length, value_length) in [(u32::MAX, 0), (0, u32::MAX), (4, 6)] {
            let mut writer = RunWriter::new(scratch_file(), 64);
            writer.push(b"key", b"value").unwrap();
            let run = writer.finish().unwrap();
            let damage = Header { key_length, value_length, ..Header::default() };
            run.file.file.write_at(0, &damage.to_bytes()).unwrap();
            let error = RunReader::new(run, 64).unwrap_err();
            assert!(matches!(error, Error::Io { operation: "read", .. }), "{error}");
        }
    }

    /// All records of a run, or the first error.
    fn read_all(run: Run) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut reader = RunReader::new(run, 100)?;
        let (mut found, mut large_value) = (Vec::new(), Vec::new());
        while reader.key().is_some() {
            large_value.clear();
            let (key, value) = reader.record(&mut large_value)?;
            found.push((key.to_vec(), value.to_vec()));
            reader.advance()?;
        }
        Ok(found)
    }

    #[test]
    fn bytes_that_the_system_lost_anywhere_are_an_error() {
        let records: Vec<(Vec<u8>, Vec<u8>)> =
            [(1, 0), (5, 7), (0, 30), (40, 0), (3, 300)].map(|(key, value)| (vec![1; key], vec![2; value])).into();
        let written = || {
            let mut writer = RunWriter::new(scratch_file(), 64);
            records.iter().for_each(|(key, value)| writer.push(key, value).unwrap());
            writer.finish().unwrap()
        };
        assert_eq!(read_all(written()).unwrap(), records);
        let length = written().length as usize;
        for zeros in [1, 8, 100, 4096] {
            for from in 0..length {
                let run = written();
                let lost = vec![0; zeros.min(length - from)];
                let mut before = lost.clone();
                run.file.file.read_at(from as u64, &mut before).unwrap();
                if before == lost {
                    continue;
                }
                run.file.file.write_at(from as u64, &lost).unwrap();
                let outcome = read_all(run);
                assert!(matches!(outcome, Err(Error::Io { operation: "read", .. })), "{from}, {zeros}: {outcome:?}");
            }
        }
    }

    #[test]
    fn records_at_each_other_s_places_are_an_error() {
        let mut writer = RunWriter::new(scratch_file(), 64);
        writer.push(b"key1", b"value1").unwrap();
        writer.push(b"key2", b"value2").unwrap();
        let run = writer.finish().unwrap();
        let mut second = vec![0; run.length as usize / 2];
        run.file.file.read_at(second.len() as u64, &mut second).unwrap();
        run.file.file.write_at(0, &second).unwrap();
        assert!(read_all(run).is_err());
    }
}
