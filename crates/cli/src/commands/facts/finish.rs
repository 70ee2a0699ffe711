//! `facts finish`: completes a database.

use super::database::changing;
use crate::arguments::facts::Finish;
use crate::failure::Failure;

/// Completes.
pub fn run(arguments: &Finish) -> Result<(), Failure> {
    changing(&arguments.database, arguments.writing, |database| Ok(database.complete()?))
}
