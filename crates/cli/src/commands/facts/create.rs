//! `facts create`: a database with a schema.

use std::path::Path;

use fulgurite_facts::{Error, FactDatabase, Schema, Source, Store};

use super::database::{explain_facts, stacked};
use crate::arguments::facts::Create;
use crate::database::to_write;
use crate::failure::Failure;

/// Creates. If the schema is wrong, there is no file.
pub fn run(arguments: &Create) -> Result<(), Failure> {
    let options = Store::options().engine(to_write(arguments.writing));
    let options = options.backend(arguments.backend.into());
    let options = stacked(options, &arguments.database.base)?.hide_units(hidden(arguments)?);
    let schema = schema(arguments)?;
    FactDatabase::create_with(options, &arguments.database.path, schema).map_err(explain_created)?.close()?;
    Ok(())
}

/// Adds to an error what a user of the command line can do, but for errors of the engine: they are of a new file.
fn explain_created(error: Error) -> Failure {
    match error {
        error @ Error::LmdbNotBuilt { .. } => explain_facts(error),
        error => error.into(),
    }
}

/// The units whose facts are hidden: those of `--hide`, or all but those of `--keep`.
fn hidden(arguments: &Create) -> Result<Vec<String>, Failure> {
    let (Some((base, below)), false) = (arguments.database.base.split_last(), arguments.keep.is_empty()) else {
        return Ok(arguments.hide.clone());
    };
    let options = Store::options().engine(fulgurite::Database::options().read_only(true));
    let mut units = stacked(options, below)?.open(base).map_err(explain_facts)?.snapshot()?.units()?;
    if let Some(missing) = arguments.keep.iter().find(|name| !units.contains(name)) {
        return Err(Error::NoSuchUnit { name: missing.clone() }.into());
    }
    units.retain(|name| !arguments.keep.contains(name));
    Ok(units)
}

/// The schema of the arguments, or that of the base.
fn schema(arguments: &Create) -> Result<Schema, Failure> {
    if let (true, Some((base, below))) = (arguments.schema.is_empty(), arguments.database.base.split_last()) {
        let options = Store::options().engine(fulgurite::Database::options().read_only(true));
        let base = FactDatabase::open_with(stacked(options, below)?, base)?;
        return Ok(Schema::from_text(&base.schema().text()).map_err(fulgurite_facts::Error::from)?);
    }
    let sources = arguments.schema.iter().map(|path| source(path)).collect::<Result<Vec<_>, _>>()?;
    let schema = Schema::from_sources(&sources).map_err(fulgurite_facts::Error::from)?;
    if schema.predicates().is_empty() {
        let files: Vec<String> = arguments.schema.iter().map(|path| path.display().to_string()).collect();
        let message =
            format!("{}: there is no predicate, so the database could have no facts; add one", files.join(", "));
        return Err(Failure::Message(message));
    }
    Ok(schema)
}

fn source(path: &Path) -> Result<Source, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, "cannot be read", &error))?;
    Ok(Source::new(&path.display().to_string(), &text).map_err(fulgurite_facts::Error::from)?)
}
