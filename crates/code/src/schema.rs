//! The schema of indexes, and the numbers of its predicates.
//!
//! (1) Both schemas are frozen: indexes are recognised by their hashes, which comments do not change. A predicate or a
//! type that changes makes a schema `code.2` or `scip.2`, and one more row of `KNOWN`. (2) Indexes that were written
//! before `scip.1` have `code.1` alone. They are read, and replaced when they are updated. (3) The hashes are
//! constants, so that an index is recognised without reading the texts. A test compares the hashes with the texts.

use fulgurite_facts::{Predicate, Schema, Source, Value};

use crate::error::{Error, Result};
use crate::model::Span;

/// The schema `code.1`, in Angle: what all indexers say of code. It is frozen: indexes are recognised by it.
pub const CODE_SCHEMA: &str = include_str!("code.angle");
/// The schema `scip.1`, in Angle: what only some indexers say. It uses `code.1`, and is frozen too.
pub const SCIP_SCHEMA: &str = include_str!("scip.angle");

/// The schema of indexes, read.
///
/// # Errors
/// None, unless the text was changed.
pub fn code_schema() -> Result<Schema> {
    let read = || {
        let sources = [Source::new("code.angle", CODE_SCHEMA)?, Source::new("scip.angle", SCIP_SCHEMA)?];
        Schema::from_sources(&sources)
    };
    Ok(read().map_err(fulgurite_facts::Error::from)?)
}

/// What the schema of a database says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is an index that this version can update.
    Index,
    /// It is an index of an earlier version: it is read.
    EarlierIndex,
    /// It is another database of facts.
    Other,
}

impl Kind {
    /// The kind of a database with `schema`.
    pub fn of(schema: &Schema) -> Self {
        let hash = schema.hash();
        KNOWN.into_iter().find(|(known, _)| *known == hash).map_or(Self::Other, |(_, kind)| kind)
    }
}

/// The hashes of the schemas that indexes have or had, and the kind of such an index.
const KNOWN: [(u128, Kind); 2] = [
    (0xdc17_cc2b_db64_84ae_2fc0_308a_23d8_cb7c, Kind::Index),
    (0x1cce_60c3_1976_5d5d_cea5_aac8_635e_a111, Kind::EarlierIndex),
];

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
    /// Those of `scip.1`, unless an earlier version wrote the index.
    pub scip: Option<ScipPredicates>,
}

/// The predicates of `scip.1`.
#[derive(Clone, Debug)]
pub struct ScipPredicates {
    pub metadata: Predicate,
    pub file_text: Predicate,
    pub occurrence_role: Predicate,
    pub highlight: Predicate,
    pub diagnostic: Predicate,
    pub documentation: Predicate,
    pub enclosing_range: Predicate,
    pub signature_language: Predicate,
    pub signature_occurrence: Predicate,
    pub in_signature: Predicate,
    pub package: Predicate,
    pub package_symbol: Predicate,
}

impl Predicates {
    /// The predicates of a database with `schema`. `None`, if it is another schema.
    pub fn of(schema: &Schema) -> Result<Option<Self>> {
        let scip = match Kind::of(schema) {
            Kind::Index => Some(ScipPredicates::of(schema)?),
            Kind::EarlierIndex => None,
            Kind::Other => return Ok(None),
        };
        let find = |name: &str| find(schema, &format!("code.{name}.1"));
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
            scip,
        }))
    }
}

impl ScipPredicates {
    fn of(schema: &Schema) -> Result<Self> {
        let find = |name: &str| find(schema, &format!("scip.{name}.1"));
        Ok(Self {
            metadata: find("Metadata")?,
            file_text: find("FileText")?,
            occurrence_role: find("OccurrenceRole")?,
            highlight: find("Highlight")?,
            diagnostic: find("Diagnostic")?,
            documentation: find("OverrideDocumentation")?,
            enclosing_range: find("EnclosingRange")?,
            signature_language: find("SignatureLanguage")?,
            signature_occurrence: find("SignatureOccurrence")?,
            in_signature: find("InSignature")?,
            package: find("Package")?,
            package_symbol: find("PackageSymbol")?,
        })
    }
}

/// A range as the schema has it. Lines and columns of facts begin at 1.
pub fn range(span: Span) -> Value {
    let numbers = [span.line, span.column, span.end_line, span.end_column];
    Value::Record(numbers.into_iter().map(|number| Value::Nat(u64::from(number) + 1)).collect())
}

fn find(schema: &Schema, name: &str) -> Result<Predicate> {
    let found = schema.find(name).cloned();
    found.ok_or(Error::Facts(fulgurite_facts::Error::Damaged { what: "the schema of the index lacks a predicate" }))
}

#[cfg(test)]
mod tests {
    use fulgurite_facts::Type;

    use super::*;
    use crate::model::details::{DiagnosticTag, Severity, SymbolRole};

    #[test]
    fn the_schemas_by_which_indexes_are_recognised_do_not_change() {
        let earlier = Schema::parse("code.angle", CODE_SCHEMA).expect("the schema is right");
        let schemas = [(code_schema().expect("the schemas are right"), Kind::Index), (earlier, Kind::EarlierIndex)];
        let hashes = schemas.map(|(schema, kind)| (schema.hash(), kind));
        assert_eq!(hashes, KNOWN, "indexes exist with these schemas: write a later schema, and add it to `KNOWN`");
    }

    #[test]
    fn variants_have_the_numbers_and_the_names_of_the_enumerators_of_the_schema() {
        let schema = code_schema().expect("the schemas are right");
        let enumerators = |name: &str| -> Vec<(usize, String)> {
            let named = schema.types().iter().find(|named| named.name == name).expect("the schema has the type");
            let Type::Enum(names) = &named.ty else { panic!("{name} is no enumeration") };
            names.iter().map(|name| String::from(&**name)).enumerate().collect()
        };
        let (severities, tags) = (enumerators("scip.Severity"), enumerators("scip.DiagnosticTag"));
        for (number, name) in &severities {
            let severity = Severity::of(*number).expect("each enumerator is a variant");
            assert_eq!((severity as usize, severity.name()), (*number, name.as_str()));
        }
        for (number, name) in &tags {
            let tag = DiagnosticTag::of(*number).expect("each enumerator is a variant");
            assert_eq!((tag as usize, tag.name()), (*number, name.as_str()));
        }
        assert_eq!((Severity::of(severities.len()), DiagnosticTag::of(tags.len())), (None, None));
        let name = |role: SymbolRole| match role {
            SymbolRole::Definition => "definition",
            // `import` is a word of Angle.
            SymbolRole::Import => "imported",
            SymbolRole::WriteAccess => "writeAccess",
            SymbolRole::ReadAccess => "readAccess",
            SymbolRole::Generated => "generated",
            SymbolRole::Test => "test",
            SymbolRole::ForwardDefinition => "forwardDefinition",
        };
        let roles = [
            SymbolRole::Definition,
            SymbolRole::Import,
            SymbolRole::WriteAccess,
            SymbolRole::ReadAccess,
            SymbolRole::Generated,
            SymbolRole::Test,
            SymbolRole::ForwardDefinition,
        ];
        let roles = roles.map(|role| (role as usize, name(role).to_owned()));
        assert_eq!(enumerators("scip.SymbolRole"), roles);
    }
}
