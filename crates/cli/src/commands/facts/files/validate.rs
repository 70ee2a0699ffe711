//! `facts validate`: whether a database is sound, from its pages to its facts.

use std::io::Write;

use fulgurite_facts::Error;

use crate::arguments::facts_files::Validate;
use crate::commands::facts::database::reading_each;
use crate::failure::Failure;
use crate::output::{counted, standard_output};

/// Checks the pages of each file of the stack, then its facts.
pub fn run(arguments: &Validate) -> Result<(), Failure> {
    let mut facts = 0;
    reading_each(&arguments.database, |database| {
        let path = database.store().path().display();
        // LMDB has no checksums: its pages are checked by reading the facts.
        if let Some(file) = database.store().database()
            && let Some(damage) = file.check()?.damages.first()
        {
            // The text of the damage names the file.
            return Err(Failure::damaged(format!("{damage}; restore a backup")));
        }
        let validated = database.validate().map_err(|error| match error {
            error @ Error::Invalid { .. } => Failure::damaged(format!("{path}: {error}")),
            error => error.into(),
        })?;
        facts += validated.facts;
        Ok(())
    })?;
    let mut out = standard_output();
    writeln!(out, "valid: {}", counted(facts, "fact", "facts")).and_then(|()| out.flush()).map_err(Failure::Output)
}
