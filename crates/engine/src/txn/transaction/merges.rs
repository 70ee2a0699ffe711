//! Merging operands into values, by an operator of the table or a function of the program.

use crate::error::{Error, Result};
use crate::format::{MergeRule, Overflowed};
use crate::merge_functions::{OPERAND_LENGTH_BYTES, list_operand};
use crate::txn::reads::read_methods::sealed::Layered;
use crate::txn::snapshot::table::Table;
use crate::txn::transaction::write_txn::{WriteTxn, check_lengths};
use crate::txn::writes::pending::Pending;
use crate::txn::writes::versions::{OPERAND_BYTES_MAX, OwnChange};

impl WriteTxn {
    /// Merges `operand` into the value of `key` by the table's merge operator
    /// ([`TableOptions::merge`](crate::TableOptions::merge)). The operand is applied to the value that the key has when
    /// this transaction commits. So merges never conflict, at any isolation level: concurrent writers of a counter need
    /// no locks and no retries. If the key has no value, the operand becomes its value.
    ///
    /// If this transaction reads the key afterwards, it gets the value of its snapshot with the operand merged. That
    /// counts as a read, so it may conflict with transactions that change the key. After a put or delete of the same
    /// key in this transaction, a merge is a put.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let db = fulgurite::Database::create(directory.path().join("a.ful"))?;
    /// use fulgurite::{MergeOperator, TableOptions};
    ///
    /// let hits = db.create_table("hits", TableOptions::new().merge(MergeOperator::Add))?;
    /// std::thread::scope(|scope| {
    ///     for _ in 0..4 {
    ///         scope.spawn(|| {
    ///             let mut txn = db.write()?;
    ///             txn.merge(&hits, b"home", &1u64.to_be_bytes())?;
    ///             txn.commit() // Never a conflict.
    ///         });
    ///     }
    /// });
    /// assert_eq!(db.read()?.get(&hits, b"home")?.as_deref(), Some(&4u64.to_be_bytes()[..]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::MergeFunctionMissing`]; [`Error::Invalid`] if the table has no merge operator, or the operand is not a
    /// number of the operator's type; as [`WriteTxn::put`], and as [`WriteTxn::get`] after a put of the same key. The
    /// operands of one key in one transaction are limited to 4 GiB − 14 bytes together. The value is computed when the
    /// transaction commits: if that fails, [`WriteTxn::commit`] returns [`Error::Unmergeable`]. If the operands of this
    /// transaction alone cannot be combined ([`MergeOperator::AddChecked`](crate::MergeOperator::AddChecked)), this
    /// call returns that error and changes nothing.
    pub fn merge(&mut self, table: &Table, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.merge_bytes(table, key.as_ref(), operand.as_ref())
    }

    fn merge_bytes(&mut self, table: &Table, key: &[u8], operand: &[u8]) -> Result<()> {
        match table.info.merge_rule() {
            Some(rule) => self.merge_by(table, key, operand, rule),
            None => self.merge_listed(table, key, operand),
        }
    }

    /// Merges an operand of a function: until the function is called, operands are lists that are joined.
    #[inline(never)]
    fn merge_listed(&mut self, table: &Table, key: &[u8], operand: &[u8]) -> Result<()> {
        self.view(table)?;
        self.held.core.writer()?;
        let Some(function) = table.info.merge_function() else {
            let name = table.name();
            let message = format!(
                "table `{name}` merges nothing: it was created without a merge operator or merge function; create \
                 another table with one"
            );
            return Err(Error::Invalid { message });
        };
        self.held.snapshot.state.merge_functions.require(table.name(), function)?;
        check_operand(operand.len().saturating_add(OPERAND_LENGTH_BYTES))?;
        self.merge_by(table, key, &list_operand(operand), MergeRule::Joined)
    }

    fn merge_by(&mut self, table: &Table, key: &[u8], operand: &[u8], rule: MergeRule) -> Result<()> {
        self.make_room()?;
        self.popped = [None, None];
        let view = self.view(table)?;
        check_lengths(table, key, operand.len())?;
        self.held.core.writer()?;
        let id = table.info.id;
        let own = self.set.find(id, key)?;
        match &own {
            Some(OwnChange::Merge(pending)) => check_operand(rule.length_bytes(pending.len(), operand.len()))?,
            None => check_operand(operand.len())?,
            Some(_) => {}
        }
        let value = match own {
            Some(OwnChange::Merge(spilled)) if self.set.get(id, key).is_none() => {
                let mut pending = spilled.to_vec();
                rule.apply(&mut pending, operand).map_err(|Overflowed| table.info.overflow(key))?;
                self.set.set(id, key, Pending::Merge(pending));
                return Ok(());
            }
            None | Some(OwnChange::Merge(_)) => {
                self.begun = self.begin_insert(view, key);
                let merged = self.set.merge(id, key, operand, rule);
                return merged.map_err(|Overflowed| table.info.overflow(key));
            }
            Some(own) => {
                let before = self.layers(table)?.own_value(key, own)?;
                table.info.merged(&self.held.snapshot.state.merge_functions, key, before.as_deref(), operand)?
            }
        };
        self.put(table, key, &value)
    }
}

/// A run must be able to hold what is pending, if it is spilled.
fn check_operand(length_bytes: usize) -> Result<()> {
    if length_bytes <= OPERAND_BYTES_MAX {
        return Ok(());
    }
    Err(Error::ValueTooLong { length_bytes: length_bytes as u64, limit_bytes: OPERAND_BYTES_MAX as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operand_that_no_run_takes_is_refused() {
        check_operand(OPERAND_BYTES_MAX).expect("a run takes it");
        let error = check_operand(OPERAND_BYTES_MAX + 1).expect_err("no run takes it");
        assert!(matches!(error, Error::ValueTooLong { limit_bytes: 4_294_967_282, .. }), "{error}");
    }
}
