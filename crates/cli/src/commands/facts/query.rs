//! `facts query`: answers a query in Angle.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::time::{Duration, Instant};

use fulgurite_facts::{Error, Expansion, FactDatabase, FactReader, Page, PageFlow, QueryLimits};

use super::database::reading;
use super::{derived, slicing};
use crate::arguments::facts::Query;
use crate::failure::Failure;
use crate::output::{Output, counted, size, standard_output};
use crate::progress::time;

/// Prints one result on each line, when it is found.
pub fn run(arguments: &Query) -> Result<(), Failure> {
    let continuation = arguments.continuation.as_deref().map(parse_continuation).transpose()?;
    reading(&arguments.database, |database| {
        let begun = Instant::now();
        let reader = slicing::reader(database, &arguments.slice)?;
        let (page, results) = answer(&reader, arguments, continuation.as_deref())?;
        let results = counted(results, "result", "results");
        let _ = writeln!(io::stderr(), "{results} in {}", time(begun.elapsed()));
        print_rest(database, &page, arguments.profile);
        derived::report(database, &reader, &page)
    })
}

/// Prints the results, and returns the page without them, and how many there are. Results that were found before a
/// failure are printed.
fn answer(reader: &FactReader, arguments: &Query, continuation: Option<&[u8]>) -> Result<(Page, u64), Failure> {
    let limits = QueryLimits {
        results_max: arguments.limit.map(|limit| limit as usize),
        bytes_max: arguments.bytes_max.map(|limit| (limit as usize) << 20),
        time_max: arguments.timeout,
        memory_bytes_max: (arguments.memory_max as usize) << 20,
        ..QueryLimits::default()
    };
    let expansion = if arguments.recursive { Expansion::RECURSIVE } else { Expansion::FLAT };
    let (mut lines, mut results, mut failed) = (Lines::new(), 0, None);
    let answered = reader.query_each(&arguments.text, &limits, continuation, &mut |found| {
        let line = reader.print_found(&found, expansion)?;
        match lines.print(&line) {
            Ok(()) => results += 1,
            // The query ends.
            Err(error) => {
                failed = Some(error);
                return Err(Error::Cancelled);
            }
        }
        Ok(PageFlow::Continue)
    });
    match failed {
        Some(error) => return Err(Failure::Output(error)),
        None => lines.out.flush().map_err(Failure::Output)?,
    }
    Ok((answered.map_err(explain_memory)?, results))
}

/// Lines of standard output, which are seen soon, also if the next one takes long to find.
struct Lines {
    out: Output,
    flushed: Instant,
}

impl Lines {
    fn new() -> Self {
        Self { out: standard_output(), flushed: Instant::now() }
    }

    fn print(&mut self, line: &impl Display) -> io::Result<()> {
        writeln!(self.out, "{line}")?;
        if self.flushed.elapsed() >= BETWEEN_FLUSHES {
            self.out.flush()?;
            self.flushed = Instant::now();
        }
        Ok(())
    }
}

/// Adds to the error of a query that needs too much memory what a user of the command line can do.
fn explain_memory(error: Error) -> Failure {
    let Error::QueryMemory { limit_bytes } = error else { return error.into() };
    let limit = size(limit_bytes as u64);
    Failure::Message(format!(
        "the query needs more than {limit} of memory; ask for fewer results at a time with --limit and --continue, or \
         allow more memory with --memory-max"
    ))
}

/// Prints what was searched, and how to continue.
fn print_rest(database: &FactDatabase, page: &Page, profile: bool) {
    let mut out = std::io::stderr().lock();
    if profile {
        for (predicate, count) in &page.searched {
            let facts = counted(*count, "fact", "facts");
            let _ = writeln!(out, "{}: {facts} searched", database.schema().name_of(*predicate));
        }
    }
    if let Some(continuation) = &page.continuation {
        let why = if page.timed_out { "time is up" } else { "there may be more results" };
        let mut text = String::new();
        for byte in continuation {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        let _ = writeln!(out, "{why}: --continue {text}");
    }
}

fn parse_continuation(text: &str) -> Result<Vec<u8>, Failure> {
    let wrong =
        || Failure::Message("--continue takes the hexadecimal text that an earlier run of the query printed".into());
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let digits = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong()));
    digits.collect()
}

/// Results that were found are seen after this time at the latest, if another one is found.
const BETWEEN_FLUSHES: Duration = Duration::from_millis(200);
