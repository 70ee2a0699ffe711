//! Segments as files: their names, how one is made, or made of another, which there are.
//!
//! Only `log` uses this. A segment that no checkpoint needs any more can become a later one: what is written over
//! needs neither space nor zeros. While it waits for that it is a *spare segment*, under a name that is not a
//! segment's: an older meta, whose pages are free by now, must not find its log and be taken for the newest. Its new
//! header is durable before it has its new name, by invariant (2) of `log`; its old records have another salt.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Place, Result};
use crate::format::SegmentHeader;
use crate::ids::SegmentNumber;
use crate::io::{Access, Disk, File, PreparedPlace};
use crate::planted::{Fault, planted};
use crate::sync::{Arc, fill_random};

/// A segment that is open for writing.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: SegmentNumber,
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn File>,
    pub(super) salt: u64,
    /// Bytes of header and records that are in the file. Zeros may follow.
    pub(super) written_bytes: u64,
    /// How much of that is known to be synced.
    synced_bytes: u64,
    /// Bytes of the file that are prepared for small writes.
    prepared_bytes: u64,
    /// Whether the file may have bytes behind the records that an earlier segment left there and nobody synced.
    has_unsynced_rest: bool,
}

/// A segment that is not needed any more, and may become another one.
#[derive(Debug)]
pub(super) struct Spare {
    path: PathBuf,
    file: Arc<dyn File>,
    is_synced: bool,
}

/// Whose segments are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogIdentity {
    pub(super) uuid: [u8; 16],
    /// Whether bulk loads are noted in the log.
    pub(super) notes_loads: bool,
}

impl LogIdentity {
    fn header(self, number: SegmentNumber, salt: u64) -> SegmentHeader {
        SegmentHeader { uuid: self.uuid, number, salt, notes_loads: self.notes_loads, renames_tables: true }
    }
}

impl Spare {
    /// A completely synced segment that was kept for followers of the log, if its file can be used: see
    /// [`Segment::into_spare`].
    pub(super) fn of_kept(disk: &dyn Disk, database: &Path, number: SegmentNumber, used_bytes: u64) -> Option<Self> {
        let path = segment_path(database, number);
        let file = disk.open(&path, Access::Write).ok()?;
        Self::make(disk, database, &path, file, used_bytes, true)
    }

    /// Gives a segment the name of a spare, if its file is fit. It need not be durable: the old name does no more
    /// harm after a power cut than one whose removal was undone.
    fn make(
        disk: &dyn Disk,
        database: &Path,
        segment: &Path,
        file: Arc<dyn File>,
        used_bytes: u64,
        is_synced: bool,
    ) -> Option<Self> {
        let is_fit = (AHEAD_BYTES_MIN..=AHEAD_BYTES_MAX + 2 * used_bytes).contains(&file.len().ok()?);
        let path = spare_path(database);
        if !is_fit || disk.rename(segment, &path).is_err() {
            return None;
        }
        Some(Self { path, file, is_synced })
    }
}

/// Why a segment could not be made.
#[derive(Debug)]
pub(super) enum CreateError {
    /// Nothing changed but perhaps for an unused file, or a spare segment.
    Failed(Error),
    /// The directory's sync failed: which names are durable is in doubt, and a later sync cannot decide it.
    InDoubt,
}

impl Segment {
    /// Makes the segment `number`, or, where a failed attempt left a file of that number, the next one that is free.
    /// Its header and its name are durable when this returns.
    pub(super) fn create(
        disk: &dyn Disk,
        database: &Path,
        log: LogIdentity,
        number: SegmentNumber,
    ) -> Result<Self, CreateError> {
        let mut number = number;
        loop {
            let path = segment_path(database, number);
            match disk.open(&path, Access::CreateNew) {
                Ok(file) => return Self::initialise(disk, log, number, path, file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < NUMBER_MAX => number.0 += 1,
                Err(error) => return Err(CreateError::Failed(Error::io("create log segment", &path, error))),
            }
        }
    }

    /// Makes the segment `number`, or the next one that is free, of a spare. Its header and its name are durable when
    /// this returns. After [`CreateError::Failed`] the spare is of no use, and may have either name.
    pub(super) fn recycle(
        disk: &dyn Disk,
        database: &Path,
        log: LogIdentity,
        number: SegmentNumber,
        spare: Spare,
    ) -> Result<Self, CreateError> {
        let mut number = number;
        let mut path = segment_path(database, number);
        let failed = |path: &Path, error| CreateError::Failed(Error::io("use log segment again", path, error));
        while number < NUMBER_MAX && disk.exists(&path).map_err(|error| failed(&path, error))? {
            number.0 += 1;
            path = segment_path(database, number);
        }
        let Spare { path: old_path, file, is_synced } = spare;
        let renamed = random_salt().and_then(|salt| {
            let header = log.header(number, salt).encode();
            if planted(Fault::SegmentNamedTooEarly) {
                file.write_at(0, &header)?;
            } else {
                // Not a sync of the file: it would write what the old segment left.
                file.write_durably(0, &header)?;
            }
            disk.rename(&old_path, &path).map(|()| salt)
        });
        let salt = renamed.map_err(|error| failed(&old_path, error))?;
        sync_name(disk, &path)?;
        Ok(Self { has_unsynced_rest: !is_synced, ..Self::new(number, path, file, salt) })
    }

    fn new(number: SegmentNumber, path: PathBuf, file: Arc<dyn File>, salt: u64) -> Self {
        let written_bytes = SegmentHeader::BYTES as u64;
        Self {
            number,
            path,
            file,
            salt,
            written_bytes,
            synced_bytes: written_bytes,
            prepared_bytes: 0,
            has_unsynced_rest: false,
        }
    }

    /// Whether it has no records.
    pub(super) fn is_empty(&self) -> bool {
        self.written_bytes == SegmentHeader::BYTES as u64
    }

    /// Whether all of its records are known to be synced.
    pub(super) fn is_synced(&self) -> bool {
        self.synced_bytes == self.written_bytes
    }

    /// Notes a sync that reached all segments before `last`, and so many bytes of that one.
    pub(super) fn note_synced(&mut self, last: SegmentNumber, last_bytes: u64) {
        match self.number.cmp(&last) {
            Ordering::Less => self.synced_bytes = self.written_bytes,
            Ordering::Equal => self.synced_bytes = self.synced_bytes.max(last_bytes),
            Ordering::Greater => {}
        }
    }

    /// Prepares the file for a write of `length` bytes, and for some more: the longer the segment, the more. A
    /// failure is not told: the write itself will say what is wrong, or find just enough room.
    #[inline]
    pub(super) fn prepare(&mut self, length: usize) {
        if self.written_bytes + length as u64 > self.prepared_bytes && length <= PREPARED_WRITE_BYTES_MAX {
            self.prepare_more(length);
        }
    }

    /// Gives the next `length` bytes to a record that is to be written there through memory, if they are prepared for
    /// that and the record is short: a flush holds the log's lock until places are written, which would take long for
    /// a long record.
    ///
    /// Requires: until that is done, the file is held and is not cut to less than `written_bytes` is now.
    #[inline]
    pub(super) fn place(&mut self, length: usize) -> Option<PreparedPlace> {
        if length > PREPARED_WRITE_BYTES_MAX {
            return None;
        }
        self.prepare(length);
        let place = self.file.place(self.written_bytes, length)?;
        self.written_bytes += length as u64;
        Some(place)
    }

    #[cold]
    fn prepare_more(&mut self, length: usize) {
        let end = self.written_bytes + length as u64;
        let more = end.clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX);
        let wanted = (end + more).next_multiple_of(AHEAD_BYTES_MIN);
        if self.file.prepare(wanted).is_ok() {
            self.prepared_bytes = wanted;
        }
    }

    /// Cuts off what an earlier segment left behind the records and nobody synced: the sync that follows would write
    /// it. A failure costs that and no more.
    pub(super) fn cut_off_unsynced_rest(&mut self) {
        if self.has_unsynced_rest && self.file.set_len(self.written_bytes).is_ok() {
            (self.prepared_bytes, self.has_unsynced_rest) = (0, false);
        }
    }

    /// Cuts off what follows the records.
    pub(super) fn cut_off_rest(&mut self) -> io::Result<()> {
        if self.file.len()? > self.written_bytes {
            self.file.set_len(self.written_bytes)?;
        }
        (self.prepared_bytes, self.has_unsynced_rest) = (0, false);
        Ok(())
    }

    /// What becomes of the segment when no checkpoint needs it any more: a spare, if its file is not much longer than
    /// `used_bytes`, what all of the log took since the checkpoint before. None: it is as it was.
    pub(super) fn into_spare(self, disk: &dyn Disk, database: &Path, used_bytes: u64) -> Option<Spare> {
        let is_synced = !self.has_unsynced_rest && self.written_bytes - self.synced_bytes <= UNSYNCED_BYTES_MAX;
        Spare::make(disk, database, &self.path, self.file, used_bytes, is_synced)
    }

    /// Cuts off what a failed write may have left behind the records, and makes that durable.
    pub(super) fn cut_off_failed_write(&mut self) -> io::Result<()> {
        self.prepared_bytes = 0;
        if self.file.len()? > self.written_bytes {
            self.file.set_len(self.written_bytes)?;
            self.file.sync_all()?;
        }
        Ok(())
    }

    fn initialise(
        disk: &dyn Disk,
        log: LogIdentity,
        number: SegmentNumber,
        path: PathBuf,
        file: Arc<dyn File>,
    ) -> Result<Self, CreateError> {
        let written = random_salt().and_then(|salt| {
            file.write_at(0, &log.header(number, salt).encode())?;
            file.sync_all()?;
            Ok(salt)
        });
        let salt = match written {
            Ok(salt) => salt,
            Err(error) => {
                // If the file cannot be removed either, it stays as a segment without records, which recovery skips.
                let _ = disk.remove(&path);
                return Err(CreateError::Failed(Error::io("write log segment header", &path, error)));
            }
        };
        sync_name(disk, &path)?;
        Ok(Self::new(number, path, file, salt))
    }
}

/// Makes the name of a new segment durable.
fn sync_name(disk: &dyn Disk, path: &Path) -> Result<(), CreateError> {
    if planted(Fault::NoDirectorySync) {
        return Ok(());
    }
    disk.sync_directory(directory_of(path)).map_err(|_| CreateError::InDoubt)
}

/// The file of a segment: the database's name with `-log.N` behind it.
pub(super) fn segment_path(database: &Path, number: SegmentNumber) -> PathBuf {
    let mut name = OsString::from(database.as_os_str());
    name.push(format!("{INFIX}{}", number.0));
    PathBuf::from(name)
}

/// Where a segment waits to be used again. There is at most one.
pub(super) fn spare_path(database: &Path) -> PathBuf {
    let mut name = OsString::from(database.as_os_str());
    name.push(SPARE_SUFFIX);
    PathBuf::from(name)
}

/// Removes the spare segment, if there is one.
pub(super) fn remove_spare(disk: &dyn Disk, database: &Path) -> Result<()> {
    let path = spare_path(database);
    match disk.remove(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove spare log segment", &path, error))
        }
        _ => Ok(()),
    }
}

/// The numbers of all segments beside the database, rising.
pub(super) fn list_segments(disk: &dyn Disk, database: &Path) -> Result<Vec<SegmentNumber>> {
    let directory = directory_of(database);
    let paths = disk.list(directory).map_err(|error| Error::io("list directory", directory, error))?;
    let mut numbers: Vec<_> = paths.iter().filter_map(|path| number_of(path, database)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The files of all segments beside the database, the oldest first.
///
/// # Errors
/// The disk's.
pub fn segment_paths(disk: &dyn Disk, database: &Path) -> Result<Vec<PathBuf>> {
    Ok(list_segments(disk, database)?.into_iter().map(|number| segment_path(database, number)).collect())
}

/// Removes those of `segments` that are below `first`, and takes them off the list. What cannot be removed stays on it.
pub(super) fn remove_segments(
    disk: &dyn Disk,
    database: &Path,
    segments: &mut Vec<SegmentNumber>,
    first: SegmentNumber,
) -> Result<()> {
    let mut outcome = Ok(());
    segments.retain(|&number| {
        if number >= first {
            return true;
        }
        let path = segment_path(database, number);
        match disk.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                outcome = Err(Error::io("remove log segment", &path, error));
                true
            }
            _ => false,
        }
    });
    outcome
}

/// The number in a segment's name, if `path` is one of the database's. Only the canonical decimal form is.
fn number_of(path: &Path, database: &Path) -> Option<SegmentNumber> {
    let name = path.file_name()?.as_encoded_bytes();
    let stem = database.file_name()?.as_encoded_bytes();
    let digits = name.strip_prefix(stem)?.strip_prefix(INFIX.as_bytes())?;
    let canonical = !digits.is_empty() && digits[0] != b'0' && digits.iter().all(u8::is_ascii_digit);
    let number = SegmentNumber(std::str::from_utf8(digits).ok()?.parse().ok()?);
    (canonical && number < NUMBER_MAX).then_some(number)
}

/// The directory of a file.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn random_salt() -> io::Result<u64> {
    let mut bytes = [0; 8];
    fill_random(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(u64::from_le_bytes(bytes))
}

/// A fault at a byte of a segment.
pub(super) fn corrupt(path: &Path, number: SegmentNumber, offset: u64, offence: impl Into<String>) -> Error {
    Error::corrupt(path, Place::Log(number, offset), offence)
}

const INFIX: &str = "-log.";
const SPARE_SUFFIX: &str = "-log.spare";

/// A segment is prepared ahead of its records by its own length, within these bounds: the first keeps small databases
/// small, the second bounds what one commit in thousands waits for.
const AHEAD_BYTES_MIN: u64 = 16 << 10;
const AHEAD_BYTES_MAX: u64 = 512 << 10;

/// So many bytes of a spare may be written by the first sync of the segment that it becomes.
const UNSYNCED_BYTES_MAX: u64 = 1 << 20;

/// A longer write costs one call among many pages, and would only be written twice. A longer record has no place of
/// its own.
const PREPARED_WRITE_BYTES_MAX: usize = 64 << 10;

/// No segment has this number: there is always a next one.
const NUMBER_MAX: SegmentNumber = SegmentNumber(u64::MAX);
