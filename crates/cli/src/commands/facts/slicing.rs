//! What `--slice` and `--slice-without` mean: a reader of the facts of some units.

use fulgurite_facts::{FactDatabase, FactReader, State};

use crate::arguments::facts_database::SliceArguments;
use crate::failure::Failure;

/// A reader of a database, without the facts that the arguments hide.
///
/// # Errors
/// If there is no such unit, or the owners of facts are not known yet; errors of the database.
pub fn reader(database: &FactDatabase, arguments: &SliceArguments) -> Result<FactReader, Failure> {
    let reader = database.reader()?;
    if arguments.is_empty() {
        return Ok(reader);
    }
    require_owners(database)?;
    let SliceArguments { slice, without } = arguments;
    let snapshot = reader.snapshot();
    let slice = if without.is_empty() { snapshot.slice_of(slice)? } else { snapshot.slice_without(without)? };
    Ok(reader.sliced(slice))
}

/// # Errors
/// That the database is not complete, so that its facts have no owners yet.
pub fn require_owners(database: &FactDatabase) -> Result<(), Failure> {
    if has_owners(database)? {
        return Ok(());
    }
    let path = database.store().path().display();
    Err(Failure::Message(format!(
        "{path}: facts get their owners when the database is completed; run `fulgurite facts finish`"
    )))
}

/// Whether the owners of all facts of a database are known.
///
/// # Errors
/// Errors of the database.
pub fn has_owners(database: &FactDatabase) -> Result<bool, Failure> {
    Ok(database.store().state()? == State::Complete)
}
