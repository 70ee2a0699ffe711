//! Reads one segment record by record: through a window of bounded size, or into an [`Image`].
//!
//! Only `log::read_back` uses this. It judges a record by the record itself and by the one before; what a bad one
//! means for the log as a whole is decided there. A commit is found whole or not at all.

use std::io;
use std::path::{Path, PathBuf};

use super::image::Image;
use super::segment::{corrupt, segment_path};
use crate::error::{Error, FOREIGN_LOG, Result};
use crate::format::{RECORD_ALIGNMENT, RecordHeader, RecordKind, SegmentHeader, SegmentHeaderFault};
use crate::ids::{SegmentNumber, Sequence};
use crate::io::{Access, Disk, File};
use crate::planted::{Fault, planted};
use crate::sync::Arc;

/// Makes sure that a segment that may be removed is not another database's. Its damage is nobody's loss, nor is that
/// it cannot be read.
pub(super) fn refuse_foreign(disk: &dyn Disk, database: &Path, uuid: [u8; 16], number: SegmentNumber) -> Result<()> {
    let mut reader = SegmentReader::new(disk, database, number, Memory::Beginning)?;
    match reader.header() {
        Ok(Some(Ok(header))) if header.uuid != uuid => Err(reader.foreign()),
        _ => Ok(()),
    }
}

/// Whether a segment's header is intact and says another number than its name: it was to become another one when the
/// power failed.
///
/// # Errors
/// The disk's.
pub(super) fn names_another(disk: &dyn Disk, database: &Path, number: SegmentNumber) -> Result<bool> {
    let mut reader = SegmentReader::new(disk, database, number, Memory::Beginning)?;
    Ok(matches!(reader.header(), Ok(Some(Ok(header))) if header.number != number))
}

/// The number of the first commit in a segment; none if it has no commits.
///
/// # Errors
/// As [`SegmentReader::open`].
pub(super) fn first_sequence(
    disk: &dyn Disk,
    database: &Path,
    uuid: [u8; 16],
    number: SegmentNumber,
) -> Result<Option<Sequence>> {
    let Some(mut reader) = SegmentReader::open(disk, database, uuid, number, Memory::Beginning)? else {
        return Ok(None);
    };
    let start = SegmentHeader::BYTES as u64;
    Ok(reader.header_at(start, start)?.filter(|header| header.part == 0).map(|header| header.sequence))
}

/// A segment whose header is intact, and a position in it.
#[derive(Debug)]
pub(super) struct SegmentReader {
    number: SegmentNumber,
    path: PathBuf,
    file: Arc<dyn File>,
    salt: u64,
    length: u64,
    /// Where the next commit is expected.
    position: u64,
    bytes: Bytes,
}

/// What becomes of a segment's bytes once they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// They are forgotten when the next are read.
    Window,
    /// As in a window; and those behind the header of the first record are not read.
    Beginning,
    /// They stay in memory.
    Image {
        /// Whether the segment may be mapped.
        map: bool,
    },
}

/// The bytes that are in memory.
#[derive(Debug)]
enum Bytes {
    Window(Window),
    Image(Image),
}

/// The file's bytes from `start` on: `filled` of them, then room.
#[derive(Debug, Default)]
struct Window {
    bytes: Vec<u8>,
    start: u64,
    filled: usize,
}

/// Where the log stands: what the next commit must continue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expected {
    /// No commit was read yet: the first to be read continues the checkpoint at this sequence, or is part of it.
    Checkpoint(Sequence),
    /// The commit after this one, chained to its last record's checksum.
    After(Sequence, u64),
    /// The commit after this one, chained like that or to nothing, as the first of a new log.
    AfterOrRestarted(Sequence, u64),
}

impl Expected {
    /// The last commit that there is.
    pub(super) fn sequence(self) -> Sequence {
        match self {
            Self::Checkpoint(sequence) | Self::After(sequence, _) | Self::AfterOrRestarted(sequence, _) => sequence,
        }
    }

    fn admits(self, first: &RecordHeader) -> bool {
        match self {
            Self::Checkpoint(sequence) => first.sequence.0 - 1 <= sequence.0,
            Self::After(sequence, previous) => first.sequence.0 - 1 == sequence.0 && first.previous == previous,
            Self::AfterOrRestarted(sequence, previous) => {
                first.sequence.0 - 1 == sequence.0 && (first.previous == previous || first.previous == 0)
            }
        }
    }

    /// The same at the beginning of a segment, where a new log may begin.
    pub(super) fn or_restarted(self) -> Self {
        match self {
            Self::After(sequence, previous) => Self::AfterOrRestarted(sequence, previous),
            other => other,
        }
    }
}

/// A commit as it is stored in the segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredCommit {
    pub(super) sequence: Sequence,
    /// Checksum of its last record.
    pub(super) checksum: u64,
    /// Where its first record begins, and its last one ends.
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Where a segment does not continue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Break {
    pub(super) segment: SegmentNumber,
    /// Where the fault is, or the segment ends.
    pub(super) offset: u64,
    pub(super) what: &'static str,
    /// The sequence in an intact header at this place.
    pub(super) sequence: Option<Sequence>,
}

/// What [`SegmentReader::next_commit`] came upon.
#[derive(Debug)]
pub(super) enum Next {
    Commit(StoredCommit),
    /// No intact commit that continues the log.
    Broken(Break),
}

impl SegmentReader {
    /// Opens a segment. `None` if its maker never finished: then it has no records.
    ///
    /// # Errors
    /// If the header is another segment's or database's, or damaged although something follows it.
    pub(super) fn open(
        disk: &dyn Disk,
        database: &Path,
        uuid: [u8; 16],
        number: SegmentNumber,
        memory: Memory,
    ) -> Result<Option<Self>> {
        let mut reader = Self::new(disk, database, number, memory)?;
        match reader.header()? {
            Some(Ok(header)) if header.uuid != uuid => Err(reader.foreign()),
            Some(Ok(header)) if header.number != number => {
                Err(reader.corrupt(NUMBER_AT, format!("it is segment {} under another's name", header.number.0)))
            }
            Some(Ok(header)) => {
                reader.salt = header.salt;
                Ok(Some(reader))
            }
            Some(Err(SegmentHeaderFault::Unsupported { version, features })) => Err(Error::UnsupportedFormat {
                path: reader.path,
                found: format!("log version {version}, features {features:#x}"),
            }),
            Some(Err(SegmentHeaderFault::Damaged)) if !reader.is_zero_after_header()? => {
                Err(reader.corrupt(0, "its header is damaged, and records follow it"))
            }
            Some(Err(SegmentHeaderFault::Damaged)) | None => Ok(None),
        }
    }

    fn new(disk: &dyn Disk, database: &Path, number: SegmentNumber, memory: Memory) -> Result<Self> {
        let path = segment_path(database, number);
        let file = disk.open(&path, Access::Read).map_err(|error| Error::io("open log segment", &path, error))?;
        let length = file.len().map_err(|error| Error::io("measure log segment", &path, error))?;
        let bytes = match memory {
            Memory::Window | Memory::Beginning => Bytes::Window(Window::default()),
            Memory::Image { map } => {
                let image = Image::new(Arc::clone(&file), length, map);
                Bytes::Image(image.map_err(|error| Error::io("map log segment", &path, error))?)
            }
        };
        let position = SegmentHeader::BYTES as u64;
        let length =
            if memory == Memory::Beginning { length.min(position + RecordHeader::BYTES as u64) } else { length };
        Ok(Self { number, path, file, salt: 0, length, position, bytes })
    }

    pub(super) fn number(&self) -> SegmentNumber {
        self.number
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the next commit is expected.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Goes on at an offset that was a [`SegmentReader::position`].
    pub(super) fn go_on_at(&mut self, position: u64) {
        self.position = position;
    }

    /// A fault at a byte of this segment.
    pub(super) fn corrupt(&self, offset: u64, offence: impl Into<String>) -> Error {
        corrupt(&self.path, self.number, offset, offence)
    }

    /// Reads the next commit and moves past it, if it is intact and what is expected; otherwise stays.
    ///
    /// # Errors
    /// If a record contradicts itself although its checksum holds, or the disk's.
    pub(super) fn next_commit(&mut self, expected: Expected) -> Result<Next> {
        let start = self.position;
        let mut offset = start;
        let mut before: Option<RecordHeader> = None;
        loop {
            let segment = self.number;
            let broken = |what, sequence| Ok(Next::Broken(Break { segment, offset, what, sequence }));
            let Some(header) = self.header_at(start, offset)? else { return broken("no intact record", None) };
            let continues = match &before {
                None => header.part == 0 && expected.admits(&header),
                Some(part) => {
                    header.part == part.part + 1 && header.sequence == part.sequence && header.previous == part.checksum
                }
            };
            if !continues {
                return broken("a record that does not continue the one before", Some(header.sequence));
            }
            let end = offset + u64::from(header.length);
            let payload_start = (offset - start) as usize + RecordHeader::BYTES;
            let holds = self.bytes(start, end)?.is_some_and(|bytes| header.payload_holds(&bytes[payload_start..]));
            if !holds && !planted(Fault::LogPastBadRecord) {
                return broken("a record with a damaged payload", Some(header.sequence));
            }
            offset += header.padded_length();
            if header.kind == RecordKind::Commit {
                self.position = offset;
                return Ok(Next::Commit(StoredCommit {
                    sequence: header.sequence,
                    checksum: header.checksum,
                    start,
                    end,
                }));
            }
            before = Some(header);
        }
    }

    /// The bytes of a commit that was just found.
    pub(super) fn commit_bytes(&self, found: &StoredCommit) -> &[u8] {
        let (bytes, first) = match &self.bytes {
            Bytes::Window(window) => (&window.bytes[..], window.start),
            Bytes::Image(image) => (image.bytes(), 0),
        };
        &bytes[(found.start - first) as usize..][..(found.end - found.start) as usize]
    }

    /// All that was read, if it stays in memory.
    pub(super) fn into_image(self) -> Option<Image> {
        match self.bytes {
            Bytes::Window(_) => None,
            Bytes::Image(image) => Some(image),
        }
    }

    /// The first offset from the current position on at which an intact header claims that commits past `sequence` were
    /// durable, and the claim.
    pub(super) fn find_claim_past(&mut self, sequence: Sequence) -> Result<Option<(u64, Sequence)>> {
        let mut offset = self.position;
        while self.length.saturating_sub(offset) >= RecordHeader::BYTES as u64 {
            let salt = self.salt;
            let end = self.length.min(offset + WINDOW_BYTES as u64);
            let bytes = self.bytes(offset, end)?.unwrap_or_default();
            let mut at = 0;
            while let Some(header) = bytes[at..].first_chunk() {
                if RecordHeader::may_claim_past(header, sequence)
                    && let Some(Ok(header)) = RecordHeader::decode(header, salt)
                {
                    return Ok(Some((offset + at as u64, header.synced_up_to)));
                }
                at += RECORD_ALIGNMENT;
            }
            offset += at as u64;
        }
        Ok(None)
    }

    fn header(&mut self) -> Result<Option<Result<SegmentHeader, SegmentHeaderFault>>> {
        let bytes = self.bytes(0, SegmentHeader::BYTES as u64)?;
        Ok(bytes.and_then(<[u8]>::first_chunk).map(SegmentHeader::decode))
    }

    fn foreign(&self) -> Error {
        self.corrupt(UUID_AT, FOREIGN_LOG)
    }

    /// The record's header at `offset`, while everything from `start` on is kept.
    fn header_at(&mut self, start: u64, offset: u64) -> Result<Option<RecordHeader>> {
        let salt = self.salt;
        let Some(bytes) = self.bytes(start, offset + RecordHeader::BYTES as u64)? else { return Ok(None) };
        let header = bytes[(offset - start) as usize..].first_chunk();
        match header.and_then(|header| RecordHeader::decode(header, salt)) {
            Some(Ok(header)) => Ok(Some(header)),
            Some(Err(offence)) => Err(self.corrupt(offset, offence)),
            None => Ok(None),
        }
    }

    fn is_zero_after_header(&mut self) -> Result<bool> {
        let mut offset = SegmentHeader::BYTES as u64;
        while offset < self.length {
            let end = self.length.min(offset + WINDOW_BYTES as u64);
            if self.bytes(offset, end)?.is_none_or(|bytes| bytes.iter().any(|&byte| byte != 0)) {
                return Ok(false);
            }
            offset = end;
        }
        Ok(true)
    }

    /// The file's bytes from `start` to `end`, or `None` if it ends before.
    #[inline]
    fn bytes(&mut self, start: u64, end: u64) -> Result<Option<&[u8]>> {
        if end > self.length {
            return Ok(None);
        }
        let loaded = match &mut self.bytes {
            Bytes::Window(window) if window.holds(start, end) => Ok(()),
            Bytes::Window(window) => window.load(&*self.file, start, end, self.length),
            Bytes::Image(image) => image.load(end),
        };
        match loaded {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && matches!(self.bytes, Bytes::Window(_)) => {
                if !self.load_of_shorter(start, end)? {
                    return Ok(None);
                }
            }
            Err(error) => return Err(Error::io("read log segment", &self.path, error)),
        }
        Ok(Some(match &self.bytes {
            Bytes::Window(window) => &window.bytes[(start - window.start) as usize..][..(end - start) as usize],
            Bytes::Image(image) => &image.bytes()[start as usize..end as usize],
        }))
    }

    /// Loads no more than the bytes from `start` to `end` of a file that has become shorter: on a full disk a commit
    /// that fails cuts off what was prepared behind the records. `false` if the file ends before `end` now.
    #[cold]
    fn load_of_shorter(&mut self, start: u64, end: u64) -> Result<bool> {
        let measured = self.file.len().map_err(|error| Error::io("measure log segment", &self.path, error))?;
        self.length = self.length.min(measured);
        match &mut self.bytes {
            Bytes::Window(window) if end <= self.length => {
                let loaded = window.load(&*self.file, start, end, end);
                loaded.map(|()| true).map_err(|error| Error::io("read log segment", &self.path, error))
            }
            _ => Ok(false),
        }
    }
}

impl Window {
    #[inline]
    fn holds(&self, start: u64, end: u64) -> bool {
        self.start <= start && end <= self.start + self.filled as u64
    }

    /// Moves to `start` and fills up at least to `end`, which is inside the file of this length. Loaded bytes stay.
    #[cold]
    fn load(&mut self, file: &dyn File, start: u64, end: u64, length: u64) -> io::Result<()> {
        let wanted = (end - start).next_multiple_of(WINDOW_BYTES as u64).min(length - start) as usize;
        let window_end = self.start + self.filled as u64;
        let kept = if (self.start..window_end).contains(&start) { (window_end - start) as usize } else { 0 };
        if kept < self.filled {
            self.bytes.copy_within(self.filled - kept..self.filled, 0);
        }
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
        self.start = start;
        self.filled = kept;
        if kept < wanted {
            file.read_at(start + kept as u64, &mut self.bytes[kept..wanted])?;
            self.filled = wanted;
        }
        Ok(())
    }
}

/// Bytes read at a time. A commit that is longer is held whole, after its length was checked against the file's.
const WINDOW_BYTES: usize = 1 << 20;

/// Offsets within a segment's header, for reports.
const UUID_AT: u64 = 16;
const NUMBER_AT: u64 = 32;
