//! A cursor that can delete and replace the entry that it is at.

use crate::txn::reads::read_methods::sealed::Layered;
use std::fmt;

use crate::error::Result;
use crate::pager::Value;
use crate::txn::reads::read_set::CursorPath;
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::edit::Pass;
use crate::txn::transaction::write_txn::WriteTxn;
use crate::txn::writes::run_walk::Start;

impl WriteTxn {
    /// Returns a cursor that can delete and replace entries. It starts before the first entry.
    ///
    /// ```
    /// use fulgurite::Read;
    ///
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let stock = db.create_table("stock", Default::default())?;
    /// db.update(|txn| (0..4u8).try_for_each(|number| txn.put(&stock, &[number], &[number])))?;
    /// let mut txn = db.write()?;
    /// let mut cursor = txn.cursor_mut(&stock)?;
    /// while let Some((_, count)) = cursor.next()? {
    ///     match count[0] {
    ///         0 => cursor.delete_current()?,
    ///         count => cursor.put_current(&[count - 1])?,
    ///     };
    /// }
    /// drop(cursor);
    /// assert_eq!(txn.get(&stock, &[3])?.as_deref(), Some(&[2][..]));
    /// assert_eq!(txn.len(&stock)?, 3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::get`].
    pub fn cursor_mut(&mut self, table: &Table) -> Result<CursorMut<'_>> {
        self.layers(table)?;
        let path = self.read_set().map(|reads| CursorPath::new(reads, table.info.id));
        let (pass, place) = (Pass::default(), CursorState::BeforeFirst);
        Ok(CursorMut { txn: self, table: table.clone(), pass, upward: true, place, path })
    }
}

/// A cursor that moves in both directions and can delete or replace its entry: see [`WriteTxn::cursor_mut`].
///
/// Its position is an entry, before the first entry (where it starts), or after the last. All keys that it passes count
/// as read.
pub struct CursorMut<'w> {
    txn: &'w mut WriteTxn,
    table: Table,
    /// Its last key is that of the entry at which the cursor stands.
    pass: Pass,
    upward: bool,
    place: CursorState,
    path: Option<CursorPath>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CursorState {
    BeforeFirst,
    At,
    /// Where an entry was that is deleted.
    Deleted,
    AfterLast,
}

impl CursorMut<'_> {
    /// Moves to the first entry whose key is at least `key`, and returns it. If there is none, moves after the last
    /// entry and returns `None`.
    ///
    /// # Errors
    /// As [`crate::ReadTxn::get`].
    pub fn seek(&mut self, key: impl AsRef<[u8]>) -> Result<Option<(Value<'_>, Value<'_>)>> {
        self.start(Start::From(key.as_ref()))
    }

    /// Moves to the first entry.
    ///
    /// # Errors
    /// As [`CursorMut::seek`].
    pub fn first(&mut self) -> Result<Option<(Value<'_>, Value<'_>)>> {
        self.start(Start::First)
    }

    /// Moves to the last entry.
    ///
    /// # Errors
    /// As [`CursorMut::seek`].
    pub fn last(&mut self) -> Result<Option<(Value<'_>, Value<'_>)>> {
        self.start(Start::Last)
    }

    /// Moves to the next entry, and returns it. If there is none, moves after the last entry and returns `None`.
    ///
    /// # Errors
    /// As [`CursorMut::seek`].
    #[allow(clippy::should_implement_trait)] // It moves both ways, and lends what it returns, which no iterator does.
    pub fn next(&mut self) -> Result<Option<(Value<'_>, Value<'_>)>> {
        match self.place {
            CursorState::AfterLast => Ok(None),
            CursorState::BeforeFirst => self.start(Start::First),
            CursorState::At | CursorState::Deleted if self.upward => self.go(Start::First),
            CursorState::At | CursorState::Deleted => {
                let key = std::mem::take(&mut self.pass.last);
                self.start(Start::Above(&key))
            }
        }
    }

    /// Moves to the previous entry, and returns it. If there is none, moves before the first entry and returns `None`.
    ///
    /// # Errors
    /// As [`CursorMut::seek`].
    pub fn previous(&mut self) -> Result<Option<(Value<'_>, Value<'_>)>> {
        match self.place {
            CursorState::BeforeFirst => Ok(None),
            CursorState::AfterLast => self.start(Start::Last),
            CursorState::At | CursorState::Deleted if !self.upward => self.go(Start::Last),
            CursorState::At | CursorState::Deleted => {
                let key = std::mem::take(&mut self.pass.last);
                self.start(Start::Below(&key))
            }
        }
    }

    /// Deletes the current entry; the cursor is then between its neighbours. Returns false if there is no current
    /// entry: before the first entry, after the last, or after a deletion.
    ///
    /// # Errors
    /// As [`WriteTxn::put`].
    pub fn delete_current(&mut self) -> Result<bool> {
        let is_at_entry = self.place == CursorState::At;
        if is_at_entry {
            self.txn.mark_deleted(&self.table, &self.pass.last)?;
            self.place = CursorState::Deleted;
        }
        Ok(is_at_entry)
    }

    /// Replaces the value of the current entry. Returns false, and stores nothing, if there is no current entry (see
    /// [`CursorMut::delete_current`]).
    ///
    /// # Errors
    /// As [`WriteTxn::put`].
    pub fn put_current(&mut self, value: impl AsRef<[u8]>) -> Result<bool> {
        let is_at_entry = self.place == CursorState::At;
        if is_at_entry {
            self.txn.put(&self.table, &self.pass.last, value)?;
        }
        Ok(is_at_entry)
    }

    /// Begins a new way through the table, and takes its first step.
    fn start(&mut self, start: Start<'_>) -> Result<Option<(Value<'_>, Value<'_>)>> {
        self.upward = start.is_upward();
        self.pass = Pass { spills: self.txn.spills(), ..Pass::default() };
        self.place = if self.upward { CursorState::BeforeFirst } else { CursorState::AfterLast };
        if let (Some(path), Some(reads)) = (&mut self.path, self.txn.read_set()) {
            // Should what follows fail, it counts as gone over whole.
            path.jump(reads, start.bound(), self.upward, None);
        }
        self.go(start)
    }

    /// Takes a step: the first one of a way from `start`.
    fn go(&mut self, start: Start<'_>) -> Result<Option<(Value<'_>, Value<'_>)>> {
        let entry = self.pass.next(self.txn, &self.table, start, |_| true)?;
        if let Some(path) = &mut self.path {
            path.step(self.upward, entry.as_ref().map(|(key, _)| &**key));
        }
        self.place = match &entry {
            Some(_) => CursorState::At,
            None if self.upward => CursorState::AfterLast,
            None => CursorState::BeforeFirst,
        };
        Ok(entry)
    }
}

impl Drop for CursorMut<'_> {
    fn drop(&mut self) {
        if let (Some(path), Some(reads)) = (&mut self.path, self.txn.read_set()) {
            path.end(reads);
        }
    }
}

impl fmt::Debug for CursorMut<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CursorMut").field("table", &self.table).field("place", &self.place).finish_non_exhaustive()
    }
}
