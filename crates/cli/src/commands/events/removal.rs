//! `events truncate`, `events delete` and `events retention`: what a store no longer keeps.

use std::io::Write as _;
use std::time::Instant;

use fulgurite_events::{Expected, Retention, Version};

use super::opened::{changing_store, located};
use crate::arguments::events::{DeleteStream, Retain, Truncate};
use crate::failure::Failure;
use crate::output::counted;
use crate::progress::{Progress, time};

/// Hides the events of a stream before a version.
pub fn truncate(arguments: &Truncate) -> Result<(), Failure> {
    let (argument, stream) = (&arguments.store, &arguments.stream.0);
    changing_store(argument, None, arguments.writing, |store| {
        store.truncate_before(stream, Version(arguments.before)).map_err(|error| located(argument, error))
    })
}

/// Deletes a stream, for ever if that is asked for.
pub fn delete(arguments: &DeleteStream) -> Result<(), Failure> {
    let (argument, stream) = (&arguments.store, &arguments.stream.0);
    changing_store(argument, None, arguments.writing, |store| {
        let deleted = match arguments.tombstone {
            true => store.bury_stream(stream, Expected::Any),
            false => store.delete_stream(stream, Expected::Any),
        };
        deleted.map_err(|error| located(argument, error))
    })
}

/// Removes events from the log, and prints where it begins now.
pub fn retention(arguments: &Retain) -> Result<(), Failure> {
    let retention = Retention {
        age_max: arguments.age_max,
        count_max: arguments.count_max,
        bytes_max: arguments.bytes_max.map(|mebibytes| u64::from(mebibytes) << 20),
    };
    let begun = Instant::now();
    let report = changing_store(&arguments.store, None, arguments.writing, |store| {
        let line = || format!("removing events, {}", time(begun.elapsed()));
        Ok(Progress::new("removing").during(line, || store.apply_retention(&retention))?)
    })?;
    let _ = writeln!(
        std::io::stderr(),
        "the log begins at position {}: {} removed, {} rewritten in {}",
        report.start,
        counted(report.chunks_removed, "chunk", "chunks"),
        counted(report.chunks_rewritten, "chunk", "chunks"),
        time(begun.elapsed())
    );
    Ok(())
}
