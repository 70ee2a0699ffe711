//! Opening a store whose process was killed, with so many records in its log.
//!
//! A process of its own puts them, each in a transaction, and is killed; the store is copied for each round, because opening
//! it changes it. Keys come in no order: recovery has to sort them, or to insert them one by one.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use fulgurite_rivals::{Usage, WritingEngine, WritingStore};

use crate::child;
use crate::clock::{Charge, Latencies, Sample, Stopwatch};
use crate::error::{Error, Result};
use crate::places::Places;
use crate::rounds::{Turn, interleaved};
use crate::shape::Shape;
use crate::values::Values;
use crate::writers::contestant::{Entry, at_log, entries};
use crate::writers::workload::RECOVERY_RECORD_BYTES;

/// Length of the keys.
pub const KEY_BYTES: usize = 32;

/// Length of the values.
pub const VALUE_BYTES: usize = RECOVERY_RECORD_BYTES - KEY_BYTES;

/// What the process says when all records are put.
const FILLED: &str = "filled";

/// One opening.
pub type Opening = Sample;

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
    let arguments =
        ["fill".to_owned(), engine.to_owned(), records.to_string(), directory.to_string_lossy().into_owned()];
    child::kill_when_said(&format!("filling a store of {engine}"), &arguments, FILLED, Duration::ZERO).map(drop)
}

/// What the other process does: the arguments are the engine, the number of records and the directory.
pub fn fill(arguments: &[String]) -> Result<()> {
    let usage = || Error::Usage("`fill` is started by `writers` alone".to_owned());
    let [engine, records, directory] = arguments else { return Err(usage()) };
    let entry = entries().into_iter().find(|entry| entry.name == engine).ok_or_else(usage)?;
    (entry.fill)(Path::new(directory), records.parse().map_err(|_| usage())?)
}

/// Puts the records, says so, and waits to be killed.
pub fn put_all<E: WritingEngine>(directory: &Path, records: usize) -> Result<()> {
    let store = E::open(directory, at_log(Usage::LongLog))?;
    put_records(&store, records)?;
    println!("{FILLED}");
    let told = std::io::stdout().flush().and_then(|()| std::io::stdin().read_line(&mut String::new()));
    told.map(drop).map_err(|error| Error::io("wait", Path::new("standard input"), error))
}

fn put_records<S: WritingStore>(store: &S, records: usize) -> Result<()> {
    let values = Values::new(VALUE_BYTES);
    let mut key = Vec::with_capacity(KEY_BYTES);
    for id in 0..records as u32 {
        key.clear();
        Shape::Hashed.write_key(id, KEY_BYTES, &mut key);
        store.put(&key, values.get(id))?;
    }
    Ok(())
}

/// Opens a store that was killed, timed until the last record was read, and compares every record.
pub fn open<E: WritingEngine>(directory: &Path, records: usize) -> Result<Opening> {
    let values = Values::new(VALUE_BYTES);
    let mut key = Vec::with_capacity(KEY_BYTES);
    let mut has = |store: &E::Store, id: u32| {
        key.clear();
        Shape::Hashed.write_key(id, KEY_BYTES, &mut key);
        store.get(&key, |value| value == Some(values.get(id)))
    };
    let mut latencies = Latencies::with_capacity(1);
    let watch = Stopwatch::start(Charge::Process);
    let store = E::open(directory, at_log(Usage::SingleOperations))?;
    let mut right = has(&store, records as u32 - 1)?;
    latencies.lap(1);
    let sample = watch.stop(1, latencies);
    for id in 0..records as u32 {
        right &= has(&store, id)?;
    }
    let mut count = 0;
    store.scan(|_, _| count += 1)?;
    store.close()?;
    match right && count == records {
        true => Ok(sample),
        false => {
            let what = format!("{count} records are there instead of {records}, or some have other values");
            Err(Error::Wrong { workload: "recovery", what })
        }
    }
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use fulgurite_rivals::Lmdb;

    use super::*;
    use crate::fulgurite::Fulgurite;
    use crate::planted_writing::{Planted, WRONG_GET};

    /// What a kill leaves is a store that was not closed: here its files are copied while it is open.
    fn opened_after_no_close<E: WritingEngine>() -> Result<Sample> {
        let (killed, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = E::open(killed.path(), at_log(Usage::LongLog))?;
        put_records(&store, 300)?;
        copy_files(killed.path(), copy.path())?;
        open::<E>(copy.path(), 300)
    }

    #[test]
    fn every_record_of_a_log_is_compared() {
        opened_after_no_close::<Fulgurite>().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let store = <Lmdb as WritingEngine>::open(directory.path(), at_log(Usage::LongLog)).unwrap();
        put_records(&store, 300).unwrap();
        store.close().unwrap();
        open::<Lmdb>(directory.path(), 300).unwrap();
        assert!(open::<Lmdb>(directory.path(), 299).is_err());
        assert!(open::<Lmdb>(directory.path(), 301).is_err());
        assert!(opened_after_no_close::<Planted<WRONG_GET>>().is_err());
    }
}
