//! What is said of a query that reads stored predicates which were not derived, and of a dump of them.

use std::io::Write;

use fulgurite_facts::{FactDatabase, FactReader, Page};

use crate::failure::Failure;

/// Says which stored predicates of a query were not derived since facts of their inputs were written, and what to do.
///
/// # Errors
/// Errors of the database.
pub fn report(database: &FactDatabase, reader: &FactReader, page: &Page) -> Result<(), Failure> {
    let file = database.store().path().display().to_string();
    for message in reader.not_derived_messages(page, &file)? {
        let _ = writeln!(std::io::stderr(), "{message}");
    }
    Ok(())
}

/// Says which stored predicates of a dump were not derived since facts of their inputs were written: in the database
/// that reads the dump, those with facts look derived.
///
/// # Errors
/// Errors of the database.
pub fn report_dumped(database: &FactDatabase, reader: &FactReader) -> Result<(), Failure> {
    for predicate in reader.not_derived_of_all()? {
        let (path, name) = (database.store().path().display(), database.schema().name_of(predicate));
        let _ = writeln!(
            std::io::stderr(),
            "{path}: {name} was not derived since facts were written, so derived facts are missing in the dump; run \
             `fulgurite facts derive` in the database that reads it"
        );
    }
    Ok(())
}
