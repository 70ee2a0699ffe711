//! Encodes a commit as records of the log. See `docs/reference/file-format.md`, "Log".
//!
//! The caller keeps the buffer, so a transaction that commits again does not allocate again.

use super::operation::{
    LargeValue, OPERATION_DELETE, OPERATION_LOADED, OPERATION_PUT, OPERATION_PUT_LARGE, OPERATION_RENAMED,
};
use super::record::{
    PayloadSummary, RECORD_ALIGNMENT, RecordHeader, RecordKind, RecordLink, describe_payload, seal_header,
};
use crate::ids::TableId;

/// Builds the records of one commit in a buffer that is used again and again.
///
/// `begin`, then operations in any order (the last one for a key wins), then `finish`; the log takes it from there.
#[derive(Debug)]
pub struct RecordEncoder {
    /// The records, each padded. The one under construction has a header of zeros and no padding yet.
    bytes: Vec<u8>,
    /// Where the record under construction begins.
    start: usize,
    /// Its position among the commit's parts.
    part: u32,
    /// Its operations so far.
    operation_count: u32,
    /// A record that has reached this length is continued by another part.
    part_bytes: usize,
    state: EncoderState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EncoderState {
    Idle,
    Building,
    Finished,
}

impl Default for RecordEncoder {
    fn default() -> Self {
        Self::new()
    }
}

impl RecordEncoder {
    /// An encoder without a commit. It allocates when the first one begins.
    pub const fn new() -> Self {
        Self::with_parts_of(PART_BYTES)
    }

    const fn with_parts_of(part_bytes: usize) -> Self {
        let state = EncoderState::Idle;
        Self { bytes: Vec::new(), start: 0, part: 0, operation_count: 0, part_bytes, state }
    }

    /// An encoder that divides commits into short parts.
    #[cfg(test)]
    pub fn with_short_parts(part_bytes: usize) -> Self {
        Self::with_parts_of(part_bytes)
    }

    /// Begins a commit; whatever the encoder held is forgotten.
    pub fn begin(&mut self) {
        self.clear();
        self.open_record();
        self.state = EncoderState::Building;
    }

    /// Adds [`Operation::Put`](super::Operation::Put).
    ///
    /// # Panics
    /// If no commit was begun, or if key and value have more than 1 GiB: longer values are large.
    #[inline]
    pub fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) {
        self.make_room(key.len() + value.len());
        let mut head = Head::new(OPERATION_PUT, table);
        head.length(key);
        head.length(value);
        self.bytes.extend_from_slice(head.bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    /// Adds [`Operation::PutLarge`](super::Operation::PutLarge).
    ///
    /// # Panics
    /// As [`RecordEncoder::put`].
    pub fn put_large(&mut self, table: TableId, key: &[u8], large: &LargeValue) {
        self.make_room(key.len());
        let mut head = Head::new(OPERATION_PUT_LARGE, table);
        head.length(key);
        self.bytes.extend_from_slice(head.bytes());
        self.bytes.extend_from_slice(&large.value.to_bytes());
        self.bytes.extend_from_slice(&large.first_page.0.to_le_bytes());
        self.bytes.extend_from_slice(&large.page_count.to_le_bytes());
        self.bytes.extend_from_slice(key);
    }

    /// Adds [`Operation::Delete`](super::Operation::Delete).
    ///
    /// # Panics
    /// As [`RecordEncoder::put`].
    pub fn delete(&mut self, table: TableId, key: &[u8]) {
        self.make_room(key.len());
        let mut head = Head::new(OPERATION_DELETE, table);
        head.length(key);
        self.bytes.extend_from_slice(head.bytes());
        self.bytes.extend_from_slice(key);
    }

    /// Adds [`Operation::Loaded`](super::Operation::Loaded).
    ///
    /// # Panics
    /// If no commit was begun.
    pub fn loaded(&mut self, table: TableId) {
        self.make_room(0);
        let mut head = Head::new(OPERATION_LOADED, table);
        head.length(&[]);
        self.bytes.extend_from_slice(head.bytes());
    }

    /// Adds [`Operation::Renamed`](super::Operation::Renamed).
    ///
    /// # Panics
    /// If no commit was begun.
    pub fn renamed(&mut self, table: TableId, before: &[u8], after: &[u8]) {
        self.make_room(before.len() + after.len());
        let mut head = Head::new(OPERATION_RENAMED, table);
        head.length(before);
        head.length(after);
        self.bytes.extend_from_slice(head.bytes());
        self.bytes.extend_from_slice(before);
        self.bytes.extend_from_slice(after);
    }

    /// Ends the commit: it can be appended to the log now. Computes the payload's checksum.
    ///
    /// # Panics
    /// If no commit was begun.
    pub fn finish(&mut self) {
        assert!(self.state == EncoderState::Building, "begin comes before finish");
        self.close_record(RecordKind::Commit);
        self.state = EncoderState::Finished;
    }

    /// Length of the commit in the log (so far, and without the last padding, if it is not finished).
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of memory that are kept for the next commit.
    pub fn capacity_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Whether [`RecordEncoder::finish`] was called on the commit.
    pub fn is_finished(&self) -> bool {
        self.state == EncoderState::Finished
    }

    /// The records of a finished commit.
    ///
    /// # Panics
    /// If the commit is not finished.
    pub fn bytes(&self) -> &[u8] {
        assert!(self.is_finished(), "only a finished commit has records");
        &self.bytes
    }

    /// Fills in what each record says of its place, and seals the headers. Answers the last record's checksum.
    ///
    /// # Panics
    /// If the commit is not finished.
    pub fn stamp(&mut self, link: &RecordLink) -> u64 {
        assert!(self.is_finished(), "only a finished commit can take its place in the log");
        let mut link = *link;
        let mut rest = self.bytes.as_mut_slice();
        while let Some(header) = rest.first_chunk_mut() {
            let (checksum, length) = seal_header(header, &link);
            link.previous = checksum;
            rest = &mut rest[length..];
        }
        link.previous
    }

    /// Moves the records of a finished commit to the end of `log`, and forgets the commit. A long commit that finds
    /// `log` empty is swapped with it instead of being copied.
    ///
    /// # Panics
    /// If the commit is not finished.
    pub fn move_to(&mut self, log: &mut Vec<u8>) {
        assert!(self.is_finished(), "only a finished commit can take its place in the log");
        if log.is_empty() && self.bytes.len() >= COPY_BYTES_MAX {
            std::mem::swap(log, &mut self.bytes);
        } else {
            log.extend_from_slice(&self.bytes);
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.part = 0;
        self.state = EncoderState::Idle;
    }

    /// Counts one more operation, of about `length` bytes, and closes the record before it if that is long enough.
    #[inline]
    fn make_room(&mut self, length: usize) {
        assert!(self.state == EncoderState::Building, "begin comes before the first operation");
        assert!(length <= OPERATION_BYTES_MAX, "a value this long is stored outside the log");
        if self.bytes.len() - self.start >= self.part_bytes {
            self.close_record(RecordKind::Part);
            self.part += 1;
            self.open_record();
        }
        self.operation_count += 1;
    }

    fn open_record(&mut self) {
        self.start = self.bytes.len();
        self.operation_count = 0;
        self.bytes.extend_from_slice(&[0; RecordHeader::BYTES]);
    }

    fn close_record(&mut self, kind: RecordKind) {
        let summary = PayloadSummary { kind, operation_count: self.operation_count, part: self.part };
        describe_payload(&mut self.bytes[self.start..], summary);
        self.bytes.resize(self.bytes.len().next_multiple_of(RECORD_ALIGNMENT), 0);
    }
}

/// The front of an operation: kind, table, lengths.
struct Head {
    bytes: [u8; 16],
    used: usize,
}

impl Head {
    #[inline]
    fn new(kind: u8, table: TableId) -> Self {
        let mut head = Self { bytes: [0; 16], used: 1 };
        head.bytes[0] = kind;
        head.varint(table.0);
        head
    }

    #[inline]
    fn length(&mut self, bytes: &[u8]) {
        self.varint(u32::try_from(bytes.len()).expect("an operation has at most OPERATION_BYTES_MAX bytes"));
    }

    #[inline]
    fn varint(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.bytes[self.used] = number as u8 | 0x80;
            self.used += 1;
            number >>= 7;
        }
        self.bytes[self.used] = number as u8;
        self.used += 1;
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

/// Most bytes of key and value in one operation.
const OPERATION_BYTES_MAX: usize = 1 << 30;

/// A record that has reached this length is continued by another part.
const PART_BYTES: usize = 16 << 20;

/// A commit at least this long changes buffers rather than being copied.
const COPY_BYTES_MAX: usize = 256 << 10;

const _: () = assert!(PART_BYTES + OPERATION_BYTES_MAX + 4096 < u32::MAX as usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a value this long is stored outside the log")]
    fn value_too_long_for_the_log_is_our_bug() {
        let mut encoder = RecordEncoder::new();
        encoder.begin();
        encoder.put(TableId(1), b"", &vec![0; OPERATION_BYTES_MAX + 1]);
    }

    #[test]
    #[should_panic(expected = "only a finished commit")]
    fn commit_that_was_not_finished_cannot_be_appended() {
        let mut encoder = RecordEncoder::new();
        encoder.begin();
        encoder.move_to(&mut Vec::new());
    }
}
