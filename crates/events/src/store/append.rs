//! Appending within a transaction: expected versions, repeated appends, conditions, types.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::event::{Appended, EventData, Expected};
use crate::ids::{Position, TypeId, Version};
use crate::layout::chunk::TYPE_MAX;
use crate::layout::keys;
use crate::layout::stream::StreamState;
use crate::reading::events::Events;
use crate::reading::filter::Filter;
use crate::reading::lanes::Source;
use crate::reading::locate;
use crate::reading::query::{EventQuery, Resolved};
use crate::store::heads::{Head, Slot};
use crate::store::id_window::IdWindow;
use crate::store::transaction::Transaction;

/// The condition of an append: that nothing has happened which the caller has not read.
#[derive(Clone, Debug, Default)]
pub struct AppendCondition {
    /// No event after the position may match this query.
    pub query: EventQuery,
    /// The last position that the caller has read. None: it has read nothing.
    pub after: Option<Position>,
}

impl Transaction<'_> {
    /// Appends events to a stream, if its version is as expected.
    ///
    /// If events have ids, and the stream has the same events with the same ids already, within the window of
    /// [`StoreOptions::id_window`](crate::StoreOptions::id_window), then nothing is appended, and the result is that of
    /// the first append. This is so whatever version is expected, but not after the stream was deleted.
    ///
    /// # Errors
    /// [`Error::WrongVersion`], [`Error::IdReused`], [`Error::Tombstone`], [`Error::Invalid`]; errors of the disk. No
    /// event of this call is appended then, and the transaction can continue.
    pub fn append(
        &mut self,
        stream: impl AsRef<[u8]>,
        expected: Expected,
        events: &[EventData<'_>],
    ) -> Result<Appended> {
        let name = stream.as_ref();
        Self::check_name(name)?;
        events.iter().try_for_each(check_event)?;
        self.change_store(|transaction| transaction.append_checked(name, expected, None, events))
    }

    /// As [`Transaction::append`], but fails if an event after the condition's position matches its query.
    ///
    /// Ids are compared first: a repeated append is returned as such, also if the condition no longer holds, as after
    /// the first append of the same events.
    ///
    /// # Errors
    /// [`Error::ConditionFailed`], and as [`Transaction::append`].
    pub fn append_if(
        &mut self,
        condition: &AppendCondition,
        stream: impl AsRef<[u8]>,
        expected: Expected,
        events: &[EventData<'_>],
    ) -> Result<Appended> {
        let name = stream.as_ref();
        Self::check_name(name)?;
        events.iter().try_for_each(check_event)?;
        self.change_store(|transaction| transaction.append_checked(name, expected, Some(condition), events))
    }

    /// Requires: the name and the events are in their limits.
    fn append_checked(
        &mut self,
        name: &[u8],
        expected: Expected,
        condition: Option<&AppendCondition>,
        events: &[EventData<'_>],
    ) -> Result<Appended> {
        let has_ids = events.iter().any(|event| event.id.is_some());
        if has_ids {
            self.load_ids()?;
        }
        let slot = self.slot_of(name)?;
        let head = slot.map(|slot| self.writer.heads.get(slot));
        if let Some(head) = head
            && has_ids
            && let Some((version, position)) = (self.writer.repeated(&head, events))
                .map_err(|version| Error::IdReused { stream: name.to_vec(), version })?
        {
            return Ok(Appended { position, version, count: events.len() as u64, repeated: true });
        }
        condition.map_or(Ok(()), |condition| self.require(condition))?;
        if head.is_some_and(|head| head.state == StreamState::Tombstone) {
            return Err(Error::Tombstone { stream: name.to_vec() });
        }
        let actual = head.and_then(|head| head.last());
        if !expected.holds(actual) {
            return Err(Error::WrongVersion { stream: name.to_vec(), expected, actual });
        }
        if events.is_empty() {
            let version = head.map_or(Version(0), |head| head.next);
            return Ok(Appended { position: self.batch.next, version, count: 0, repeated: false });
        }
        self.push_all(name, slot, events, has_ids)
    }

    /// Requires: the events are in their limits, and may be appended.
    fn push_all(
        &mut self,
        name: &[u8],
        slot: Option<Slot>,
        events: &[EventData<'_>],
        has_ids: bool,
    ) -> Result<Appended> {
        // What may be refused comes before the first change of the stream.
        let mut kinds = std::mem::take(&mut self.kinds);
        kinds.clear();
        for event in events {
            kinds.push(self.type_of(event.kind, event.schema)?);
        }
        if has_ids {
            let head = slot.map(|slot| self.writer.heads.get(slot));
            let stream = self.writer.next_stream;
            let zero = Version(0);
            let created = Head { stream, next: zero, state: StreamState::Open, ids_from: zero };
            self.note_ids(name, &head.unwrap_or(created), events)?;
        }
        let slot = self.open_slot(name, slot)?;
        let head = self.writer.heads.get(slot);
        let (position, version) = (self.batch.next, head.next);
        for ((event, kind), index) in events.iter().zip(&kinds).zip(0..) {
            self.batch.push(head.stream, Version(version.0 + index), *kind, event);
        }
        self.kinds = kinds;
        let count = events.len() as u64;
        self.writer.heads.set(slot, Head { next: Version(version.0 + count), ..head });
        Ok(Appended { position, version, count, repeated: false })
    }

    /// Fails if an event matches the condition's query after its position. Events that this transaction has appended
    /// count too.
    ///
    /// # Errors
    /// [`Error::ConditionFailed`]; errors of the disk.
    pub fn require(&self, condition: &AppendCondition) -> Result<()> {
        let from = condition.after.map_or(Position::START, |after| Position(after.0.saturating_add(1)));
        let types = Arc::clone(&self.types);
        let tables = &self.shared.tables;
        let txn = txn_of(self);
        let query = Resolved::new(&condition.query, &types, |name| locate::stream_of(txn, tables, name))?;
        let end = Position(u64::MAX);
        let source = Source::query(txn, tables, &query, from, end)?;
        let filter = Filter { positions: from.0..end.0, stream: None, query: Some(query.clone()) };
        if let Some(event) = Events::new(txn, tables, source, filter).next()? {
            return Err(Error::ConditionFailed { position: event.position });
        }
        let mut appended = self.batch.chunks().flat_map(|chunk| chunk.events());
        match appended.find(|event| event.position >= from && query.matches(event)) {
            Some(event) => Err(Error::ConditionFailed { position: event.position }),
            None => Ok(()),
        }
    }

    /// The place of a stream's head. None if there is no such stream.
    pub(super) fn slot_of(&mut self, name: &[u8]) -> Result<Option<Slot>> {
        let tables = &self.shared.tables;
        let (txn, writer, _) = self.parts();
        writer.slot_of(txn, tables, name)
    }

    /// The place of the head of a stream, which is created or opened again if needed.
    pub(super) fn open_slot(&mut self, name: &[u8], slot: Option<Slot>) -> Result<Slot> {
        let tables = &self.shared.tables;
        let (txn, writer, _) = self.parts();
        let Some(slot) = slot else { return writer.create(txn, tables, name) };
        let head = writer.heads.get(slot);
        if head.state == StreamState::Deleted {
            let mut record = locate::record_of(txn, tables, head.stream)?;
            record.state = StreamState::Open;
            txn.put(&tables.streams, keys::number(head.stream.0), record.to_bytes())?;
            writer.heads.set(slot, Head { state: StreamState::Open, ..head });
        }
        Ok(slot)
    }

    fn load_ids(&mut self) -> Result<()> {
        let shared = self.shared;
        let (txn, writer, _) = self.parts();
        if writer.ids.is_none() {
            writer.ids = Some(IdWindow::load(txn, &shared.tables, shared.id_window)?);
        }
        Ok(())
    }

    /// Notes the ids of events that are appended next. Fails if an id is there twice, and notes none then.
    fn note_ids(&mut self, name: &[u8], head: &Head, events: &[EventData<'_>]) -> Result<()> {
        let next = self.batch.next;
        let Some(ids) = &mut self.writer.ids else { return Ok(()) };
        let added = ids.added();
        for (event, index) in events.iter().zip(0..) {
            let Some(id) = event.id else { continue };
            if let Some((version, _)) = ids.find(head.stream, &id, head.ids_from) {
                ids.truncate(added);
                return Err(match version < head.next {
                    true => Error::IdReused { stream: name.to_vec(), version },
                    false => Error::Invalid {
                        message: format!(
                            "two events of one append to the stream {} have the same id; give each event an id of its \
                             own",
                            String::from_utf8_lossy(name)
                        ),
                    },
                });
            }
            ids.insert(head.stream, id, Version(head.next.0 + index), Position(next.0 + index));
        }
        Ok(())
    }

    #[inline]
    fn type_of(&mut self, name: &str, schema: u32) -> Result<TypeId> {
        match &self.last_type {
            Some((last, last_schema, id)) if *last_schema == schema && last == name => Ok(*id),
            _ => self.find_type(name, schema),
        }
    }

    fn find_type(&mut self, name: &str, schema: u32) -> Result<TypeId> {
        let id = match self.types.find(name, schema) {
            Some(id) => id,
            None => self.add_type(name, schema)?,
        };
        self.last_type = Some((name.to_owned(), schema, id));
        Ok(id)
    }

    fn add_type(&mut self, name: &str, schema: u32) -> Result<TypeId> {
        if self.types.len() > TYPE_MAX as usize {
            let message = "the store has no number for a further type; put what varies into the payload".to_owned();
            return Err(Error::Invalid { message });
        }
        let number = keys::number(self.types.len() as u64);
        let tables = &self.shared.tables;
        self.parts().0.put(&tables.types, number, keys::type_name(name, schema))?;
        let id = Arc::make_mut(&mut self.types).add(name, schema);
        // Before the commit is visible: a snapshot that sees it finds the type.
        self.shared.set_types(Arc::clone(&self.types));
        Ok(id)
    }
}

/// The engine's transaction, for reads.
fn txn_of<'t>(transaction: &'t Transaction<'_>) -> &'t fulgurite::WriteTxn {
    transaction
}

fn check_event(event: &EventData<'_>) -> Result<()> {
    let invalid = |message: String| Err(Error::Invalid { message });
    if !(1..=TYPE_NAME_BYTES_MAX).contains(&event.kind.len()) {
        return invalid(format!("the name of a type has 1 to {TYPE_NAME_BYTES_MAX} bytes, not {}", event.kind.len()));
    }
    if event.tags.is_empty() && event.payload.len() + event.metadata.len() <= EVENT_BYTES_MAX {
        return Ok(());
    }
    if let Some(tag) = event.tags.iter().find(|tag| !(1..=TAG_BYTES_MAX).contains(&tag.len())) {
        return invalid(format!("a tag has 1 to {TAG_BYTES_MAX} bytes, not {}", tag.len()));
    }
    let tags: usize = event.tags.iter().map(|tag| 2 + tag.len()).sum();
    let bytes = event.payload.len().saturating_add(event.metadata.len()).saturating_add(tags);
    if bytes > EVENT_BYTES_MAX {
        let message = "an event has at most 1 GiB of payload, metadata and tags; store what is larger elsewhere";
        return invalid(message.to_owned());
    }
    Ok(())
}

/// The longest name of a type.
const TYPE_NAME_BYTES_MAX: usize = 255;
/// The longest tag.
const TAG_BYTES_MAX: usize = u16::MAX as usize;
/// The largest event.
const EVENT_BYTES_MAX: usize = 1 << 30;
