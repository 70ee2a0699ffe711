//! Which function does which verb of `rdf`.

use super::{check, dump, load, migrate, query, serve, stats, sweep, update};
use crate::arguments::rdf::RdfVerb;
use crate::failure::Failure;

/// Does what the command line asks for.
///
/// # Errors
/// Why it was not done.
pub fn run(verb: &RdfVerb) -> Result<(), Failure> {
    match verb {
        RdfVerb::Load(arguments) => load::run(arguments),
        RdfVerb::Migrate(arguments) => migrate::run(arguments),
        RdfVerb::Query(arguments) => query::run(arguments),
        RdfVerb::Update(arguments) => update::run(arguments),
        RdfVerb::Dump(arguments) => dump::run(arguments),
        RdfVerb::Stats(arguments) => stats::run(arguments),
        RdfVerb::Check(arguments) => check::run(arguments),
        RdfVerb::Sweep(arguments) => sweep::run(arguments),
        RdfVerb::Serve(arguments) => serve::run(arguments),
    }
}
