//! `facts describe`: what is known of a symbol.

use std::fmt::Write as _;
use std::io::Write as _;

use fulgurite_code::{CodeReader, Description, Place, SymbolId};

use super::entry::{place_cells, reading, symbols_of};
use crate::arguments::OutputFormat;
use crate::arguments::code::OfSymbol;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;
use crate::output::{Cell, Printer, counted, standard_output};

/// Prints a paragraph for each symbol, or a row in the formats for programs.
pub fn run(arguments: &OfSymbol) -> Result<(), Failure> {
    reading(&arguments.index.path, |reader| {
        let symbols = symbols_of(reader, &arguments.symbol).map_err(explain_code)?;
        let described = symbols.iter().map(|symbol| Described::read(reader, *symbol));
        let described = described.collect::<Result<Vec<_>, _>>().map_err(explain_code)?;
        match arguments.format {
            OutputFormat::Table => {
                let text: Vec<String> = described.iter().map(Described::paragraph).collect();
                let mut out = standard_output();
                write!(out, "{}", text.join("\n")).and_then(|()| out.flush()).map_err(Failure::Output)?;
            }
            format => rows(&described, format)?,
        }
        Ok(symbols.len() as u64)
    })
}

struct Described {
    what: Description,
    enclosing: Option<String>,
    places: Vec<Place>,
    references: u64,
    files: u64,
}

impl Described {
    fn read(reader: &CodeReader, symbol: SymbolId) -> Result<Self, fulgurite_code::Error> {
        let what = reader.describe(symbol)?;
        let enclosing = what.enclosing.map(|outer| reader.describe(outer)).transpose()?;
        let references = reader.references(symbol)?;
        let mut files: Vec<&str> = references.iter().map(|place| place.path.as_str()).collect();
        // References are in the order of files.
        files.dedup();
        Ok(Self {
            what,
            enclosing: enclosing.map(|outer| outer.symbol),
            places: reader.definitions(symbol)?,
            references: references.len() as u64,
            files: files.len() as u64,
        })
    }

    fn paragraph(&self) -> String {
        let what = &self.what;
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{} ({})", what.name, what.kind);
        let _ = writeln!(text, "  symbol: {}", what.symbol);
        for place in &self.places {
            let _ = writeln!(text, "  defined at {}:{}:{}", place.path, place.span.line + 1, place.span.column + 1);
        }
        if let Some(outer) = &self.enclosing {
            let _ = writeln!(text, "  part of: {outer}");
        }
        let (references, files) =
            (counted(self.references, "reference", "references"), counted(self.files, "file", "files"));
        let _ = writeln!(text, "  {references} in {files}");
        for part in std::iter::once(&what.signature).chain(&what.documentation).filter(|part| !part.is_empty()) {
            let _ = writeln!(text);
            for line in part.trim_end().lines() {
                let _ = writeln!(text, "  {}", crate::notation::printable(line));
            }
        }
        text
    }
}

fn rows(described: &[Described], format: OutputFormat) -> Result<(), Failure> {
    let names =
        ["name", "kind", "file", "line", "column", "symbol", "part of", "signature", "documentation", "references"];
    let mut printer = Printer::to_standard_output(format, &names);
    for Described { what, enclosing, places, references, .. } in described {
        let [path, line, column] = places.first().map_or([Cell::Nothing; 3], place_cells);
        let documentation = what.documentation.join("\n\n");
        printer.row(&[
            Cell::Text(&what.name),
            Cell::Text(&what.kind),
            path,
            line,
            column,
            Cell::Text(&what.symbol),
            enclosing.as_deref().map_or(Cell::Nothing, Cell::Text),
            Cell::Text(&what.signature),
            Cell::Text(&documentation),
            Cell::Number(*references),
        ])?;
    }
    printer.finish()
}
