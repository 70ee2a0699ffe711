//! Named consumers in other processes: one connection for each name, and the positions that it acknowledges.

use std::io::{ErrorKind, Read};
use std::sync::PoisonError;

use fulgurite::Isolation;

use crate::error::{Error, Result};
use crate::ids::Position;
use crate::reading::snapshot::parse_position;
use crate::store::handle::EventStore;
use crate::store::shared::Shared;

/// The name of a consumer, for one connection. It is free again when this is dropped.
///
/// With two connections, one would acknowledge events that the other one has not processed.
pub(super) struct Claim<'s> {
    shared: &'s Shared,
    name: &'s str,
}

impl<'s> Claim<'s> {
    /// Claims a name. None if another connection has it.
    pub fn new(shared: &'s Shared, name: &'s str) -> Option<Self> {
        let mut connected = shared.connected.lock().unwrap_or_else(PoisonError::into_inner);
        // Not `then_some`: it would create a claim and drop it at once, which releases the name, and waits for the
        // lock.
        connected.insert(name.to_owned()).then(|| Self { shared, name })
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.shared.connected.lock().unwrap_or_else(PoisonError::into_inner).remove(self.name);
    }
}

/// Stores the positions that a consumer acknowledges, until the consumer closes the connection. If several have
/// arrived, it stores the highest. A position that is not above the stored one changes nothing. Requires: `stored` is
/// the position that the consumer had when it connected.
///
/// # Errors
/// Errors of the connection, and those of [`EventStore::set_consumer_position`].
pub(super) fn store_acknowledged(
    store: &EventStore,
    name: &str,
    connection: &mut impl Read,
    mut stored: Position,
) -> Result<()> {
    let (mut buffer, mut filled) = ([0; BUFFER_BYTES], 0);
    loop {
        match connection.read(&mut buffer[filled..]) {
            Ok(0) => return Ok(()),
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::program(error)),
        }
        let (positions, _) = buffer[..filled].as_chunks::<8>();
        let whole = positions.len() * 8;
        let highest = positions.iter().map(|position| Position(u64::from_le_bytes(*position))).max();
        // An incomplete position stays at the beginning.
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
        if let Some(position) = highest.filter(|position| *position > stored) {
            raise(store, name, position)?;
            stored = position;
        }
    }
}

/// Stores the position of a consumer, unless a higher one is stored: a transaction of this process may have raised it
/// while the consumer was connected.
fn raise(store: &EventStore, name: &str, position: Position) -> Result<()> {
    let tables = &store.shared.tables;
    // With this isolation a concurrent change of the position conflicts too, because both write it.
    store.run(Isolation::Snapshot, &mut |transaction| {
        let stored = match transaction.get(&tables.consumers, name)? {
            Some(value) => parse_position(tables, &value)?,
            None => Position::START,
        };
        if position > stored { transaction.set_consumer_position(name, position) } else { Ok(()) }
    })
}

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventData, Expected};

    /// Reads a few bytes at once.
    struct Few<'b>(&'b [u8], usize);

    impl Read for Few<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let (read, rest) = self.0.split_at(self.1.min(self.0.len()).min(buffer.len()));
            buffer[..read.len()].copy_from_slice(read);
            self.0 = rest;
            Ok(read.len())
        }
    }

    #[test]
    fn the_highest_acknowledged_position_is_stored_and_none_beyond_the_log_or_below_the_stored_one() {
        let directory = tempfile::tempdir().unwrap();
        let store = EventStore::create(directory.path().join("a.ful")).unwrap();
        store.append("a", Expected::Any, &[EventData::new("x", b""); 9]).unwrap();
        let stored = || store.snapshot().unwrap().consumer_position("c").unwrap();
        let sent = [1_u64, 5, 3].map(u64::to_le_bytes).concat();
        for few in [1, 7, 24] {
            store.set_consumer_position("c", Position(2)).unwrap();
            store_acknowledged(&store, "c", &mut Few(&sent, few), Position(2)).unwrap();
            assert_eq!(stored(), Position(5), "{few} bytes at once");
        }
        store.set_consumer_position("c", Position(7)).unwrap();
        store_acknowledged(&store, "c", &mut Few(&sent, 8), Position(2)).unwrap();
        assert_eq!(stored(), Position(7), "a position that was raised meanwhile is not lowered");
        let beyond = 10_u64.to_le_bytes();
        let refused = store_acknowledged(&store, "c", &mut &beyond[..], Position(5));
        assert!(matches!(refused, Err(Error::Invalid { .. })) && stored() == Position(7));
    }
}
