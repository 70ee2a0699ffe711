//! Rebuilding the indexes of streams, types and tags from the log, which has everything that they have. The exception
//! are the ends of streams whose events retention has removed: these come from the old index, if it can be read.
//!
//! Invariants: (1) The new indexes are filled beside the old ones, and exchanged in one transaction. A rebuild that is
//! interrupted changes nothing; the next one drops what it has left. (2) No handle of the store exists meanwhile, so
//! the log does not change, and no handle keeps the old tables. (3) A stream never continues below a version that an
//! event, a truncation, a deletion or a state of an aggregate shows. (4) Nothing is rebuilt if the log has lost events:
//! the old indexes can be all that shows these.

use std::collections::HashMap;

use fulgurite::{Database, Read, ReadTxn};

use crate::error::{Error, Result};
use crate::ids::{Position, StreamId, TypeId, Version};
use crate::layout::chunk::{Chunk, Slot};
use crate::layout::keys;
use crate::layout::parts::{self, Block, Entries, Entry, Part};
use crate::layout::stream::StreamRecord;
use crate::layout::tables::Tables;
use crate::reading::check::checker;
use crate::reading::locate;
use crate::reading::types::Types;
use crate::store::folding::PARTS_MAX;
use crate::store::options::StoreOptions;
use crate::store::retention::retry;
use crate::store::shared::Shared;

/// The result of [`StoreOptions::rebuild_indexes`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexReport {
    /// The number of events in the new indexes, without removed ones.
    pub events: u64,
    /// Names of streams that may have had events, and whose last version is not known: retention has removed events,
    /// the log has none of the stream, and the last entry of it in the old index is missing or cannot be read. They
    /// continue at the highest version that is known. A stream that never had events is named too: the old index does
    /// not show that.
    pub unknown_ends: Vec<Vec<u8>>,
}

impl StoreOptions {
    /// Writes the indexes of streams, types and tags again, from the log. This repairs a store for which
    /// [`StoreReport::is_repairable`](crate::StoreReport::is_repairable) returns true. Events, streams, consumers and
    /// states of aggregates do not change. Only the name of the options matters.
    ///
    /// It checks the store first, so it reads the whole log twice. Until the last transaction, which exchanges the
    /// indexes, the old ones stay; so the file grows by the size of the indexes. Threads that open any store wait
    /// meanwhile.
    ///
    /// ```
    /// # use fulgurite::Database;
    /// # use fulgurite_events::{EventData, EventStore, Expected};
    /// # fn main() -> fulgurite_events::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let path = directory.path().join("a.ful");
    /// # EventStore::create(&path)?.append("a", Expected::Any, &[EventData::new("counted", b"1")])?;
    /// let db = Database::options().open(&path)?;
    /// let rebuilt = EventStore::options().rebuild_indexes(&db)?;
    /// assert_eq!(rebuilt.events, 1);
    /// assert!(EventStore::open_in(&db)?.snapshot()?.check()?.is_sound());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if this process has the store open; [`Error::NotEvents`], [`Error::NewerLayout`];
    /// [`Error::Damaged`] if a table is damaged that cannot be rebuilt, or the log has lost events that an index or a
    /// consumer shows; errors of the disk. The indexes are as before then.
    pub fn rebuild_indexes(self, db: &Database) -> Result<IndexReport> {
        Shared::while_closed(db, &self.name, || {
            let missing = || Error::NotEvents { name: self.name.clone() };
            let tables = Tables::open(&db.read()?, &self.name)?.ok_or_else(missing)?;
            refuse_loss(&db.read()?, &tables)?;
            let rebuilt = rebuild(db, &tables);
            if rebuilt.is_err() {
                // If this fails too, the next call drops them.
                let _ = retry(db, |txn| tables.drop_beside(txn));
            }
            rebuilt
        })
    }
}

/// Refuses a store that is not repairable.
fn refuse_loss(txn: &ReadTxn, tables: &Tables) -> Result<()> {
    let types = Types::load(txn, tables)?.len();
    match checker::check(txn, tables, types) {
        Ok(report) => match report.lost() {
            Some(defect) => Err(Error::Damaged { table: defect.table.clone(), what: defect.what }),
            None => Ok(()),
        },
        // A page that cannot be read ends the check. The rebuild replaces pages of old indexes. If a page of the log or
        // of the table of streams cannot be read, it fails too.
        Err(Error::Engine(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

fn rebuild(db: &Database, tables: &Tables) -> Result<IndexReport> {
    let beside = retry(db, |txn| tables.create_beside(txn))?;
    let txn = db.read()?;
    let start = locate::start_of_log(&txn, tables)?;
    let mut filling = Filling { db, beside: &beside, batch: Batch::default(), events: 0, has_shared_entries: false };
    for entry in txn.range(&tables.log, keys::number(start.0)..)? {
        let (key, value) = entry?;
        filling.add(tables, &locate::parse(tables, &key, &value)?)?;
    }
    filling.write()?;
    let unknown_ends = Ends::read(&txn, tables, start)?.carry(&mut filling)?;
    filling.write()?;
    let report = IndexReport { events: filling.events, unknown_ends };
    let has_shared_entries = filling.has_shared_entries;
    retry(db, |txn| {
        if has_shared_entries {
            tables.raise_layout(txn)?;
        }
        tables.exchange(txn, &beside)
    })?;
    Ok(report)
}

/// Fills the new indexes.
struct Filling<'f> {
    db: &'f Database,
    beside: &'f Tables,
    batch: Batch,
    events: u64,
    /// Whether an entry of the index of streams has several parts.
    has_shared_entries: bool,
}

/// What the next commit puts.
#[derive(Default)]
struct Batch {
    parts: Vec<Part>,
    by_type: Vec<[u8; 12]>,
    by_tag: Vec<[u8; 16]>,
}

impl Filling<'_> {
    /// Adds the events of a chunk. `tables` names the table in errors.
    fn add(&mut self, tables: &Tables, chunk: &Chunk<'_>) -> Result<()> {
        let damaged = |what| Err(tables.damaged(&tables.log, what));
        let (begin, mut kinds, mut tags) = (self.batch.parts.len(), Vec::<TypeId>::new(), Vec::<u64>::new());
        let mut slots = chunk.slots();
        for slot in slots.by_ref() {
            let event = slot.remains();
            let part = Part { stream: event.stream, version: event.version, chunk: chunk.first, count: 1 };
            if part.key() >= parts::blocks().start || part.end().is_none() {
                return damaged("the number of a stream or a version is too high");
            }
            let is_joined = self.batch.parts[begin..].last_mut().is_some_and(|last| last.join(&part));
            if !is_joined {
                self.batch.parts.push(part);
            }
            if slot.event().is_some() {
                self.events += 1;
                kinds.push(event.kind);
                tags.extend(event.tags.map(keys::tag_hash));
            }
        }
        if !slots.is_whole() {
            return damaged("an event is malformed");
        }
        kinds.sort_unstable();
        kinds.dedup();
        tags.sort_unstable();
        tags.dedup();
        self.batch.by_type.extend(kinds.into_iter().map(|kind| keys::type_chunk(kind, chunk.first)));
        self.batch.by_tag.extend(tags.into_iter().map(|tag| keys::tag_chunk(tag, chunk.first)));
        let Batch { parts, by_type, by_tag } = &self.batch;
        if parts.len() + by_type.len() + by_tag.len() >= PARTS_MAX { self.write() } else { Ok(()) }
    }

    /// Commits what was added.
    fn write(&mut self) -> Result<()> {
        let Batch { parts, by_type, by_tag } = &mut self.batch;
        parts.sort_unstable_by_key(Part::order);
        parts.dedup_by(|next, part| part.join(next));
        by_type.sort_unstable();
        by_tag.sort_unstable();
        let (beside, entries) = (self.beside, Entries::of(parts));
        self.has_shared_entries |= entries.share();
        retry(self.db, |txn| {
            txn.put_many(&beside.index, entries.iter())?;
            txn.put_many(&beside.by_type, by_type.iter().map(|key| (key, b"")))?;
            Ok(txn.put_many(&beside.by_tag, by_tag.iter().map(|key| (key, b"")))?)
        })?;
        self.batch = Batch::default();
        Ok(())
    }
}

/// What says how streams end whose events retention has removed.
struct Ends<'e> {
    txn: &'e ReadTxn,
    tables: &'e Tables,
    start: Position,
    /// The last parts in blocks that could be read.
    in_blocks: HashMap<StreamId, Part>,
    /// The versions after the last events whose ids the log has below its start.
    in_husks: HashMap<StreamId, Version>,
}

impl<'e> Ends<'e> {
    fn read(txn: &'e ReadTxn, tables: &'e Tables, start: Position) -> Result<Self> {
        let (mut in_blocks, mut in_husks) = (HashMap::new(), HashMap::new());
        // Damage of the index ends this early: then fewer ends are known.
        let blocks = txn.range(&tables.index, parts::blocks()).into_iter().flatten();
        for (_, value) in blocks.map_while(std::result::Result::ok) {
            let parts = Block::parse(&value).into_iter().flat_map(Block::parts);
            for part in parts.filter(|part| part.chunk < start && part.end().is_some()) {
                let last = in_blocks.entry(part.stream).or_insert(part);
                if last.version < part.version {
                    *last = part;
                }
            }
        }
        for entry in txn.range(&tables.log, ..keys::number(start.0))? {
            let (key, value) = entry?;
            for event in locate::parse(tables, &key, &value)?.slots().map(Slot::remains) {
                in_husks.insert(event.stream, Version(event.version.0.saturating_add(1)));
            }
        }
        Ok(Self { txn, tables, start, in_blocks, in_husks })
    }

    /// Adds the last parts of streams that have none in the new index. Returns the names of streams whose end is not
    /// known.
    fn carry(&self, filling: &mut Filling<'_>) -> Result<Vec<Vec<u8>>> {
        let (tables, new, mut unknown) = (self.tables, filling.db.read()?, Vec::new());
        for entry in self.txn.range(&tables.streams, ..)? {
            let (key, value) = entry?;
            let record = StreamRecord::parse(&value).zip(keys::chunk_of(&key));
            let (record, number) = record.ok_or_else(|| tables.damaged(&tables.streams, "a record is malformed"))?;
            let stream = StreamId(number.0);
            if locate::entries_end(&new, filling.beside, stream)? > Version(0) {
                continue;
            }
            let (part, is_last) = self.last_part(stream);
            let end = part.as_ref().and_then(Part::end).unwrap_or_default();
            let at_least = self.at_least(stream, &record)?.max(end);
            let known = part.filter(|_| is_last && end == at_least);
            let first = at_least.0.checked_sub(1).filter(|_| known.is_none() && self.start > Position::START);
            // The log has nothing at this position: it only carries the version.
            let lowest = first.map(|first| {
                let chunk = Position(self.start.0 - 1);
                Part { stream, version: Version(first), chunk, count: 1 }
            });
            // A stream that was created for its metadata may have no event. That its entry is lost looks the same.
            if known.is_none() && self.start > Position::START {
                unknown.push(record.name);
            }
            filling.batch.parts.extend(known.or(lowest));
            if filling.batch.parts.len() >= PARTS_MAX {
                filling.write()?;
            }
        }
        Ok(unknown)
    }

    /// The last part of a stream that can be read in the old index and is below the start of the log, and whether no
    /// later entry is malformed.
    fn last_part(&self, stream: StreamId) -> (Option<Part>, bool) {
        let in_block = self.in_blocks.get(&stream).copied();
        let Ok(entries) = self.txn.prefix(&self.tables.index, stream.0.to_be_bytes()) else { return (in_block, false) };
        let (mut in_entry, mut is_last) = (None, true);
        for entry in entries.rev() {
            // A page that cannot be read ends this early: then fewer parts are known.
            let Ok((key, value)) = entry else {
                is_last = false;
                break;
            };
            let last = Entry::parse(&key, &value).and_then(|entry| entry.parts().last());
            in_entry = last.filter(|part| part.chunk < self.start && part.end().is_some());
            if in_entry.is_some() {
                break;
            }
            is_last = false;
        }
        let part = [in_entry, in_block].into_iter().flatten().max_by_key(|part| part.version);
        (part, is_last)
    }

    /// The version that the next event of a stream gets at least.
    fn at_least(&self, stream: StreamId, record: &StreamRecord) -> Result<Version> {
        let (txn, tables) = (self.txn, self.tables);
        let in_husk = self.in_husks.get(&stream).copied().unwrap_or_default();
        let state = txn.prefix(&tables.snapshots, stream.0.to_be_bytes())?.next_back().transpose()?;
        let state = state.and_then(|(key, _)| keys::parse_stream_part(&key));
        let after_state = state.map_or(Version(0), |(_, version)| Version(version.0.saturating_add(1)));
        let deleted = locate::deleted_before(txn, tables, stream)?;
        Ok(record.first.max(deleted).max(after_state).max(in_husk))
    }
}
