//! [`Transaction`]: appends to streams, together with changes of other tables, all or nothing.

use std::ops::Deref;
use std::sync::{Arc, MutexGuard};

use fulgurite::{Durability, Isolation, KeyRange, Sequence, Table, WriteTxn};

use crate::error::{Error, Result};
use crate::ids::{Position, StreamId, Timestamp, TypeId};
use crate::reading::types::Types;
use crate::store::batch::{Batch, Spare};
use crate::store::shared::Shared;
use crate::store::writer::Writer;

/// A transaction of a store, which [`EventStore::transact`](crate::EventStore::transact) passes to its function.
///
/// It dereferences to the engine's [`WriteTxn`] for reads of the program's tables, and has methods that change them. It
/// lends no `&mut WriteTxn`: a savepoint of the engine would undo changes of the store's tables, but not the events
/// that the transaction holds. Events are written when it commits: reads of the engine do not see them before.
///
/// ```compile_fail,E0596
/// # fn main() -> fulgurite_events::Result<()> {
/// let store = fulgurite_events::EventStore::create("a.ful")?;
/// store.transact(|t| Ok(drop(t.savepoint())))
/// # }
/// ```
#[derive(Debug)]
pub struct Transaction<'s> {
    /// None once it was committed.
    txn: Option<WriteTxn>,
    pub(super) shared: &'s Shared,
    pub(super) batch: Batch,
    pub(super) types: Arc<Types>,
    /// How many types there were when it began.
    types_before: usize,
    /// Whether a change of the store failed in the middle: then it cannot be committed.
    is_broken: bool,
    /// The number that the next new stream would have got when it began.
    next_stream_before: StreamId,
    /// The type of the event before.
    pub(super) last_type: Option<(String, u32, TypeId)>,
    /// The types of the events of one append, kept for their memory.
    pub(super) kinds: Vec<TypeId>,
    pub(super) writer: MutexGuard<'s, Writer>,
}

/// What a transaction committed.
#[derive(Clone, Copy, Debug)]
pub struct Committed {
    /// The commit of the engine.
    pub sequence: Sequence,
    /// The position after the last event.
    pub end: Position,
}

impl<'s> Transaction<'s> {
    /// Begins it. Waits for the transaction of another thread.
    ///
    /// # Errors
    /// [`Error::Nested`]; those of the engine.
    pub fn begin(shared: &'s Shared, isolation: Isolation) -> Result<Self> {
        let writer = shared.begin()?;
        let types = shared.types();
        let next_stream_before = writer.next_stream;
        let mut transaction = Self {
            txn: None,
            shared,
            batch: Batch::new(Position::START, Timestamp::default(), Spare::default()),
            types_before: types.len(),
            types,
            next_stream_before,
            is_broken: false,
            last_type: None,
            kinds: Vec::new(),
            writer,
        };
        // From here on, dropping it ends what was begun. The snapshot is taken while the lock is held: it has all
        // events that were appended.
        transaction.writer.prepare(&shared.db, &shared.tables)?;
        let txn = shared.db.write_with(isolation)?;
        let writer = &mut *transaction.writer;
        writer.begin(&txn, &shared.tables)?;
        transaction.next_stream_before = writer.next_stream;
        let spare = std::mem::take(&mut writer.spare);
        transaction.batch = Batch::new(writer.next, Timestamp::now().max(writer.time), spare);
        transaction.txn = Some(txn);
        Ok(transaction)
    }

    /// The engine's transaction, and what else changes with it.
    pub(super) fn parts(&mut self) -> (&mut WriteTxn, &mut Writer, &mut Batch) {
        let txn = self.txn.as_mut().expect("it is there until the transaction is committed");
        (txn, &mut self.writer, &mut self.batch)
    }

    /// Changes the store. An error of the engine may leave a part of the change: then the transaction cannot be
    /// committed.
    pub(super) fn change_store<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outcome = change(self);
        self.is_broken |= matches!(outcome, Err(Error::Engine(_) | Error::Damaged { .. }));
        outcome
    }

    /// Commits. It is visible then, and durable when [`Transaction::await_durability`] has returned.
    ///
    /// # Errors
    /// Those of the engine. Nothing was appended, unless the error says that this is unknown.
    pub fn commit(mut self) -> Result<Committed> {
        if self.is_broken {
            let message = "a change of this transaction failed in the middle, so nothing was committed; return its error \
                           from the function";
            return Err(Error::Invalid { message: message.to_owned() });
        }
        let shared = self.shared;
        let (txn, _, batch) = self.parts();
        batch.write(txn, &shared.tables)?;
        let txn = self.txn.take().expect("it is there until here");
        // The disk is awaited without the lock, so that appends of other threads share the flush.
        let durability = match shared.durability {
            Durability::Disk => Durability::Memory,
            durability => durability,
        };
        let committed = txn.commit_with(durability);
        let end = self.batch.next;
        match committed {
            Ok(sequence) => {
                let writer = &mut *self.writer;
                (writer.next, writer.time) = (end, self.batch.time());
                writer.folding.add(self.batch.blocks());
                writer.spare = self.batch.take_spare();
                writer.heads.keep();
                if let Some(ids) = &mut writer.ids {
                    ids.keep(Position(end.0.saturating_sub(shared.id_window)));
                }
                self.types_before = self.types.len();
                self.next_stream_before = self.writer.next_stream;
                if shared.durability != Durability::Disk {
                    shared.bell.ring(end.0);
                }
                Ok(Committed { sequence, end })
            }
            Err(error) => {
                if matches!(error, fulgurite::Error::Indeterminate { .. }) {
                    self.writer.forget();
                }
                Err(error.into())
            }
        }
    }

    /// Waits until a commit has the store's durability, and shows it to followers then.
    ///
    /// # Errors
    /// Those of the disk. The events may be lost by a power cut then.
    pub fn await_durability(shared: &Shared, committed: Committed) -> Result<()> {
        if shared.durability == Durability::Disk {
            let before = Sequence(committed.sequence.0.saturating_sub(1));
            while shared.db.wait_durable(before, AWAIT)? < committed.sequence {}
            shared.bell.ring(committed.end.0);
        }
        Ok(())
    }

    /// Rejects what is out of its limits.
    pub(super) fn check_name(name: &[u8]) -> Result<()> {
        if (1..=STREAM_NAME_BYTES_MAX).contains(&name.len()) {
            return Ok(());
        }
        let message = format!("the name of a stream has 1 to {STREAM_NAME_BYTES_MAX} bytes, not {}", name.len());
        Err(Error::Invalid { message })
    }
}

impl Deref for Transaction<'_> {
    type Target = WriteTxn;

    fn deref(&self) -> &WriteTxn {
        self.txn.as_ref().expect("it is there until the transaction is committed")
    }
}

/// Changes of the program's tables, in the same transaction.
impl Transaction<'_> {
    /// As [`WriteTxn::put`].
    ///
    /// # Errors
    /// As there.
    pub fn put(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> fulgurite::Result<()> {
        self.parts().0.put(table, key, value)
    }

    /// As [`WriteTxn::put_many`].
    ///
    /// # Errors
    /// As there.
    pub fn put_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        table: &Table,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> fulgurite::Result<()> {
        self.parts().0.put_many(table, entries)
    }

    /// As [`WriteTxn::reserve`]: `fill` writes the value at the place where the transaction keeps it.
    ///
    /// # Errors
    /// As there.
    pub fn reserve(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        length_bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> fulgurite::Result<()> {
        self.parts().0.reserve(table, key, length_bytes, fill)
    }

    /// As [`WriteTxn::insert`].
    ///
    /// # Errors
    /// As there.
    pub fn insert(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> fulgurite::Result<bool> {
        self.parts().0.insert(table, key, value)
    }

    /// As [`WriteTxn::compare_and_set`].
    ///
    /// # Errors
    /// As there.
    pub fn compare_and_set(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> fulgurite::Result<bool> {
        self.parts().0.compare_and_set(table, key, expected, value)
    }

    /// As [`WriteTxn::modify`].
    ///
    /// # Errors
    /// As there.
    pub fn modify<R>(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        change: impl FnOnce(&mut [u8]) -> R,
    ) -> fulgurite::Result<Option<R>> {
        self.parts().0.modify(table, key, change)
    }

    /// As [`WriteTxn::try_modify`]. With [`FlatTable::root`](crate::FlatTable::root) it changes a FlatBuffer.
    ///
    /// # Errors
    /// As there.
    pub fn try_modify<R, E: From<fulgurite::Error>>(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        change: impl FnOnce(&mut [u8]) -> fulgurite::Result<R, E>,
    ) -> fulgurite::Result<Option<R>, E> {
        self.parts().0.try_modify(table, key, change)
    }

    /// As [`WriteTxn::merge`].
    ///
    /// # Errors
    /// As there.
    pub fn merge(&mut self, table: &Table, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> fulgurite::Result<()> {
        self.parts().0.merge(table, key, operand)
    }

    /// As [`WriteTxn::delete`].
    ///
    /// # Errors
    /// As there.
    pub fn delete(&mut self, table: &Table, key: impl AsRef<[u8]>) -> fulgurite::Result<bool> {
        self.parts().0.delete(table, key)
    }

    /// As [`WriteTxn::remove`].
    ///
    /// # Errors
    /// As there.
    pub fn remove(&mut self, table: &Table, key: impl AsRef<[u8]>) -> fulgurite::Result<Option<Vec<u8>>> {
        self.parts().0.remove(table, key)
    }

    /// As [`WriteTxn::delete_range`].
    ///
    /// # Errors
    /// As there.
    pub fn delete_range(&mut self, table: &Table, bounds: impl KeyRange) -> fulgurite::Result<u64> {
        self.parts().0.delete_range(table, bounds)
    }

    /// As [`WriteTxn::guard`].
    ///
    /// # Errors
    /// As there.
    pub fn guard(&mut self, table: &Table, key: impl AsRef<[u8]>) -> fulgurite::Result<()> {
        self.parts().0.guard(table, key)
    }
}

/// Undoes what was not committed.
impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        let writer = &mut *self.writer;
        writer.heads.roll_back();
        writer.next_stream = self.next_stream_before;
        if let Some(ids) = &mut writer.ids {
            ids.truncate(0);
        }
        if self.types.len() > self.types_before {
            Arc::make_mut(&mut self.types).truncate(self.types_before);
            self.shared.set_types(Arc::clone(&self.types));
        }
        self.shared.end();
    }
}

/// The longest name of a stream: the engine stores keys up to this length in one place.
pub const STREAM_NAME_BYTES_MAX: usize = 1024;
/// Longer than a flush takes.
const AWAIT: std::time::Duration = std::time::Duration::from_secs(60);
