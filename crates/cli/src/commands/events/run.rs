//! Which function does which verb of `events`.

use super::{append, check, consumers, follow, read, reindex, removal, replay, stats, streams};
use crate::arguments::events::EventsVerb;
use crate::failure::Failure;

/// Runs the verb.
///
/// # Errors
/// The error of the verb.
pub fn run(verb: &EventsVerb) -> Result<(), Failure> {
    match verb {
        EventsVerb::Append(arguments) => append::run(arguments),
        EventsVerb::Read(arguments) => read::run(arguments),
        EventsVerb::Follow(arguments) => follow::run(arguments),
        EventsVerb::Streams(arguments) => streams::run(arguments),
        EventsVerb::Consumers(arguments) => consumers::run(arguments),
        EventsVerb::Replay(arguments) => replay::run(arguments),
        EventsVerb::Stats(arguments) => stats::run(arguments),
        EventsVerb::Check(arguments) => check::run(arguments),
        EventsVerb::Truncate(arguments) => removal::truncate(arguments),
        EventsVerb::Delete(arguments) => removal::delete(arguments),
        EventsVerb::Retention(arguments) => removal::retention(arguments),
        EventsVerb::Reindex(arguments) => reindex::run(arguments),
    }
}
