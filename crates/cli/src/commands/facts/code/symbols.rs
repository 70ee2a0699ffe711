//! `facts symbols`: the definitions of a file.

use super::entry::{Entries, reading};
use crate::arguments::code::Symbols;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;

/// Prints a row for each definition, in the order of places.
pub fn run(arguments: &Symbols) -> Result<(), Failure> {
    reading(&arguments.index.path, |reader| {
        let file = reader.file(&arguments.source).map_err(explain_code)?;
        let mut entries = Entries::new(arguments.format, None);
        let mut count = 0;
        let outline = if arguments.all { reader.whole_outline(&file) } else { reader.outline(&file) };
        for definition in outline.map_err(explain_code)? {
            let definition = definition.map_err(explain_code)?;
            entries.row("", &definition.what, Some(&definition.place))?;
            count += 1;
        }
        entries.finish()?;
        Ok(count)
    })
}
