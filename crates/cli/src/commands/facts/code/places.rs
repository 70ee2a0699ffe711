//! `facts definition` and `facts references`: the places of a symbol.

use super::entry::{Entries, place_cells, reading};
use crate::arguments::code::{OfSymbol, References};
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;
use crate::output::{Cell, Printer};

/// Prints a row for each place where a symbol is defined.
pub fn definition(arguments: &OfSymbol) -> Result<(), Failure> {
    reading(&arguments.index.path, |reader| {
        let mut entries = Entries::new(arguments.format, None);
        let mut count = 0;
        for symbol in reader.symbols_asked(&arguments.symbol).map_err(explain_code)? {
            let located = reader.located(symbol).map_err(explain_code)?;
            for place in located.rows() {
                entries.row("", &located.what, place)?;
                count += 1;
            }
        }
        entries.finish()?;
        Ok(count)
    })
}

/// Prints a row for each place where a symbol is used.
pub fn references(arguments: &References) -> Result<(), Failure> {
    let OfSymbol { index, symbol, format } = &arguments.of;
    reading(&index.path, |reader| {
        let mut printer = Printer::to_standard_output(*format, &["file", "line", "column", "role"]);
        let symbols = reader.symbols_asked(symbol).map_err(explain_code)?;
        let mut places = reader.references_of(&symbols).map_err(explain_code)?;
        places.truncate(arguments.limit.unwrap_or(usize::MAX));
        for place in &places {
            let [path, line, column] = place_cells(place);
            printer.row(&[path, line, column, Cell::Text(place.role.name())])?;
        }
        printer.finish()?;
        Ok(places.len() as u64)
    })
}
