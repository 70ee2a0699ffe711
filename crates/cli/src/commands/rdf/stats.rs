//! `rdf stats`: how many quads each graph of a store has, and how many entries each table.

use std::io::Write;

use super::store::reading;
use crate::arguments::OutputFormat;
use crate::arguments::rdf::RdfStats;
use crate::failure::Failure;
use crate::output::{Cell, Printer, counted, grouped, size, standard_output};

/// Prints a row for each graph and each table.
pub fn run(arguments: &RdfStats) -> Result<(), Failure> {
    reading(&arguments.store.path, |store, _| {
        let stats = store.stats()?;
        let mut printer = Printer::to_standard_output(arguments.format, &["kind", "name", "quads", "entries"]);
        for graph in &stats.graphs {
            let name = graph.name.as_ref().map_or("default".to_owned(), ToString::to_string);
            printer.row(&[Cell::Text("graph"), Cell::Text(&name), Cell::Number(graph.quads), Cell::Nothing])?;
        }
        for (name, entries) in &stats.tables {
            printer.row(&[Cell::Text("table"), Cell::Text(name), Cell::Nothing, Cell::Number(*entries)])?;
        }
        let unused = if arguments.unused { Some(store.unused_terms()?) } else { None };
        if let Some(unused) = unused {
            printer.row(&[Cell::Text("unused"), Cell::Text("terms"), Cell::Nothing, Cell::Number(unused)])?;
        }
        printer.finish()?;
        if arguments.format == OutputFormat::Table {
            let inferred = match stats.inferred {
                0 => String::new(),
                inferred => format!(" ({} inferred)", grouped(inferred)),
            };
            let quads = counted(stats.quads, "quad", "quads") + &inferred;
            let terms = counted(stats.terms, "term", "terms");
            let unused = unused.map_or_else(String::new, |unused| format!(" ({} unused)", grouped(unused)));
            let bytes = store.database().stats()?.file_bytes;
            let each = match stats.quads {
                0 => String::new(),
                quads => format!(", {:.1} bytes a quad", bytes as f64 / quads as f64),
            };
            let mut out = standard_output();
            writeln!(out, "\n{quads}, {terms} in the dictionary{unused}; {}{each}", size(bytes))
                .and_then(|()| out.flush())
                .map_err(Failure::Output)?;
        }
        Ok(())
    })
}
