//! Creating, opening, dropping and renaming tables within a write transaction.

use crate::error::Result;
use crate::options::TableOptions;
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::write_txn::WriteTxn;
use crate::txn::writes::schema::SchemaChange;

impl WriteTxn {
    /// Creates a table. Other transactions see it after this transaction has committed.
    ///
    /// # Errors
    /// [`Error::TableExists`](crate::Error::TableExists);
    /// [`Error::Invalid`](crate::Error::Invalid) for an empty or overlong name or impossible
    /// options.
    pub fn create_table(&mut self, name: &str, options: TableOptions) -> Result<Table> {
        self.note_names();
        self.schema.create(&self.held.snapshot.state, name, options, || self.held.core.new_table_number())
    }

    /// Returns the table with this name, as this transaction sees it with its own changes.
    ///
    /// # Errors
    /// [`Error::TableNotFound`](crate::Error::TableNotFound).
    pub fn open_table(&self, name: &str) -> Result<Table> {
        self.note_names();
        self.schema.open(&self.held.snapshot.state, name)
    }

    /// Returns all tables, sorted by name, as this transaction sees them with its own changes.
    pub fn tables(&self) -> Vec<Table> {
        self.note_names();
        self.schema.tables(&self.held.snapshot.state)
    }

    /// Drops a table and its entries when this transaction commits. Existing snapshots still see it.
    ///
    /// # Errors
    /// [`Error::TableNotFound`](crate::Error::TableNotFound).
    pub fn drop_table(&mut self, table: &Table) -> Result<()> {
        self.note_names();
        self.schema.drop_table(&self.held.snapshot.state, table)?;
        self.set.forget(table.info.id);
        Ok(())
    }

    /// Renames a table when this transaction commits. Returns a handle with the new name. Existing handles continue to
    /// work, and keep the old name. Existing snapshots see the old name.
    ///
    /// Transactions that create, drop or rename tables conflict with each other, and with transactions that look up
    /// tables by name. Transactions that only read and write entries of the table do not conflict.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// let draft = db.create_table("draft", Default::default())?;
    /// db.update(|txn| txn.put(&draft, b"k", b"v"))?;
    /// db.rename_table(&draft, "final")?;
    /// assert_eq!(db.read()?.get(&db.open_table("final")?, b"k")?.as_deref(), Some(&b"v"[..]));
    /// assert_eq!(db.read()?.get(&draft, b"k")?.as_deref(), Some(&b"v"[..]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::TableExists`](crate::Error::TableExists) if another table has this name;
    /// [`Error::Invalid`](crate::Error::Invalid) for an empty or overlong one.
    pub fn rename_table(&mut self, table: &Table, name: &str) -> Result<Table> {
        self.note_names();
        self.schema.rename(&self.held.snapshot.state, table, name)
    }

    /// Frees the numbers of tables that will not be created, from the change with this index on.
    pub(super) fn return_table_numbers(&self, from: usize) {
        for change in self.schema.changes()[from..].iter().rev() {
            if let SchemaChange::Created(view) = change {
                self.held.core.return_table_number(view.info.id);
            }
        }
    }
}
