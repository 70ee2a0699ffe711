//! `events check`: proves that all of a store is sound.

use std::io::Write;
use std::time::Instant;

use fulgurite_events::StoreReport;

use super::opened::reading_store;
use crate::arguments::OutputFormat;
use crate::arguments::events::EventCheck;
use crate::failure::Failure;
use crate::output::{Cell, Printer, counted, standard_output};
use crate::progress::{Progress, time};

/// Checks pages, log, indexes and streams; lists what is wrong, and fails with the exit code of damage if anything is.
pub fn run(arguments: &EventCheck) -> Result<(), Failure> {
    reading_store(&arguments.store, |db, snapshot| {
        let begun = Instant::now();
        let line = |what: &'static str| move || format!("checking {what}, {}", time(begun.elapsed()));
        let mut progress = Progress::new("checking");
        let checked = progress.during(line("pages"), || db.check())?;
        let pages: Vec<String> = checked.damages.iter().map(ToString::to_string).collect();
        let report = progress.during(line("events and indexes"), || snapshot.check());
        drop(progress);
        let report = match report {
            // The damaged pages that end the check are listed.
            Err(_) if !pages.is_empty() => StoreReport::default(),
            report => report?,
        };
        if pages.is_empty() && report.is_sound() && arguments.format == OutputFormat::Table {
            let (events, chunks) =
                (counted(report.events, "event", "events"), counted(report.chunks, "chunk", "chunks"));
            let streams = counted(report.streams, "stream", "streams");
            let mut out = standard_output();
            return writeln!(out, "sound: {events}, {chunks}, {streams}")
                .and_then(|()| out.flush())
                .map_err(Failure::Output);
        }
        let mut printer = Printer::to_standard_output(arguments.format, &["damage"]);
        let defects = report.defects.iter().map(ToString::to_string);
        for damage in pages.iter().cloned().chain(defects) {
            printer.row(&[Cell::Text(&damage)])?;
        }
        printer.finish()?;
        let remedy = match pages.is_empty() && report.is_repairable() {
            true => "rebuild the indexes with `fulgurite events reindex`",
            false => "restore a backup, or copy what `fulgurite events read --skip-damaged` still prints",
        };
        match (pages.len() + report.defects.len()) as u64 + report.more_defects {
            0 => Ok(()),
            count => Err(Failure::damaged(format!(
                "{}: {}; {remedy}",
                arguments.store.file.path.display(),
                counted(count, "damaged place", "damaged places")
            ))),
        }
    })
}
