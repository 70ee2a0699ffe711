//! Which names are visible where.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ids::PredicateId;
use crate::value::types::Type;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A predicate.
    Predicate(PredicateId),
    /// A named type, by its index.
    Type(usize),
}

/// The names that are visible in a schema, or in queries.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    entries: HashMap<String, Entry>,
    types: Arc<Vec<Type>>,
}

impl Scope {
    /// What a name stands for.
    pub fn find(&self, name: &str) -> Option<Entry> {
        self.entries.get(name).cloned()
    }

    /// The type that a name stands for: a named type, or a reference to a fact.
    pub fn type_of(&self, name: &str) -> Option<Type> {
        match self.entries.get(name)? {
            Entry::Predicate(id) => Some(Type::Predicate(*id)),
            Entry::Type(index) => self.types.get(*index).cloned(),
        }
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// How many names there are.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Makes a name visible.
    pub fn insert(&mut self, name: String, entry: Entry) {
        self.entries.insert(name, entry);
    }

    /// Makes a name visible unless it is.
    pub fn insert_new(&mut self, name: String, entry: Entry) {
        self.entries.entry(name).or_insert(entry);
    }

    /// The scope with the named types that its entries refer to.
    pub fn with_types(mut self, types: Arc<Vec<Type>>) -> Scope {
        self.types = types;
        self
    }
}
