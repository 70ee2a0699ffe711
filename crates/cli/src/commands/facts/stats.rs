//! `facts stats`: how many facts each predicate has.

use std::io::Write;

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
            let file = database.store().file_bytes()?;
            let facts = counted(facts, "fact", "facts");
            let mut out = standard_output();
            writeln!(out, "\n{facts}, {} of keys and values; {state}, a file of {}", size(bytes), size(file))
                .and_then(|()| out.flush())
                .map_err(Failure::Output)?;
        }
        Ok(())
    })
}
