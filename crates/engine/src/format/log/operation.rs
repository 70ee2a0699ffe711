//! The operations in a commit's records, and how they are read. See `docs/reference/file-format.md`, "Log".
//!
//! Decoding never panics and never allocates, whatever the bytes: it only narrows its slice.

use super::record::{RECORD_ALIGNMENT, RecordHeader};
use crate::format::cell::OverflowRef;
use crate::ids::{PageNumber, TableId};

/// A value outside the log, in an extent of its own, where it was written before the commit was logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargeValue {
    /// What tables store of the value.
    pub value: OverflowRef,
    /// Where its extent begins. The extent table knows the extent only from the next checkpoint on.
    pub first_page: PageNumber,
    /// The extent's pages.
    pub page_count: u32,
}

/// One change of a commit, borrowing from the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<'r> {
    /// Gives `key` the value.
    Put {
        /// The table.
        table: TableId,
        /// The key.
        key: &'r [u8],
        /// The value.
        value: &'r [u8],
    },
    /// Gives `key` a value that is stored in an extent of its own.
    PutLarge {
        /// The table.
        table: TableId,
        /// The key.
        key: &'r [u8],
        /// Where the value is.
        large: LargeValue,
    },
    /// Removes `key`, which need not be there.
    Delete {
        /// The table.
        table: TableId,
        /// The key.
        key: &'r [u8],
    },
    /// Gives a table another name.
    Renamed {
        /// The table.
        table: TableId,
        /// The name that it had.
        before: &'r [u8],
        /// The name that it has from now on.
        after: &'r [u8],
    },
    /// Notes that a bulk load may have changed the table at this place of the log. Changes nothing.
    Loaded {
        /// The table.
        table: TableId,
    },
}

/// What is wrong with the bytes of a commit whose checksums hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordOffence {
    /// The byte of the commit at which it was found.
    pub at: u64,
    /// What it is.
    pub what: &'static str,
}
/// Iterates over the operations of one commit, given its consecutive records, whose checksums hold. They need not be
/// stamped, so that a commit can be read from its encoder.
///
/// It ends after the first offence.
#[derive(Clone, Debug)]
pub struct CommitReader<'r> {
    /// All records of the commit.
    records: &'r [u8],
    /// Where the next record begins in them.
    next: usize,
    /// What is left of the current record's payload.
    payload: &'r [u8],
    /// Where that payload ends in `records`.
    payload_end: usize,
    /// Operations of the current record that are still to come.
    remaining: u32,
    /// Where in `records` the last operation began.
    place: usize,
}

impl<'r> Operation<'r> {
    /// Reads the operation that `bytes` begin with.
    ///
    /// # Errors
    /// What no writer of this format would have written.
    #[inline]
    pub fn decode(mut bytes: &'r [u8]) -> Result<Self, &'static str> {
        Self::take_from(&mut bytes)
    }

    #[inline]
    fn take_from(input: &mut &'r [u8]) -> Result<Self, &'static str> {
        let &[kind] = take_array(input)?;
        let table = TableId(take_varint(input)?);
        let key_length = take_varint(input)? as usize;
        match kind {
            OPERATION_PUT => {
                let value_length = take_varint(input)? as usize;
                let key = take(input, key_length)?;
                let value = take(input, value_length)?;
                Ok(Self::Put { table, key, value })
            }
            OPERATION_PUT_LARGE => {
                let large = take_large_value(input)?;
                Ok(Self::PutLarge { table, key: take(input, key_length)?, large })
            }
            OPERATION_DELETE => Ok(Self::Delete { table, key: take(input, key_length)? }),
            OPERATION_RENAMED => {
                let after_length = take_varint(input)? as usize;
                let before = take(input, key_length)?;
                Ok(Self::Renamed { table, before, after: take(input, after_length)? })
            }
            OPERATION_LOADED if key_length == 0 => Ok(Self::Loaded { table }),
            OPERATION_LOADED => Err("a note of a bulk load has a key"),
            _ => Err("an operation is of no known kind"),
        }
    }
}

impl<'r> CommitReader<'r> {
    /// A reader of `records`.
    pub fn new(records: &'r [u8]) -> Self {
        Self { records, next: 0, payload: &[], payload_end: 0, remaining: 0, place: 0 }
    }

    /// Where in the records the operation begins that came last: [`Operation::decode`] reads it from there again.
    #[inline]
    pub fn place(&self) -> usize {
        self.place
    }

    /// Steps into the next record. `false` if there is none.
    fn next_record(&mut self) -> Result<bool, &'static str> {
        if !self.payload.is_empty() {
            return Err("a record's operations are fewer than its bytes");
        }
        let rest = &self.records[self.next..];
        if rest.is_empty() {
            return Ok(false);
        }
        let (length, operation_count) = RecordHeader::extent(rest)?;
        self.payload = rest.get(RecordHeader::BYTES..length).ok_or("a record ends before its payload does")?;
        self.payload_end = self.next + length;
        self.next = self.payload_end.next_multiple_of(RECORD_ALIGNMENT).min(self.records.len());
        self.remaining = operation_count;
        Ok(true)
    }

    fn fail(&mut self, at: usize, what: &'static str) -> RecordOffence {
        *self = Self::new(&[]);
        RecordOffence { at: at as u64, what }
    }
}

impl<'r> Iterator for CommitReader<'r> {
    type Item = Result<Operation<'r>, RecordOffence>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.remaining == 0 {
            match self.next_record() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(what) => return Some(Err(self.fail(self.next, what))),
            }
        }
        self.remaining -= 1;
        self.place = self.payload_end - self.payload.len();
        match Operation::take_from(&mut self.payload) {
            Ok(operation) => Some(Ok(operation)),
            Err(what) => Some(Err(self.fail(self.place, what))),
        }
    }
}

fn take_large_value(input: &mut &[u8]) -> Result<LargeValue, &'static str> {
    let value = take_array(input)?;
    let first_page = PageNumber(u64::from_le_bytes(*take_array(input)?));
    let page_count = u32::from_le_bytes(*take_array(input)?);
    match OverflowRef::offence(value) {
        Some(what) => Err(what),
        None => Ok(LargeValue { value: OverflowRef::from_bytes(value), first_page, page_count }),
    }
}

/// Reads a length or a table's number: seven bits a byte, lowest first, in the fewest bytes.
#[inline]
fn take_varint(input: &mut &[u8]) -> Result<u32, &'static str> {
    let &[first] = take_array(input)?;
    if first < 0x80 { Ok(u32::from(first)) } else { take_long_varint(input, u32::from(first & 0x7f)) }
}

fn take_long_varint(input: &mut &[u8], mut number: u32) -> Result<u32, &'static str> {
    for shift in [7, 14, 21, 28] {
        let &[byte] = take_array(input)?;
        let bits = u32::from(byte & 0x7f);
        if byte == 0 || (shift == 28 && byte > 0xf) {
            break;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("a number is not in its shortest form, or too large")
}

#[inline]
fn take<'r>(input: &mut &'r [u8], length: usize) -> Result<&'r [u8], &'static str> {
    let (taken, rest) = input.split_at_checked(length).ok_or(CUT_SHORT)?;
    *input = rest;
    Ok(taken)
}

#[inline]
fn take_array<'r, const N: usize>(input: &mut &'r [u8]) -> Result<&'r [u8; N], &'static str> {
    let (taken, rest) = input.split_first_chunk().ok_or(CUT_SHORT)?;
    *input = rest;
    Ok(taken)
}

/// Kinds of operation. On disk: never renumber, only append.
pub(super) const OPERATION_PUT: u8 = 1;
pub(super) const OPERATION_PUT_LARGE: u8 = 2;
pub(super) const OPERATION_DELETE: u8 = 3;
// 4 is kept for a range delete, 6 for the adoption of a run.
pub(super) const OPERATION_LOADED: u8 = 7;
pub(super) const OPERATION_RENAMED: u8 = 8;

const CUT_SHORT: &str = "an operation is cut short";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{RecordEncoder, RecordKind, RecordLink};
    use crate::ids::{ExtentId, Sequence};

    const LINK: RecordLink = RecordLink { salt: 11, previous: 22, sequence: Sequence(5), synced_up_to: Sequence(3) };

    fn large() -> LargeValue {
        let value = OverflowRef { extent: ExtentId(9), slot: 3, length: 1 << 20, checksum: u64::MAX };
        LargeValue { value, first_page: PageNumber(1 << 40), page_count: 64 }
    }

    /// A commit with one operation of each kind, and with lengths of one and of several bytes.
    fn encode(encoder: &mut RecordEncoder, long: &[u8]) {
        encoder.begin();
        encoder.put(TableId(1), b"key", b"value");
        encoder.put(TableId(u32::MAX), b"", b"");
        encoder.put(TableId(127), long, long);
        encoder.put_large(TableId(128), b"large", &large());
        encoder.delete(TableId(0), long);
        encoder.loaded(TableId(129));
        encoder.renamed(TableId(130), b"before", long);
        encoder.finish();
    }

    fn expected(long: &[u8]) -> Vec<Operation<'_>> {
        vec![
            Operation::Put { table: TableId(1), key: b"key", value: b"value" },
            Operation::Put { table: TableId(u32::MAX), key: b"", value: b"" },
            Operation::Put { table: TableId(127), key: long, value: long },
            Operation::PutLarge { table: TableId(128), key: b"large", large: large() },
            Operation::Delete { table: TableId(0), key: long },
            Operation::Loaded { table: TableId(129) },
            Operation::Renamed { table: TableId(130), before: b"before", after: long },
        ]
    }

    fn header_of(bytes: &[u8]) -> RecordHeader {
        let header = bytes.first_chunk().expect("there is a record");
        RecordHeader::decode(header, LINK.salt).expect("the checksum holds").expect("the header is sound")
    }

    #[test]
    fn operations_read_back_as_encoded_at_every_length_of_a_varint() {
        let lengths = [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152];
        // An interpreter takes minutes for the hashes of megabytes.
        for length in &lengths[..if cfg!(miri) { 5 } else { 8 }] {
            let long = vec![7; *length];
            let mut encoder = RecordEncoder::new();
            encode(&mut encoder, &long);
            let read: Result<Vec<_>, _> = CommitReader::new(encoder.bytes()).collect();
            assert_eq!(read.as_ref(), Ok(&expected(&long)), "length {length}");
        }
    }

    #[test]
    fn commit_in_parts_reads_back_as_one_and_its_records_are_chained() {
        let long = vec![7; 100];
        for part_bytes in if cfg!(miri) { &[64, 1000][..] } else { &[1, 64, 100, 200, 1000] } {
            let part_bytes = *part_bytes;
            let mut encoder = RecordEncoder::with_short_parts(part_bytes);
            encode(&mut encoder, &long);
            let last = encoder.stamp(&LINK);
            let read: Result<Vec<_>, _> = CommitReader::new(encoder.bytes()).collect();
            assert_eq!(read.as_ref(), Ok(&expected(&long)), "parts of {part_bytes}");
            let mut reader = CommitReader::new(encoder.bytes());
            while let Some(Ok(operation)) = reader.next() {
                assert_eq!(Operation::decode(&encoder.bytes()[reader.place()..]), Ok(operation));
            }
            let (mut rest, mut previous, mut part) = (encoder.bytes(), LINK.previous, 0);
            while !rest.is_empty() {
                let header = header_of(rest);
                assert_eq!((header.previous, header.part), (previous, part));
                assert_eq!((header.sequence, header.synced_up_to), (LINK.sequence, LINK.synced_up_to));
                assert!(header.payload_holds(&rest[RecordHeader::BYTES..header.length as usize]));
                rest = &rest[header.padded_length() as usize..];
                let kind = if rest.is_empty() { RecordKind::Commit } else { RecordKind::Part };
                assert_eq!(header.kind, kind);
                (previous, part) = (header.checksum, part + 1);
            }
            assert_eq!(previous, last);
            assert_eq!(part == 1, part_bytes == 1000);
        }
    }

    #[test]
    fn encoder_can_be_used_again_after_an_abandoned_and_after_a_moved_commit() {
        let mut encoder = RecordEncoder::new();
        encoder.begin();
        encoder.put(TableId(1), b"abandoned", b"");
        encode(&mut encoder, b"first");
        let mut log = Vec::new();
        encoder.move_to(&mut log);
        assert_eq!(CommitReader::new(&log).collect::<Result<Vec<_>, _>>(), Ok(expected(b"first")));
        encode(&mut encoder, b"second");
        assert_eq!(CommitReader::new(encoder.bytes()).collect::<Result<Vec<_>, _>>(), Ok(expected(b"second")));
    }

    #[test]
    fn record_has_the_bytes_that_the_format_document_shows() {
        let mut encoder = RecordEncoder::new();
        encoder.begin();
        encoder.put(TableId(1), b"key", b"value");
        encoder.delete(TableId(300), b"gone");
        encoder.finish();
        let salt = 0x1122_3344_5566_7788;
        encoder.stamp(&RecordLink { salt, previous: 0x1111, sequence: Sequence(5), synced_up_to: Sequence(3) });
        #[rustfmt::skip]
        let expected = [
            0xcd, 0xc4, 0x7e, 0x7f, 0xc6, 0xc5, 0xfc, 0x24, 0x4c, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
            0x11, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
            0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc6, 0x30, 0xb3, 0x30, 0x8f, 0x09, 0x06, 0xb2,
            0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x03, 0x05, 0x6b, 0x65, 0x79, 0x76,
            0x61, 0x6c, 0x75, 0x65, 0x03, 0xac, 0x02, 0x04, 0x67, 0x6f, 0x6e, 0x65, 0x00, 0x00, 0x00, 0x00,
        ];
        assert_eq!(encoder.bytes(), expected);
    }

    #[test]
    fn payload_cut_anywhere_gives_an_offence_and_then_nothing() {
        let mut encoder = RecordEncoder::new();
        encode(&mut encoder, b"some key");
        encoder.stamp(&LINK);
        let length = header_of(encoder.bytes()).length as usize;
        for cut in (0..length - RecordHeader::BYTES).step_by(if cfg!(miri) { 5 } else { 1 }) {
            let mut record = encoder.bytes()[..RecordHeader::BYTES + cut].to_vec();
            record[8..12].copy_from_slice(&((RecordHeader::BYTES + cut) as u32).to_le_bytes());
            let mut reader = CommitReader::new(&record);
            assert_eq!(reader.by_ref().filter(Result::is_err).count(), 1, "cut at {cut}");
            assert_eq!(reader.next(), None);
        }
    }

    #[test]
    fn bytes_after_the_last_operation_are_an_offence() {
        let mut encoder = RecordEncoder::new();
        encode(&mut encoder, b"");
        let mut record = encoder.bytes().to_vec();
        record[48..52].copy_from_slice(&5u32.to_le_bytes());
        let last = CommitReader::new(&record).last().expect("there are operations");
        assert_eq!(last.map_err(|offence| offence.what), Err("a record's operations are fewer than its bytes"));
    }

    #[test]
    fn any_byte_changed_in_a_payload_never_panics() {
        let mut encoder = RecordEncoder::with_short_parts(40);
        encode(&mut encoder, &[200; 150]);
        encoder.stamp(&LINK);
        for at in (0..encoder.bytes().len()).step_by(if cfg!(miri) { 83 } else { 1 }) {
            for change in (1..=255).step_by(if cfg!(miri) { 127 } else { 1 }) {
                let mut records = encoder.bytes().to_vec();
                records[at] ^= change;
                assert!(CommitReader::new(&records).count() <= records.len());
            }
        }
    }

    #[test]
    fn varint_in_more_bytes_than_needed_or_over_32_bits_is_an_offence() {
        for (bytes, number) in [
            (&[0x00][..], Some(0)),
            (&[0x80, 0x01], Some(128)),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], Some(u32::MAX)),
            (&[0x80, 0x00], None),
            (&[0xff, 0xff, 0xff, 0xff, 0x1f], None),
            (&[0xff, 0xff, 0xff, 0xff, 0x8f, 0x00], None),
            (&[0xff], None),
            (&[], None),
        ] {
            assert_eq!(take_varint(&mut &bytes[..]).ok(), number, "{bytes:x?}");
        }
    }
}
