//! Which function does which verb.

#[cfg(feature = "rdf")]
use super::rdf;
use super::{
    backup, changes, check, compact, completions, count, del, export, get, import, man, put, scan, stats, tables,
};
use crate::arguments::Verb;
use crate::failure::Failure;

/// Does what the command line asks for.
///
/// # Errors
/// Why it was not done.
pub fn run(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Tables(arguments) => tables::run(&arguments),
        Verb::Get(arguments) => get::run(&arguments),
        Verb::Put(arguments) => put::run(&arguments),
        Verb::Del(arguments) => del::run(&arguments),
        Verb::Scan(arguments) => scan::run(&arguments),
        Verb::Count(arguments) => count::run(&arguments),
        Verb::Import(arguments) => import::run(&arguments),
        Verb::Export(arguments) => export::run(&arguments),
        Verb::Stats(arguments) => stats::run(&arguments),
        Verb::Changes(arguments) => changes::run(&arguments),
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Compact(arguments) => compact::run(&arguments),
        Verb::Backup(arguments) => backup::run(&arguments),
        #[cfg(feature = "rdf")]
        Verb::Rdf(arguments) => rdf::run(&arguments.verb),
        Verb::Completions(arguments) => completions::run(&arguments),
        Verb::Man(arguments) => man::run(&arguments),
    }
}
