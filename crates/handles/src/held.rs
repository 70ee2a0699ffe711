//! Cursors and values that keep their transaction.
//!
//! Invariant: a field that borrows from the transaction is declared before the field that keeps the transaction, so
//! that it is dropped first. The transaction is in an [`Arc`], so it does not move while it is kept, and nobody has it
//! mutably: [`Arc::get_mut`] returns nothing meanwhile.
#![allow(unsafe_code)] // Lifetimes that end with the kept transaction are stated as 'static.

use std::fmt;
use std::mem::transmute;
use std::ops::Deref;
use std::sync::Arc;

use fulgurite::{Cursor, Read, ReadTxn, Result, Table, Value};

/// A key and its value, borrowed from a cursor.
pub type Entry<'c> = (Value<'c>, Value<'c>);

/// A [`Cursor`] that keeps its transaction.
pub struct HeldCursor<T> {
    /// Borrows from `txn`. It is never lent with this lifetime.
    cursor: Cursor<'static>,
    txn: Arc<T>,
}

impl<T: Read> HeldCursor<T> {
    /// A cursor before the first entry of a table.
    ///
    /// # Errors
    /// As [`Read::cursor`].
    pub fn new(txn: Arc<T>, table: &Table) -> Result<Self> {
        let cursor = txn.cursor(table)?;
        // SAFETY: the cursor borrows from `txn`, which this object keeps at its place longer than the cursor.
        let cursor = unsafe { transmute::<Cursor<'_>, Cursor<'static>>(cursor) };
        Ok(Self { cursor, txn })
    }

    /// As [`Cursor::seek`].
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn seek(&mut self, key: impl AsRef<[u8]>) -> Result<Option<Entry<'_>>> {
        self.cursor.seek(key)
    }

    /// As [`Cursor::first`].
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn first(&mut self) -> Result<Option<Entry<'_>>> {
        self.cursor.first()
    }

    /// As [`Cursor::last`].
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn last(&mut self) -> Result<Option<Entry<'_>>> {
        self.cursor.last()
    }

    /// As [`Cursor::next`].
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[allow(clippy::should_implement_trait)] // It can fail and moves both ways, as the engine's cursor.
    pub fn next(&mut self) -> Result<Option<Entry<'_>>> {
        self.cursor.next()
    }

    /// As [`Cursor::previous`].
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn previous(&mut self) -> Result<Option<Entry<'_>>> {
        self.cursor.previous()
    }

    /// The transaction.
    pub fn txn(&self) -> &Arc<T> {
        &self.txn
    }
}

impl<T> fmt::Debug for HeldCursor<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cursor.fmt(out)
    }
}

/// A [`Value`] that keeps its snapshot.
#[derive(Debug)]
pub struct HeldValue {
    /// Borrows from `_txn`. It is never lent with this lifetime.
    value: Value<'static>,
    _txn: Arc<ReadTxn>,
}

impl HeldValue {
    /// The value of a key, if it has one.
    ///
    /// # Errors
    /// As [`ReadTxn::get`].
    pub fn get(txn: &Arc<ReadTxn>, table: &Table, key: impl AsRef<[u8]>) -> Result<Option<Self>> {
        let Some(value) = txn.get(table, key)? else { return Ok(None) };
        // SAFETY: the value borrows from `txn`, which this object keeps at its place longer than the value.
        let value = unsafe { transmute::<Value<'_>, Value<'static>>(value) };
        Ok(Some(Self { value, _txn: Arc::clone(txn) }))
    }
}

impl Deref for HeldValue {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fulgurite::Database;

    #[test]
    fn values_and_cursors_show_their_snapshot_after_the_database_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::create(directory.path().join("a.ful")).unwrap();
        let table = database.create_table("t", Default::default()).unwrap();
        database.update(|txn| (0..1000_u32).try_for_each(|n| txn.put(&table, n.to_be_bytes(), vec![7; 300]))).unwrap();
        let txn = Arc::new(database.read().unwrap());
        let value = HeldValue::get(&txn, &table, 5_u32.to_be_bytes()).unwrap().unwrap();
        let mut cursor = HeldCursor::new(Arc::clone(&txn), &table).unwrap();
        drop(txn);
        database.update(|txn| txn.delete_range(&table, ..).map(|_| ())).unwrap();
        database.close().unwrap();
        assert_eq!(&*value, vec![7; 300]);
        assert_eq!(cursor.last().unwrap().unwrap().0, 999_u32.to_be_bytes());
        assert_eq!(cursor.previous().unwrap().unwrap().0, 998_u32.to_be_bytes());
    }

    #[test]
    fn a_write_transaction_is_not_mutable_while_a_cursor_keeps_it() {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::create(directory.path().join("a.ful")).unwrap();
        let table = database.create_table("t", Default::default()).unwrap();
        let mut txn = Arc::new(database.write().unwrap());
        Arc::get_mut(&mut txn).unwrap().put(&table, "a", "1").unwrap();
        let mut cursor = HeldCursor::new(Arc::clone(&txn), &table).unwrap();
        assert_eq!(cursor.first().unwrap().unwrap().1, "1");
        assert!(Arc::get_mut(&mut txn).is_none());
        drop(cursor);
        assert!(Arc::get_mut(&mut txn).is_some());
    }
}
