//! Symbols with what is known of them and where they are: [`Located`], [`Summary`].

use std::collections::HashSet;

use fulgurite_facts::{FactId, Value};

use crate::browse::describe::Description;
use crate::browse::reader::{CodeReader, Place, SymbolId, fact, of_fact, role, span};
use crate::error::Result;
use crate::model::{Role, Span};

/// A symbol and where it is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The description of the symbol.
    pub what: Description,
    /// The places of its definitions, in the order of files. A symbol of another project has none.
    pub places: Vec<Place>,
}

/// All about a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The symbol and where it is defined.
    pub located: Located,
    /// The name in the index of the symbol that it is part of.
    pub enclosing: Option<String>,
    /// At how many places it is used: as many as [`CodeReader::references`] lists.
    pub references: u64,
    /// In how many files it is used.
    pub files: u64,
}

impl Located {
    /// A row for each place, or one without a place for a symbol of another project.
    pub fn rows(&self) -> impl Iterator<Item = Option<&Place>> {
        let without = self.places.is_empty().then_some(None);
        without.into_iter().chain(self.places.iter().map(Some))
    }
}

impl CodeReader {
    /// Returns the description and the definitions of a symbol.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn located(&self, symbol: SymbolId) -> Result<Located> {
        Ok(Located { what: self.describe(symbol)?, places: self.definitions(symbol)? })
    }

    /// Returns the description, the definitions and the number of uses of a symbol.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn summary(&self, symbol: SymbolId) -> Result<Summary> {
        let located = self.located(symbol)?;
        let enclosing = located.what.enclosing.map(|outer| self.text(outer.0)).transpose()?;
        let (references, files) = self.count_references(symbol)?;
        Ok(Summary { located, enclosing, references, files })
    }

    /// The numbers of the places and the files where a symbol is used. The places are not collected, unless several
    /// symbols, which may be at the same place, belong to it.
    fn count_references(&self, symbol: SymbolId) -> Result<(u64, u64)> {
        let symbols = self.used_with(symbol)?;
        let (mut places, mut files, mut count) = (HashSet::new(), HashSet::new(), 0);
        let mut held = self.limits.held();
        for used in &symbols {
            self.seek(&self.predicates.reference, &of_fact(used.0)?, |_, key, _| {
                let Value::Record(fields) = key else { return Ok(()) };
                let file = fact(&fields[1]);
                if files.insert(file) {
                    held.add(size_of::<FactId>())?;
                }
                if symbols.len() == 1 {
                    count += 1;
                } else if places.insert((file, span(&fields[2]), fields.get(3).and_then(role))) {
                    count += 1;
                    held.add(size_of::<(FactId, Span, Option<Role>)>())?;
                }
                Ok(())
            })?;
        }
        Ok((count, files.len() as u64))
    }
}
