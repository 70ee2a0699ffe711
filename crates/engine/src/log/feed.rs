//! The log as a follower reads it: commit by commit from one that is kept, while writers append more.
//!
//! Recovery reads what a crash left, and must find its end. Here the end is known: all commits up to it were durable
//! when the feed was begun. So anything missing before it is damage, or was removed; never an end.
//!
//! An opening that finds nothing to replay begins a new log. That log is not chained to the one before, and continues
//! it by its sequence alone.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use super::read_back::Commit;
use super::retention::{ReadEnd, SegmentPin};
use super::segment::{corrupt, list_segments, segment_path};
use super::segment_reader::{
    Break, Expected, Memory, Next, SegmentReader, StoredCommit, first_sequence, names_another,
};
use crate::error::{Error, Result};
use crate::ids::{SegmentNumber, Sequence};
use crate::io::Disk;
use crate::sync::Arc;

/// The log, and its first segment.
#[derive(Clone, Debug)]
pub struct FeedSource {
    /// The disk that they are on.
    pub disk: Arc<dyn Disk>,
    /// The database's data file.
    pub database: PathBuf,
    /// The database.
    pub uuid: [u8; 16],
    /// Their numbers, rising.
    pub segments: Vec<SegmentNumber>,
}

/// See the module.
#[derive(Debug)]
pub struct Feed {
    disk: Arc<dyn Disk>,
    database: PathBuf,
    uuid: [u8; 16],
    /// Those that were not opened yet.
    segments: VecDeque<SegmentNumber>,
    reader: Option<SegmentReader>,
    expected: Expected,
    /// The last commit that was given out or passed over.
    last: Sequence,
    through: Sequence,
    /// Where the log was found broken, since the last commit that was found.
    broken: Option<Break>,
    /// What is read stays. Nobody removes it, if there is none.
    pin: Option<SegmentPin>,
}

impl FeedSource {
    /// Begins with the commit after `after`, and ends with `through`, which is not before it. `None` if the log does
    /// not go back so far.
    ///
    /// # Errors
    /// Of the first segments; the disk's.
    pub fn begin(self, after: Sequence, through: Sequence, pin: Option<SegmentPin>) -> Result<Option<Feed>> {
        // Where nothing is to be read, nothing is held.
        let pin = pin.filter(|_| after < through);
        let Self { disk, database, uuid, segments } = self;
        let mut segments = VecDeque::from(segments);
        let (mut reader, mut expected) = (None, Expected::Checkpoint(after));
        if after < through {
            let mut start = None;
            for (index, &number) in segments.iter().enumerate().rev() {
                let first = match first_sequence(&*disk, &database, uuid, number) {
                    // Another process has removed it since the segments were listed, and so all before it.
                    Err(error) if pin.is_none() && is_gone(&error) => break,
                    first => first?,
                };
                if first.is_some_and(|first| first.0 - 1 <= after.0) {
                    start = Some(index);
                    break;
                }
            }
            let Some(start) = start else { return Ok(None) };
            segments.drain(..start);
            if let Some(pin) = &pin {
                pin.advance(segments[0]);
            }
            if let Some(end) = pin.as_ref().and_then(|pin| pin.end_before(segments[0], after)) {
                reader = SegmentReader::open(&*disk, &database, uuid, end.segment, Memory::Window)?;
                if let Some(reader) = &mut reader {
                    reader.go_on_at(end.offset);
                    expected = Expected::After(end.sequence, end.checksum);
                    segments.pop_front();
                }
            }
        }
        let (last, broken) = (after, None);
        Ok(Some(Feed { disk, database, uuid, segments, reader, expected, last, through, broken, pin }))
    }

    /// The first commit that there is; none if there are no commits.
    ///
    /// # Errors
    /// Of the first segments; the disk's.
    pub fn oldest(&self) -> Result<Option<Sequence>> {
        for &number in &self.segments {
            match first_sequence(&*self.disk, &self.database, self.uuid, number) {
                Ok(None) => {}
                // It was removed since the segments were listed.
                Err(error) if is_gone(&error) => {}
                first => return first,
            }
        }
        Ok(None)
    }
}

impl Feed {
    /// The next commit; `None` after the last.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a commit is not there any more, and the disk's. Nothing comes after one.
    pub fn next_commit(&mut self) -> Result<Option<Commit<'_>>> {
        let outcome = self.find_next();
        if !matches!(outcome, Ok(Some(_))) {
            if outcome.is_ok() {
                self.note_end();
            }
            // A feed that has ended holds no segment.
            (self.last, self.reader, self.pin) = (self.through, None, None);
        }
        let found = outcome?;
        Ok(found.and_then(|found| self.reader.as_ref().map(|reader| Commit::read(reader, &found))))
    }

    /// The last commit that was given out or passed over.
    pub fn last(&self) -> Sequence {
        self.last
    }

    fn find_next(&mut self) -> Result<Option<StoredCommit>> {
        while self.last < self.through {
            if self.reader.is_none() && !self.open_next()? {
                return Err(self.missing());
            }
            let Some(reader) = &mut self.reader else { continue };
            match reader.next_commit(self.expected)? {
                Next::Commit(found) => {
                    self.broken = None;
                    self.expected = Expected::After(found.sequence, found.checksum);
                    if found.sequence > self.last {
                        self.last = found.sequence;
                        return Ok(Some(found));
                    }
                }
                Next::Broken(broken) => {
                    self.broken.get_or_insert(broken);
                    self.reader = None;
                }
            }
        }
        Ok(None)
    }

    /// Opens the next segment that has records. `false` if there is none.
    fn open_next(&mut self) -> Result<bool> {
        while let Some(number) = self.segments.pop_front() {
            if let Some(pin) = &self.pin {
                pin.advance(number);
            }
            self.reader = SegmentReader::open(&*self.disk, &self.database, self.uuid, number, Memory::Window)?;
            if self.reader.is_some() {
                self.expected = self.expected.or_restarted();
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Notes the place for a reader that continues from here.
    fn note_end(&self) {
        if let (Some(pin), Some(reader), Expected::After(sequence, checksum)) = (&self.pin, &self.reader, self.expected)
        {
            pin.note_end(ReadEnd { sequence, checksum, segment: reader.number(), offset: reader.position() });
        }
    }

    fn missing(&self) -> Error {
        let next = self.last.0 + 1;
        let (number, offset, what) =
            self.broken.map_or((SegmentNumber(0), 0, "nothing"), |broken| (broken.segment, broken.offset, broken.what));
        let offence = format!("{what} where commit {next} is expected, which was durable");
        corrupt(&segment_path(&self.database, number), number, offset, offence)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.note_end();
    }
}

/// The segments beside a database that have all commits without holes; `needed` is the first that its meta names.
///
/// # Errors
/// The disk's.
pub fn segments_of(disk: &dyn Disk, database: &Path, needed: SegmentNumber) -> Result<Vec<SegmentNumber>> {
    let mut segments = list_segments(disk, database)?;
    let first = first_readable(disk, database, &segments, needed)?;
    segments.retain(|&number| number >= first);
    Ok(segments)
}

/// The first of those segments, rising, from which on none is missing. Below it a power cut may have left some of
/// those that were being removed, and above them one that was being used again.
///
/// # Errors
/// The disk's.
pub fn first_readable(
    disk: &dyn Disk,
    database: &Path,
    segments: &[SegmentNumber],
    needed: SegmentNumber,
) -> Result<SegmentNumber> {
    let mut first = segments.last().map_or(needed, |last| SegmentNumber(last.0 + 1).max(needed));
    for &number in segments.iter().rev() {
        if number.0 + 1 < first.0 {
            break;
        }
        match names_another(disk, database, number) {
            Ok(false) => first = number,
            Ok(true) => break,
            // Another process has removed it since it was listed, and so all before it.
            Err(error) if is_gone(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(first)
}

/// Whether a segment could not be read because there is none.
fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}
