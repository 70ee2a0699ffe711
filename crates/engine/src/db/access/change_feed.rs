//! The change feed: every commit after one that a consumer has seen, in order, from the log that is kept.
//!
//! Invariants:
//! (1) A feed ends with the newest commit that was durable when it was begun: no power cut loses a commit that a
//!     consumer has seen.
//! (2) Changes that are not in the log, by a bulk load or a transaction that had spilled, are noted there
//!     (`txn/commit/note.rs`). A log from a time without such notes is not read.
//! (3) A large value is given from the snapshot with which the feed ends. If that has another one for its key, or
//!     none, then a later change of the same feed replaced it.

use std::collections::HashMap;
use std::fmt;
use std::iter::FusedIterator;
use std::time::Duration;

use crate::db::handle::database::Database;
use crate::db::storage::catalog;
use crate::error::{Error, Result};
use crate::format::{DescriptorFault, LargeValue, Operation};
use crate::ids::{SegmentNumber, Sequence, TableId};
use crate::log::{self, Feed, FeedSource, Kept};
use crate::merge_functions::check_not_merging;
use crate::sync::{Arc, Instant};
use crate::txn::commit::begin::Reading;
use crate::txn::commit::core::Core;
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::read_txn::ReadTxn;

/// An iterator over commits in their order: see [`Database::changes`].
///
/// It retains the log segments that it has not read yet, and a snapshot until it is dropped. So read it to the end,
/// then drop it.
pub struct Changes {
    core: Arc<Core>,
    feed: Feed,
    source: FeedSource,
    /// The newest commit of the feed is the newest that this sees.
    last: ReadTxn,
    names: HashMap<TableId, Arc<str>>,
    ended: bool,
}

/// One commit with all its changes. All its values are in memory, large ones too.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Commit {
    /// Its number.
    pub sequence: Sequence,
    /// Its changes, in the order in which they take effect. A key is changed once at most, unless its table is dropped
    /// and created again.
    pub changes: Vec<Change>,
}

/// The table of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedTable {
    /// Its number: see [`Table::id`]. None for a dropped table that was created before the feed begins, or by a
    /// transaction that had spilled, or for which the feed has a [`Change::BulkLoaded`].
    pub id: Option<TableId>,
    /// Its name. None for a table that was dropped before the feed was begun, if it was created before the first commit
    /// of the feed or by a transaction that had spilled, or after a [`Change::BulkLoaded`] of it. A later commit of the
    /// same feed drops it, by a [`Change::TableDropped`] or a [`Change::BulkLoaded`], so its changes can be skipped.
    pub name: Option<Arc<str>>,
}

/// One change of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The key has this value: from a put, or as the result of a merge.
    Put {
        /// The table.
        table: ChangedTable,
        /// The key.
        key: Vec<u8>,
        /// The value.
        value: Vec<u8>,
    },
    /// The key got a large value that is no longer stored. A later commit of the same feed replaced it, deleted the
    /// key, dropped the table or reports a bulk load of the table.
    Superseded {
        /// The table.
        table: ChangedTable,
        /// The key.
        key: Vec<u8>,
        /// The length that the value had.
        value_bytes: u64,
    },
    /// The key was deleted.
    Delete {
        /// The table.
        table: ChangedTable,
        /// The key.
        key: Vec<u8>,
    },
    /// The table was created.
    TableCreated {
        /// The table.
        table: ChangedTable,
    },
    /// The table was dropped.
    TableDropped {
        /// The table.
        table: ChangedTable,
    },
    /// The table was renamed. If the feed began after the creation of the table, earlier changes may already carry the
    /// new name.
    TableRenamed {
        /// The table, by its new name.
        table: ChangedTable,
        /// The name that it had.
        before: Arc<str>,
    },
    /// A bulk load may have put any keys of the table, or a transaction that had spilled
    /// ([`Options::write_set_bytes`](crate::Options::write_set_bytes)) may have put and deleted any. The log does not
    /// contain these keys. Read the whole table from a snapshot that is not older, and replace the consumer's copy. (If
    /// the load failed, nothing has changed.)
    ///
    /// Such a transaction has one of these for each table that it changed, created, dropped or renamed, and no other
    /// change. The table may be one that no feed has named before, or one that no longer exists.
    BulkLoaded {
        /// The table.
        table: ChangedTable,
    },
}

impl Database {
    /// Returns the commits after `after`, in order, up to the newest durable one.
    ///
    /// Requires [`crate::Options::keep_log`]. A consumer stores the sequence of the last commit that it has processed,
    /// ideally in the same transaction as its results, and continues after it when it restarts:
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use fulgurite::{Change, Database, Sequence};
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// let db = Database::options().create(true).keep_log(256 << 20).open(directory.path().join("a.ful"))?;
    /// let users = db.create_table("users", Default::default())?;
    /// db.update(|txn| txn.put(&users, b"ann", b"admin"))?;
    ///
    /// let mut seen = Sequence(0);
    /// let mut copy = std::collections::BTreeMap::new();
    /// while db.wait_durable(seen, Duration::from_millis(10))? > seen {
    ///     for commit in db.changes(seen)? {
    ///         let commit = commit?;
    ///         for change in commit.changes {
    ///             match change {
    ///                 Change::Put { key, value, .. } => drop(copy.insert(key, value)),
    ///                 Change::Delete { key, .. } => drop(copy.remove(&key)),
    ///                 _ => {}
    ///             }
    ///         }
    ///         seen = commit.sequence;
    ///     }
    /// }
    /// assert_eq!(copy[&b"ann"[..]], b"admin");
    /// # Ok(()) }
    /// ```
    ///
    /// A new consumer, or one that received [`Error::ChangesGone`], first copies the data from a
    /// [`Database::read_durable`] transaction, and continues after its [`ReadTxn::sequence`].
    ///
    /// A database that is open read-only returns the commits up to the checkpoint that it found when it was opened;
    /// reopen it for newer ones. If another process writes, segments may be removed while they are read: the feed then
    /// ends with [`Error::ChangesGone`].
    ///
    /// # Errors
    /// [`Error::ChangesGone`] if the log begins after `after`; [`Error::Invalid`] if `after` is above the newest
    /// commit, or the log is not kept; [`Error::Closed`], and errors of the disk. The iterator ends with
    /// [`Error::Corrupt`] if a retained segment is damaged; the database itself does not need these segments.
    pub fn changes(&self, after: Sequence) -> Result<Changes> {
        let core = &self.inner.core;
        core.check_process()?;
        check_not_merging()?;
        if !self.log_is_kept() {
            let message = "the log is not kept, so it has no changes; keep the log when you write (keep_log, keepLog \
                           or --keep-log)";
            return Err(Error::Invalid { message: message.to_owned() });
        }
        let last = ReadTxn::new(Reading::of(self.newest_of_feed()?));
        let through = last.sequence();
        if after > through {
            let message = format!(
                "no changes can be asked for after commit {}: the newest that is durable is {}",
                after.0, through.0
            );
            return Err(Error::Invalid { message });
        }
        let (source, pin, floor) = match &core.writer {
            Some(writer) => {
                let (source, pin) = writer.log.lock().journal.pinned_source();
                (source, Some(pin), writer.retention.floor())
            }
            None => (self.source_on_disk()?, None, Sequence(0)),
        };
        let begun = if after < floor { None } else { source.clone().begin(after, through, pin)? };
        let Some(feed) = begun else { return Err(changes_gone(core, &source, after, floor, through)) };
        let names = last.tables().into_iter().map(|table| (table.id(), Arc::clone(&table.info.name))).collect();
        Ok(Changes { core: Arc::clone(core), feed, source, last, names, ended: false })
    }

    /// Waits at most `timeout` for a durable commit after `after`. Returns the sequence of the newest durable commit,
    /// which is `after` if none followed. Commits that are visible but not durable are made durable.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `after` is above the newest commit; errors of the disk; [`Error::ReadOnly`],
    /// [`Error::Poisoned`], [`Error::Closed`].
    pub fn wait_durable(&self, after: Sequence, timeout: Duration) -> Result<Sequence> {
        check_not_merging()?;
        let core = &self.inner.core;
        let now = Instant::now();
        let deadline = now.checked_add(timeout).unwrap_or(now + FAR_AWAY);
        core.writer()?;
        // A snapshot shows the note of a load a moment before the note counts as visible.
        let newest = core.snapshot()?.sequence.max(core.published.visible());
        if after > newest {
            let message = format!(
                "cannot wait for a commit after {}: the newest commit is {}; wait after one that was read or written here",
                after.0, newest.0
            );
            return Err(Error::Invalid { message });
        }
        loop {
            core.writer()?;
            let durable = core.durable_snapshot()?.sequence;
            if durable > after {
                return Ok(durable);
            }
            if core.published.visible() > after {
                core.sync()?;
                continue;
            }
            let now = Instant::now();
            if now >= deadline {
                return Ok(durable);
            }
            // Closing wakes no waiting thread.
            core.published.wait_until(Sequence(after.0.saturating_add(1)), deadline.min(now + LOOK_INTERVAL));
        }
    }

    fn log_is_kept(&self) -> bool {
        match &self.inner.core.writer {
            Some(writer) => writer.retention.keeps(),
            None => self.inner.meta.features.log_is_kept(),
        }
    }

    /// The newest moment that is certain to be durable.
    fn newest_of_feed(&self) -> Result<crate::txn::snapshot::state::Snapshot> {
        let snapshot = self.inner.core.durable_snapshot()?;
        if self.inner.core.writer.is_some() {
            return Ok(snapshot);
        }
        // What was replayed in memory may be in the page cache only.
        let checkpoint = snapshot.state.checkpoint;
        Ok(snapshot.at(checkpoint))
    }

    /// All segments on disk, because this process does not know which of them count.
    fn source_on_disk(&self) -> Result<FeedSource> {
        let (disk, database) = (Arc::clone(&self.inner.options.disk), self.path().to_path_buf());
        let segments = log::segments_of(&*disk, &database, self.inner.meta.log_first_segment)?;
        Ok(FeedSource { disk, database, uuid: self.inner.meta.uuid, segments })
    }

    /// How much of the log is kept that recovery does not need, and the oldest commit that can be read.
    pub(crate) fn kept_log(&self) -> Result<(Kept, Option<Sequence>)> {
        if !self.log_is_kept() {
            return Ok((Kept::default(), None));
        }
        let (source, needed) = match &self.inner.core.writer {
            Some(writer) => writer.log.lock().journal.source(),
            None => (self.source_on_disk()?, self.inner.meta.log_first_segment),
        };
        let superfluous = &source.segments[..source.segments.partition_point(|&number| number < needed)];
        let disk = &*self.inner.options.disk;
        let kept = match &self.inner.core.writer {
            Some(writer) => writer.retention.kept(disk, &source.database, superfluous),
            None => {
                log::Retention::new(u64::MAX, Sequence(0), SegmentNumber(0)).kept(disk, &source.database, superfluous)
            }
        };
        let floor = self.inner.core.writer.as_ref().map_or(Sequence(0), |writer| writer.retention.floor());
        // A segment that is damaged, or that another process removes meanwhile, is the feed's business.
        let oldest = source.oldest().ok().flatten().map(|oldest| oldest.max(Sequence(floor.0 + 1)));
        Ok((kept, oldest.filter(|&oldest| oldest <= self.inner.core.published.visible())))
    }
}

impl Changes {
    /// The sequence of the last commit of this feed: the newest durable one when the feed began.
    pub fn through(&self) -> Sequence {
        self.last.sequence()
    }

    fn next_commit(&mut self) -> Result<Option<Commit>> {
        self.core.check_process()?;
        let before = self.feed.last();
        let reader = Reader { last: &self.last, names: &mut self.names };
        match self.feed.next_commit() {
            Ok(Some(commit)) => reader.read(&commit).map(Some),
            Ok(None) => Ok(None),
            // The log is another process's, which may have removed a segment that is being read.
            Err(error) if self.core.writer.is_none() => Err(self.explain(error, before)),
            Err(error) => Err(error),
        }
    }

    /// Why a log that others may remove, or use again, does not go on.
    fn explain(&self, error: Error, before: Sequence) -> Error {
        let segments = log::segments_of(&*self.source.disk, &self.source.database, SegmentNumber(0));
        let now = segments.map(|segments| FeedSource { segments, ..self.source.clone() });
        match now.and_then(|now| now.clone().begin(before, self.through(), None).map(|feed| (now, feed))) {
            Ok((now, None)) => changes_gone(&self.core, &now, before, Sequence(0), self.through()),
            _ => error,
        }
    }
}

impl Iterator for Changes {
    type Item = Result<Commit>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_commit();
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

impl FusedIterator for Changes {}

impl fmt::Debug for Changes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { feed, ended, .. } = self;
        let (last, through) = (feed.last(), self.through());
        out.debug_struct("Changes").field("last", &last).field("through", &through).field("ended", ended).finish()
    }
}

/// Makes of a commit of the log what is given out.
struct Reader<'c> {
    last: &'c ReadTxn,
    names: &'c mut HashMap<TableId, Arc<str>>,
}

impl Reader<'_> {
    fn read(mut self, commit: &log::Commit<'_>) -> Result<Commit> {
        let mut changes = Vec::new();
        for operation in commit.operations() {
            let change = match operation? {
                Operation::Put { table: TableId::CATALOG, key, value } => {
                    let pages = &self.last.snapshot.state.pages;
                    self.created(key, value)
                        .map_err(|fault| catalog::error_of(fault, pages, |offence| commit.damaged(offence)))?
                }
                Operation::Delete { table: TableId::CATALOG, key } => {
                    self.dropped(key).ok_or_else(|| commit.damaged("the name of a table is not UTF-8"))?
                }
                Operation::Put { table, key, value } => {
                    Change::Put { table: self.table(table), key: key.to_vec(), value: value.to_vec() }
                }
                Operation::PutLarge { table, key, large } => self.large(table, key, &large)?,
                Operation::Delete { table, key } => Change::Delete { table: self.table(table), key: key.to_vec() },
                Operation::Renamed { table, before, after } => {
                    self.renamed(table, before, after).map_err(|offence| commit.damaged(offence))?
                }
                Operation::Loaded { table } => self.loaded(table),
            };
            changes.push(change);
        }
        Ok(Commit { sequence: commit.sequence(), changes })
    }

    fn table(&self, id: TableId) -> ChangedTable {
        ChangedTable { id: Some(id), name: self.names.get(&id).cloned() }
    }

    fn created(&mut self, name: &[u8], descriptor: &[u8]) -> Result<Change, DescriptorFault> {
        let info = catalog::decode(name, descriptor, TableId::END)?.info;
        self.names.insert(info.id, Arc::clone(&info.name));
        Ok(Change::TableCreated { table: self.table(info.id) })
    }

    fn renamed(&mut self, id: TableId, before: &[u8], after: &[u8]) -> Result<Change, &'static str> {
        let (before, after) = (catalog::name_of(before)?.into(), catalog::name_of(after)?.into());
        self.names.insert(id, after);
        Ok(Change::TableRenamed { table: self.table(id), before })
    }

    /// A transaction that had spilled may also have renamed or dropped the table. From now on the table has the name
    /// that it has at the end of the feed, or none.
    fn loaded(&mut self, id: TableId) -> Change {
        let change = Change::BulkLoaded { table: self.table(id) };
        match self.last.snapshot.state.view_of(id) {
            Some(view) => self.names.insert(id, Arc::clone(&view.info.name)),
            None => self.names.remove(&id),
        };
        change
    }

    fn dropped(&mut self, name: &[u8]) -> Option<Change> {
        let name: Arc<str> = std::str::from_utf8(name).ok()?.into();
        // A table of this name that is there at the end was created later: of two, the one with the lower number went.
        let ids = self.names.iter().filter(|(_, other)| **other == name).map(|(id, _)| *id);
        let id = ids.filter(|id| self.last.snapshot.state.view_of(*id).is_none()).min();
        if let Some(id) = id {
            self.names.remove(&id);
        }
        Some(Change::TableDropped { table: ChangedTable { id, name: Some(name) } })
    }

    fn large(&self, id: TableId, key: &[u8], large: &LargeValue) -> Result<Change> {
        let state = &self.last.snapshot.state;
        let (table, key) = (self.table(id), key.to_vec());
        if let Some(view) = state.view_of(id) {
            let handle = Table { info: Arc::clone(&view.info), instance: state.instance };
            // Compared by content, because compaction moves values.
            let same = |value: &[u8]| {
                value.len() as u64 == u64::from(large.value.length)
                    && state.pages.identity().hash(value) == large.value.checksum
            };
            if let Some(value) = self.last.get(&handle, &key)?.filter(|value| same(value)) {
                return Ok(Change::Put { table, key, value: value.to_vec() });
            }
        }
        Ok(Change::Superseded { table, key, value_bytes: u64::from(large.value.length) })
    }
}

/// Why the changes after a commit cannot be given: those up to `floor` are not all in the log. If there is no commit
/// in it, the oldest will be the one after `newest`.
fn changes_gone(core: &Core, source: &FeedSource, after: Sequence, floor: Sequence, newest: Sequence) -> Error {
    let oldest = match source.oldest() {
        Ok(oldest) => oldest.unwrap_or(Sequence(newest.0 + 1)).max(Sequence(floor.0 + 1)),
        Err(error) => return error,
    };
    Error::ChangesGone { path: core.path.clone(), after, oldest }
}

/// How often a waiting thread checks whether the database was closed.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Long enough to count as never.
const FAR_AWAY: Duration = Duration::from_secs(1 << 30);
