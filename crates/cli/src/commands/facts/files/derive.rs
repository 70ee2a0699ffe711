//! `facts derive`: writes the facts that the schema derives into the database.

use std::io::Write as _;

use fulgurite_facts::{DerivationLimits, Derived, FactDatabase, PredicateId};

use crate::arguments::OutputFormat;
use crate::arguments::facts_files::Derive;
use crate::commands::facts::database::changing;
use crate::failure::Failure;
use crate::output::{Cell, Printer, counted, grouped};
use crate::progress::Progress;

/// Derives, and prints a row for each predicate, in the order of the derivation.
pub fn run(arguments: &Derive) -> Result<(), Failure> {
    changing(&arguments.database, arguments.writing, |database| {
        let predicates: Vec<PredicateId> = match arguments.predicate.is_empty() {
            true => database.stored_derivations().collect(),
            false => arguments.predicate.iter().map(|name| find(database, name)).collect::<Result<_, _>>()?,
        };
        if predicates.is_empty() {
            let path = database.store().path().display();
            let _ = writeln!(std::io::stderr(), "{path}: nothing was derived: the schema stores no derived predicate");
        }
        let limits = DerivationLimits { rounds_max: arguments.rounds_max, facts_max: arguments.facts_max };
        let mut progress = Progress::new("deriving");
        let derived = database.derive_each(&predicates, &limits, &mut |done| {
            progress.show(|| {
                let name = database.schema().name_of(done.predicate);
                format!("{name}, round {}: {} new facts", done.round, grouped(done.new))
            });
        });
        drop(progress);
        print(database, &derived?)
    })
}

fn print(database: &FactDatabase, all: &[Derived]) -> Result<(), Failure> {
    let mut printer = Printer::to_standard_output(OutputFormat::Table, &["predicate", "new facts", "rounds"]);
    for derived in all {
        let name = database.schema().name_of(derived.predicate);
        printer.row(&[Cell::Text(&name), Cell::Number(derived.new), Cell::Number(derived.rounds)])?;
    }
    printer.finish()?;
    for derived in all.iter().filter(|derived| derived.outdated > 0) {
        let _ = writeln!(
            std::io::stderr(),
            "{}: {} in the database that its query does not give now, after other facts were added or hidden; to be \
             without them, write and derive all facts in a new database",
            database.schema().name_of(derived.predicate),
            counted(derived.outdated, "fact", "facts"),
        );
    }
    Ok(())
}

fn find(database: &FactDatabase, name: &str) -> Result<PredicateId, Failure> {
    let no_predicate =
        || Failure::Message(format!("there is no predicate {name}; `fulgurite facts schema` prints them"));
    Ok(database.schema().find(name).ok_or_else(no_predicate)?.id)
}
