//! Streams beside their names; positions of consumers and states of aggregates.

use fulgurite::Read;

use crate::error::Result;
use crate::ids::StreamId;
use crate::layout::keys;
use crate::layout::stream::StreamRecord;
use crate::reading::check::checker::{Checker, key_in_words};

impl Checker<'_> {
    /// Checks that each stream is found by its name.
    pub(super) fn check_streams(&mut self) -> Result<()> {
        let (txn, tables) = (self.txn, self.tables);
        for entry in txn.range(&tables.streams, ..)? {
            let (key, value) = entry?;
            self.report.streams += 1;
            let number = keys::chunk_of(&key).filter(|_| key.len() == NUMBER_BYTES);
            let Some((record, number)) = StreamRecord::parse(&value).zip(number) else {
                self.lost(&tables.streams, key_in_words(&key), "the record of a stream is malformed");
                continue;
            };
            let stream = StreamId(number.0);
            if txn.get(&tables.names, &record.name)?.as_deref() != Some(&keys::number(stream.0)[..]) {
                self.lost(&tables.names, format!("stream {stream}"), "its name does not lead to it");
            }
            if self.kept_end(stream).is_some_and(|end| record.first > end) {
                self.lost(&tables.streams, format!("stream {stream}"), "it begins after its last event");
            }
        }
        Ok(())
    }

    /// Checks that each name leads to a stream that has it.
    pub(super) fn check_names(&mut self) -> Result<()> {
        let (txn, tables) = (self.txn, self.tables);
        for entry in txn.range(&tables.names, ..)? {
            let (name, number) = entry?;
            let record = match number.len() {
                NUMBER_BYTES => txn.get(&tables.streams, &number[..])?.and_then(|value| StreamRecord::parse(&value)),
                _ => None,
            };
            if record.is_none_or(|record| record.name != name[..]) {
                self.lost(&tables.names, key_in_words(&name), "the name leads to no stream of this name");
            }
        }
        Ok(())
    }

    /// Checks positions of consumers, and the forms of states of aggregates.
    pub(super) fn check_consumers_and_states(&mut self) -> Result<()> {
        let (txn, tables) = (self.txn, self.tables);
        for entry in txn.range(&tables.consumers, ..)? {
            let (name, position) = entry?;
            match keys::chunk_of(&position).filter(|_| position.len() == NUMBER_BYTES) {
                None => self.lost(&tables.consumers, key_in_words(&name), "the position of a consumer is malformed"),
                Some(position) if position > self.log_end => {
                    let place = format!("position {}", self.log_end);
                    self.lost(&tables.log, place, "the log ends before the position of a consumer");
                }
                Some(_) => {}
            }
        }
        for entry in txn.range(&tables.snapshots, ..)? {
            let (key, value) = entry?;
            if keys::parse_stream_part(&key).is_none() || value.len() < SCHEMA_BYTES {
                self.lost(&tables.snapshots, key_in_words(&key), "the state of an aggregate is malformed");
            }
        }
        Ok(())
    }
}

/// Bytes of a number as a key or a value.
const NUMBER_BYTES: usize = 8;
/// Bytes of the schema version before a state.
const SCHEMA_BYTES: usize = 4;
