//! The log as transactions use it: begun with the first commit, so that a database at rest has none.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::format::RecordEncoder;
use crate::ids::{SegmentNumber, Sequence};
pub use crate::io::PreparedPlace;
use crate::io::{Disk, File};
use crate::log::{FeedSource, Log, LogEnd, PendingSync, Retention, SegmentPin, check_name};
use crate::options::Durability;
use crate::planted::{Fault, planted};
use crate::sync::Arc;

/// The log, or where it will begin.
#[derive(Debug)]
pub struct Journal {
    disk: Arc<dyn Disk>,
    database: PathBuf,
    /// The data file, whose name that path must be.
    data: Arc<dyn File>,
    uuid: [u8; 16],
    log: Option<Log>,
    end: LogEnd,
    /// Whether the log may be written through memory.
    map: bool,
    retention: Arc<Retention>,
    /// Beginning the log failed at an unknown point, or its files were moved.
    poisoned: bool,
    /// The data file or the log was moved.
    moved: bool,
}

/// What the meta of a checkpoint says of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogStart {
    /// The first segment that recovery needs.
    pub segment: SegmentNumber,
    /// Whether it exists, so that its absence would be damage.
    pub exists: bool,
}

impl Journal {
    /// The log of the database at a path, to go on from `end`; written through memory, where the disk can, if `map`
    /// is set. Segments that are not needed stay as long as `retention` says.
    pub fn new(
        disk: Arc<dyn Disk>,
        database: &Path,
        data: Arc<dyn File>,
        uuid: [u8; 16],
        end: LogEnd,
        map: bool,
        retention: Arc<Retention>,
    ) -> Self {
        let (database, log, poisoned, moved) = (database.to_path_buf(), None, false, false);
        Self { disk, database, data, uuid, log, end, map, retention, poisoned, moved }
    }

    /// Begins the log, if it has not begun, so that it exists durably. Returns the segment that commits are written to.
    ///
    /// # Errors
    /// [`Error::Moved`], and as [`Log::create_keeping`].
    pub fn begin_segment(&mut self) -> Result<SegmentNumber> {
        self.begin().map(|log| log.current_segment())
    }

    /// All of the log that can be read, and the first of its segments that recovery needs.
    pub fn source(&self) -> (FeedSource, SegmentNumber) {
        let (segments, needed) = match &self.log {
            Some(log) => log.segments(),
            None => (self.end.segments.clone(), self.end.next_segment),
        };
        let segments = self.retention.readable(segments);
        let (disk, database) = (Arc::clone(&self.disk), self.database.clone());
        (FeedSource { disk, database, uuid: self.uuid, segments }, needed)
    }

    /// As [`Journal::source`]. None of its segments is removed while the pin lives.
    pub fn pinned_source(&self) -> (FeedSource, SegmentPin) {
        let (source, _) = self.source();
        let pin = self.retention.pin(source.segments.first().copied().unwrap_or_default());
        (source, pin)
    }

    /// Appends a finished commit, and writes it unless it may be lost with the process. True if it waits in the
    /// buffer to be written behind. What must survive the machine is left to sync.
    ///
    /// # Errors
    /// What the disk reports; the commit is forgotten then. [`crate::Error::Poisoned`] if it may have survived.
    pub fn append(&mut self, commit: &mut RecordEncoder, sequence: Sequence, durability: Durability) -> Result<bool> {
        let log = self.begin()?;
        log.append(commit, sequence)?;
        let outcome = match durability {
            Durability::Memory => return Ok(true),
            Durability::Log if planted(Fault::AcknowledgedUnwritten) => return Ok(false),
            Durability::Log | Durability::Disk => log.write(),
        };
        if outcome.is_err() && log.written_sequence() < sequence && !log.is_poisoned() {
            log.retract(sequence);
        }
        outcome.map(|()| false)
    }

    /// Assigns a finished commit a place in the log's file. The commit is written to it without the log's lock, by
    /// [`PreparedPlace::write`]: see [`Log::place`]. None where [`Journal::append`] must be used.
    ///
    /// # Errors
    /// As [`Journal::append`].
    #[inline]
    pub fn place(
        &mut self,
        commit: &mut RecordEncoder,
        sequence: Sequence,
        durability: Durability,
    ) -> Result<Option<PreparedPlace>> {
        if durability == Durability::Memory || planted(Fault::AcknowledgedUnwritten) {
            return Ok(None);
        }
        self.begin()?.place(commit, sequence)
    }

    /// Whether the log has a commit with this number.
    pub fn has_taken(&self, sequence: Sequence) -> bool {
        self.log.as_ref().is_some_and(|log| log.last_sequence() >= sequence)
    }

    /// Writes what waits in the buffer.
    ///
    /// # Errors
    /// As [`Log::write`].
    pub fn write(&mut self) -> Result<()> {
        self.log.as_mut().map_or(Ok(()), Log::write)
    }

    /// Begins to make all commits durable, at least up to `sequence`: see [`Log::begin_sync_of`]. `None` if there is
    /// nothing to do.
    ///
    /// # Errors
    /// [`Error::Moved`], and as [`Log::begin_sync_of`].
    pub fn begin_sync(&mut self, sequence: Sequence) -> Result<Option<PendingSync>> {
        if self.log.as_ref().is_some_and(Log::has_unsynced) {
            self.check_names()?;
        }
        self.log.as_mut().map(|log| log.begin_sync_of(sequence)).transpose()
    }

    /// Notes how a sync went: see [`Log::finish_sync`].
    ///
    /// # Errors
    /// As [`Log::finish_sync`].
    pub fn finish_sync(&mut self, pending: PendingSync, outcome: Result<()>) -> Result<Sequence> {
        match &mut self.log {
            Some(log) => log.finish_sync(pending, outcome),
            // Closed meanwhile: a checkpoint has made all of it durable, elsewhere.
            None => Ok(self.end.durable),
        }
    }

    /// Begins a new segment: all commits so far are below it. It exists durably when this returns.
    ///
    /// # Errors
    /// As [`Log::create_keeping`] and [`Log::rotate`].
    pub fn rotate(&mut self) -> Result<SegmentNumber> {
        self.check_names()?;
        self.begin()?.rotate()
    }

    /// Releases the space that the log holds beside commits.
    ///
    /// # Errors
    /// As [`Log::give_back`].
    pub fn give_back(&mut self) -> Result<()> {
        self.log.as_mut().map_or(Ok(()), Log::give_back)
    }

    /// Removes the segments below `first` that are not to be kept: a durable checkpoint holds their commits, up to
    /// `checkpoint`.
    ///
    /// # Errors
    /// As [`Log::remove_before`].
    pub fn remove_before(&mut self, first: SegmentNumber, checkpoint: Sequence) -> Result<()> {
        self.check_names()?;
        if let Some(log) = &mut self.log {
            return log.remove_before(first, checkpoint);
        }
        // What recovery replayed is durable now, elsewhere than in the log that it was read from.
        self.end.durable = self.end.durable.max(checkpoint);
        self.end.remove_unkept(&*self.disk, &self.database, &self.retention)
    }

    /// The number that the meta of a closed database names: no segment with commits of it or below is needed.
    pub fn start_after_close(&self) -> LogStart {
        let segment = match &self.log {
            // It is removed, and what is kept must have no holes in its numbers.
            Some(log) if log.current_is_empty() && self.retention.keeps() => log.current_segment(),
            Some(log) => SegmentNumber(log.current_segment().0 + 1),
            None => self.end.next_segment,
        };
        LogStart { segment, exists: false }
    }

    /// Ends the log and removes its segments except those to be kept: a durable checkpoint holds everything and says
    /// so.
    ///
    /// # Errors
    /// As [`Log::remove_all`].
    pub fn close(&mut self) -> Result<()> {
        self.check_names()?;
        let after = self.start_after_close();
        let Some(log) = self.log.take() else {
            return self.end.remove_unkept(&*self.disk, &self.database, &self.retention);
        };
        self.end = LogEnd {
            sequence: log.last_sequence(),
            durable: log.last_sequence(),
            last_checksum: 0,
            next_segment: after.segment,
            segments: Vec::new(),
        };
        self.end.segments = log.remove_all()?;
        Ok(())
    }

    /// Checks that the paths of the data file and of the log still name them. If not, files of another database may
    /// be there: nothing is created or removed there, and no commit is acknowledged.
    ///
    /// # Errors
    /// [`Error::Moved`], after which the journal is poisoned; and the disk's.
    fn check_names(&mut self) -> Result<()> {
        let checked = check_name(&self.database, &self.data)
            .and_then(|()| self.log.as_ref().map_or(Ok(()), |log| log.check_name()));
        if matches!(checked, Err(Error::Moved { .. })) {
            (self.moved, self.poisoned) = (true, true);
        }
        checked
    }

    /// Whether the data file or the log was found to have been moved.
    pub fn is_moved(&self) -> bool {
        self.moved
    }

    /// Whether a failed sync ended the log's life, or its files were moved.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned || self.log.as_ref().is_some_and(Log::is_poisoned)
    }

    fn begin(&mut self) -> Result<&mut Log> {
        if self.log.is_none() {
            self.check_names()?;
            let (end, retention) = (self.end.clone(), Arc::clone(&self.retention));
            let created = Log::create_keeping(&self.disk, &self.database, self.uuid, end, retention);
            self.poisoned |= matches!(created, Err(Error::Poisoned { .. }));
            self.log = Some(if self.map { created? } else { created?.without_preparing() });
        }
        Ok(self.log.as_mut().expect("it was begun just now"))
    }
}
