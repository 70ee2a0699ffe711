//! `facts describe`: what is known of a symbol.

use std::fmt::Write as _;
use std::io::Write as _;

use fulgurite_code::{Located, Summary};

use super::entry::{place_cells, reading};
use crate::arguments::OutputFormat;
use crate::arguments::code::OfSymbol;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;
use crate::output::{Cell, Printer, counted, standard_output};

/// Prints a paragraph for each symbol, or a row in the formats for programs.
pub fn run(arguments: &OfSymbol) -> Result<(), Failure> {
    reading(&arguments.index.path, |reader| {
        let symbols = reader.symbols_asked(&arguments.symbol).map_err(explain_code)?;
        let described = symbols.iter().map(|symbol| reader.summary(*symbol));
        let described = described.collect::<Result<Vec<_>, _>>().map_err(explain_code)?;
        match arguments.format {
            OutputFormat::Table => {
                let text: Vec<String> = described.iter().map(paragraph).collect();
                let mut out = standard_output();
                write!(out, "{}", text.join("\n")).and_then(|()| out.flush()).map_err(Failure::Output)?;
            }
            format => rows(&described, format)?,
        }
        Ok(symbols.len() as u64)
    })
}

fn paragraph(summary: &Summary) -> String {
    let Summary { located: Located { what, places }, enclosing, references, files } = summary;
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(text, "{} ({})", what.name, what.kind);
    let _ = writeln!(text, "  symbol: {}", what.symbol);
    if let Some(package) = &what.package {
        let _ = writeln!(text, "  package: {package}");
    }
    for place in places {
        let _ = writeln!(text, "  defined at {}:{}:{}", place.path, place.span.line + 1, place.span.column + 1);
    }
    if let Some(outer) = enclosing {
        let _ = writeln!(text, "  part of: {outer}");
    }
    let (references, files) = (counted(*references, "reference", "references"), counted(*files, "file", "files"));
    let _ = writeln!(text, "  {references} in {files}");
    for part in std::iter::once(&what.signature).chain(&what.documentation).filter(|part| !part.is_empty()) {
        let _ = writeln!(text);
        for line in part.trim_end().lines() {
            let _ = writeln!(text, "  {}", crate::notation::printable(line));
        }
    }
    text
}

fn rows(described: &[Summary], format: OutputFormat) -> Result<(), Failure> {
    let names = [
        "name",
        "kind",
        "file",
        "line",
        "column",
        "symbol",
        "package",
        "part of",
        "signature",
        "documentation",
        "references",
    ];
    let mut printer = Printer::to_standard_output(format, &names);
    for Summary { located: Located { what, places }, enclosing, references, .. } in described {
        let [path, line, column] = places.first().map_or([Cell::Nothing; 3], place_cells);
        let documentation = what.documentation.join("\n\n");
        let package = what.package.as_ref().map(ToString::to_string);
        printer.row(&[
            Cell::Text(&what.name),
            Cell::Text(&what.kind),
            path,
            line,
            column,
            Cell::Text(&what.symbol),
            package.as_deref().map_or(Cell::Nothing, Cell::Text),
            enclosing.as_deref().map_or(Cell::Nothing, Cell::Text),
            Cell::Text(&what.signature),
            Cell::Text(&documentation),
            Cell::Number(*references),
        ])?;
    }
    printer.finish()
}
