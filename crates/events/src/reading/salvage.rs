//! [`Salvage`]: the events of a damaged store that can still be read.
//!
//! A damaged page makes neighbouring keys of the log unreadable: reads from any of them on fail at that page. So the
//! first key behind the page is found by doubling steps and then by bisection, although nothing says where it is.

use std::collections::VecDeque;

use fulgurite::{Place, Range, Read, Value};

use crate::error::{Error, Result};
use crate::event::RecordedEvent;
use crate::ids::Position;
use crate::layout::chunk::Chunk;
use crate::layout::keys;
use crate::reading::locate;
use crate::reading::snapshot::Snapshot;

/// An item of [`Snapshot::salvage`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Salvaged {
    /// An event, as [`Snapshot::record`] copies it.
    Event(RecordedEvent),
    /// Positions that were left out. Retention may have removed some of their events before.
    LeftOut {
        /// The first of them.
        from: Position,
        /// The position after the last of them. None if nothing after `from` can be read: it is not known then where
        /// the log ends.
        to: Option<Position>,
        /// Why the first of them cannot be read.
        error: Error,
    },
}

/// The events that can be read, and the positions that are left out, in the order of positions:
/// [`Snapshot::salvage`]. It ends with the first error that is not damage.
#[derive(Debug)]
pub struct Salvage<'s> {
    snapshot: &'s Snapshot,
    /// Events before this position are not returned.
    from: u64,
    /// Chunks from this key on were not looked at.
    next: u64,
    /// The chunks from `next` on. None after damage.
    chunks: Option<Range<'s>>,
    /// The first position that cannot be read since the last one that can, and why.
    gap: Option<(u64, Error)>,
    ready: VecDeque<Salvaged>,
    has_ended: bool,
}

impl Snapshot {
    /// The events of a damaged store that can still be read, from a position on: copy them to another store if there is
    /// no backup. It reads the log alone, so damage of its indexes does not matter. Events whose stream or type cannot
    /// be named are left out.
    ///
    /// Open the database read-only: a store whose last events are damaged cannot be opened for writing.
    ///
    /// ```
    /// # use fulgurite_events::{EventData, EventStore, Expected, Position, Salvaged};
    /// # fn main() -> fulgurite_events::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let store = EventStore::create(directory.path().join("a.ful"))?;
    /// store.append("a", Expected::Any, &[EventData::new("counted", b"1")])?;
    /// for salvaged in store.snapshot()?.salvage(Position::START)? {
    ///     match salvaged? {
    ///         Salvaged::Event(event) => println!("{}", event.position),
    ///         Salvaged::LeftOut { from, error, .. } => println!("from {from} on: {error}"),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Errors of the disk, but no damage. The iterator returns these too, and [`Error::Codec`] if an upcaster fails; it
    /// ends then.
    pub fn salvage(&self, from: Position) -> Result<Salvage<'_>> {
        let (next, gap) = match locate::chunk_start(self.txn(), self.tables(), from) {
            Ok(start) => (start.0, None),
            Err(error) if error.is_damage() => (from.0, Some((from.0, error))),
            Err(error) => return Err(error),
        };
        let ready = VecDeque::new();
        Ok(Salvage { snapshot: self, from: from.0, next, chunks: None, gap, ready, has_ended: false })
    }
}

impl Iterator for Salvage<'_> {
    type Item = Result<Salvaged>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(salvaged) = self.ready.pop_front() {
                return Some(Ok(salvaged));
            }
            if self.has_ended {
                return None;
            }
            if let Err(error) = self.advance() {
                self.has_ended = true;
                return Some(Err(error));
            }
        }
    }
}

impl<'s> Salvage<'s> {
    /// Reads the next chunk, or passes over damage.
    fn advance(&mut self) -> Result<()> {
        match self.entry() {
            Ok(Some((key, value))) => self.read(&key, &value),
            Ok(None) => {
                self.end();
                Ok(())
            }
            Err(error) if error.is_damage() => {
                let place = place_of(&error);
                self.note(self.next, error);
                self.chunks = None;
                match self.behind(place)? {
                    Some(next) => self.next = next,
                    None => self.end(),
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// The next entry of the log.
    fn entry(&mut self) -> Result<Option<(Value<'s>, Value<'s>)>> {
        let snapshot = self.snapshot;
        if self.chunks.is_none() {
            self.chunks = Some(snapshot.txn().range(&snapshot.tables().log, keys::number(self.next)..)?);
        }
        Ok(self.chunks.as_mut().and_then(Iterator::next).transpose()?)
    }

    /// Returns the events of a chunk, as far as they can be read.
    fn read(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (snapshot, tables) = (self.snapshot, self.snapshot.tables());
        let Some(chunk) = Chunk::parse(key, value) else {
            let at = keys::chunk_of(key).map_or(self.next, |position| position.0.max(self.next));
            self.note(at, tables.damaged(&tables.log, "a chunk of events is malformed"));
            self.next = at.saturating_add(1);
            return Ok(());
        };
        let (mut slots, mut at) = (chunk.slots(), chunk.first.0);
        self.close(at);
        for slot in slots.by_ref() {
            match slot.event().filter(|_| at >= self.from).map(|event| snapshot.record(&event)) {
                None => {}
                Some(Ok(event)) => {
                    self.close(at);
                    self.ready.push_back(Salvaged::Event(event));
                }
                Some(Err(error)) if error.is_damage() => self.note(at, error),
                Some(Err(error)) => return Err(error),
            }
            at += 1;
        }
        if slots.is_whole() {
            self.close(at);
        } else {
            // Where the chunk ends is not certain either: the next one shows it.
            self.note(at, tables.damaged(&tables.log, "an event is malformed"));
        }
        // The key of a chunk is below the position after its first event, so it is not read again.
        self.next = self.next.max(at).max(chunk.first.0 + 1);
        Ok(())
    }

    /// The first key behind `next` from which on a read does not fail at the same place. None if there is none.
    /// Requires: a read from `next` on fails there.
    fn behind(&self, place: Option<Place>) -> Result<Option<u64>> {
        let (mut failing, mut step) = (self.next, 1_u64);
        let mut behind = loop {
            if failing == u64::MAX {
                return Ok(None);
            }
            let key = failing.saturating_add(step);
            if !self.fails_at(key, place)? {
                break key;
            }
            (failing, step) = (key, step.saturating_mul(2));
        };
        while behind - failing > 1 {
            let middle = failing + (behind - failing) / 2;
            if self.fails_at(middle, place)? {
                failing = middle;
            } else {
                behind = middle;
            }
        }
        Ok(Some(behind))
    }

    fn fails_at(&self, key: u64, place: Option<Place>) -> Result<bool> {
        let first = || -> Result<()> {
            let snapshot = self.snapshot;
            let mut chunks = snapshot.txn().range(&snapshot.tables().log, keys::number(key)..)?;
            chunks.next().transpose()?;
            Ok(())
        };
        match first() {
            Ok(()) => Ok(false),
            Err(error) if error.is_damage() => Ok(place.is_some() && place_of(&error) == place),
            Err(error) => Err(error),
        }
    }

    /// Notes that nothing can be read at `from`, nor up to the next position that can be read.
    fn note(&mut self, from: u64, error: Error) {
        self.gap.get_or_insert((from.max(self.from), error));
    }

    /// Returns what was noted, which ends before `to`.
    fn close(&mut self, to: u64) {
        if let Some((from, error)) = self.gap.take()
            && from < to
        {
            let (from, to) = (Position(from), Some(Position(to)));
            self.ready.push_back(Salvaged::LeftOut { from, to, error });
        }
    }

    /// Returns what was noted, which ends where the log does.
    fn end(&mut self) {
        self.has_ended = true;
        if let Some((from, error)) = self.gap.take() {
            self.ready.push_back(Salvaged::LeftOut { from: Position(from), to: None, error });
        }
    }
}

/// The damaged place, if the engine has found it.
fn place_of(error: &Error) -> Option<Place> {
    match error {
        Error::Engine(error) => match &**error {
            fulgurite::Error::Corrupt { place, .. } => Some(*place),
            _ => None,
        },
        _ => None,
    }
}
