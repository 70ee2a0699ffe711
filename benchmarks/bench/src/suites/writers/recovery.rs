//! Opening a store whose process was killed, with so many records in its log.
//!
//! The records are put in no order of their keys, each in a transaction: recovery has to sort them, or to insert them
//! one by one.

use std::io::Write;
use std::path::Path;

use fulgurite_rivals::{Usage, WritingEngine, WritingStore};

use crate::data::shape::Shape;
use crate::data::values::Values;
use crate::error::{Error, Result};
use crate::measure::clock::{Charge, Latencies, Sample, Stopwatch};
use crate::suites::writers::workload::{KEY_BYTES, VALUE_BYTES, at_log};

/// What the process says when all records are put.
pub const FILLED: &str = "filled";

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
pub fn open<E: WritingEngine>(directory: &Path, records: usize) -> Result<Sample> {
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

#[cfg(test)]
mod tests {
    use fulgurite_rivals::Lmdb;

    use super::*;
    use crate::engines::fulgurite::Fulgurite;
    use crate::engines::planted::writing::{Planted, WRONG_GET};
    use crate::suites::writers::kills::copy_files;

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
