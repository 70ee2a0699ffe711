//! The ids of the newest events, by which a repeated append is recognised.

use std::collections::{HashMap, VecDeque};

use fulgurite::Read;

use crate::error::Result;
use crate::ids::{EventId, Position, StreamId, Version};
use crate::layout::chunk::Slot;
use crate::layout::keys;
use crate::layout::tables::Tables;
use crate::reading::locate;

type Key = (StreamId, EventId);
type Place = (Version, Position);

/// The ids of the events within a window of the newest positions.
#[derive(Debug, Default)]
pub struct IdWindow {
    by_id: HashMap<Key, Place>,
    in_order: VecDeque<(Position, Key)>,
    /// How many entries the running transaction has added.
    added: usize,
    /// What the entries that it has added at these positions have replaced: the same ids, in streams that were deleted.
    replaced: Vec<(Position, Place)>,
}

impl IdWindow {
    /// The ids of the newest `window` events of the log.
    ///
    /// # Errors
    /// Those of the engine; damage.
    pub fn load(txn: &impl Read, tables: &Tables, window: u64) -> Result<Self> {
        let mut ids = Self::default();
        let (end, _) = locate::end_of_log(txn, tables)?;
        let from = end.0.saturating_sub(window);
        let start = locate::chunk_start(txn, tables, Position(from))?;
        for entry in txn.range(&tables.log, keys::number(start.0)..)? {
            let (key, value) = entry?;
            // Retention leaves the ids of events that it removes.
            for event in locate::parse(tables, &key, &value)?.slots().map(Slot::remains) {
                if let Some(id) = event.id.filter(|_| event.position.0 >= from) {
                    ids.insert(event.stream, *id, event.version, event.position);
                }
            }
        }
        ids.added = 0;
        ids.replaced.clear();
        Ok(ids)
    }

    /// Where the event with this id is, if its version is `from` or higher.
    pub fn find(&self, stream: StreamId, id: &EventId, from: Version) -> Option<Place> {
        self.by_id.get(&(stream, *id)).copied().filter(|(version, _)| *version >= from)
    }

    /// Adds an id, in the place of one of a deleted event if there is one.
    pub fn insert(&mut self, stream: StreamId, id: EventId, version: Version, position: Position) {
        let before = self.by_id.insert((stream, id), (version, position));
        self.replaced.extend(before.map(|before| (position, before)));
        self.in_order.push_back((position, (stream, id)));
        self.added += 1;
    }

    /// How many ids the running transaction has added.
    pub fn added(&self) -> usize {
        self.added
    }

    /// Removes the ids that the running transaction has added beyond so many.
    pub fn truncate(&mut self, added: usize) {
        while self.added > added {
            if let Some((position, key)) = self.in_order.pop_back() {
                match self.replaced.pop_if(|(by, _)| *by == position) {
                    Some((_, before)) => self.by_id.insert(key, before),
                    None => self.by_id.remove(&key),
                };
            }
            self.added -= 1;
        }
    }

    /// Keeps what the transaction has added, and forgets events before `from`.
    pub fn keep(&mut self, from: Position) {
        self.added = 0;
        self.replaced.clear();
        while let Some((position, key)) = self.in_order.front()
            && *position < from
        {
            // A newer event may have the id, after its stream was deleted.
            if self.by_id.get(key).is_some_and(|(_, of)| of == position) {
                self.by_id.remove(key);
            }
            self.in_order.pop_front();
        }
    }
}
