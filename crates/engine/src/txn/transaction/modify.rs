//! Changing a value in place: a read, a change and a put, with at most one copy of the value.

use crate::error::{Error, Result};
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::write_txn::WriteTxn;
use crate::txn::writes::pending::Pending;

impl WriteTxn {
    /// Changes the value of `key` in place. `change` gets the bytes, whose number stays as it is. Returns what `change`
    /// returns; `None`, without a call of `change`, if the key does not exist.
    ///
    /// It is a read and a put of the key. The first call for a key copies the value. Later calls do not copy it again,
    /// with these exceptions:
    ///
    /// - After a [`savepoint`](WriteTxn::savepoint), every call copies it.
    /// - A value that was spilled ([`Options::write_set_bytes`](crate::Options::write_set_bytes)) is copied.
    /// - A value with pages of its own is always copied, and written to the file again. These are values of 64 KiB and
    ///   more in a database with [`Durability::Disk`](crate::Durability::Disk), and of 8 MiB and more otherwise.
    ///
    /// If `change` panics, and the transaction is used nevertheless, a part of the change may be stored. To store
    /// nothing if a change fails, use [`WriteTxn::try_modify`].
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let totals = db.create_table("totals", Default::default())?;
    /// let mut txn = db.write()?;
    /// txn.put(&totals, "apples", [3, 0, 0, 0])?;
    /// let apples = txn.modify(&totals, "apples", |value| {
    ///     value[0] += 5;
    ///     value[0]
    /// })?;
    /// assert_eq!(apples, Some(8));
    /// assert_eq!(txn.modify(&totals, "pears", |value| value.fill(0))?, None);
    /// txn.commit()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::get`] and [`WriteTxn::put`]. The value has not changed then.
    pub fn modify<R>(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        change: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<Option<R>> {
        let key = key.as_ref();
        if let Some(value) = self.pending_value(table, key)? {
            return Ok(Some(change(value)));
        }
        let Some(mut pending) = self.copied_value(table, key)? else { return Ok(None) };
        let changed = change(pending.value_mut());
        self.put_modified(table, key, pending)?;
        Ok(Some(changed))
    }

    /// As [`WriteTxn::modify`], with a change that may fail. If it returns an error, the value is as it was before, and
    /// the transaction can continue. For this, a value that this transaction has written before is copied too.
    ///
    /// # Errors
    /// Errors of `change`, and as [`WriteTxn::modify`].
    pub fn try_modify<R, E: From<Error>>(
        &mut self,
        table: &Table,
        key: impl AsRef<[u8]>,
        change: impl FnOnce(&mut [u8]) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        let key = key.as_ref();
        if let Some(value) = self.pending_value(table, key)? {
            let before = value.to_vec();
            let changed = change(value);
            if changed.is_err() {
                value.copy_from_slice(&before);
            }
            return changed.map(Some);
        }
        let Some(mut pending) = self.copied_value(table, key)? else { return Ok(None) };
        let changed = change(pending.value_mut())?;
        self.put_modified(table, key, pending)?;
        Ok(Some(changed))
    }

    /// The value of `key`, if this transaction has put it and holds it in memory.
    fn pending_value(&mut self, table: &Table, key: &[u8]) -> Result<Option<&mut [u8]>> {
        self.make_room()?;
        self.view(table)?;
        Ok(self.set.put_mut(table.info.id, key))
    }

    /// A put of the value that `key` has. None if the key does not exist.
    fn copied_value(&self, table: &Table, key: &[u8]) -> Result<Option<Pending>> {
        let value = self.get(table, key)?;
        Ok(value.map(|value| Pending::put(&value, table.value_align() > 1)))
    }

    /// Records a value that [`WriteTxn::copied_value`] returned, and that was changed.
    fn put_modified(&mut self, table: &Table, key: &[u8], mut pending: Pending) -> Result<()> {
        let is_large = pending.weight() >= self.held.core.writer()?.large_value_bytes();
        if is_large {
            pending = self.write_large(pending.value_mut())?;
        }
        self.popped = [None, None];
        let view = self.view(table)?;
        self.begun = self.begin_insert(view, key);
        self.set.set(table.info.id, key, pending);
        Ok(())
    }
}
