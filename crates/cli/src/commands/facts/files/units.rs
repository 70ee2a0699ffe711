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
        let is_counted = has_owners(database)?;
        let snapshot = database.store().snapshot()?;
        let mut printer = Printer::to_standard_output(arguments.format, &["unit", "owned", "needed"]);
        let mut names = snapshot.units()?;
        if is_counted {
            for unit in snapshot.unit_facts()? {
                printer.row(&[Cell::Text(&unit.name), Cell::Number(unit.owned), Cell::Number(unit.needed)])?;
            }
        } else {
            // Counting would read every fact for nothing.
            names.sort_unstable();
            for name in &names {
                printer.row(&[Cell::Text(name), Cell::Nothing, Cell::Nothing])?;
            }
        }
        printer.finish()?;
        let message = match (names.is_empty(), is_counted) {
            (false, true) => return Ok(()),
            (false, false) => {
                "facts are counted by their owners when the database is complete; run `fulgurite facts finish`"
            }
            (true, _) => "no unit owns facts; `fulgurite facts write --unit` names one, or a batch does",
        };
        let _ = writeln!(std::io::stderr(), "{}: {message}", database.store().path().display());
        Ok(())
    })
}
