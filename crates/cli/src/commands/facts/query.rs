//! `facts query`: answers a query in Angle.

use std::fmt::Write as _;
use std::io::Write;
use std::time::Instant;

use fulgurite_facts::{Expansion, FactDatabase, Page, QueryLimits};

use super::database::reading;
use super::slicing;
use crate::arguments::facts::Query;
use crate::failure::Failure;
use crate::output::{counted, standard_output};
use crate::progress::time;

/// Prints one result on each line.
pub fn run(arguments: &Query) -> Result<(), Failure> {
    let continuation = arguments.continuation.as_deref().map(parse_continuation).transpose()?;
    reading(&arguments.database, |database| {
        let begun = Instant::now();
        let reader = slicing::reader(database, &arguments.slice)?;
        let results_max = arguments.limit.map(|limit| limit as usize);
        let mut limits = QueryLimits { results_max, time_max: arguments.timeout, ..Default::default() };
        if let Some(mebibytes) = arguments.memory_max {
            limits.memory_bytes_max = (mebibytes as usize) << 20;
        }
        let page = match &continuation {
            Some(continuation) => reader.continue_query(&arguments.text, &limits, continuation)?,
            None => reader.query(&arguments.text, &limits)?,
        };
        let expansion = if arguments.recursive { Expansion::RECURSIVE } else { Expansion::FLAT };
        let mut out = standard_output();
        reader.print_each(&page, expansion, |result| writeln!(out, "{result}").map_err(Failure::Output))?;
        out.flush().map_err(Failure::Output)?;
        let results = counted(page.results.len() as u64, "result", "results");
        let _ = writeln!(std::io::stderr(), "{results} in {}", time(begun.elapsed()));
        print_rest(database, &page, arguments.profile);
        Ok(())
    })
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
