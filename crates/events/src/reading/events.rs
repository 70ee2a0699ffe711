//! [`Events`]: a cursor that lends one event after the other.

use std::fmt;

use fulgurite::{Read, ReadTxn, Value};

use crate::error::Result;
use crate::event::Event;
use crate::ids::Position;
use crate::layout::tables::Tables;
use crate::reading::filter::Filter;
use crate::reading::lanes::Source;
use crate::reading::locate;

/// Events in order, forwards or backwards. [`Events::next`] lends one at a time, without copying it.
///
/// [`Snapshot::scan`](crate::Snapshot::scan) is faster for many events.
pub struct Events<'t, R: Read = ReadTxn> {
    txn: &'t R,
    tables: &'t Tables,
    source: Source<'t>,
    filter: Filter,
    backwards: bool,
    chunk: Option<(Position, Value<'t>)>,
    /// Index and offset in the chunk of the events that are still to come, the next one last.
    places: Vec<(u32, usize)>,
}

impl<'t, R: Read> Events<'t, R> {
    pub(crate) fn new(txn: &'t R, tables: &'t Tables, source: Source<'t>, filter: Filter) -> Self {
        Self { txn, tables, source, filter, backwards: false, chunk: None, places: Vec::new() }
    }

    pub(crate) fn backwards(self) -> Self {
        Self { backwards: true, ..self }
    }

    /// The next event. None after the last one.
    ///
    /// # Errors
    /// Errors of the disk; [`Error::Damaged`](crate::Error::Damaged).
    #[allow(clippy::should_implement_trait)] // It lends, which iterators cannot.
    pub fn next(&mut self) -> Result<Option<Event<'_>>> {
        while self.places.is_empty() {
            if !self.advance()? {
                return Ok(None);
            }
        }
        let (Some((index, offset)), Some((first, value))) = (self.places.pop(), &self.chunk) else {
            return Ok(None);
        };
        let chunk = locate::parse(self.tables, &first.0.to_be_bytes(), value)?;
        match chunk.event_at(index, offset) {
            Some(event) => Ok(Some(event)),
            None => Err(self.tables.damaged(&self.tables.log, "an event changed while it was read")),
        }
    }

    /// Reads the next chunk, and notes which events of it are returned.
    fn advance(&mut self) -> Result<bool> {
        let last = self.chunk.as_ref().map(|(first, _)| *first);
        let Some((first, value)) = self.source.next(self.txn, self.tables, last, self.backwards)? else {
            return Ok(false);
        };
        let is_beyond = if self.backwards { false } else { first.0 >= self.filter.positions.end };
        let chunk = locate::parse(self.tables, &first.0.to_be_bytes(), &value)?;
        let (mut slots, mut index) = (chunk.slots(), 0);
        loop {
            let offset = slots.offset();
            let Some(slot) = slots.next() else { break };
            if slot.event().is_some_and(|event| self.filter.selects(&event)) {
                self.places.push((index, offset));
            }
            index += 1;
        }
        if !slots.is_whole() {
            return Err(self.tables.damaged(&self.tables.log, "an event is malformed"));
        }
        if !self.backwards {
            self.places.reverse();
        }
        self.chunk = Some((first, value));
        Ok(!is_beyond)
    }
}

impl<R: Read> fmt::Debug for Events<'_, R> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { filter, backwards, .. } = self;
        out.debug_struct("Events").field("filter", filter).field("backwards", backwards).finish_non_exhaustive()
    }
}
