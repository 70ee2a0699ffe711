//! Calls the function of a verb.

use crate::arguments::Verb;
use crate::commands::database::{backup, changes, check, compact, image, restore, stats, tables};
use crate::commands::entries::{count, del, export, get, import, put, scan};
#[cfg(feature = "events")]
use crate::commands::events;
#[cfg(feature = "facts")]
use crate::commands::facts;
#[cfg(feature = "rdf")]
use crate::commands::rdf;
use crate::commands::{completions, man};
use crate::failure::Failure;

/// Runs `verb`.
///
/// # Errors
/// The error of the verb.
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
        Verb::Image(arguments) => image::run(&arguments),
        Verb::Restore(arguments) => restore::run(&arguments),
        #[cfg(feature = "events")]
        Verb::Events(arguments) => events::run(&arguments.verb),
        #[cfg(feature = "facts")]
        Verb::Facts(arguments) => facts::run(&arguments.verb),
        #[cfg(feature = "rdf")]
        Verb::Rdf(arguments) => rdf::run(&arguments.verb),
        Verb::Completions(arguments) => completions::run(&arguments),
        Verb::Man(arguments) => man::run(&arguments),
    }
}
