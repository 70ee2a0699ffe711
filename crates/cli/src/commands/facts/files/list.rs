//! `facts list`: the databases of facts in a directory.

use std::io::Write as _;
use std::path::Path;

use fulgurite::Database;
use fulgurite_code::is_unfinished;
use fulgurite_facts::{Error, FactDatabase, Store};

use crate::arguments::facts_files::List;
use crate::commands::facts::database::explain_facts;
use crate::failure::Failure;
use crate::output::{Cell, Printer};

/// Prints a row for each database. Files that are none are skipped.
pub fn run(arguments: &List) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let failed = |error| Failure::file(directory, "cannot be read", &error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            names.push(entry.file_name());
        }
    }
    names.sort();
    let mut printer = Printer::to_standard_output(arguments.format, &["file", "state", "facts", "bytes"]);
    for name in names {
        let path = directory.join(&name);
        // An index that is being written is no database yet.
        if is_unfinished(&path) {
            continue;
        }
        let Some((state, facts)) = look(&path) else { continue };
        let bytes = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let facts = facts.map_or(Cell::Nothing, Cell::Number);
        printer.row(&[Cell::Text(&name.to_string_lossy()), Cell::Text(&state), facts, Cell::Number(bytes)])?;
    }
    printer.finish()
}

/// The state of a database and how many facts it has. `None`, if the file is not a database of facts, or if it cannot
/// be read: then the error is printed.
fn look(path: &Path) -> Option<(String, Option<u64>)> {
    let options = Store::options().engine(Database::options().read_only(true));
    match FactDatabase::open_with(options, path) {
        Ok(database) => {
            let state = database.store().state().map_or("unreadable".to_owned(), |state| state.to_string());
            let facts = database.reader().and_then(|reader| reader.snapshot().statistics());
            let facts = facts.map(|all| all.values().map(|statistics| statistics.count).sum()).ok();
            let _ = database.close();
            Some((state, facts))
        }
        Err(Error::WrongBase { .. }) => Some(("stacked".to_owned(), None)),
        Err(Error::NoSchema { .. }) => Some(("without a schema".to_owned(), None)),
        Err(Error::NotFacts { .. }) => None,
        Err(Error::Engine(error)) if is_of_no_database(&error) => None,
        // It may be a database.
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{}", explain_facts(error));
            None
        }
    }
}

/// Whether an error says that there is no database of this version or of another one.
fn is_of_no_database(error: &fulgurite::Error) -> bool {
    matches!(error, fulgurite::Error::NotADatabase { .. } | fulgurite::Error::DatabaseNotFound { .. })
}
