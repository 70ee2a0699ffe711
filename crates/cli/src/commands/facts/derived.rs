//! What is said of a query that reads stored predicates which were not derived.

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
