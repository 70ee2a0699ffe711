//! Values.

use crate::ids::{FactId, PredicateId};

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
    /// The value of type `{}`.
    pub fn unit() -> Value {
        Value::Record(Vec::new())
    }
}
