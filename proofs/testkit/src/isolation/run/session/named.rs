//! Tables that are created, renamed and dropped. Each represents a register: it holds one value while it exists;
//! otherwise the register is absent.

use fulgurite::{Error, TableOptions};

use super::super::super::history::{Operation, Value};
use super::halt::Halt;
use super::keys::{named, value_bytes, value_of};
use super::transaction::{Session, of_either};

impl Session<'_> {
    /// Looks for the table, and at what it holds.
    pub fn read_named(&mut self, number: u64) -> Result<Option<Value>, Halt> {
        let found = of_either!(&self.txn, txn => match txn.open_table(&name(number)) {
            Ok(table) => txn.get(&table, NAMED_KEY)?.map(|bytes| value_of(&bytes)).transpose()?.map_or_else(
                || Err(Halt::Wrong(format!("table `{}` is there without what it was created with", name(number)))),
                |value| Ok(Some(value)),
            ),
            Err(Error::TableNotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        })?;
        self.note_read(named(number), found);
        Ok(found)
    }

    /// Creates the table, in place of the one that may be there.
    pub fn create_named(&mut self, number: u64) -> Result<(), Halt> {
        let value = self.memory.values.draw();
        let Some(txn) = self.write() else { return Ok(()) };
        match txn.open_table(&name(number)) {
            Ok(table) => txn.drop_table(&table)?,
            Err(Error::TableNotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let table = txn.create_table(&name(number), TableOptions::new())?;
        txn.put(&table, NAMED_KEY, &value_bytes(value, 0))?;
        self.add(Operation::Write { key: named(number), value });
        Ok(())
    }

    /// Renames the table, if it exists and the new name is free.
    pub fn rename_named(&mut self, number: u64, other: u64) -> Result<(), Halt> {
        if number == other || self.read_named(number)?.is_none() || self.read_named(other)?.is_some() {
            return Ok(());
        }
        let value = self.memory.values.draw();
        let Some(txn) = self.write() else { return Ok(()) };
        let table = txn.open_table(&name(number))?;
        txn.rename_table(&table, &name(other))?;
        // By the handle from before: it is the same table.
        txn.put(&table, NAMED_KEY, value_bytes(value, 0))?;
        self.add(Operation::Delete { key: named(number) });
        self.add(Operation::Write { key: named(other), value });
        Ok(())
    }

    /// Drops the table if it exists.
    pub fn drop_named(&mut self, number: u64) -> Result<(), Halt> {
        if self.read_named(number)?.is_none() {
            return Ok(());
        }
        let Some(txn) = self.write() else { return Ok(()) };
        let table = txn.open_table(&name(number))?;
        txn.drop_table(&table)?;
        self.add(Operation::Delete { key: named(number) });
        Ok(())
    }
}

/// The name of a table that comes and goes.
pub(crate) fn name(number: u64) -> String {
    format!("comes and goes {number}")
}

/// The key of what it holds.
pub(crate) const NAMED_KEY: &[u8] = b"value";
