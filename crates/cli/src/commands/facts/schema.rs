//! `facts schema`: prints the schema of a database.

use std::io::Write;

use super::database::reading;
use crate::arguments::facts::SchemaArguments;
use crate::failure::Failure;
use crate::output::standard_output;

/// Prints the text of the schema, file by file.
pub fn run(arguments: &SchemaArguments) -> Result<(), Failure> {
    reading(&arguments.database, |database| {
        let mut out = standard_output();
        let mut print = || {
            for source in database.schema().sources() {
                writeln!(out, "# {}\n{}", source.name(), source.text().trim_end())?;
            }
            out.flush()
        };
        print().map_err(Failure::Output)
    })
}
