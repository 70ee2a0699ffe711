//! `facts describe`: what is known of a symbol.

use std::fmt::Write as _;
use std::io::Write as _;

use fulgurite_code::{Located, Place, Summary};

use super::entry::{place_cells, reading};
use crate::arguments::OutputFormat;
use crate::arguments::code::OfSymbol;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;
use crate::notation::printable;
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
    let from_1 = |number: u32| u64::from(number) + 1;
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(text, "{} ({})", printable(what.label()), printable(&what.kind));
    let _ = writeln!(text, "  symbol: {}", printable(&what.symbol));
    if let Some(package) = &what.package {
        let _ = writeln!(text, "  package: {}", printable(&package.to_string()));
    }
    for Place { path, span, .. } in places {
        let _ = writeln!(text, "  defined at {}:{}:{}", printable(path), from_1(span.line), from_1(span.column));
    }
    if let Some(outer) = enclosing {
        let _ = writeln!(text, "  part of: {}", printable(outer));
    }
    let (references, files) = (counted(*references, "reference", "references"), counted(*files, "file", "files"));
    let _ = writeln!(text, "  {references} in {files}");
    for part in std::iter::once(&what.signature).chain(&what.documentation).filter(|part| !part.is_empty()) {
        let _ = writeln!(text);
        for line in part.trim_end().lines() {
            let _ = writeln!(text, "  {}", printable(line));
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

#[cfg(test)]
mod tests {
    use fulgurite_code::{Columns, Description, Role, Span};

    use super::*;

    #[test]
    fn a_local_variable_is_called_by_its_symbol_and_no_text_controls_a_terminal() {
        let span = Span { line: u32::MAX, column: u32::MAX, end_line: u32::MAX, end_column: u32::MAX };
        let (path, role, columns) = ("a\u{1b}[2J.rs".to_owned(), Role::Definition, Columns::Utf8);
        let what =
            Description { symbol: "local 1 \u{7}a".to_owned(), kind: "local".to_owned(), ..Description::default() };
        let located = Located { what, places: vec![Place { path, span, role, extent: None, columns }] };
        let text = paragraph(&Summary { located, enclosing: Some("b\r".to_owned()), references: 1, files: 1 });
        assert!(text.starts_with("local 1 \\u{7}a (local)\n"), "{text}");
        assert!(text.contains("defined at a\\u{1b}[2J.rs:4294967296:4294967296\n"), "{text}");
        assert!(!text.contains(|character: char| character.is_control() && character != '\n'), "{text}");
    }
}
