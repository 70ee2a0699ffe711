//! Which function does which verb of `facts`.

use super::code::{describe, diagnostics, hierarchy, index, lsp, places, search, symbols};
use super::files::{copy, delete, derive, dump, image, list, owners, units, validate};
use super::{create, finish, query, schema, serve, shell, stats, write};
use crate::arguments::facts::FactsVerb;
use crate::failure::Failure;

/// Does what the command line asks for.
///
/// # Errors
/// Why it was not done.
pub fn run(verb: &FactsVerb) -> Result<(), Failure> {
    match verb {
        FactsVerb::Create(arguments) => create::run(arguments),
        FactsVerb::Write(arguments) => write::run(arguments),
        FactsVerb::Query(arguments) => query::run(arguments),
        FactsVerb::Finish(arguments) => finish::run(arguments),
        FactsVerb::Stats(arguments) => stats::run(arguments),
        FactsVerb::Schema(arguments) => schema::run(arguments),
        FactsVerb::Shell(arguments) => shell::run(arguments),
        FactsVerb::Derive(arguments) => derive::run(arguments),
        FactsVerb::Dump(arguments) => dump::run(arguments),
        FactsVerb::Validate(arguments) => validate::run(arguments),
        FactsVerb::Units(arguments) => units::run(arguments),
        FactsVerb::Owners(arguments) => owners::run(arguments),
        FactsVerb::List(arguments) => list::run(arguments),
        FactsVerb::Delete(arguments) => delete::run(arguments),
        FactsVerb::Backup(arguments) => copy::run(arguments, "copying"),
        FactsVerb::Image(arguments) => image::run(arguments),
        FactsVerb::Restore(arguments) => copy::run(arguments, "restoring"),
        FactsVerb::Index(arguments) => index::run(arguments),
        FactsVerb::Symbols(arguments) => symbols::run(arguments),
        FactsVerb::Describe(arguments) => describe::run(arguments),
        FactsVerb::Definition(arguments) => places::definition(arguments),
        FactsVerb::References(arguments) => places::references(arguments),
        FactsVerb::Search(arguments) => search::run(arguments),
        FactsVerb::Hierarchy(arguments) => hierarchy::run(arguments),
        FactsVerb::Diagnostics(arguments) => diagnostics::run(arguments),
        FactsVerb::Lsp(arguments) => lsp::run(arguments),
        FactsVerb::Serve(arguments) => serve::run(arguments),
    }
}
