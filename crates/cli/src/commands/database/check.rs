//! `check`: proves that every page is sound.

use std::io::Write;

use crate::arguments::{Check, OutputFormat};
use crate::database::reading;
use crate::failure::Failure;
use crate::output::{Cell, Printer, counted, entries, in_log_only, standard_output};

/// Checks all pages; lists what is wrong, and fails with the exit code of damage if anything is.
pub fn run(arguments: &Check) -> Result<(), Failure> {
    check(arguments).map_err(|failure| match failure {
        // Without the advice to run this verb.
        Failure::Engine(fulgurite::Error::Corrupt { path, place, offence }) => {
            Failure::damaged(format!("{}: {place} is damaged: {offence}; restore a backup", path.display()))
        }
        failure => failure,
    })
}

fn check(arguments: &Check) -> Result<(), Failure> {
    reading(&arguments.file.path, |db, _| {
        let report = db.check()?;
        let damages: Vec<String> = report.damages.iter().map(ToString::to_string).collect();
        if damages.is_empty() && arguments.format == OutputFormat::Table {
            let (tables, pages) = (counted(report.tables, "table", "tables"), counted(report.pages, "page", "pages"));
            let runs = match report.run_entries {
                0 => String::new(),
                changes => format!(", {} in runs", counted(changes, "change", "changes")),
            };
            // Without this, nobody would know why `count` says something else.
            let log = match report.delta_entries {
                0 => String::new(),
                changes => format!("{}, not checked", in_log_only(changes)),
            };
            let mut out = standard_output();
            return writeln!(out, "sound: {tables}, {}{runs}, {pages}{log}", entries(report.entries))
                .and_then(|()| out.flush())
                .map_err(Failure::Output);
        }
        let mut printer = Printer::to_standard_output(arguments.format, &["damage"]);
        for damage in &damages {
            printer.row(&[Cell::Text(damage)])?;
        }
        printer.finish()?;
        match damages.len() {
            0 => Ok(()),
            count => Err(Failure::damaged(format!(
                "{}: {}; restore a backup, or save what is sound: `fulgurite export --skip-damaged` writes all \
                 entries that can be read",
                arguments.file.path.display(),
                counted(count as u64, "damaged place", "damaged places")
            ))),
        }
    })
}
