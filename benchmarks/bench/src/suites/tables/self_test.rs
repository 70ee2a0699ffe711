//! The test of suites of tables by themselves: engines with planted faults, in their own processes like real ones.
//! Each workload must find each fault, and an engine without one must pass.

use std::path::Path;

use fulgurite_rivals::Level;

use crate::error::{Error, Result};
use crate::measure::places::Places;
use crate::suites::tables::definition::TableSuite;
use crate::suites::tables::engine::planted_for;
use crate::suites::tables::process::spawn;
use crate::suites::tables::task::Task;

const CACHE_BYTES: u64 = 64 << 20;

/// Records before, where there are any: a quick run of so many has enough puts for every fault.
const RECORDS: usize = 1000;

/// A line for each engine that was judged wrongly, and a last line that counts; and whether all were judged rightly.
pub fn run(tables: &TableSuite, directory: &Path, seed: u64) -> Result<(String, bool)> {
    let places = Places::new(directory, false)?;
    let mut text = String::new();
    let (mut all, mut right) = (0, 0);
    for definition in tables.definitions.iter().filter(|definition| definition.can_be_planted()) {
        let (right_one, faulty) = planted_for(definition.kind);
        for (index, entry) in std::iter::once(&right_one).chain(&faulty).enumerate() {
            let task = Task {
                suite: tables.name,
                definition: *definition,
                quick: true,
                records: Some(RECORDS),
                level: Level::Log,
                cache_bytes: CACHE_BYTES,
                seed,
                directory: places.fresh(definition.name, entry.engine.name)?,
            };
            all += 1;
            match (spawn(entry, &task), index) {
                (Ok(_), 0) | (Err(Error::Wrong { .. }), 1..) => right += 1,
                (Ok(_), _) => text.push_str(&format!("NOT FOUND {} {}\n", definition.name, entry.engine.name)),
                (Err(error), _) => {
                    text.push_str(&format!("FAILED {} {}: {error}\n", definition.name, entry.engine.name))
                }
            }
            places.remove(definition.name)?;
        }
    }
    text.push_str(&format!("self-test: {right} of {all} planted engines judged rightly\n"));
    Ok((text, right == all))
}
