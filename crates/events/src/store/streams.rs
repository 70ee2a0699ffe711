//! Changes of streams other than appends: truncation, deletion, metadata, states of aggregates, positions of consumers.

use fulgurite::Read;

use crate::error::{Error, Result};
use crate::event::Expected;
use crate::ids::{Position, Version};
use crate::layout::keys::{self, CONSUMER_BYTES_MAX};
use crate::layout::stream::{StreamMetadata, StreamRecord, StreamState};
use crate::reading::locate;
use crate::store::heads::{Head, Slot};
use crate::store::transaction::Transaction;

impl Transaction<'_> {
    /// Truncates a stream: events before `version` are no longer read from it. Retention removes them from the log.
    /// Versions continue as before.
    ///
    /// # Errors
    /// [`Error::StreamNotFound`]; [`Error::Invalid`] if the stream has no such version yet; errors of the disk.
    pub fn truncate_before(&mut self, stream: impl AsRef<[u8]>, version: Version) -> Result<()> {
        let name = stream.as_ref();
        let (slot, head) = self.existing(name)?;
        if version > head.next {
            let message =
                format!("cannot truncate before version {version}: the next event gets version {}", head.next);
            return Err(Error::Invalid { message });
        }
        self.change(slot, |record| record.first = record.first.max(version))
    }

    /// Deletes a stream, if its version is as expected: it can no longer be read, and retention removes its events from
    /// the log. An append with [`Expected::Any`] or [`Expected::NoStream`] opens it again, with the version after its
    /// last one. Earlier events stay deleted. States of aggregates are deleted too, and ids of its events are free.
    ///
    /// # Errors
    /// [`Error::StreamNotFound`], [`Error::WrongVersion`]; errors of the disk.
    pub fn delete_stream(&mut self, stream: impl AsRef<[u8]>, expected: Expected) -> Result<()> {
        self.end_stream(stream.as_ref(), expected, StreamState::Deleted)
    }

    /// Deletes a stream for ever: as [`Transaction::delete_stream`], but later appends fail with [`Error::Tombstone`].
    ///
    /// # Errors
    /// As [`Transaction::delete_stream`].
    pub fn bury_stream(&mut self, stream: impl AsRef<[u8]>, expected: Expected) -> Result<()> {
        self.end_stream(stream.as_ref(), expected, StreamState::Tombstone)
    }

    fn end_stream(&mut self, name: &[u8], expected: Expected, state: StreamState) -> Result<()> {
        let (slot, head) = self.existing(name)?;
        let actual = head.last();
        if !expected.holds(actual) {
            return Err(Error::WrongVersion { stream: name.to_vec(), expected, actual });
        }
        self.change(slot, |record| (record.first, record.state) = (head.next, state))?;
        self.change_store(|transaction| {
            let tables = &transaction.shared.tables;
            let (txn, writer, _) = transaction.parts();
            let (first, last) = (keys::stream_part(head.stream, Version(0)), keys::stream_part(head.stream, LAST));
            txn.delete_range(&tables.snapshots, &first[..]..=&last[..])?;
            txn.put(&tables.meta, keys::deleted(head.stream), keys::number(head.next.0))?;
            writer.heads.set(slot, Head { state, ids_from: head.next, ..head });
            Ok(())
        })
    }

    /// Sets the limits of a stream and what the program stores with it. Creates the stream if there was none. A deleted
    /// stream stays deleted, and has the limits when it is opened again.
    ///
    /// # Errors
    /// [`Error::Tombstone`], [`Error::Invalid`]; errors of the disk.
    pub fn set_stream_metadata(&mut self, stream: impl AsRef<[u8]>, metadata: StreamMetadata) -> Result<()> {
        let name = stream.as_ref();
        Self::check_name(name)?;
        let slot = self.slot_of(name)?;
        if slot.is_some_and(|slot| self.writer.heads.get(slot).state == StreamState::Tombstone) {
            return Err(Error::Tombstone { stream: name.to_vec() });
        }
        let slot = match slot {
            Some(slot) => slot,
            None => self.change_store(|transaction| transaction.open_slot(name, None))?,
        };
        self.change(slot, |record| record.metadata = metadata)
    }

    /// Stores the state of an aggregate: what its events up to and including `version` fold into. The newest states are
    /// kept: see [`StoreOptions::states_kept`](crate::StoreOptions::states_kept).
    ///
    /// # Errors
    /// [`Error::StreamNotFound`]; [`Error::Invalid`] if the stream has no such version; errors of the disk.
    pub fn put_aggregate_state(
        &mut self,
        stream: impl AsRef<[u8]>,
        version: Version,
        schema: u32,
        state: &[u8],
    ) -> Result<()> {
        let (_, head) = self.existing(stream.as_ref())?;
        if version >= head.next {
            let message = format!("no state of version {version}: the next event gets version {}", head.next);
            return Err(Error::Invalid { message });
        }
        let (shared, id) = (self.shared, head.stream);
        self.change_store(|transaction| {
            let (txn, _, _) = transaction.parts();
            let table = &shared.tables.snapshots;
            txn.put(table, keys::stream_part(id, version), [&schema.to_le_bytes(), state].concat())?;
            let oldest = txn.prefix(table, id.0.to_be_bytes())?.rev().nth(shared.states_kept - 1).transpose()?;
            if let Some((oldest, _)) = oldest.map(|(key, value)| (key.to_vec(), value)) {
                txn.delete_range(table, &keys::stream_part(id, Version(0))[..]..&oldest[..])?;
            }
            Ok(())
        })
    }

    /// Stores the position of a consumer: the first that it has not processed.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the name is empty or has more than 1,024 bytes, or the position is above that of the next
    /// event: the consumer would miss events. Errors of the disk.
    pub fn set_consumer_position(&mut self, consumer: &str, position: Position) -> Result<()> {
        if consumer.is_empty() {
            return Err(Error::Invalid { message: "the name of a consumer is empty; give it one".into() });
        }
        if consumer.len() > CONSUMER_BYTES_MAX as usize {
            let message =
                format!("the name of a consumer has at most {CONSUMER_BYTES_MAX} bytes, not {}", consumer.len());
            return Err(Error::Invalid { message });
        }
        let next = self.batch.next;
        if position > next {
            let message = format!(
                "cannot set the position of `{consumer}` to {position}: the next event gets position {next}; give a \
                 position up to {next}"
            );
            return Err(Error::Invalid { message });
        }
        let tables = &self.shared.tables;
        Ok(self.parts().0.put(&tables.consumers, consumer, keys::number(position.0))?)
    }

    fn existing(&mut self, name: &[u8]) -> Result<(Slot, Head)> {
        let not_found = || Error::StreamNotFound { stream: name.to_vec() };
        let slot = self.slot_of(name)?.ok_or_else(not_found)?;
        let head = self.writer.heads.get(slot);
        if head.state == StreamState::Open { Ok((slot, head)) } else { Err(not_found()) }
    }

    fn change(&mut self, slot: Slot, change: impl FnOnce(&mut StreamRecord)) -> Result<()> {
        let tables = &self.shared.tables;
        self.change_store(|transaction| {
            let (txn, writer, _) = transaction.parts();
            let stream = writer.heads.get(slot).stream;
            let mut record = locate::record_of(txn, tables, stream)?;
            change(&mut record);
            Ok(txn.put(&tables.streams, keys::number(stream.0), record.to_bytes())?)
        })
    }
}

/// No version is higher.
const LAST: Version = Version(u64::MAX);
