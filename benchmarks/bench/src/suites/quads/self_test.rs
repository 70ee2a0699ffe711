//! The suite's test of itself: engines whose answers have planted faults, in processes of their own as real ones.
//! Each fault must be found in each measurement that has an answer, and an engine without one must pass.

use std::path::Path;

use crate::error::Result;
use crate::measure::places::Places;
use crate::suites::quads::answer::{Line, Sum, difference};
use crate::suites::quads::data::files::Files;
use crate::suites::quads::entries::{entries, planted};
use crate::suites::quads::measure::Measure;
use crate::suites::quads::process::spawn;
use crate::suites::quads::task::Task;

/// Every measurement with answers, except scans of numbers of terms, which only one engine has.
const MEASURES: [Measure; 7] = [
    Measure::Verify,
    Measure::ScanTerms,
    Measure::BySubject,
    Measure::ByPredicateObject,
    Measure::Threads(2),
    Measure::Open,
    Measure::Sparql,
];

const STATEMENTS: u64 = 20_000;

/// A line for each engine that was judged wrongly, and a last line that counts; and whether all were judged rightly.
pub fn run(directory: &Path, seed: u64) -> Result<(String, bool)> {
    let places = Places::new(directory, false)?;
    let files = Files { directory: places.path().to_owned() };
    let content = files.write(STATEMENTS, seed)?;
    let store = places.fresh("bulk_load", "planted")?;
    let [own, ..] = entries();
    let task = |measure| Task {
        measure,
        run: files.directory.clone(),
        store: store.clone(),
        statements: STATEMENTS,
        milliseconds: 1,
    };
    spawn(&own, &task(Measure::BulkLoad))?;
    let (mut text, mut right, mut all) = (String::new(), 0, 0);
    for measure in MEASURES {
        let expected = match measure {
            Measure::Verify => vec![(measure.name().to_owned(), content)],
            other => answers(spawn(&own, &task(other))?),
        };
        for (index, entry) in planted().iter().enumerate() {
            let found = answers(spawn(entry, &task(measure))?);
            let differ = found.len() != expected.len()
                || expected.iter().zip(&found).any(|((name, expected), (_, sum))| {
                    difference(name, (own.name, *expected), (entry.name, *sum)).is_some()
                });
            all += 1;
            if differ == (index > 0) {
                right += 1;
            } else {
                text.push_str(&format!("NOT FOUND {} {}\n", measure.name(), entry.name));
            }
        }
    }
    text.push_str(&format!("self-test: {right} of {all} planted engines judged rightly\n"));
    Ok((text, right == all))
}

fn answers(lines: Vec<Line>) -> Vec<(String, Sum)> {
    let answer = |line| match line {
        Line::Answer(name, sum) => Some((name, sum)),
        _ => None,
    };
    lines.into_iter().filter_map(answer).collect()
}
