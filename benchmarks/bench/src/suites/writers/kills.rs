//! Stores whose process was killed: a process of its own fills one for each engine, and every round opens a copy,
//! because opening a store changes it.

use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::measure::child;
use crate::measure::clock::Sample;
use crate::measure::places::Places;
use crate::measure::rounds::{Turn, interleaved};
use crate::suites::writers::contestant::{Entry, entries};
use crate::suites::writers::recovery::FILLED;

/// The word after the program's name that asks for a process that will be killed.
pub const VERB: &str = "fill";

/// Fills a store of each engine and kills who filled it; every round opens a copy of each.
pub fn rounds(
    places: &Places,
    engines: &[Entry],
    name: &'static str,
    records: usize,
    rounds: usize,
) -> Result<Vec<(&'static str, Vec<Sample>)>> {
    let mut killed = Vec::with_capacity(engines.len());
    for engine in engines {
        let directory = places.fresh(name, engine.name)?;
        fill_and_kill(engine.name, &directory, records)?;
        killed.push(directory);
    }
    let open_copy = |engine: &Entry, killed: &Path| {
        let copy = places.fresh(name, "copy")?;
        copy_files(killed, &copy)?;
        (engine.recover)(&copy, records)
    };
    let mut turns: Vec<(&'static str, Turn<'_>)> = Vec::with_capacity(engines.len());
    for (engine, killed) in engines.iter().zip(&killed) {
        turns.push((engine.name, Box::new(|_| open_copy(engine, killed))));
    }
    let entries = interleaved(rounds, turns)?;
    places.remove(name)?;
    Ok(entries)
}

/// Lets another process of this program put the records, and kills it.
fn fill_and_kill(engine: &str, directory: &Path, records: usize) -> Result<()> {
    let arguments = [VERB.to_owned(), engine.to_owned(), records.to_string(), directory.to_string_lossy().into_owned()];
    child::kill_when_said(&format!("filling a store of {engine}"), &arguments, FILLED, Duration::ZERO).map(drop)
}

/// What the other process does: the arguments are the engine, the number of records and the directory.
pub fn fill(arguments: &[String]) -> Result<()> {
    let usage =
        || Error::Usage(format!("`{VERB}` takes the arguments that the suite `writers` passes to its own processes"));
    let [engine, records, directory] = arguments else { return Err(usage()) };
    let entry = entries().into_iter().find(|entry| entry.name == engine).ok_or_else(usage)?;
    (entry.fill)(Path::new(directory), records.parse().map_err(|_| usage())?)
}

/// Copies all files below `from`.
pub fn copy_files(from: &Path, to: &Path) -> Result<()> {
    let io = |error| Error::io("copy", from, error);
    for entry in std::fs::read_dir(from).map_err(io)? {
        let entry = entry.map_err(io)?;
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(io)?.is_dir() {
            std::fs::create_dir(&target).map_err(io)?;
            copy_files(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target).map_err(io)?;
        }
    }
    Ok(())
}
