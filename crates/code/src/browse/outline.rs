//! [`Outline`]: the definitions of a file.

use std::vec;

use fulgurite_facts::{Value, decode, encode};

use crate::browse::describe::Description;
use crate::browse::reader::{CodeReader, IndexedFile, Place, SymbolId, Use, extent};
use crate::error::Result;
use crate::model::{Role, Span};
use crate::schema::range;

/// A definition of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The symbol that is defined.
    pub symbol: SymbolId,
    /// The description of the symbol.
    pub what: Description,
    /// The place of its name, and the range of the whole definition if the indexer has it.
    pub place: Place,
}

/// The definitions of a file in the order of places. The iterator reads what is known of each when it returns it.
pub struct Outline<'r> {
    reader: &'r CodeReader,
    file: &'r IndexedFile,
    /// The symbols of the file that are left.
    uses: vec::IntoIter<Use>,
    has_details: bool,
}

impl CodeReader {
    /// The definitions of a file in the order of places, without local variables and parameters.
    ///
    /// # Errors
    /// Errors of the database; from the iterator too.
    pub fn outline<'r>(&'r self, file: &'r IndexedFile) -> Result<Outline<'r>> {
        Ok(Outline { has_details: false, ..self.whole_outline(file)? })
    }

    /// All definitions of a file in the order of places.
    ///
    /// # Errors
    /// As [`CodeReader::outline`].
    pub fn whole_outline<'r>(&'r self, file: &'r IndexedFile) -> Result<Outline<'r>> {
        Ok(Outline { reader: self, file, uses: self.uses(file)?.into_iter(), has_details: true })
    }

    fn definition_at(&self, file: &IndexedFile, used: Use) -> Result<Definition> {
        let Use { span, symbol, role } = used;
        let what = self.describe(symbol)?;
        let (path, extent) = (file.path.clone(), self.extent_of(file, used)?);
        let place = Place { path, span, role, extent, columns: file.columns };
        Ok(Definition { symbol, what, place })
    }

    /// The whole definition of a symbol whose name is at a place.
    fn extent_of(&self, file: &IndexedFile, used: Use) -> Result<Option<Span>> {
        let definition = &self.predicates.definition;
        let key = Value::Record(vec![Value::Fact(used.symbol.0), Value::Fact(file.id), range(used.span)]);
        let found = self.facts.snapshot().fact_by_key(definition.id, &encode(&definition.key, &key)?)?;
        let value = found.map(|fact| decode(&definition.value, fact.value())).transpose()?;
        Ok(value.as_ref().and_then(extent))
    }
}

impl Iterator for Outline<'_> {
    type Item = Result<Definition>;

    fn next(&mut self) -> Option<Self::Item> {
        let (reader, file, has_details) = (self.reader, self.file, self.has_details);
        let mut defined = self.uses.by_ref().filter(|used| used.role == Role::Definition);
        defined.find_map(|used| match reader.definition_at(file, used) {
            Ok(definition) if definition.what.is_detail() && !has_details => None,
            found => Some(found),
        })
    }
}
