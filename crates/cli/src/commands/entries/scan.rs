//! `scan`: prints entries in key order.

use crate::arguments::Scan;
use crate::database::{reading, table};
use crate::entries::EntryForm;
use crate::failure::Failure;
use crate::output::{Cell, Printer};
use fulgurite::Read;

/// Prints the entries of a range.
pub fn run(arguments: &Scan) -> Result<(), Failure> {
    reading(&arguments.file.path, |_, txn| {
        let table = table(txn, &arguments.table)?;
        let form =
            EntryForm::new(&table, arguments.key.key_notation.as_ref(), arguments.value.value_notation.as_ref())?;
        let bounds = form.bounds(&arguments.range)?;
        let names = [form.key.name(), form.value.name()];
        let names = if arguments.keys_only { &names[..1] } else { &names[..] };
        let mut printer = Printer::to_standard_output(arguments.format, names);
        let mut range = txn.range(&table, bounds.get())?;
        let mut left = arguments.limit.unwrap_or(u64::MAX);
        while left > 0 {
            let Some(entry) = (if arguments.reverse { range.next_back() } else { range.next() }) else { break };
            let (key, value) = entry?;
            let (key, value) = form.split(&key, &value)?;
            let cells = [Cell::Stored(&form.key, &key), Cell::Stored(&form.value, value)];
            printer.row(&cells[..names.len()])?;
            left -= 1;
        }
        printer.finish()
    })
}
