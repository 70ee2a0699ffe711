//! The schema of indexes, and the numbers of its predicates.

use fulgurite_facts::{Predicate, Schema};

use crate::error::{Error, Result};

/// The schema of indexes of code, in Angle.
pub const CODE_SCHEMA: &str = include_str!("code.angle");

/// The schema, read.
///
/// # Errors
/// None, unless the text was changed.
pub fn code_schema() -> Result<Schema> {
    Ok(Schema::parse("code.angle", CODE_SCHEMA).map_err(fulgurite_facts::Error::from)?)
}

/// The predicates of the schema.
#[derive(Clone, Debug)]
pub struct Predicates {
    pub file: Predicate,
    pub file_info: Predicate,
    pub wide_line: Predicate,
    pub digest: Predicate,
    pub symbol: Predicate,
    pub symbol_info: Predicate,
    pub name: Predicate,
    pub definition: Predicate,
    pub reference: Predicate,
    pub occurrence: Predicate,
    pub member: Predicate,
    pub relation: Predicate,
    pub related: Predicate,
}

impl Predicates {
    /// The predicates of a database with `schema`. `None`, if it is another schema.
    pub fn of(schema: &Schema) -> Result<Option<Self>> {
        if schema.hash() != code_schema()?.hash() {
            return Ok(None);
        }
        let find = |name: &str| {
            let found = schema.find(&format!("code.{name}.1")).cloned();
            found.ok_or(Error::Facts(fulgurite_facts::Error::Damaged {
                what: "the schema of the index lacks a predicate",
            }))
        };
        Ok(Some(Self {
            file: find("File")?,
            file_info: find("FileInfo")?,
            wide_line: find("WideLine")?,
            digest: find("Digest")?,
            symbol: find("Symbol")?,
            symbol_info: find("SymbolInfo")?,
            name: find("Name")?,
            definition: find("Definition")?,
            reference: find("Reference")?,
            occurrence: find("Occurrence")?,
            member: find("Member")?,
            relation: find("Relation")?,
            related: find("Related")?,
        }))
    }
}
