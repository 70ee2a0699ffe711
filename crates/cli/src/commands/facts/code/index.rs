//! `facts index`: finds definitions and references in source code.

use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use fulgurite_code::{Error, IndexLock, KeptOutput, Plan, ScipFile, Source, Step, Updated, Without};

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
    let source = Without::new(&*source, &arguments.exclude);
    let updated = lock.update(&source, arguments.whole, &mut tell).map_err(|error| explain(error, arguments))?;
    let elapsed = progress.borrow().elapsed();
    drop(progress);
    if let Some(damaged) = &updated.damaged {
        let done = if updated.written.is_some() { "replaced" } else { "removed" };
        let _ = writeln!(std::io::stderr(), "{}: was damaged, and was {done}", damaged.display());
    }
    for failure in &failures {
        let _ = writeln!(std::io::stderr(), "{}; the index is without what it finds there", printable(failure));
    }
    report_absent(arguments);
    report_outside(&updated.outside);
    report_left_out(&updated.left_out);
    if arguments.reads_scip() && updated.removed > 0 {
        let left = counted(updated.removed, "file has", "files have");
        let _ = writeln!(std::io::stderr(), "{left} left the index; if a SCIP file was cut off, write it again");
    }
    let _ = writeln!(std::io::stderr(), "{} in {}", report(arguments, &updated), time(elapsed));
    Ok(())
}

/// The failure of an error. If outputs of indexers are kept, it has the command that indexes them.
fn explain(error: Error, arguments: &Index) -> Failure {
    match error {
        Error::NoSources => {
            let place = arguments.scip.first().or(arguments.scip_in.get(1)).unwrap_or(&arguments.directory);
            Failure::Message(format!("{}: {error}", place.display()))
        }
        Error::OutputsKept { error, outputs } => {
            let readable: Vec<&KeptOutput> = outputs.iter().filter(|output| output.is_readable).collect();
            let command = continued(arguments, &error, &readable);
            let failure = explain(*error, arguments);
            let mut message = format!("{failure}; finished outputs are kept until indexers run again");
            if let Some(command) = command {
                let those = if readable.len() == outputs.len() { "them" } else { "the others" };
                message += &format!("; index {those} alone with `{command}`");
            } else if !readable.is_empty() {
                let paths: Vec<_> = readable.iter().map(|output| output.path.display().to_string()).collect();
                message += &format!(": {}", paths.join(", "));
            }
            failure.reworded(message)
        }
        error => explain_code(error),
    }
}

/// The command that indexes the outputs that are kept after an error, for a shell. A damaged index is written whole.
/// `None`, if there is no output, or a path is not in UTF-8.
fn continued(arguments: &Index, error: &Error, outputs: &[&KeptOutput]) -> Option<String> {
    let Index { directory, database, exclude, whole, backend, .. } = arguments;
    let mut words = ["fulgurite", "facts", "index"].map(str::to_owned).to_vec();
    let mut add = |option: &str, values: &[&Path]| {
        words.extend((!option.is_empty()).then(|| option.to_owned()));
        for value in values {
            words.push(quoted(value.to_str()?));
        }
        Some(())
    };
    add("", &[directory])?;
    add("--database", &[database])?;
    exclude.iter().try_for_each(|path| add("--exclude", &[path.as_ref()]))?;
    if *whole || matches!(error, Error::DamagedIndex { is_recognised: true, .. }) {
        add("--whole", &[])?;
    }
    if let Some(value) = backend.as_ref().and_then(ValueEnum::to_possible_value) {
        add("--backend", &[value.get_name().as_ref()])?;
    }
    for KeptOutput { path, root, .. } in outputs {
        match root.as_str() {
            "" => add("--scip", &[path])?,
            root => add("--scip-in", &[root.as_ref(), path])?,
        }
    }
    (!outputs.is_empty()).then(|| words.join(" "))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=+,@".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Says which paths to leave out do not exist, such as mistyped ones and patterns. The sources of a SCIP file need not
/// be there.
fn report_absent(arguments: &Index) {
    let Index { directory, exclude, .. } = arguments;
    for path in exclude.iter().filter(|path| !arguments.reads_scip() && !directory.join(path).exists()) {
        let (directory, path) = (directory.display(), printable(path));
        let _ = writeln!(std::io::stderr(), "{directory}: --exclude {path}: there is no such file or directory");
    }
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
    if arguments.reads_scip() {
        let files = arguments.scip_files().map_err(Failure::Message)?.into_iter();
        let files = files.map(|(path, root)| Box::new(ScipFile::of_root(path, directory, &root)) as Box<dyn Source>);
        return Ok((Box::new(files.collect::<Vec<_>>()), Vec::new()));
    }
    let plan = Plan::without(directory, &arguments.skip).map_err(explain_code)?;
    let runs = plan.runs();
    let _ = writeln!(std::io::stderr(), "{}: indexing with {}", directory.display(), listed(runs.clone()));
    for missing in plan.missing() {
        let _ = writeln!(std::io::stderr(), "missing: {missing}");
    }
    let mut lines = SpacedLines::default();
    let indexed = plan.run(lock, &mut |run, elapsed| {
        let mut progress = progress.borrow_mut();
        if progress.is_visible() {
            progress.show(|| format!("{}; Ctrl-C stops it", printable(&running(&runs, run, elapsed))));
        } else if lines.is_due(elapsed) {
            let _ = writeln!(std::io::stderr(), "{}", printable(&running(&runs, run, elapsed)));
        }
    });
    let indexed = indexed.map_err(|error| explain(error, arguments))?;
    let failures = indexed.failures();
    Ok((Box::new(indexed), failures))
}

/// The run of an indexer that is going on, its number if there are several, and its time.
fn running(runs: &[String], run: &str, elapsed: Duration) -> String {
    let number = runs.iter().position(|other| other == run).map_or(0, |before| before + 1);
    let of_all = if runs.len() > 1 { format!(" ({number} of {})", runs.len()) } else { String::new() };
    format!("{run} is running{of_all}, {}", time(elapsed))
}

/// Lines about a running indexer where no progress is drawn. CI services stop a command that prints nothing for long.
#[derive(Default)]
struct SpacedLines {
    /// How many intervals between lines have ended in this run.
    ended: u64,
}

impl SpacedLines {
    /// Whether a line is due when a run has taken so long. Another run begins at 0.
    fn is_due(&mut self, elapsed: Duration) -> bool {
        let ended = elapsed.as_secs() / SECONDS_BETWEEN_LINES;
        let is_due = ended > self.ended;
        self.ended = ended;
        is_due
    }
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
/// The interval between lines where no progress is drawn.
const SECONDS_BETWEEN_LINES: u64 = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_prints_a_line_every_five_minutes_and_the_next_run_begins_again() {
        let mut lines = SpacedLines::default();
        let seconds = [0, 299, 300, 301, 599, 610, 0, 10, 300, 299, 300];
        let due = seconds.map(|seconds| lines.is_due(Duration::from_secs(seconds)));
        assert_eq!(due, [false, false, true, false, false, true, false, false, true, false, true]);
    }

    #[test]
    fn a_run_is_numbered_if_there_are_several() {
        let runs = ["rust-analyzer", "ctags"].map(str::to_owned);
        let elapsed = Duration::from_secs(300);
        assert_eq!(running(&runs, "ctags", elapsed), "ctags is running (2 of 2), 5 min 00 s");
        assert_eq!(running(&runs[..1], "rust-analyzer", elapsed), "rust-analyzer is running, 5 min 00 s");
    }
}
