//! `facts definition` and `facts references`: the places of a symbol.

use fulgurite_code::Place;

use super::entry::{Entries, place_cells, reading, symbols_of};
use crate::arguments::code::{OfSymbol, References};
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;
use crate::output::{Cell, Printer};

/// Prints a row for each place where a symbol is defined.
pub fn definition(arguments: &OfSymbol) -> Result<(), Failure> {
    reading(&arguments.index.path, |reader| {
        let mut entries = Entries::new(arguments.format, None);
        let mut count = 0;
        for symbol in symbols_of(reader, &arguments.symbol).map_err(explain_code)? {
            let what = reader.describe(symbol).map_err(explain_code)?;
            let places = reader.definitions(symbol).map_err(explain_code)?;
            // One of another project has no place here, but a name.
            let rows = if places.is_empty() { vec![None] } else { places.iter().map(Some).collect() };
            for place in rows {
                entries.row("", &what, place)?;
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
        let mut places: Vec<Place> = Vec::new();
        for symbol in symbols_of(reader, symbol).map_err(explain_code)? {
            places.extend(reader.references(symbol).map_err(explain_code)?);
        }
        places.sort_unstable();
        places.dedup();
        places.truncate(arguments.limit.unwrap_or(usize::MAX));
        for place in &places {
            let [path, line, column] = place_cells(place);
            printer.row(&[path, line, column, Cell::Text(place.role.name())])?;
        }
        printer.finish()?;
        Ok(places.len() as u64)
    })
}
