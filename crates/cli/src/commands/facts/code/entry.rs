//! What the verbs for indexes of code share: opening an index, finding what a user means, rows of symbols.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use fulgurite_code::{CodeReader, Description, Error, IndexedFile, Place, SymbolId, open_index};

use crate::arguments::OutputFormat;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;
use crate::output::{Cell, Output, Printer, counted};
use crate::progress::time;

/// Opens an index, does `work` with it, and reports how many results it returns and how long it took.
///
/// # Errors
/// If it cannot be opened; the errors of `work`.
pub fn reading(path: &Path, work: impl FnOnce(&CodeReader) -> Result<u64, Failure>) -> Result<(), Failure> {
    let database = open_index(path).map_err(explain_code)?;
    let reader = CodeReader::new(&database).map_err(explain_code)?;
    let begun = Instant::now();
    let outcome = work(&reader);
    let elapsed = begun.elapsed();
    drop(reader);
    // Nothing was changed, so an error of closing loses nothing.
    let _ = database.close();
    let results = counted(outcome?, "result", "results");
    let _ = writeln!(std::io::stderr(), "{results} in {}", time(elapsed));
    Ok(())
}

/// The symbols that a user means: at `source:line:column`, in `source:line`, or by name.
///
/// # Errors
/// If there are none; errors of the database.
pub fn symbols_of(reader: &CodeReader, text: &str) -> Result<Vec<SymbolId>, Error> {
    let Some((path, line, column)) = place_of(text) else { return reader.resolve(text) };
    let file = reader.file(path)?;
    let uses = match column {
        Some(column) => reader.symbols_at(&file, line - 1, column - 1)?,
        None => reader.symbols_in_line(&file, line - 1)?,
    };
    let mut symbols: Vec<SymbolId> = Vec::new();
    for used in uses {
        if !symbols.contains(&used.symbol) {
            symbols.push(used.symbol);
        }
    }
    match symbols.is_empty() {
        true => Err(nothing_at(reader, &file, text, line)?),
        false => Ok(symbols),
    }
}

/// The error that nothing is at a place: with the places of the line where something is.
fn nothing_at(reader: &CodeReader, file: &IndexedFile, text: &str, line: u32) -> Result<Error, Error> {
    let mut similar = Vec::new();
    for used in reader.symbols_in_line(file, line - 1)?.iter().take(PLACES_NAMED) {
        similar.push(format!("{}:{line}:{}", file.path, used.span.column + 1));
    }
    Ok(Error::NoSuchSymbol { symbol: format!("at {text}"), similar })
}

/// `source:line:column` or `source:line`, with numbers from 1 on.
fn place_of(text: &str) -> Option<(&str, u32, Option<u32>)> {
    let number = |text: &str| text.parse().ok().filter(|number: &u32| *number > 0);
    let (before, last) = text.rsplit_once(':')?;
    let last = number(last)?;
    match before.rsplit_once(':').and_then(|(path, line)| Some((path, number(line)?))) {
        Some((path, line)) if !path.is_empty() => Some((path, line, Some(last))),
        _ if !before.is_empty() => Some((before, last, None)),
        _ => None,
    }
}

/// Prints rows of symbols with their first definitions.
pub struct Entries {
    printer: Printer<Output>,
    first: bool,
}

impl Entries {
    /// Begins. With `first_column`, rows begin with a word of their own.
    pub fn new(format: OutputFormat, first_column: Option<&str>) -> Self {
        let names: Vec<&str> =
            first_column.into_iter().chain(["name", "kind", "file", "line", "column", "symbol"]).collect();
        Self { printer: Printer::to_standard_output(format, &names), first: first_column.is_some() }
    }

    /// A row.
    pub fn row(&mut self, word: &str, what: &Description, place: Option<&Place>) -> Result<(), Failure> {
        let [path, line, column] = match place {
            Some(place) => place_cells(place),
            None => [Cell::Nothing; 3],
        };
        let name = if what.name.is_empty() { what.symbol.as_str() } else { &what.name };
        let cells =
            [Cell::Text(word), Cell::Text(name), Cell::Text(&what.kind), path, line, column, Cell::Text(&what.symbol)];
        self.printer.row(&cells[usize::from(!self.first)..])
    }

    /// Ends.
    pub fn finish(self) -> Result<(), Failure> {
        self.printer.finish()
    }
}

/// The path, the line and the column of a place.
pub fn place_cells(place: &Place) -> [Cell<'_>; 3] {
    let from_1 = |number: u32| Cell::Number(u64::from(number) + 1);
    [Cell::Text(&place.path), from_1(place.span.line), from_1(place.span.column)]
}

/// So many places of a line an error names.
const PLACES_NAMED: usize = 3;

#[cfg(test)]
mod tests {
    use super::place_of;

    #[test]
    fn places_are_told_from_names() {
        assert_eq!(place_of("a/b.rs:3:7"), Some(("a/b.rs", 3, Some(7))));
        assert_eq!(place_of("C:a.rs:3"), Some(("C:a.rs", 3, None)));
        for name in ["Store::open", "a.rs", "a:0", ":3", "x:-1", "a . b . c:1x"] {
            assert_eq!(place_of(name), None, "{name}");
        }
    }
}
