//! `facts diagnostics`: the messages of compilers and linters.

use super::entry::reading;
use crate::arguments::code::Diagnostics;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;
use crate::output::{Cell, Printer};

/// Prints a row for each diagnostic, in the order of places.
pub fn run(arguments: &Diagnostics) -> Result<(), Failure> {
    reading(&arguments.index.path, |reader| {
        let file = arguments.source.as_deref().map(|path| reader.file(path)).transpose().map_err(explain_code)?;
        let names = ["file", "line", "column", "severity", "code", "source", "tags", "message"];
        let mut printer = Printer::to_standard_output(arguments.format, &names);
        let from_1 = |number: u32| Cell::Number(u64::from(number) + 1);
        let mut count = 0;
        for diagnostic in reader.diagnostics(file.as_ref()).map_err(explain_code)? {
            let diagnostic = diagnostic.map_err(explain_code)?;
            let tags: Vec<&str> = diagnostic.tags.iter().map(|tag| tag.name()).collect();
            printer.row(&[
                Cell::Text(&diagnostic.path),
                from_1(diagnostic.span.line),
                from_1(diagnostic.span.column),
                Cell::Text(diagnostic.severity.name()),
                Cell::Text(&diagnostic.code),
                Cell::Text(&diagnostic.source),
                Cell::Text(&tags.join(", ")),
                Cell::Text(&diagnostic.message),
            ])?;
            count += 1;
        }
        printer.finish()?;
        Ok(count)
    })
}
