//! What the verbs for indexes of code share: opening an index, rows of symbols.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use fulgurite_code::{CodeReader, Description, Place, open_index};

use crate::arguments::OutputFormat;
use crate::commands::facts::database::{explain_code, explain_index, refuse_directory};
use crate::failure::Failure;
use crate::output::{Cell, Output, Printer, counted};
use crate::progress::time;

/// Opens an index, does `work` with it, and reports how many results it returns and how long it took.
///
/// # Errors
/// If it cannot be opened; the errors of `work`.
pub fn reading(path: &Path, work: impl FnOnce(&CodeReader) -> Result<u64, Failure>) -> Result<(), Failure> {
    refuse_directory(path)?;
    let database = open_index(path).map_err(explain_index)?;
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

/// Prints rows of symbols with places.
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
        let (name, kind, symbol) = (Cell::Text(what.label()), Cell::Text(&what.kind), Cell::Text(&what.symbol));
        let cells = [Cell::Text(word), name, kind, path, line, column, symbol];
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
