//! Recovery's half of the log: finds the segments and replays their commits in order.
//!
//! It writes nothing. The table in the module's documentation says what it does in each situation; `SegmentReader`
//! judges the records, this file judges the log.

use std::path::{Path, PathBuf};

use super::image::Image;
use super::retention::Retention;
use super::segment::{corrupt, directory_of, list_segments, remove_segments, remove_spare, segment_path};
use super::segment_reader::{Break, Expected, Memory, Next, SegmentReader, StoredCommit, refuse_foreign};
use crate::error::{Error, Result};
use crate::format::{CommitReader, Operation, SegmentHeader, prefetch};
use crate::ids::{SegmentNumber, Sequence};
use crate::io::{Access, Disk};
use crate::sync::Arc;

/// What the newest checkpoint says of the log.
#[derive(Clone, Copy, Debug)]
pub struct ReplayFrom {
    /// All commits up to this one are in the checkpoint.
    pub sequence: Sequence,
    /// The first segment that may hold later ones; those below are left over.
    pub first_segment: SegmentNumber,
    /// Whether that segment was durable before the checkpoint was published, so that its absence is damage. It was
    /// not if the database was closed, or just created.
    pub first_segment_exists: bool,
}

/// Which logs stay in memory after they were read back, as [`Images`].
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// Those whose segments have no more bytes than this.
    pub bytes_max: u64,
    /// Whether segments may be mapped, rather than held. Then the caller must be the only one who may write the
    /// database.
    pub map: bool,
}

/// The log from which a database is recovered, read commit by commit.
#[derive(Debug)]
pub struct Replay {
    disk: Arc<dyn Disk>,
    database: PathBuf,
    uuid: [u8; 16],
    from: ReplayFrom,
    /// All segments there are, rising; `segments[next..]` are still to be opened.
    segments: Vec<SegmentNumber>,
    next: usize,
    reader: Option<SegmentReader>,
    memory: Memory,
    kept: Images,
    expected: Expected,
    /// Where the log was found broken, since the last commit that was found.
    broken: Option<Break>,
}

/// The segments of a log that stayed in memory.
#[derive(Debug, Default)]
pub struct Images {
    images: Vec<Image>,
}

/// Where in [`Images`] an operation is: places rise as the log goes on. Others have no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationPlace(pub u64);

/// Where a log ended that was read back: what is needed to go on from there.
#[derive(Clone, Debug)]
pub struct LogEnd {
    /// The last commit, or the checkpoint's sequence if there was none.
    pub sequence: Sequence,
    /// All commits up to this one are durable elsewhere than in this log. Raise it to `sequence` after the checkpoint
    /// that recovery makes.
    pub durable: Sequence,
    /// Checksum of the last record, 0 if none was read.
    pub last_checksum: u64,
    /// Number for the next segment.
    pub next_segment: SegmentNumber,
    /// All segments there are, rising. None of them is needed once a checkpoint holds `sequence`.
    pub segments: Vec<SegmentNumber>,
}

/// One commit of a [`Replay`], borrowed from its buffer.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'r> {
    sequence: Sequence,
    records: &'r [u8],
    path: &'r Path,
    segment: SegmentNumber,
    offset: u64,
    /// Which of the images it will be in.
    image: usize,
}

/// Iterates over the operations of a [`Commit`], in the order in which they were made.
#[derive(Clone, Debug)]
pub struct Operations<'r> {
    commit: Commit<'r>,
    reader: CommitReader<'r>,
}

/// Begins to read back the log of `database` (the path of its data file), which is named by `uuid`. Nothing is read
/// but the names and the headers of the segments; [`Replay::next_commit`] does the rest.
///
/// # Errors
/// [`Error::LogMissing`] if a segment is not there; and the disk's.
pub fn read_back(disk: &Arc<dyn Disk>, database: &Path, uuid: [u8; 16], from: ReplayFrom) -> Result<Replay> {
    begin(disk, database, uuid, from, None)
}

/// As [`read_back`], but what is read stays in memory, if it is not too much.
///
/// # Errors
/// As [`read_back`].
pub fn read_back_keeping(
    disk: &Arc<dyn Disk>,
    database: &Path,
    uuid: [u8; 16],
    from: ReplayFrom,
    keep: Keep,
) -> Result<Replay> {
    begin(disk, database, uuid, from, Some(keep))
}

fn begin(
    disk: &Arc<dyn Disk>,
    database: &Path,
    uuid: [u8; 16],
    from: ReplayFrom,
    keep: Option<Keep>,
) -> Result<Replay> {
    let segments = list_segments(&**disk, database)?;
    let stale = segments.partition_point(|&number| number < from.first_segment);
    let gap = check_numbers(database, &segments[stale..], from);
    // A segment of another database can be the reason for a gap. So if there is a gap, all segments are checked, not
    // only the stale ones.
    let looked_at = if gap.is_err() { segments.len() } else { stale };
    for &number in &segments[..looked_at] {
        refuse_foreign(&**disk, database, uuid, number)?;
    }
    gap?;
    let memory = match keep {
        Some(keep) if is_small(&**disk, database, &segments[stale..], keep.bytes_max)? => {
            Memory::Image { map: keep.map }
        }
        _ => Memory::Window,
    };
    Ok(Replay {
        disk: Arc::clone(disk),
        database: database.to_path_buf(),
        uuid,
        from,
        next: stale,
        segments,
        reader: None,
        memory,
        kept: Images::default(),
        expected: Expected::Checkpoint(from.sequence),
        broken: None,
    })
}

impl Replay {
    /// The next commit above the checkpoint; `None` at the end of the log.
    ///
    /// # Errors
    /// `Corrupt` if the log is damaged where it was durable, or is another database's; `UnsupportedFormat`; and the
    /// disk's.
    pub fn next_commit(&mut self) -> Result<Option<Commit<'_>>> {
        loop {
            let Some(reader) = &mut self.reader else {
                if self.open_next()? {
                    continue;
                }
                return Ok(None);
            };
            match reader.next_commit(self.expected)? {
                Next::Commit(found) => {
                    self.broken = None;
                    // What the checkpoint holds need not be whole in the log: it counts from the checkpoint's last
                    // commit on.
                    if found.sequence >= self.from.sequence {
                        self.expected = Expected::After(found.sequence, found.checksum);
                    }
                    if found.sequence > self.from.sequence {
                        return Ok(self.commit(found));
                    }
                }
                Next::Broken(broken) => self.judge(broken)?,
            }
        }
    }

    /// Whether the log stays in memory: then [`Operations::place`] has meaning in what [`Replay::take_images`] gives.
    pub fn keeps(&self) -> bool {
        self.memory != Memory::Window
    }

    /// What stays of the log in memory. Call it when [`Replay::next_commit`] has answered `None`.
    pub fn take_images(&mut self) -> Images {
        std::mem::take(&mut self.kept)
    }

    /// Where the log ended. Call it when [`Replay::next_commit`] has answered `None`.
    ///
    /// # Panics
    /// If it was called before.
    pub fn finish(self) -> LogEnd {
        assert!(self.reader.is_none() && self.next == self.segments.len(), "the log was not read to its end");
        let (sequence, last_checksum) = match self.expected {
            Expected::Checkpoint(sequence) => (sequence, 0),
            Expected::After(sequence, checksum) | Expected::AfterOrRestarted(sequence, checksum) => {
                (sequence, checksum)
            }
        };
        let after_last = self.segments.last().map_or(SegmentNumber(1), |last| SegmentNumber(last.0 + 1));
        LogEnd {
            sequence,
            durable: self.from.sequence,
            last_checksum,
            next_segment: after_last.max(self.from.first_segment),
            segments: self.segments,
        }
    }

    fn commit(&self, found: StoredCommit) -> Option<Commit<'_>> {
        let image = self.kept.images.len();
        self.reader.as_ref().map(|reader| Commit { image, ..Commit::read(reader, &found) })
    }

    /// Opens the next segment that has records. `false` if there is none.
    fn open_next(&mut self) -> Result<bool> {
        while let Some(&number) = self.segments.get(self.next) {
            self.next += 1;
            self.reader = SegmentReader::open(&*self.disk, &self.database, self.uuid, number, self.memory)?;
            if self.reader.is_some() {
                return Ok(true);
            }
            if self.from.first_segment_exists && number == self.from.first_segment {
                let path = segment_path(&self.database, number);
                return Err(corrupt(&path, number, 0, "its header is missing, though it was durable"));
            }
        }
        Ok(false)
    }

    /// The current segment does not go on: an error if that shows damage, otherwise the next segment's turn.
    fn judge(&mut self, broken: Break) -> Result<()> {
        let Some(mut reader) = self.reader.take() else { return Ok(()) };
        let last = self.expected.sequence();
        self.check_first_record(&reader, &broken)?;
        let broken = *self.broken.get_or_insert(broken);
        let Some((at, claim)) = reader.find_claim_past(last)? else {
            self.kept.images.extend(reader.into_image());
            return Ok(());
        };
        let offence = format!(
            "{} where commit {} is expected, though segment {} says at byte {at} that all up to {} were durable",
            broken.what,
            last.0 + 1,
            reader.number().0,
            claim.0
        );
        Err(corrupt(&segment_path(&self.database, broken.segment), broken.segment, broken.offset, offence))
    }

    /// The very first record cannot be missing without damage: nothing stands before it that a crash could have torn.
    fn check_first_record(&self, reader: &SegmentReader, broken: &Break) -> Result<()> {
        let is_first = broken.segment == self.from.first_segment && broken.offset == SegmentHeader::BYTES as u64;
        match (self.expected, broken.sequence) {
            (Expected::Checkpoint(last), Some(sequence)) if is_first && sequence.0 - 1 > last.0 => Err(reader.corrupt(
                broken.offset,
                format!("the log begins with commit {}, but the checkpoint ends with {}", sequence.0, last.0),
            )),
            _ => Ok(()),
        }
    }
}

impl Images {
    /// Bytes of all segments.
    pub fn len_bytes(&self) -> usize {
        self.images.iter().map(|image| image.bytes().len()).sum()
    }

    /// The operation at a place that [`Operations::place`] told.
    ///
    /// # Errors
    /// What is wrong with it now, though it was sound when it was read back.
    #[inline]
    pub fn operation(&self, place: OperationPlace) -> Result<Operation<'_>, &'static str> {
        let bytes = self.images.get((place.0 >> PLACE_OFFSET_BITS) as usize).map_or(&[][..], Image::bytes);
        Operation::decode(bytes.get((place.0 & PLACE_OFFSET_MAX) as usize..).unwrap_or_default())
    }

    /// Asks the processor for so many cache lines from a place on.
    #[inline]
    pub fn prefetch(&self, place: OperationPlace, lines: usize) {
        let bytes = self.images.get((place.0 >> PLACE_OFFSET_BITS) as usize).map_or(&[][..], Image::bytes);
        for line in 0..lines {
            prefetch(bytes, (place.0 & PLACE_OFFSET_MAX) as usize + line * LINE_BYTES);
        }
    }
}

impl LogEnd {
    /// Removes all segments there are, a spare one too, but those that are to be kept, for a durable checkpoint holds
    /// all commits and names none of them. A log that goes on, [`crate::log::Log`], removes them itself.
    ///
    /// # Errors
    /// The disk's: the rest was removed, and the next call tries again.
    pub fn remove_unkept(&mut self, disk: &dyn Disk, database: &Path, retention: &Retention) -> Result<()> {
        let first = retention.first_kept(disk, database, &self.segments, self.next_segment);
        remove_segments(disk, database, &mut self.segments, first)?;
        remove_spare(disk, database)
    }

    /// Removes those of the segments below `needed` that are not to be kept. What cannot be removed is left to the
    /// next call that removes.
    pub fn trim(&mut self, disk: &dyn Disk, database: &Path, needed: SegmentNumber, retention: &Retention) {
        let superfluous = &self.segments[..self.segments.partition_point(|&number| number < needed)];
        let first = retention.first_kept(disk, database, superfluous, needed);
        let _ = remove_segments(disk, database, &mut self.segments, first);
    }

    /// Removes the segments below `first` so that no power cut brings them back: what was done beside them is not in
    /// them.
    ///
    /// # Errors
    /// The disk's.
    pub fn forget_before(&mut self, disk: &dyn Disk, database: &Path, first: SegmentNumber) -> Result<()> {
        if self.segments.first().is_none_or(|&number| number >= first) {
            return Ok(());
        }
        remove_segments(disk, database, &mut self.segments, first)?;
        let directory = directory_of(database);
        disk.sync_directory(directory).map_err(|error| Error::io("sync directory", directory, error))
    }

    /// Makes the segments from `first` on durable, which are to be kept. What was read back may be in the page cache
    /// only.
    ///
    /// # Errors
    /// The disk's.
    pub fn sync_segments(&self, disk: &dyn Disk, database: &Path, first: SegmentNumber) -> Result<()> {
        for &number in self.segments.iter().filter(|&&number| number >= first) {
            let path = segment_path(database, number);
            let synced = disk.open(&path, Access::Write).and_then(|file| file.sync_all());
            synced.map_err(|error| Error::failed_sync("sync log segment", &path, error))?;
        }
        Ok(())
    }
}

impl<'r> Commit<'r> {
    /// One that a reader has just found, and that is in no image.
    pub(super) fn read(reader: &'r SegmentReader, found: &StoredCommit) -> Self {
        Self {
            sequence: found.sequence,
            records: reader.commit_bytes(found),
            path: reader.path(),
            segment: reader.number(),
            offset: found.start,
            image: 0,
        }
    }

    /// The commit's number.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// A fault in what it does, which only the caller can judge.
    pub fn damaged(&self, offence: &str) -> Error {
        let offence = format!("commit {}: {offence}", self.sequence.0);
        corrupt(self.path, self.segment, self.offset, offence)
    }

    /// Its operations, in the order in which they were made.
    pub fn operations(&self) -> Operations<'r> {
        Operations { commit: *self, reader: CommitReader::new(self.records) }
    }
}

impl Operations<'_> {
    /// Where the operation is that came last.
    #[inline]
    pub fn place(&self) -> OperationPlace {
        let offset = self.commit.offset + self.reader.place() as u64;
        debug_assert!(offset <= PLACE_OFFSET_MAX, "no segment is that long");
        OperationPlace((self.commit.image as u64) << PLACE_OFFSET_BITS | offset)
    }
}

impl<'r> Iterator for Operations<'r> {
    type Item = Result<Operation<'r>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let commit = &self.commit;
        self.reader.next().map(|operation| {
            operation.map_err(|offence| corrupt(commit.path, commit.segment, commit.offset + offence.at, offence.what))
        })
    }
}

/// Segments have no holes in their numbers from the first that the checkpoint names.
fn check_numbers(database: &Path, needed: &[SegmentNumber], from: ReplayFrom) -> Result<()> {
    let mut expected = from.first_segment;
    for &number in needed {
        if number != expected {
            return Err(missing(database, expected));
        }
        expected.0 += 1;
    }
    if needed.is_empty() && from.first_segment_exists {
        return Err(missing(database, from.first_segment));
    }
    Ok(())
}

/// Whether these segments have no more bytes than this, and are not too many for an [`OperationPlace`].
fn is_small(disk: &dyn Disk, database: &Path, segments: &[SegmentNumber], bytes_max: u64) -> Result<bool> {
    let mut bytes = 0;
    for &number in segments {
        let path = segment_path(database, number);
        let length = disk.open(&path, Access::Read).and_then(|file| file.len());
        bytes += length.map_err(|error| Error::io("measure log segment", &path, error))?;
    }
    Ok(bytes <= bytes_max.min(PLACE_OFFSET_MAX) && segments.len() < 1 << (u64::BITS - PLACE_OFFSET_BITS))
}

fn missing(database: &Path, number: SegmentNumber) -> Error {
    Error::LogMissing { path: database.to_path_buf(), segment: segment_path(database, number) }
}

/// A place is the position of an image among the others, above, and an offset in it.
const PLACE_OFFSET_BITS: u32 = 44;
const PLACE_OFFSET_MAX: u64 = (1 << PLACE_OFFSET_BITS) - 1;

/// What the processor fetches at once.
const LINE_BYTES: usize = 64;
