//! The symbols that a user asks about: by a place in a file, or by name.

use std::collections::HashSet;

use crate::browse::reader::{CodeReader, IndexedFile, SymbolId};
use crate::error::{Error, Result};

impl CodeReader {
    /// The symbols that a user means: those at `source:line:column` or in `source:line`, with numbers from 1 on, or
    /// those that [`CodeReader::resolve`] finds by name.
    ///
    /// # Errors
    /// [`Error::NoSuchFile`] and [`Error::NoSuchSymbol`], if there are none; [`Error::NotAPlace`], if it is a file
    /// without a line that there can be; errors of the database.
    pub fn symbols_asked(&self, text: &str) -> Result<Vec<SymbolId>> {
        let Some((path, line, column)) = place_of(text) else {
            return match self.resolve(text) {
                Err(error @ Error::NoSuchSymbol { .. }) => Err(self.not_a_place(text)?.unwrap_or(error)),
                resolved => resolved,
            };
        };
        let file = match self.file(path) {
            Err(error @ Error::NoSuchFile { .. }) => return Err(self.not_a_place(text)?.unwrap_or(error)),
            file => file?,
        };
        let uses = match column {
            Some(column) => self.symbols_at(&file, line - 1, column - 1)?,
            None => self.symbols_in_line(&file, line - 1)?,
        };
        let mut seen = HashSet::new();
        let symbols = uses.into_iter().map(|used| used.symbol).filter(|symbol| seen.insert(*symbol));
        let symbols: Vec<SymbolId> = symbols.collect();
        match symbols.is_empty() {
            true => Err(self.nothing_at(&file, text, line)?),
            false => Ok(symbols),
        }
    }

    /// The error of a file without a line, or with the line or the column 0. `None`, if the text begins with no file.
    fn not_a_place(&self, text: &str) -> Result<Option<Error>> {
        let not = |reason| Some(Error::NotAPlace { text: text.to_owned(), reason });
        if self.find_file(text)?.is_some() {
            return Ok(not("it is a file; ask about a line of it, as SOURCE:LINE, or list its symbols by `symbols`"));
        }
        let mut path = text;
        while let Some((before, _)) = path.rsplit_once(':').filter(|(_, last)| last.parse::<u32>().is_ok()) {
            path = before;
            if self.find_file(path)?.is_some() {
                return Ok(not("lines and columns begin at 1"));
            }
        }
        Ok(None)
    }

    /// The error that nothing is at a place: with the places of the line where something is.
    fn nothing_at(&self, file: &IndexedFile, text: &str, line: u32) -> Result<Error> {
        let mut similar = Vec::new();
        for used in self.symbols_in_line(file, line - 1)?.iter().take(PLACES_NAMED) {
            similar.push(format!("{}:{line}:{}", file.path, u64::from(used.span.column) + 1));
        }
        Ok(Error::NoSuchSymbol { symbol: format!("at {text}"), similar })
    }
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

/// So many places of a line an error names.
const PLACES_NAMED: usize = 3;

#[cfg(test)]
mod tests {
    use super::place_of;

    #[test]
    fn places_are_distinguished_from_names() {
        assert_eq!(place_of("a/b.rs:3:7"), Some(("a/b.rs", 3, Some(7))));
        assert_eq!(place_of("C:a.rs:3"), Some(("C:a.rs", 3, None)));
        for name in ["Store::open", "a.rs", "a:0", ":3", "x:-1", "a . b . c:1x"] {
            assert_eq!(place_of(name), None, "{name}");
        }
    }
}
