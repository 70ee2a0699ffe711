//! `facts units`: the units that own facts.

use std::io::Write as _;

use crate::arguments::facts_files::Units;
use crate::commands::facts::database::reading;
use crate::commands::facts::slicing::has_owners;
use crate::failure::Failure;
use crate::output::{Cell, Printer};

/// Prints a row for each unit. The numbers of facts are known when the database is complete.
pub fn run(arguments: &Units) -> Result<(), Failure> {
    reading(&arguments.database, |database| {
        let units = database.store().snapshot()?.unit_facts()?;
        let is_counted = has_owners(database)?;
        let number = |count: u64| if is_counted { Cell::Number(count) } else { Cell::Nothing };
        let mut printer = Printer::to_standard_output(arguments.format, &["unit", "owned", "needed"]);
        for unit in &units {
            printer.row(&[Cell::Text(&unit.name), number(unit.owned), number(unit.needed)])?;
        }
        printer.finish()?;
        if !is_counted {
            let path = database.store().path().display();
            let message = "facts are counted by their owners when the database is complete";
            let _ = writeln!(std::io::stderr(), "{path}: {message}; run `fulgurite facts finish`");
        }
        Ok(())
    })
}
