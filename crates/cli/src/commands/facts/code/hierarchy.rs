//! `facts hierarchy`: the symbols around a symbol.

use super::entry::{Entries, reading};
use crate::arguments::code::OfSymbol;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;

/// Prints a row for each container, member, implementation and type.
pub fn run(arguments: &OfSymbol) -> Result<(), Failure> {
    reading(&arguments.index.path, |reader| {
        let mut entries = Entries::new(arguments.format, Some("relation"));
        let mut count = 0;
        for symbol in reader.symbols_asked(&arguments.symbol).map_err(explain_code)? {
            for (relative, other) in reader.hierarchy(symbol).map_err(explain_code)? {
                let what = reader.describe(other).map_err(explain_code)?;
                let place = reader.first_definition(other).map_err(explain_code)?;
                entries.row(relative.name(), &what, place.as_ref())?;
                count += 1;
            }
        }
        entries.finish()?;
        Ok(count)
    })
}
