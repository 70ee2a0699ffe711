//! `facts derive`: writes the facts that the schema derives into the database.

use fulgurite_facts::{DerivationLimits, Derived, FactDatabase};

use crate::arguments::OutputFormat;
use crate::arguments::facts_files::Derive;
use crate::commands::facts::database::changing;
use crate::failure::Failure;
use crate::output::{Cell, Printer};

/// Derives, and prints a row for each predicate.
pub fn run(arguments: &Derive) -> Result<(), Failure> {
    changing(&arguments.database, arguments.writing, |database| {
        let derived = match arguments.predicate.is_empty() {
            true => {
                let (rounds_max, facts_max) = (arguments.rounds_max, arguments.facts_max);
                database.derive_all_within(&DerivationLimits { rounds_max, facts_max })?
            }
            false => {
                let named = arguments.predicate.iter().map(|name| derive_one(database, name));
                named.collect::<Result<Vec<_>, _>>()?
            }
        };
        let mut printer = Printer::to_standard_output(OutputFormat::Table, &["predicate", "new facts"]);
        for Derived { predicate, new, .. } in derived {
            printer.row(&[Cell::Text(&database.schema().name_of(predicate)), Cell::Number(new)])?;
        }
        printer.finish()
    })
}

fn derive_one(database: &FactDatabase, name: &str) -> Result<Derived, Failure> {
    let no_predicate =
        || Failure::Message(format!("there is no predicate {name}; `fulgurite facts schema` prints them"));
    let predicate = database.schema().find(name).ok_or_else(no_predicate)?;
    Ok(database.derive(predicate.id)?)
}
