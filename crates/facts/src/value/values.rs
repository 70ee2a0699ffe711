//! Values.

use crate::ids::{FactId, PredicateId};
use crate::value::types::Type;

/// A fact: its predicate, and the bytes of its key and its value.
pub type StoredFact = (PredicateId, Vec<u8>, Vec<u8>);

/// A value of a [`Type`](crate::Type).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// Of `byte`.
    Byte(u8),
    /// Of `nat`.
    Nat(u64),
    /// Of `string`.
    String(String),
    /// Of `bool`.
    Bool(bool),
    /// Of `[byte]`.
    Bytes(Vec<u8>),
    /// Of an array of anything but bytes.
    Array(Vec<Value>),
    /// Of a set. Decoded sets are in the order of their elements' bytes; encoding sorts them and skips repeated ones.
    Set(Vec<Value>),
    /// Of a record: the values of its fields in the order of the type.
    Record(Vec<Value>),
    /// Of a sum: which alternative, and its value.
    Alternative(usize, Box<Value>),
    /// Of an enumeration: which name.
    Enum(usize),
    /// Of `maybe`.
    Maybe(Option<Box<Value>>),
    /// A reference to a fact.
    Fact(FactId),
}

impl Value {
    /// Appends the facts that it refers to.
    pub fn references(&self, found: &mut Vec<FactId>) {
        match self {
            Value::Fact(id) => found.push(*id),
            Value::Array(values) | Value::Set(values) | Value::Record(values) => {
                values.iter().for_each(|value| value.references(found));
            }
            Value::Alternative(_, value) | Value::Maybe(Some(value)) => value.references(found),
            _ => {}
        }
    }

    /// Appends the facts that a value of type `ty` refers to, and the predicates that the type says they are of.
    pub(crate) fn typed_references(&self, ty: &Type, found: &mut Vec<(FactId, PredicateId)>) {
        match (self, ty) {
            (Value::Fact(id), Type::Predicate(predicate)) => found.push((*id, *predicate)),
            (Value::Array(values), Type::Array(element)) | (Value::Set(values), Type::Set(element)) => {
                values.iter().for_each(|value| value.typed_references(element, found));
            }
            (Value::Record(values), Type::Record(fields)) => {
                values.iter().zip(fields.iter()).for_each(|(value, field)| value.typed_references(&field.ty, found));
            }
            (Value::Alternative(index, value), Type::Sum(fields)) => {
                if let Some(field) = fields.get(*index) {
                    value.typed_references(&field.ty, found);
                }
            }
            (Value::Maybe(Some(value)), Type::Maybe(element)) => value.typed_references(element, found),
            _ => {}
        }
    }

    /// The value with each reference replaced.
    #[must_use]
    pub fn with_facts(self, replace: &dyn Fn(FactId) -> FactId) -> Value {
        let all = |values: Vec<Value>| values.into_iter().map(|value| value.with_facts(replace)).collect();
        match self {
            Value::Fact(id) => Value::Fact(replace(id)),
            Value::Array(values) => Value::Array(all(values)),
            Value::Set(values) => Value::Set(all(values)),
            Value::Record(values) => Value::Record(all(values)),
            Value::Alternative(index, value) => Value::Alternative(index, Box::new(value.with_facts(replace))),
            Value::Maybe(Some(value)) => Value::Maybe(Some(Box::new(value.with_facts(replace)))),
            value => value,
        }
    }

    /// The value of type `{}`.
    pub fn unit() -> Value {
        Value::Record(Vec::new())
    }
}
