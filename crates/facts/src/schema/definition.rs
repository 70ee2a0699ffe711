//! A schema that is resolved.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use crate::angle::source::Source;
use crate::angle::tree::{DeriveWhen, Query};
use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::schema::scopes::{Entry, Scope};
use crate::value::codec::{decode, put_value};
use crate::value::types::Type;

/// The id of the first predicate.
pub const FIRST_PREDICATE_ID: u64 = PredicateId::FIRST.get();

/// All schemas of a database: its types and predicates.
#[derive(Debug, Clone)]
pub struct Schema {
    pub(super) sources: Vec<Source>,
    pub(super) types: Vec<NamedType>,
    pub(super) predicates: Vec<Predicate>,
    /// Names in each schema, by the index of the schema.
    pub(super) scopes: Vec<Arc<Scope>>,
    /// Names in queries.
    pub(super) query_scope: Arc<Scope>,
    /// Predicates by name and version: `a.B.1`.
    pub(super) by_name: HashMap<String, PredicateId>,
    /// Old predicates and those that evolved from them.
    pub(super) evolved: HashMap<PredicateId, PredicateId>,
    /// The same by schema, in the order of the texts.
    pub(super) evolutions: Vec<Evolution>,
}

/// A line `schema a.2 evolves a.1`.
#[derive(Debug, Clone)]
pub struct Evolution {
    /// The older schema, by its index.
    pub old: usize,
    /// The newer schema, by its index.
    pub new: usize,
    /// Each predicate of the older schema and its successor, where these differ.
    pub predicates: Vec<(PredicateId, PredicateId)>,
}

/// A type with a name.
#[derive(Debug, Clone)]
pub struct NamedType {
    /// Its name with its schema, without a version.
    pub name: String,
    /// The version.
    pub version: u32,
    /// The type that the name stands for.
    pub ty: Type,
}

/// A predicate.
#[derive(Debug, Clone)]
pub struct Predicate {
    /// Its id.
    pub id: PredicateId,
    /// Its name with its schema, without a version.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// The type of its keys.
    pub key: Type,
    /// The type of its values.
    pub value: Type,
    /// How it is derived, if it is.
    pub derivation: Option<PredicateDerivation>,
}

impl Predicate {
    /// Its name with its version: `a.B.1`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.name, self.version)
    }
}

/// The query that derives a predicate.
#[derive(Debug, Clone)]
pub struct PredicateDerivation {
    /// When.
    pub when: DeriveWhen,
    /// The query.
    pub query: Arc<Query>,
    /// The text that it is part of.
    pub source: Source,
    /// The names that it may use.
    pub scope: Arc<Scope>,
}

impl Schema {
    /// The texts that it was read from.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The predicates, by ascending id from [`PredicateId::FIRST`] on, without gaps.
    pub fn predicates(&self) -> &[Predicate] {
        &self.predicates
    }

    /// The named types.
    pub fn types(&self) -> &[NamedType] {
        &self.types
    }

    /// A predicate by its id.
    pub fn predicate(&self, id: PredicateId) -> Option<&Predicate> {
        let index = id.get().checked_sub(FIRST_PREDICATE_ID)?;
        self.predicates.get(usize::try_from(index).ok()?)
    }

    /// A predicate by its name, with its version or without: then it is the newest.
    pub fn find(&self, name: &str) -> Option<&Predicate> {
        if let Some(id) = self.by_name.get(name) {
            return self.predicate(*id);
        }
        match self.query_scope.find(name) {
            Some(Entry::Predicate(id)) => self.predicate(id),
            _ => None,
        }
    }

    /// The predicate that evolved from an older one.
    pub fn evolved(&self, old: PredicateId) -> Option<PredicateId> {
        self.evolved.get(&old).copied()
    }

    /// The names that queries may use.
    pub fn query_scope(&self) -> &Arc<Scope> {
        &self.query_scope
    }

    /// The name of a predicate for messages.
    pub fn name_of(&self, id: PredicateId) -> String {
        self.predicate(id).map_or_else(|| format!("predicate {}", id.get()), Predicate::full_name)
    }

    /// Appends the facts that a fact refers to.
    ///
    /// # Errors
    ///
    /// As [`Schema::substitute`].
    pub fn references(&self, predicate: PredicateId, key: &[u8], value: &[u8], found: &mut Vec<FactId>) -> Result<()> {
        let definition = self.predicate(predicate).ok_or(Error::NoPredicate(predicate))?;
        decode(&definition.key, key)?.references(found);
        decode(&definition.value, value)?.references(found);
        Ok(())
    }

    /// Appends the key and the value of a fact with each reference in them replaced: what a commit does to facts whose
    /// ids have changed.
    ///
    /// # Errors
    ///
    /// If the schema has no such predicate, or the bytes are no fact of it.
    pub fn substitute(
        &self,
        predicate: PredicateId,
        key: &[u8],
        value: &[u8],
        replace: &dyn Fn(FactId) -> FactId,
        new_key: &mut Vec<u8>,
        new_value: &mut Vec<u8>,
    ) -> Result<()> {
        let definition = self.predicate(predicate).ok_or(Error::NoPredicate(predicate))?;
        put_value(new_key, &definition.key, &decode(&definition.key, key)?.with_facts(replace))?;
        put_value(new_value, &definition.value, &decode(&definition.value, value)?.with_facts(replace))?;
        Ok(())
    }

    /// A type as Angle writes it.
    pub fn type_text(&self, ty: &Type) -> String {
        ty.display(&|id| self.name_of(id)).to_string()
    }

    /// A type as Angle writes it, with `…` for what is nested more than three levels deep.
    pub fn short_type_text(&self, ty: &Type) -> String {
        ty.display_short(&|id| self.name_of(id), 3).to_string()
    }

    /// The schema as a text, to store it in a database. [`Schema::from_text`] reads it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for source in &self.sources {
            let (name, body) = (source.name(), source.text());
            // Writing to a string does not fail.
            let _ = write!(text, "#SOURCE {} {name}\n{body}\n", body.len());
        }
        text
    }

    /// A number that differs, as far as 128 bits can, between schemas with different predicates, types or derivations.
    /// Comments, layout and the order of files do not change it.
    pub fn hash(&self) -> u128 {
        let mut lines: Vec<String> = self.predicates.iter().map(|predicate| self.line(predicate)).collect();
        lines.extend(
            self.evolved.iter().map(|(old, new)| format!("{} evolves {}", self.name_of(*new), self.name_of(*old))),
        );
        lines.sort_unstable();
        xxh3_128(lines.join("\n").as_bytes())
    }

    fn line(&self, predicate: &Predicate) -> String {
        let (key, value) = (self.type_text(&predicate.key), self.type_text(&predicate.value));
        let mut line = format!("predicate {} : {key} -> {value}", predicate.full_name());
        if let Some(derivation) = &predicate.derivation {
            let text = derivation.source.words(derivation.query.span);
            // Writing to a string does not fail.
            let _ = write!(line, " {:?} {text}", derivation.when);
        }
        line
    }
}
