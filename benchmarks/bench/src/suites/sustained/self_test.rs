//! The suite's test of itself: engines with planted faults, in processes of their own as real ones. Each fault must
//! be found by each workload, and an engine without one must pass.

use std::path::Path;

use crate::error::{Error, Result};
use crate::measure::places::Places;
use crate::suites::sustained::engine::planted;
use crate::suites::sustained::process::spawn;
use crate::suites::sustained::task::{Part, Task};
use crate::suites::sustained::workload::{Options, Size, Workload};

/// Records unless the options say otherwise.
const RECORDS: usize = 5000;

const CACHE_BYTES: u64 = 64 << 20;

/// A line for each engine that was judged wrongly, and a last line that counts; and whether all were judged rightly.
pub fn run(options: &Options, directory: &Path, seed: u64) -> Result<(String, bool)> {
    let places = Places::new(directory, false)?;
    let records = options.records.unwrap_or(RECORDS);
    let mut text = String::new();
    let (mut all, mut right) = (0, 0);
    // A planted engine keeps nothing for another process, as the workload that is left out wants.
    for workload in Workload::ALL.into_iter().filter(|workload| *workload != Workload::Bounded) {
        for (index, engine) in planted().iter().enumerate() {
            let task = Task {
                workload,
                part: Part::Measure,
                size: Size { databases: 2, span_ms: 20, ..Size::of(workload, records, true) },
                cache_bytes: CACHE_BYTES,
                seed,
                warm: false,
                steps: 0,
                directory: places.fresh(workload.name(), engine.name)?,
                group: None,
            };
            all += 1;
            match (spawn(engine, &task), index) {
                (Ok(_), 0) | (Err(Error::Wrong { .. }), 1..) => right += 1,
                (Ok(_), _) => text.push_str(&format!("NOT FOUND {} {}\n", workload.name(), engine.name)),
                (Err(error), _) => text.push_str(&format!("FAILED {} {}: {error}\n", workload.name(), engine.name)),
            }
            places.remove(workload.name())?;
        }
    }
    text.push_str(&format!("self-test: {right} of {all} planted engines judged rightly\n"));
    Ok((text, right == all))
}
