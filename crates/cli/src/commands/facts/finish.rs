//! `facts finish`: completes a database.

use fulgurite_facts::{Error, State};

use super::database::changing;
use crate::arguments::facts::Finish;
use crate::failure::Failure;

/// Completes.
pub fn run(arguments: &Finish) -> Result<(), Failure> {
    changing(&arguments.database, arguments.writing, |database| {
        database.complete().map_err(|error| match error {
            Error::WrongState { path, state: State::Complete, .. } => {
                Failure::Message(format!("{}: the database is complete already", path.display()))
            }
            error => error.into(),
        })
    })
}
