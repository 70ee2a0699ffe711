//! `facts dump`: all facts as JSON, as `facts write` reads them.

use std::io::Write;

use fulgurite_facts::{Expansion, FactDatabase, FactReader, PredicateId};

use crate::arguments::facts_files::Dump;
use crate::commands::facts::database::reading;
use crate::commands::facts::slicing;
use crate::failure::Failure;
use crate::output::{Output, standard_output};

/// Prints batches of facts in the order of ids, so that facts come before their uses.
pub fn run(arguments: &Dump) -> Result<(), Failure> {
    reading(&arguments.database, |database| {
        let mut out = standard_output();
        dump(database, &slicing::reader(database, &arguments.slice)?, &mut out)?;
        out.flush().map_err(Failure::Output)
    })
}

fn dump(database: &FactDatabase, reader: &FactReader, out: &mut Output) -> Result<(), Failure> {
    let snapshot = reader.snapshot();
    let mut before: Option<PredicateId> = None;
    write!(out, "[").map_err(Failure::Output)?;
    for fact in snapshot.enumerate(snapshot.starting_id(), snapshot.first_free_id()) {
        let fact = fact?;
        let printed = reader.fact(fact.id(), Expansion::FLAT)?;
        let predicate = fact.predicate();
        if before == Some(predicate) {
            write!(out, ",\n{printed}").map_err(Failure::Output)?;
        } else {
            let end = if before.is_some() { "]}," } else { "" };
            let name = database.schema().name_of(predicate);
            write!(out, "{end}\n{{\"predicate\":\"{name}\",\"facts\":[\n{printed}").map_err(Failure::Output)?;
            before = Some(predicate);
        }
    }
    let end = if before.is_some() { "]}\n]" } else { "]" };
    writeln!(out, "{end}").map_err(Failure::Output)
}
