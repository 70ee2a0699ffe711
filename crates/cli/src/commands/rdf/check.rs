//! `rdf check`: proves that all of a store is sound.

use std::io::Write;

use super::store::reading;
use crate::arguments::OutputFormat;
use crate::arguments::rdf::RdfCheck;
use crate::failure::Failure;
use crate::output::{Cell, Printer, counted, grouped, in_log_only, standard_output};

/// Checks pages, indexes and dictionary; lists what is wrong, and fails with the exit code of damage if anything is.
pub fn run(arguments: &RdfCheck) -> Result<(), Failure> {
    let path = &arguments.store.path;
    reading(path, |store, _| {
        let report = store.check()?;
        if report.is_sound() && arguments.format == OutputFormat::Table {
            let (quads, terms) = (counted(report.quads, "quad", "quads"), counted(report.terms, "term", "terms"));
            let pages = counted(report.pages.pages, "page", "pages");
            let mut out = standard_output();
            let unused = grouped(report.unused_terms);
            let log = in_log_only(report.pages.delta_entries);
            return writeln!(out, "sound: {quads}, {terms} ({unused} unused), {pages}{log}")
                .and_then(|()| out.flush())
                .map_err(Failure::Output);
        }
        let mut printer = Printer::to_standard_output(arguments.format, &["damage"]);
        let damages: Vec<String> = report.pages.damages.iter().map(ToString::to_string).collect();
        // The check of the indexes ends at a page that cannot be read. `damages` has this page already.
        let defects = report.defects.iter().filter(|defect| !damages.iter().any(|damage| defect.starts_with(damage)));
        let rows: Vec<&String> = damages.iter().chain(defects).collect();
        for row in &rows {
            printer.row(&[Cell::Text(row)])?;
        }
        printer.finish()?;
        match rows.len() as u64 + report.more_defects {
            0 => Ok(()),
            count => Err(Failure::damaged(format!(
                "{}: {}; restore a backup, or save what is sound: `fulgurite rdf dump --skip-damaged` writes all \
                 quads that can be read",
                path.display(),
                counted(count, "damaged place", "damaged places")
            ))),
        }
    })
}
