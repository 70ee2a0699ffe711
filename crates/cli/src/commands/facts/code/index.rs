//! `facts index`: finds definitions and references in source code.

use std::cell::RefCell;
use std::io::Write;

use fulgurite_code::{Error, IndexLock, Plan, ScipFile, Source, Step, Updated};

use crate::arguments::code::Index;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;
use crate::notation::printable;
use crate::output::{counted, grouped};
use crate::progress::{Progress, time};

/// Runs indexers, or reads what one has written; prints a line about what was written.
pub fn run(arguments: &Index) -> Result<(), Failure> {
    let progress = RefCell::new(Progress::new("indexing"));
    // Held until the end: indexers write files of one name.
    let mut lock = IndexLock::take(&arguments.database).map_err(explain_code)?;
    if let Some(backend) = arguments.backend {
        lock = lock.stored_by(backend.into());
    }
    lock.require_writable().map_err(explain_code)?;
    let (source, failures) = source(arguments, &lock, &progress)?;
    let mut tell = |step: Step| {
        progress.borrow_mut().show(|| match step {
            Step::Comparing(parts) => format!("reading: {}", counted(parts, "part", "parts")),
            Step::Writing(parts) => format!("writing: {}", counted(parts, "part", "parts")),
            Step::Completing => "completing the database".to_owned(),
        });
    };
    let updated = lock.update(&*source, arguments.whole, &mut tell).map_err(|error| match error {
        error @ Error::NoSources => {
            let place = arguments.scip.first().unwrap_or(&arguments.directory);
            Failure::Message(format!("{}: {error}", place.display()))
        }
        error => explain_code(error),
    })?;
    let elapsed = progress.borrow().elapsed();
    drop(progress);
    if let Some(damaged) = &updated.damaged {
        let done = if updated.written.is_some() { "replaced" } else { "removed" };
        let _ = writeln!(std::io::stderr(), "{}: was damaged, and was {done}", damaged.display());
    }
    for failure in &failures {
        let _ = writeln!(std::io::stderr(), "{}; the index is without what it finds there", printable(failure));
    }
    report_outside(&updated.outside);
    report_left_out(&updated.left_out);
    let _ = writeln!(std::io::stderr(), "{} in {}", report(arguments, &updated), time(elapsed));
    Ok(())
}

/// Says how many files were left out, because they are not in the directory.
fn report_outside(paths: &[String]) {
    if let Some(first) = paths.first() {
        let (files, first) = (counted(paths.len() as u64, "file", "files"), printable(first));
        let _ = writeln!(std::io::stderr(), "left out: {files} outside of the directory, such as {first}");
    }
}

/// Says which files were left out, because their places could be wrong.
fn report_left_out(paths: &[String]) {
    let mut messages = std::io::stderr();
    for path in paths.iter().take(NAMED_MAX) {
        let _ = writeln!(messages, "{}: was changed while it was indexed, and was left out", printable(path));
    }
    if paths.len() > NAMED_MAX {
        let others = counted((paths.len() - NAMED_MAX) as u64, "other file", "other files");
        let _ = writeln!(messages, "left out for the same reason: {others}");
    }
    if !paths.is_empty() {
        let _ = writeln!(messages, "run `fulgurite facts index` again to index what was left out");
        let _ = writeln!(messages, "files that the build changes each time stay out");
    }
}

/// What indexers have written, or write now, and which of these failed without failing all.
fn source(
    arguments: &Index,
    lock: &IndexLock,
    progress: &RefCell<Progress>,
) -> Result<(Box<dyn Source>, Vec<String>), Failure> {
    let directory = &arguments.directory;
    if !arguments.scip.is_empty() {
        let files = arguments.scip.iter().map(|path| Box::new(ScipFile::new(path, directory)) as Box<dyn Source>);
        return Ok((Box::new(files.collect::<Vec<_>>()), Vec::new()));
    }
    let plan = Plan::without(directory, &arguments.skip).map_err(explain_code)?;
    let _ = writeln!(std::io::stderr(), "{}: indexing with {}", directory.display(), listed(plan.runs()));
    for missing in plan.missing() {
        let _ = writeln!(std::io::stderr(), "missing: {missing}");
    }
    let indexed = plan.run(lock, &mut |name, elapsed| {
        progress.borrow_mut().show(|| format!("{name} is running, {}", time(elapsed)));
    });
    let indexed = indexed.map_err(explain_code)?;
    let failures = indexed.failures();
    Ok((Box::new(indexed), failures))
}

/// The first names of a list, and how many others there are.
fn listed(mut names: Vec<String>) -> String {
    let others = names.len().saturating_sub(NAMED_MAX);
    if others > 0 {
        names.truncate(NAMED_MAX);
        names.push(format!("and {others} more"));
    }
    names.join(", ")
}

fn report(arguments: &Index, updated: &Updated) -> String {
    let files = counted(updated.files, "file", "files");
    let path = arguments.database.display();
    match &updated.written {
        None => format!("{path}: nothing has changed in {files}"),
        Some(written) => {
            let (facts, written) = (counted(updated.facts, "fact", "facts"), written.display());
            let [added, changed, removed] = [updated.added, updated.changed, updated.removed].map(grouped);
            format!("{written}: {facts} written; {files}: {added} added, {changed} changed, {removed} removed")
        }
    }
}

/// So many files that were left out are named, and so many runs of indexers.
const NAMED_MAX: usize = 10;
