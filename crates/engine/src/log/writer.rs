//! The log's writing half: commits go into a buffer, from there into the current segment, and are then synced.
//!
//! (1) `durable ≤ written ≤ last`: commits up to `durable` are synced, up to `written` in the file, the rest in the
//!     buffer. Those that [`Log::place`] gave a place are in the file as soon as their threads have copied them
//!     there.
//! (2) Bytes of the current segment's file past `written_bytes` are never taken for records: they are zeros, for
//!     which space was prepared, or records of an earlier segment, which have another salt, or the rest of a failed
//!     write, which is cut off, and that synced, before the failure is reported. If cutting fails too, the log is
//!     poisoned.
//! (3) After a failed sync the log is poisoned: nothing is written, synced or removed any more.
//!
//! Nothing here takes a lock: the caller has one around the [`Log`]. A sync may run outside of it:
//! [`Log::begin_sync_of`].

use std::path::{Path, PathBuf};

use super::read_back::LogEnd;
use super::retention::Retention;
use super::segment::{CreateError, LogIdentity, Segment, Spare, remove_segments, remove_spare};
use crate::error::{Error, Result};
use crate::format::{RecordEncoder, RecordHeader, RecordLink};
use crate::ids::{SegmentNumber, Sequence};
use crate::io::{Disk, File, PreparedPlace};
use crate::planted::{Fault, planted};
use crate::sync::Arc;

/// The log of a database that is open for writing.
#[derive(Debug)]
pub struct Log {
    disk: Arc<dyn Disk>,
    database: PathBuf,
    identity: LogIdentity,
    /// The segment that commits are written to.
    current: Segment,
    /// Segments before it that were left by [`Log::rotate`] and may be needed, rising.
    left: Vec<Segment>,
    /// A segment that is not needed any more, to become the next one.
    spare: Option<Spare>,
    /// Segments before it whose names were not removed yet, rising.
    older: Vec<SegmentNumber>,
    /// Records for `current` that are not written yet.
    buffer: Vec<u8>,
    last: Sequence,
    written: Sequence,
    durable: Sequence,
    last_checksum: u64,
    sync_runs: bool,
    poisoned: bool,
    prepares: bool,
    /// Which segments stay that are not needed.
    retention: Arc<Retention>,
}

/// A sync that was begun: run it without the log's lock, then hand it back to [`Log::finish_sync`].
#[derive(Debug)]
#[must_use = "the log waits for finish_sync"]
pub struct PendingSync {
    files: Vec<(PathBuf, Arc<dyn File>)>,
    through: Sequence,
    /// The segment that commits were written to, and its records' bytes.
    segment: SegmentNumber,
    segment_bytes: u64,
}

/// Sees to it that a path still names a file.
///
/// # Errors
/// [`Error::Moved`] if it does not, and the disk's.
pub fn check_name(path: &Path, file: &Arc<dyn File>) -> Result<()> {
    match file.is_named(path).map_err(|error| Error::io("look for", path, error))? {
        true => Ok(()),
        false if planted(Fault::MovedFilesUnnoticed) => Ok(()),
        false => Err(Error::Moved { path: path.to_path_buf() }),
    }
}

impl PendingSync {
    /// Waits until the commits are on the medium.
    ///
    /// # Errors
    /// The disk's. The commits' fate is in doubt then; [`Log::finish_sync`] must hear of it.
    pub fn run(&self) -> Result<()> {
        // In the order of the segments: a commit is never durable before those that it follows.
        for (path, file) in &self.files {
            match file.sync_data() {
                Err(error) if !planted(Fault::FailedSyncIgnored) => {
                    return Err(Error::failed_sync("sync log segment", path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Log {
    /// As [`Log::create_keeping`], which keeps nothing.
    #[cfg(test)]
    pub fn create(disk: &Arc<dyn Disk>, database: &Path, uuid: [u8; 16], end: LogEnd) -> Result<Self> {
        Self::create_keeping(disk, database, uuid, end, Retention::none())
    }

    /// Begins a new segment after `end`, where the log was read back to, for the database at the path `database`.
    /// Segments that are not needed stay as long as `retention` says.
    ///
    /// # Errors
    /// The disk's, after which another call may succeed; `Poisoned` if the directory's sync failed, after which none
    /// may be made.
    ///
    /// # Panics
    /// If `end` says that more is durable than there is.
    pub fn create_keeping(
        disk: &Arc<dyn Disk>,
        database: &Path,
        uuid: [u8; 16],
        end: LogEnd,
        retention: Arc<Retention>,
    ) -> Result<Self> {
        assert!(end.durable <= end.sequence, "the log ends with the last commit there is");
        let identity = LogIdentity { uuid, notes_loads: retention.keeps() };
        let current = Segment::create(&**disk, database, identity, end.next_segment).map_err(|error| match error {
            CreateError::Failed(error) => error,
            CreateError::InDoubt => Error::Poisoned { path: database.to_path_buf() },
        })?;
        Ok(Self {
            disk: Arc::clone(disk),
            database: database.to_path_buf(),
            identity,
            current,
            left: Vec::new(),
            spare: None,
            older: end.segments,
            buffer: Vec::new(),
            last: end.sequence,
            written: end.sequence,
            durable: end.durable,
            last_checksum: end.last_checksum,
            sync_runs: false,
            poisoned: false,
            prepares: true,
            retention,
        })
    }

    /// From now on writes by calls alone: see [`File::prepare`].
    #[must_use]
    pub fn without_preparing(self) -> Self {
        Self { prepares: false, ..self }
    }

    /// Takes a finished commit into the buffer and empties the encoder. The buffer is written first if it would grow
    /// past [`BUFFER_BYTES_MAX`].
    ///
    /// # Errors
    /// Those of [`Log::write`], about commits before this one. This one was not taken then.
    ///
    /// # Panics
    /// If `sequence` is not the one after [`Log::last_sequence`], or the commit is not finished.
    pub fn append(&mut self, commit: &mut RecordEncoder, sequence: Sequence) -> Result<()> {
        self.check_usable()?;
        assert!(sequence.0 == self.last.0 + 1, "commits are logged in their order");
        if !self.buffer.is_empty() && self.buffer.len() + commit.len_bytes() > BUFFER_BYTES_MAX {
            self.write()?;
        }
        self.last_checksum = commit.stamp(&self.link_of(sequence));
        commit.move_to(&mut self.buffer);
        self.last = sequence;
        Ok(())
    }

    /// Gives a finished commit its place in the segment: the encoder's bytes are what is to be written there, through
    /// memory and without this log's lock. None, and nothing has happened, where they must go through the buffer.
    ///
    /// Requires: before the log is synced, turned to another segment or closed, the bytes are there.
    ///
    /// # Errors
    /// `Poisoned`.
    ///
    /// # Panics
    /// As [`Log::append`].
    #[inline]
    pub fn place(&mut self, commit: &mut RecordEncoder, sequence: Sequence) -> Result<Option<PreparedPlace>> {
        self.check_usable()?;
        assert!(sequence.0 == self.last.0 + 1, "commits are logged in their order");
        if !self.buffer.is_empty() || !self.prepares {
            return Ok(None);
        }
        let Some(place) = self.current.place(commit.len_bytes()) else { return Ok(None) };
        self.last_checksum = commit.stamp(&self.link_of(sequence));
        (self.last, self.written) = (sequence, sequence);
        Ok(Some(place))
    }

    /// Writes the buffer: its commits survive the process from now on.
    ///
    /// # Errors
    /// The disk's: the file is as it was, the commits are still in the buffer, and the next call tries again, without
    /// those that [`Log::retract`] took out. `Poisoned` if what is in the file is in doubt.
    pub fn write(&mut self) -> Result<()> {
        self.check_usable()?;
        if self.buffer.is_empty() {
            return Ok(());
        }
        if self.prepares {
            self.current.prepare(self.buffer.len());
        }
        if let Err(error) = self.current.file.write_at(self.current.written_bytes, &self.buffer) {
            // Nothing of a write that failed may ever be read, not even after a power cut.
            if self.current.cut_off_failed_write().is_err() {
                self.poisoned = true;
                return Err(self.poisoned_error());
            }
            return Err(Error::io("write log segment", &self.current.path, error));
        }
        self.current.written_bytes += self.buffer.len() as u64;
        self.written = self.last;
        self.buffer.clear();
        if self.buffer.capacity() > 2 * BUFFER_BYTES_MAX {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    /// Takes the commits from `first` on out of the buffer, after [`Log::write`] failed and they were refused. Their
    /// numbers are free again.
    ///
    /// # Panics
    /// If `first` was written already.
    pub fn retract(&mut self, first: Sequence) {
        assert!(first > self.written, "a commit that was written cannot be taken back");
        let mut at = 0;
        while let Some(header) = self.buffer[at..].first_chunk() {
            let header = RecordHeader::decode(header, self.current.salt)
                .and_then(Result::ok)
                .expect("the buffer holds what RecordEncoder::stamp sealed");
            if header.sequence >= first {
                self.last = Sequence(header.sequence.0 - 1);
                self.last_checksum = header.previous;
                self.buffer.truncate(at);
                return;
            }
            at += header.padded_length() as usize;
        }
    }

    /// Makes all commits durable that were appended. Answers the last one that is.
    ///
    /// # Errors
    /// Those of [`Log::write`]; and if the sync fails, the disk's, after which all calls answer `Poisoned`.
    #[cfg(test)]
    pub fn sync(&mut self) -> Result<Sequence> {
        let pending = self.begin_sync()?;
        let outcome = pending.run();
        self.finish_sync(pending, outcome)
    }

    /// As [`Log::begin_sync_of`], of all commits.
    #[cfg(test)]
    pub fn begin_sync(&mut self) -> Result<PendingSync> {
        self.begin_sync_of(self.last)
    }

    /// Writes the buffer, and returns the sync that makes at least the commits up to `sequence` durable. If these
    /// commits are written already, a failure to write later ones is ignored.
    ///
    /// # Errors
    /// Those of [`Log::write`].
    ///
    /// # Panics
    /// If another sync was begun and not finished: of two at a time, one could swallow the other's failure.
    pub fn begin_sync_of(&mut self, sequence: Sequence) -> Result<PendingSync> {
        assert!(!self.sync_runs, "one sync at a time");
        let written = self.write();
        if self.poisoned || self.written < sequence {
            written?;
        }
        self.sync_runs = true;
        let mut files = Vec::new();
        if self.durable < self.written {
            let left = self.left.iter_mut().filter(|segment| !segment.is_synced());
            for segment in left.chain([&mut self.current]) {
                segment.cut_off_unsynced_rest();
                files.push((segment.path.clone(), Arc::clone(&segment.file)));
            }
        }
        let (segment, segment_bytes) = (self.current.number, self.current.written_bytes);
        Ok(PendingSync { files, through: self.written, segment, segment_bytes })
    }

    /// Notes how a sync went. Answers the last commit that is durable.
    ///
    /// # Errors
    /// `outcome`'s, after which the log is poisoned; `Poisoned` if it was before.
    pub fn finish_sync(&mut self, pending: PendingSync, outcome: Result<()>) -> Result<Sequence> {
        self.sync_runs = false;
        if let Err(error) = outcome {
            self.poisoned = true;
            return Err(error);
        }
        self.check_usable()?;
        if !pending.files.is_empty() {
            for segment in self.left.iter_mut().chain([&mut self.current]) {
                segment.note_synced(pending.segment, pending.segment_bytes);
            }
        }
        self.durable = self.durable.max(pending.through);
        Ok(self.durable)
    }

    /// Whether commits are not durable yet, as far as is known.
    pub fn has_unsynced(&self) -> bool {
        self.durable < self.last
    }

    /// Sees to it that the segment's path is still its own.
    ///
    /// # Errors
    /// [`Error::Moved`], and the disk's.
    pub fn check_name(&self) -> Result<()> {
        check_name(&self.current.path, &self.current.file)
    }

    /// Turns to a new segment, so that all commits appended so far are in segments below it, and answers its number.
    /// If the current one has no commits, it stays.
    ///
    /// # Errors
    /// Those of [`Log::write`]; the disk's about the new segment: the log goes on in the current one then, unless it
    /// is poisoned.
    pub fn rotate(&mut self) -> Result<SegmentNumber> {
        self.write()?;
        if self.current.is_empty() {
            return Ok(self.current.number);
        }
        let next = self.next_segment(SegmentNumber(self.current.number.0 + 1)).map_err(|error| match error {
            CreateError::Failed(error) => error,
            CreateError::InDoubt => {
                self.poisoned = true;
                self.poisoned_error()
            }
        })?;
        let left = std::mem::replace(&mut self.current, next);
        self.older.extend((left.number.0..self.current.number.0).map(SegmentNumber));
        self.left.push(left);
        Ok(self.current.number)
    }

    /// The segment `number`, or one above it, made of the spare if there is one.
    fn next_segment(&mut self, number: SegmentNumber) -> Result<Segment, CreateError> {
        // Of two syncs of one file at a time, one could swallow the other's failure.
        if let Some(spare) = self.spare.take_if(|_| !self.sync_runs) {
            let recycled = Segment::recycle(&*self.disk, &self.database, self.identity, number, spare);
            if !matches!(recycled, Err(CreateError::Failed(_))) {
                return recycled;
            }
            // A spare that remains is replaced by the next one, at the latest. Creating a new file reports what is
            // wrong, if anything is.
            let _ = remove_spare(&*self.disk, &self.database);
        }
        Segment::create(&*self.disk, &self.database, self.identity, number)
    }

    /// Removes all segments below `first`, whose commits, up to `checkpoint`, a durable checkpoint holds; but those
    /// stay that are to be kept, and one of the others may, to be used again.
    ///
    /// # Errors
    /// The disk's: the rest was removed, and the next call tries again. `Poisoned`.
    ///
    /// # Panics
    /// If `first` is above the current segment.
    pub fn remove_before(&mut self, first: SegmentNumber, checkpoint: Sequence) -> Result<()> {
        self.check_usable()?;
        assert!(first <= self.current.number, "the current segment is in use");
        self.durable = self.durable.max(checkpoint.min(self.written));
        let kept = self.left.split_off(self.left.partition_point(|segment| segment.number < first));
        let mut done = std::mem::replace(&mut self.left, kept);
        let used_bytes = done.iter().map(|segment| segment.written_bytes).sum();
        let superfluous = &self.older[..self.older.partition_point(|&number| number < first)];
        let kept = self.retention.first_kept(&*self.disk, &self.database, superfluous, first);
        let last = superfluous[..superfluous.partition_point(|&number| number < kept)].last().copied();
        if let (None, Some(last)) = (&self.spare, last) {
            self.spare = match done.pop_if(|segment| segment.number == last) {
                Some(segment) => segment.into_spare(&*self.disk, &self.database, used_bytes),
                None if kept == first => None,
                None => Spare::of_kept(&*self.disk, &self.database, last, used_bytes),
            };
            if self.spare.is_some() {
                self.older.retain(|&number| number != last);
            }
        }
        remove_segments(&*self.disk, &self.database, &mut self.older, kept)
    }

    /// Frees the space that it holds beside commits: the spare segment, and, where the log is not kept, the space
    /// after the last commit. The next commits prepare new space.
    ///
    /// # Errors
    /// The disk's: space that could not be freed stays as before. `Poisoned`.
    pub fn give_back(&mut self) -> Result<()> {
        self.check_usable()?;
        if self.spare.is_some() {
            remove_spare(&*self.disk, &self.database)?;
            self.spare = None;
        }
        if self.retention.keeps() {
            // Somebody may be reading the segment, and have looked how long it is.
            return Ok(());
        }
        let cut = self.current.cut_off_rest();
        cut.map_err(|source| Error::io("cut", &self.current.path, source))
    }

    /// Ends the log and removes all of its segments but those that are to be kept, when a durable checkpoint holds
    /// all commits and names none of them. Answers those that stay.
    ///
    /// # Errors
    /// The disk's: a segment that stays is removed after the next opening. `Poisoned`.
    pub fn remove_all(self) -> Result<Vec<SegmentNumber>> {
        self.check_usable()?;
        let (disk, database, end) = (&*self.disk, &*self.database, SegmentNumber(u64::MAX));
        let mut segments = self.older;
        // A segment without commits would be kept for nothing.
        let mut useless = Vec::new();
        let list = if self.current.is_empty() { &mut useless } else { &mut segments };
        list.push(self.current.number);
        let kept = self.retention.first_kept(disk, database, &segments, end);
        remove_segments(disk, database, &mut useless, end)?;
        remove_segments(disk, database, &mut segments, kept)?;
        remove_spare(disk, database).map(|()| segments)
    }

    /// All segments with commits that can still be read, rising, and the first of them that recovery needs.
    pub fn segments(&self) -> (Vec<SegmentNumber>, SegmentNumber) {
        let needed = self.left.first().unwrap_or(&self.current).number;
        let mut segments = self.older.clone();
        segments.push(self.current.number);
        (segments, needed)
    }

    /// The last commit that was appended.
    pub fn last_sequence(&self) -> Sequence {
        self.last
    }

    /// The last commit that survives the process.
    pub fn written_sequence(&self) -> Sequence {
        self.written
    }

    /// The last commit that survives a power cut.
    #[cfg(test)]
    pub fn durable_sequence(&self) -> Sequence {
        self.durable
    }

    /// Whether a failed sync ended the log's life.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    /// The segment that commits are written to.
    pub fn current_segment(&self) -> SegmentNumber {
        self.current.number
    }

    /// Whether that has no commits.
    pub fn current_is_empty(&self) -> bool {
        self.current.is_empty()
    }

    /// Bytes in the current segment and in the buffer.
    #[cfg(test)]
    pub fn current_bytes(&self) -> u64 {
        self.current.written_bytes + self.buffer.len() as u64
    }

    /// Bytes in the buffer: what [`Log::write`] would write.
    #[cfg(test)]
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// What the next commit says of its place.
    fn link_of(&self, sequence: Sequence) -> RecordLink {
        let (salt, previous) = (self.current.salt, self.last_checksum);
        RecordLink { salt, previous, sequence, synced_up_to: self.durable }
    }

    fn check_usable(&self) -> Result<()> {
        if self.poisoned { Err(self.poisoned_error()) } else { Ok(()) }
    }

    #[cold]
    fn poisoned_error(&self) -> Error {
        Error::Poisoned { path: self.database.clone() }
    }
}

/// Commits wait in the buffer, until they are written, up to about this many bytes; one that is longer waits alone.
pub const BUFFER_BYTES_MAX: usize = 256 << 10;
