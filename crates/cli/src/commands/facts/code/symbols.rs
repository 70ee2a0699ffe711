//! `facts symbols`: the definitions of a file.

use super::entry::{Entries, reading};
use crate::arguments::code::Symbols;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;
use fulgurite_code::Place;

/// Prints a row for each definition, in the order of places.
pub fn run(arguments: &Symbols) -> Result<(), Failure> {
    reading(&arguments.index.path, |reader| {
        let file = reader.file(&arguments.source).map_err(explain_code)?;
        let mut entries = Entries::new(arguments.format, None);
        let mut count = 0;
        for (used, what) in reader.outline(&file).map_err(explain_code)? {
            let is_detail =
                what.is_local || matches!(what.kind.as_str(), "parameter" | "type parameter" | "self parameter");
            if is_detail && !arguments.all {
                continue;
            }
            let place = Place { path: file.path.clone(), span: used.span, role: used.role, extent: None };
            entries.row("", &what, Some(&place))?;
            count += 1;
        }
        entries.finish()?;
        Ok(count)
    })
}
