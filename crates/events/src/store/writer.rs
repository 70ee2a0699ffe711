//! What the thread that appends knows of the store: the ends of the log and of streams, and recent ids.

use fulgurite::{Database, WriteTxn};

use crate::error::Result;
use crate::event::EventData;
use crate::ids::{Position, StreamId, Timestamp, Version};
use crate::layout::keys;
use crate::layout::stream::{StreamRecord, StreamState};
use crate::layout::tables::Tables;
use crate::reading::locate;
use crate::store::batch::Spare;
use crate::store::folding::Folding;
use crate::store::heads::{Head, Heads, Slot};
use crate::store::id_window::IdWindow;

/// What the thread that appends knows. It agrees with the tables whenever no transaction runs.
#[derive(Debug, Default)]
pub struct Writer {
    /// Whether the rest was read from the tables.
    is_loaded: bool,
    /// Whether `heads` has every stream that has parts in blocks.
    knows_blocks: bool,
    /// The position that the next event gets.
    pub next: Position,
    /// When the newest event was appended.
    pub time: Timestamp,
    /// The number that the next new stream gets.
    pub next_stream: StreamId,
    /// The ends of streams.
    pub heads: Heads,
    /// Recent ids. None until an append has ids.
    pub ids: Option<IdWindow>,
    /// Folds the blocks of the index of streams.
    pub folding: Folding,
    /// The memory of the transaction before.
    pub spare: Spare,
}

impl Writer {
    /// Does what is due before a transaction begins, in transactions of its own: folds the blocks of the index if they
    /// are many, or have parts of streams whose ends are not in memory.
    ///
    /// # Errors
    /// Those of the engine; damage.
    pub fn prepare(&mut self, db: &Database, tables: &Tables) -> Result<()> {
        if self.heads.begin() {
            self.knows_blocks = false;
        }
        if self.folding.is_due(self.knows_blocks) { self.fold(db, tables) } else { Ok(()) }
    }

    /// Folds the blocks of the index.
    ///
    /// # Errors
    /// Those of the engine; damage.
    pub fn fold(&mut self, db: &Database, tables: &Tables) -> Result<()> {
        self.knows_blocks |= self.folding.fold(db, tables)?;
        Ok(())
    }

    /// Begins a transaction. Requires: it is prepared.
    ///
    /// # Errors
    /// Those of the engine; damage.
    pub fn begin(&mut self, txn: &WriteTxn, tables: &Tables) -> Result<()> {
        use fulgurite::Read;
        if !self.is_loaded {
            (self.next, self.time) = locate::end_of_log(txn, tables)?;
            self.next_stream = match txn.last(&tables.streams)? {
                Some((key, _)) => StreamId(locate_number(tables, &key)? + 1),
                None => StreamId(0),
            };
            self.is_loaded = true;
        }
        Ok(())
    }

    /// Forgets everything, because it may not agree with the tables.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The place of a stream's head. None if the stream does not exist.
    ///
    /// # Errors
    /// Those of the engine; damage.
    pub fn slot_of(&mut self, txn: &WriteTxn, tables: &Tables, name: &[u8]) -> Result<Option<Slot>> {
        if let Some(slot) = self.heads.find(name) {
            return Ok(Some(slot));
        }
        let Some(stream) = locate::stream_of(txn, tables, name)? else { return Ok(None) };
        let record = locate::record_of(txn, tables, stream)?;
        let next = match self.knows_blocks {
            true => locate::entries_end(txn, tables, stream)?,
            false => locate::next_version(txn, tables, stream)?,
        };
        let ids_from = match record.first {
            Version(0) => Version(0),
            _ => locate::deleted_before(txn, tables, stream)?,
        };
        Ok(Some(self.heads.add(name, Head { stream, next, state: record.state, ids_from })))
    }

    /// Creates a stream.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn create(&mut self, txn: &mut WriteTxn, tables: &Tables, name: &[u8]) -> Result<Slot> {
        let stream = self.next_stream;
        txn.put(&tables.names, name, keys::number(stream.0))?;
        let record = StreamRecord { name: name.to_vec(), ..StreamRecord::default() };
        txn.put(&tables.streams, keys::number(stream.0), record.to_bytes())?;
        self.next_stream = StreamId(stream.0 + 1);
        Ok(self.heads.create(name, Head { stream, next: Version(0), state: StreamState::Open, ids_from: Version(0) }))
    }

    /// Where the events are, if an earlier append wrote them with these ids, and the stream was not deleted since.
    ///
    /// # Errors
    /// The version of an event with one of the ids, if not all of them follow each other.
    pub fn repeated(
        &self,
        head: &Head,
        events: &[EventData<'_>],
    ) -> std::result::Result<Option<(Version, Position)>, Version> {
        let Some(ids) = self.ids.as_ref().filter(|_| head.state == StreamState::Open) else { return Ok(None) };
        let find = |event: &EventData<'_>| event.id.and_then(|id| ids.find(head.stream, &id, head.ids_from));
        let Some(found) = events.iter().find_map(find) else { return Ok(None) };
        let first = events.first().and_then(find);
        let is_repeated = |first: &(Version, Position)| {
            events.iter().zip(0..).all(|(event, index)| {
                find(event).is_some_and(|(version, position)| {
                    version.0 == first.0.0 + index && position.0 == first.1.0 + index
                })
            })
        };
        first.filter(is_repeated).map(Some).ok_or(found.0)
    }
}

fn locate_number(tables: &Tables, key: &[u8]) -> Result<u64> {
    let bytes = key.try_into().map_err(|_| tables.damaged(&tables.streams, "a key is malformed"))?;
    Ok(u64::from_be_bytes(bytes))
}
