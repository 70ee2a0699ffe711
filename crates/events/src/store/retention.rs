//! Retention: removes from the log what is too old or too much, what was truncated, and what was deleted.
//!
//! Invariants: (1) The last chunk of the log and the last entry of each stream in the index stay, because the next
//! position and the next version follow from them. So do blocks of the index: a call folds those that it finds before
//! its snapshot, and appends beside it add others. (2) The start of the log is raised before chunks below it are
//! removed, or in the commit that removes the first of them, so that a reader that misses one knows why. (3) Appends
//! change no entry that this removes, and do not wait for it. (4) One call runs at a time: a second one would write
//! chunks back that the first has removed. (5) The ids of removed events stay in the log while they are recognised,
//! unless their stream was deleted. A chunk below the start of the log stays for them, without events, or together with
//! its neighbours as one chunk. (6) An entry of the index leaves after the events of its parts: so the index names all
//! chunks with events that the limits of a stream remove. The ids that these events have left are removed when they
//! leave the window: the store notes up to where that is done. If the window is larger than before, the note goes back
//! first. Ids that events of a stream have left may stay if it has no limits when they leave the window. (7) On a full
//! disk the engine accepts commits that free more than they add, and counts what is deleted, not what is replaced by
//! less. So the start of the log is raised by a commit that removes a chunk. Chunks are removed before others are
//! rewritten, and neighbours whose ids stay are deleted in favour of the first of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::PoisonError;
use std::thread;

use fulgurite::{Database, Isolation, Read, ReadTxn, UPDATE_ATTEMPTS, WriteTxn};

use crate::error::{Error, Result};
use crate::event::Event;
use crate::ids::{Position, StreamId, Timestamp, Version};
use crate::layout::chunk::{Chunk, Kept, join};
use crate::layout::keys;
use crate::layout::parts::{self, Entry, Part};
use crate::layout::stream::StreamRecord;
use crate::layout::tables::{META_IDS, META_START};
use crate::reading::locate;
use crate::store::folding::is_full;
use crate::store::handle::EventStore;

/// The part of the log that [`EventStore::apply_retention`] keeps, besides the limits of single streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Keep events of this age at most.
    pub age_max: Option<std::time::Duration>,
    /// Keep this many events at most: the newest.
    pub count_max: Option<u64>,
    /// Keep about this many bytes of events at most: the newest.
    pub bytes_max: Option<u64>,
}

/// The result of [`EventStore::apply_retention`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetentionReport {
    /// The first position that is kept.
    pub start: Position,
    /// Chunks that were removed whole. Those that stay for ids of their events are among the rewritten ones.
    pub chunks_removed: u64,
    /// Chunks from which events or ids were removed, or that were joined.
    pub chunks_rewritten: u64,
}

/// Changes of the log that are to be committed.
#[derive(Default)]
struct Changes {
    /// The start of the log, until a transaction has raised it.
    start: Option<Position>,
    removed: Vec<Position>,
    rewritten: Vec<Rewritten>,
    /// The last chunk that keeps ids, which the next one may join.
    husk: Option<Husk>,
}

/// A new value of a chunk.
struct Rewritten {
    chunk: Position,
    value: Vec<u8>,
    /// The chunks after it whose places are in the value. They are removed.
    joined: Vec<Position>,
    /// The bytes of these chunks.
    joined_bytes: usize,
}

impl Rewritten {
    fn of(chunk: &Chunk<'_>, value: Vec<u8>) -> Self {
        Self { chunk: chunk.first, value, joined: Vec::new(), joined_bytes: 0 }
    }

    /// The bytes that it puts, less those that it deletes.
    fn added_bytes(&self) -> i64 {
        self.value.len() as i64 - self.joined_bytes as i64
    }
}

/// A chunk below the start of the log, and those that have joined it.
struct Husk {
    rewritten: Rewritten,
    end: Position,
    is_changed: bool,
}

impl Changes {
    /// How many chunks are changed.
    fn len(&self) -> usize {
        self.removed.len() + self.rewritten.iter().map(|chunk| 1 + chunk.joined.len()).sum::<usize>()
    }

    /// Notes a chunk that keeps only ids. It joins the chunk before it, if that ends where this one begins.
    fn keep_ids(&mut self, chunk: &Chunk<'_>, (value, is_changed): (Vec<u8>, bool)) {
        if let Some(husk) = &mut self.husk
            && husk.end == chunk.first
            && join(&mut husk.rewritten.value, &value)
        {
            husk.rewritten.joined.push(chunk.first);
            husk.rewritten.joined_bytes += chunk.bytes();
            husk.end = chunk.end();
            return;
        }
        self.finish_husk();
        let rewritten = Rewritten::of(chunk, value);
        self.husk = Some(Husk { rewritten, end: chunk.end(), is_changed });
    }

    fn finish_husk(&mut self) {
        let husk = self.husk.take().filter(|husk| husk.is_changed || !husk.rewritten.joined.is_empty());
        self.rewritten.extend(husk.map(|husk| husk.rewritten));
    }
}

/// The limits of a stream, as versions and times.
struct Limit {
    from: Version,
    since: Timestamp,
    /// The chunks before this position are older than `since`.
    young: Position,
    /// The ids of events with lower versions are free.
    ids_from: Version,
}

impl Limit {
    /// Whether it removes events of a part.
    fn removes_of(&self, part: &Part) -> bool {
        part.version < self.from || part.chunk < self.young
    }

    /// Whether it removes all events of an entry.
    fn removes(&self, entry: Entry<'_>) -> bool {
        entry.end <= self.from || entry.last_chunk() < self.young
    }

    fn kept(&self, event: &Event<'_>) -> Kept {
        if event.version < self.ids_from {
            Kept::Place
        } else if event.version < self.from || event.time < self.since {
            Kept::Id
        } else {
            Kept::Whole
        }
    }
}

impl EventStore {
    /// Removes events from the log: those beyond the limits of `retention`, those beyond the limits of their streams,
    /// and those of truncated and deleted streams. Positions and versions of other events do not change. Space is free
    /// for new events afterwards; [`Database::compact`](fulgurite::Database::compact) shrinks the file. The ids of
    /// removed events stay as long as they are recognised: [`StoreOptions::id_window`](crate::StoreOptions::id_window).
    ///
    /// Limits of the log apply to whole chunks, of up to 8,000 bytes: up to a chunk more is kept. The newest chunk
    /// stays.
    ///
    /// Appends and readers continue meanwhile; another call waits. If it fails, what was removed by then stays removed,
    /// and the next call continues. The call also folds the index of streams, so that streams are read faster later.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`].
    pub fn apply_retention(&self, retention: &Retention) -> Result<RetentionReport> {
        match self.shared.fold() {
            // Blocks stay: the next transaction that needs it folds them.
            Err(error) if error.is_retryable() => {}
            folded => folded?,
        }
        // Before the snapshot: it has everything that the call before has removed.
        let _alone = self.shared.retention.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Timestamp::now();
        let snapshot = self.snapshot()?;
        let txn = snapshot.txn();
        let Some((last, _)) = txn.last(&self.shared.tables.log)? else { return Ok(RetentionReport::default()) };
        let last = keys::chunk_of(&last).ok_or_else(|| self.damaged("a key is malformed"))?;
        let wanted = self.start_by(txn, retention, now)?;
        let wanted = locate::chunk_start(txn, &self.shared.tables, wanted)?;
        let start = wanted.min(last).max(snapshot.start()?);
        let mut report = RetentionReport { start, ..RetentionReport::default() };
        let limits = self.limits(txn, now)?;
        self.remove_chunks(txn, start, &limits, &mut report)?;
        self.remove_parts(txn, start, &limits)?;
        self.remove_lanes(txn, start)?;
        Ok(report)
    }

    /// The first position whose id is recognised.
    fn ids_from(&self, txn: &ReadTxn) -> Result<Position> {
        let end = locate::end_of_log(txn, &self.shared.tables)?.0;
        Ok(Position(end.0.saturating_sub(self.shared.id_window)))
    }

    fn damaged(&self, what: &'static str) -> Error {
        self.shared.tables.damaged(&self.shared.tables.log, what)
    }

    /// The first position that the limits of the log keep.
    fn start_by(&self, txn: &ReadTxn, retention: &Retention, now: Timestamp) -> Result<Position> {
        let tables = &self.shared.tables;
        let mut start = Position::START;
        if let Some(age) = retention.age_max {
            let age = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
            start = locate::position_at(txn, tables, Timestamp(now.0.saturating_sub(age)))?;
        }
        if let Some(count) = retention.count_max {
            start = start.max(Position(locate::end_of_log(txn, tables)?.0.0.saturating_sub(count)));
        }
        if let Some(most) = retention.bytes_max {
            let mut bytes = 0;
            for entry in txn.range(&tables.log, ..)?.rev() {
                let (key, value) = entry?;
                bytes += value.len() as u64;
                if bytes > most {
                    start = start.max(locate::parse(tables, &key, &value)?.end());
                    break;
                }
            }
        }
        Ok(start)
    }

    /// The streams whose events have to be removed.
    fn limits(&self, txn: &ReadTxn, now: Timestamp) -> Result<HashMap<StreamId, Limit>> {
        let tables = &self.shared.tables;
        let in_blocks = locate::block_ends(txn, tables)?;
        // Many streams have the same limit of age.
        let (mut limits, mut young_by_age) = (HashMap::new(), HashMap::new());
        for entry in txn.range(&tables.streams, ..)? {
            let (key, value) = entry?;
            let record = StreamRecord::parse(&value).zip(keys::chunk_of(&key));
            let (record, id) = record.ok_or_else(|| tables.damaged(&tables.streams, "a record is malformed"))?;
            if record.has_limits() {
                let stream = StreamId(id.0);
                let next = locate::entries_end(txn, tables, stream)?;
                let from = record.kept_from(in_blocks.get(&stream).copied().unwrap_or_default().max(next));
                let ids_from = locate::deleted_before(txn, tables, stream)?;
                let since = record.kept_since(now);
                let young = match (record.metadata.age_us_max, young_by_age.get(&since)) {
                    (None, _) => Position::START,
                    (Some(_), Some(young)) => *young,
                    (Some(_), None) => locate::position_at(txn, tables, since)?,
                };
                young_by_age.insert(since, young);
                limits.insert(stream, Limit { from, since, young, ids_from });
            }
        }
        Ok(limits)
    }

    /// The chunks from `start` on that have events which limits of streams remove. None if they are too many to be
    /// listed.
    fn limited_chunks(
        &self,
        txn: &ReadTxn,
        start: Position,
        limits: &HashMap<StreamId, Limit>,
    ) -> Result<Option<BTreeSet<Position>>> {
        let (tables, mut chunks) = (&self.shared.tables, BTreeSet::new());
        for (stream, limit) in limits {
            for entry in txn.prefix(&tables.index, stream.0.to_be_bytes())? {
                let (key, value) = entry?;
                let entry = locate::parse_entry(tables, &key, &value)?;
                let removed = entry.parts().take_while(|part| limit.removes_of(part)).map(|part| part.chunk);
                chunks.extend(removed.filter(|chunk| *chunk >= start));
                if chunks.len() > CHUNKS_MAX {
                    return Ok(None);
                }
                // The events of later entries are later.
                if !limit.removes(entry) {
                    break;
                }
            }
        }
        // Most often there are no blocks: they were folded.
        for entry in txn.range(&tables.index, parts::blocks())? {
            let (_, value) = entry?;
            let parts = locate::parse_block(tables, &value)?.parts();
            let is_removed = |part: &Part| limits.get(&part.stream).is_some_and(|limit| limit.removes_of(part));
            chunks.extend(parts.filter(|part| part.chunk >= start && is_removed(part)).map(|part| part.chunk));
        }
        Ok(Some(chunks))
    }

    /// Changes the chunks below `start`, those from which limits of streams remove events, and those whose ids have
    /// left the window since the call before.
    fn remove_chunks(
        &self,
        txn: &ReadTxn,
        start: Position,
        limits: &HashMap<StreamId, Limit>,
        report: &mut RetentionReport,
    ) -> Result<()> {
        let tables = &self.shared.tables;
        let ids_from = self.ids_from(txn)?;
        let left = locate::chunk_start(txn, tables, ids_from)?.max(start);
        let noted = locate::ids_removed(txn, tables)?;
        let done = noted.clamp(start, left);
        let (named, scanned) = match self.limited_chunks(txn, start, limits)? {
            _ if limits.is_empty() => (BTreeSet::new(), start..start),
            Some(named) => (named, done..left),
            None => (BTreeSet::new(), start..Position(u64::MAX)),
        };
        let note = || retry(&self.shared.db, |txn| Ok(txn.put(&tables.meta, META_IDS, keys::number(left.0))?));
        // Before ids are left in chunks behind it, so that no failure leaves them there for ever.
        if !limits.is_empty() && left < noted {
            note()?;
        }
        let is_raised = start > locate::start_of_log(txn, tables)?;
        let mut changes = Changes { start: is_raised.then_some(start), ..Changes::default() };
        let mut visit = |key: &[u8], value: &[u8]| {
            let chunk = locate::parse(tables, key, value)?;
            let is_below = chunk.first < start;
            let kept = |event: &Event<'_>| {
                let kept = limits.get(&event.stream).map_or(Kept::Whole, |limit| limit.kept(event));
                let kept = if is_below { kept.min(Kept::Id) } else { kept };
                if kept == Kept::Id && event.position < ids_from { Kept::Place } else { kept }
            };
            if !is_below {
                changes.rewritten.extend(chunk.without(kept).map(|value| Rewritten::of(&chunk, value)));
            } else if chunk.end() > ids_from && chunk.keeps_ids(kept) {
                // A chunk that is damaged stays as it is.
                if let Some(reduced) = chunk.reduced(kept) {
                    changes.keep_ids(&chunk, reduced);
                }
            } else {
                changes.removed.push(chunk.first);
            }
            if changes.len() >= CHANGES_MAX { self.commit(&mut changes, report) } else { Ok(()) }
        };
        for range in [Position::START..start, scanned.clone()] {
            for entry in txn.range(&tables.log, keys::number(range.start.0)..keys::number(range.end.0))? {
                let (key, value) = entry?;
                visit(&key, &value)?;
            }
        }
        for chunk in named.into_iter().filter(|chunk| !scanned.contains(chunk)) {
            let key = keys::number(chunk.0);
            // A read of the stream fails if it is missing.
            if let Some(value) = txn.get(&tables.log, key)? {
                visit(&key, &value)?;
            }
        }
        changes.finish_husk();
        self.commit(&mut changes, report)?;
        match !limits.is_empty() && noted < left {
            // Without the note, the next call reads the same chunks again.
            true => note().or_else(|error| if is_without_room(&error) { Ok(()) } else { Err(error) }),
            false => Ok(()),
        }
    }

    /// Commits changes of the log, and empties the lists of them.
    fn commit(&self, changes: &mut Changes, report: &mut RetentionReport) -> Result<()> {
        let Changes { start, removed, rewritten, .. } = changes;
        match self.change(*start, removed, rewritten) {
            Err(error) if is_without_room(&error) => self.change_without_room(*start, removed, rewritten)?,
            changed => changed?,
        }
        *start = None;
        report.chunks_removed += removed.len() as u64;
        report.chunks_rewritten += rewritten.iter().map(|chunk| 1 + chunk.joined.len() as u64).sum::<u64>();
        removed.clear();
        rewritten.clear();
        Ok(())
    }

    /// Makes changes by transactions that free more than they add, as far as there are any, and those that free most
    /// first. The first one that is accepted raises the start of the log. Then there may be room for the others.
    fn change_without_room(
        &self,
        mut start: Option<Position>,
        removed: &[Position],
        rewritten: &mut [Rewritten],
    ) -> Result<()> {
        let mut change = |removed: &[Position], rewritten: &[Rewritten]| -> Result<()> {
            self.change(start, removed, rewritten)?;
            start = None;
            Ok(())
        };
        if !removed.is_empty() {
            change(removed, &[])?;
            self.shared.db.checkpoint()?;
        }
        rewritten.sort_by_key(|chunk| (chunk.joined.is_empty(), chunk.added_bytes()));
        let (joining, others) = rewritten.split_at(rewritten.partition_point(|chunk| !chunk.joined.is_empty()));
        let mut refused = Ok(());
        for some in joining.chunks(JOINED_AT_ONCE) {
            // One by one: so only the commit of a chunk that was nearly full before is refused.
            for one in some.chunks(1) {
                match change(&[], one) {
                    Err(error) if is_without_room(&error) => refused = Err(error),
                    changed => changed?,
                }
            }
            self.shared.db.checkpoint()?;
        }
        others.chunks(REWRITTEN_AT_ONCE).try_for_each(|some| change(&[], some))?;
        refused?;
        if start.is_some() { self.change(start, &[], &[]) } else { Ok(()) }
    }

    /// One transaction.
    fn change(&self, start: Option<Position>, removed: &[Position], rewritten: &[Rewritten]) -> Result<()> {
        let (tables, joined) = (&self.shared.tables, || rewritten.iter().flat_map(|chunk| &chunk.joined));
        retry(&self.shared.db, |txn| {
            for chunk in removed.iter().chain(joined()) {
                txn.delete(&tables.log, keys::number(chunk.0))?;
            }
            for Rewritten { chunk, value, .. } in rewritten {
                txn.put(&tables.log, keys::number(chunk.0), value)?;
            }
            start.map_or(Ok(()), |start| Ok(txn.put(&tables.meta, META_START, keys::number(start.0))?))
        })
    }

    /// Removes entries of the index of streams whose events are gone, but not the last of a stream.
    fn remove_parts(&self, txn: &ReadTxn, start: Position, limits: &HashMap<StreamId, Limit>) -> Result<()> {
        let tables = &self.shared.tables;
        let (mut gone, mut before) = (Vec::new(), None);
        for entry in txn.range(&tables.index, ..parts::blocks().start)? {
            let (key, value) = entry?;
            let entry = locate::parse_entry(tables, &key, &value)?;
            // An entry goes if its stream has a later one.
            if let Some((of, version)) = before.take().filter(|(of, _)| *of == entry.stream) {
                gone.push(keys::stream_part(of, version));
            }
            let is_removed = limits.get(&entry.stream).is_some_and(|limit| limit.removes(entry));
            before = (entry.last_chunk() < start || is_removed).then_some((entry.stream, entry.first));
            if gone.len() >= CHANGES_MAX {
                self.delete_keys(&tables.index, &mut gone)?;
            }
        }
        self.delete_keys(&tables.index, &mut gone)
    }

    /// Removes entries of the indexes of types and tags that name removed chunks.
    fn remove_lanes(&self, txn: &ReadTxn, start: Position) -> Result<()> {
        let tables = &self.shared.tables;
        for table in [&tables.by_type, &tables.by_tag] {
            let mut gone = Vec::new();
            for entry in txn.range(table, ..)? {
                let (key, _) = entry?;
                if keys::chunk_of(&key).is_some_and(|chunk| chunk < start) {
                    gone.push(key.to_vec());
                }
                if gone.len() >= CHANGES_MAX {
                    self.delete_keys(table, &mut gone)?;
                }
            }
            self.delete_keys(table, &mut gone)?;
        }
        Ok(())
    }

    fn delete_keys<K: AsRef<[u8]>>(&self, table: &fulgurite::Table, keys: &mut Vec<K>) -> Result<()> {
        let db = &self.shared.db;
        retry(db, |txn| keys.iter().try_for_each(|key| txn.delete(table, key).map(drop).map_err(Error::from)))?;
        keys.clear();
        Ok(())
    }
}

fn is_without_room(error: &Error) -> bool {
    matches!(error, Error::Engine(error) if is_full(error))
}

/// As [`Database::update`], for changes of keys that no other transaction changes. A transaction that is spilled
/// conflicts with it nevertheless.
///
/// # Errors
/// Those of `change`; those of the engine.
pub fn retry<T>(db: &Database, mut change: impl FnMut(&mut WriteTxn) -> Result<T>) -> Result<T> {
    let mut attempt = 0;
    loop {
        let mut txn = db.write_with(Isolation::Snapshot)?;
        let changed = match change(&mut txn) {
            Ok(value) => txn.commit().map(|_| value).map_err(Error::from),
            Err(error) => Err(error),
        };
        attempt += 1;
        match changed {
            Err(error) if error.is_retryable() && attempt < UPDATE_ATTEMPTS => thread::yield_now(),
            changed => return changed,
        }
    }
}

/// Changes of one transaction.
const CHANGES_MAX: usize = 1000;
/// So many chunks are less than an engine without room accepts at once.
const REWRITTEN_AT_ONCE: usize = 16;
/// So many chunks with those that have joined them, before a checkpoint. Such a chunk may be full, and the reserve of a
/// small disk is small.
const JOINED_AT_ONCE: usize = 4;
/// If the index names more chunks, the whole log is read: a list of so many takes about 20 MB.
const CHUNKS_MAX: usize = 1 << 20;
