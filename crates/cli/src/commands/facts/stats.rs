//! `facts stats`: how many facts each predicate has.

use std::io::Write;

use fulgurite_facts::FactDatabase;

use super::database::reading;
use super::slicing;
use crate::arguments::OutputFormat;
use crate::arguments::facts::FactsStats;
use crate::failure::Failure;
use crate::output::{Cell, Printer, counted, size, standard_output};

/// Prints a row for each predicate with facts.
pub fn run(arguments: &FactsStats) -> Result<(), Failure> {
    reading(&arguments.database, |database| {
        let reader = slicing::reader(database, &arguments.slice)?;
        let statistics = match arguments.slice.is_empty() {
            true => reader.snapshot().statistics()?,
            // What is stored of them is of all facts.
            false => reader.snapshot().statistics_shown()?,
        };
        let mut printer = Printer::to_standard_output(arguments.format, &["predicate", "facts", "bytes"]);
        let (mut facts, mut bytes) = (0, 0);
        for (predicate, statistics) in statistics {
            let name = database.schema().name_of(predicate);
            printer.row(&[Cell::Text(&name), Cell::Number(statistics.count), Cell::Number(statistics.bytes)])?;
            facts += statistics.count;
            bytes += statistics.bytes;
        }
        printer.finish()?;
        if arguments.format == OutputFormat::Table {
            let state = database.store().state()?;
            let (files, file_bytes) = files_of(database)?;
            let (facts, bytes, file_bytes) = (counted(facts, "fact", "facts"), size(bytes), size(file_bytes));
            let mut out = standard_output();
            writeln!(out, "\n{facts}, {bytes} of keys and values; {state}, {files} of {file_bytes}")
                .and_then(|()| out.flush())
                .map_err(Failure::Output)?;
        }
        Ok(())
    })
}

/// How many files have the facts of a database, in words, and their bytes: facts of those below it are counted too.
fn files_of(database: &FactDatabase) -> Result<(String, u64), Failure> {
    let (mut count, mut bytes) = (0, 0);
    for store in std::iter::successors(Some(database.store()), |store| store.base()) {
        count += 1;
        bytes += store.file_bytes()?;
    }
    Ok((if count == 1 { "a file".to_owned() } else { counted(count, "file", "files") }, bytes))
}
