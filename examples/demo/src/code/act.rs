//! The order of the act: the indexer, the index, the questions.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fulgurite_code::{ScipFile, Updated, open_index, update_index};

use crate::code::indexer::{self, Indexed};
use crate::code::questions;
use crate::error::Result;
use crate::figures::{grouped, rate, size};
use crate::report::Report;

/// The sample of the act in `directory`, or in the directory next to it.
pub fn data_file(directory: Option<&Path>) -> Option<PathBuf> {
    let directory = directory?;
    let places = [directory.join("code").join(SAMPLE), directory.join("..").join("code").join(SAMPLE)];
    places.into_iter().find(|place| place.is_file())
}

/// The file of the index: next to the database of the other acts.
pub fn index_file(out: &Path) -> PathBuf {
    let name = out.file_stem().unwrap_or_default().to_string_lossy();
    out.with_file_name(format!("{name}-code.ful"))
}

/// Indexes the crate `keys` with rust-analyzer, if this machine has it and the repository is there, or else reads the
/// sample. Then it asks.
pub fn index_and_ask(report: &Report, sample: &Path, path: &Path, uses_sample: bool) -> Result<()> {
    let begun = Instant::now();
    let Indexed { scip, sources, told, scratch } = indexer::scip(sample, path, uses_sample)?;
    report.done("indexer", told, begun.elapsed())?;
    let begun = Instant::now();
    let updated = update_index(path, &ScipFile::new(&scip, &sources), false, &mut |_| {})?;
    report.done("index", described(&updated, begun.elapsed()), begun.elapsed())?;
    drop(scratch);
    let begun = Instant::now();
    let index = open_index(path)?;
    let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    report.done("open", format!("{} on disk", size(bytes)), begun.elapsed())?;
    questions::ask(report, &index)?;
    Ok(index.close()?)
}

fn described(updated: &Updated, elapsed: Duration) -> String {
    let (facts, files) = (grouped(updated.facts), updated.files);
    format!("{facts} facts about {files} files, {}", rate(updated.facts, elapsed))
}

/// What rust-analyzer wrote of the crate `keys`.
const SAMPLE: &str = "keys.scip.gz";
