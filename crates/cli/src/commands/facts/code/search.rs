//! `facts search`: symbols by parts of their names.

use super::entry::{Entries, reading};
use crate::arguments::code::Search;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;

/// Prints a row for each symbol, the best match first.
pub fn run(arguments: &Search) -> Result<(), Failure> {
    reading(&arguments.index.path, |reader| {
        let mut entries = Entries::new(arguments.format, None);
        let symbols = reader.search(&arguments.text, arguments.limit).map_err(explain_code)?;
        for symbol in &symbols {
            let what = reader.describe(*symbol).map_err(explain_code)?;
            let place = reader.first_definition(*symbol).map_err(explain_code)?;
            entries.row("", &what, place.as_ref())?;
        }
        entries.finish()?;
        Ok(symbols.len() as u64)
    })
}
