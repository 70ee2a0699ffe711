//! `count`: counts entries.

use fulgurite::Read;
use std::io::Write;

use crate::arguments::Count;
use crate::database::{reading, table};
use crate::entries::EntryForm;
use crate::failure::Failure;
use crate::output::standard_output;

/// Prints how many entries a range has.
pub fn run(arguments: &Count) -> Result<(), Failure> {
    reading(&arguments.file.path, |_, txn| {
        let table = table(txn, &arguments.table)?;
        let form = EntryForm::new(&table, arguments.key.key_notation.as_ref(), None)?;
        let bounds = form.bounds(&arguments.range)?;
        let mut out = standard_output();
        if arguments.estimate {
            let estimate = txn.estimate_count(&table, bounds.get())?;
            writeln!(out, "{} (between {} and {})", estimate.entries, estimate.low, estimate.high)
        } else {
            writeln!(out, "{}", txn.count(&table, bounds.get())?)
        }
        .and_then(|()| out.flush())
        .map_err(Failure::Output)
    })
}
