//! `facts finish`: completes a database.

use fulgurite_facts::{Error, FactDatabase, State};

use super::database::changing;
use crate::arguments::facts::Finish;
use crate::failure::Failure;

/// Completes, unless derived facts are missing that cannot be added afterwards.
pub fn run(arguments: &Finish) -> Result<(), Failure> {
    changing(&arguments.database, arguments.writing, |database| {
        if !arguments.allow_underived {
            require_derived(database)?;
        }
        database.complete().map_err(|error| match error {
            Error::WrongState { path, state: State::Complete, .. } => {
                Failure::Message(format!("{}: the database is complete already", path.display()))
            }
            error => error.into(),
        })
    })
}

/// # Errors
/// If predicates lack derived facts, and can be derived now.
fn require_derived(database: &FactDatabase) -> Result<(), Failure> {
    // If its completion was stopped, nothing can be derived any more.
    if database.store().state()? != State::Incomplete {
        return Ok(());
    }
    let reader = database.reader()?;
    let missing = reader.not_derived_of_all()?;
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = missing.iter().map(|predicate| database.schema().name_of(*predicate)).collect();
    let path = database.store().path().display().to_string();
    let command = reader.derive_command(&missing, &path);
    Err(Failure::Message(format!(
        "{path}: not derived since facts were written: {}; nothing can be derived in a complete database, so run \
         {command} first; --allow-underived completes it without these facts",
        names.join(", ")
    )))
}
