//! Types of values: what a schema's types are once their names are resolved.

use std::fmt;
use std::sync::Arc;

use crate::ids::PredicateId;

/// A type. Named types are expanded; a cycle always goes through a predicate, so that types are finite trees.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// A number below 256.
    Byte,
    /// A natural number of 64 bits.
    Nat,
    /// A string of UTF-8.
    String,
    /// `true` or `false`.
    Bool,
    /// Any number of elements in order.
    Array(Arc<Type>),
    /// Any number of distinct elements.
    Set(Arc<Type>),
    /// All of these fields. Without fields it is the unit type `{}`.
    Record(Arc<[Field]>),
    /// One of these alternatives.
    Sum(Arc<[Field]>),
    /// One of these names.
    Enum(Arc<[Arc<str>]>),
    /// A value or `nothing`.
    Maybe(Arc<Type>),
    /// A reference to a fact of a predicate.
    Predicate(PredicateId),
}

/// A field of a record, or an alternative of a sum.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
}

impl Field {
    /// A field.
    pub fn new(name: &str, ty: Type) -> Field {
        Field { name: name.into(), ty }
    }
}

impl Type {
    /// The type `{}`.
    pub fn unit() -> Type {
        Type::Record(Arc::from([]))
    }

    /// Whether it is `{}`.
    pub fn is_unit(&self) -> bool {
        matches!(self, Type::Record(fields) if fields.is_empty())
    }

    /// Whether its values are encoded as no bytes at all, as those of `{}` are.
    pub fn is_without_bytes(&self) -> bool {
        matches!(self, Type::Record(fields) if fields.iter().all(|field| field.ty.is_without_bytes()))
    }

    /// `[element]`.
    pub fn array(element: Type) -> Type {
        Type::Array(Arc::new(element))
    }

    /// `set element`.
    pub fn set(element: Type) -> Type {
        Type::Set(Arc::new(element))
    }

    /// `maybe element`.
    pub fn maybe(element: Type) -> Type {
        Type::Maybe(Arc::new(element))
    }

    /// `{ name : type, … }`.
    pub fn record(fields: impl IntoIterator<Item = Field>) -> Type {
        Type::Record(fields.into_iter().collect())
    }

    /// `{ name : type | … }`.
    pub fn sum(alternatives: impl IntoIterator<Item = Field>) -> Type {
        Type::Sum(alternatives.into_iter().collect())
    }

    /// `enum { name | … }`.
    pub fn enumeration<'a>(names: impl IntoIterator<Item = &'a str>) -> Type {
        Type::Enum(names.into_iter().map(Arc::from).collect())
    }

    /// The type as Angle writes it, with predicates by the names that `name` returns.
    pub fn display<'a>(&'a self, name: &'a dyn Fn(PredicateId) -> String) -> TypeDisplay<'a> {
        TypeDisplay { ty: self, name, depth_max: usize::MAX }
    }

    /// As [`Type::display`], with `…` for what is nested deeper than `depth_max`.
    pub fn display_short<'a>(&'a self, name: &'a dyn Fn(PredicateId) -> String, depth_max: usize) -> TypeDisplay<'a> {
        TypeDisplay { ty: self, name, depth_max }
    }
}

/// A type on its way to a text. See [`Type::display`].
pub struct TypeDisplay<'a> {
    ty: &'a Type,
    name: &'a dyn Fn(PredicateId) -> String,
    depth_max: usize,
}

impl fmt::Display for TypeDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(depth_max) = self.depth_max.checked_sub(1) else { return f.write_str("…") };
        let inner = |ty| TypeDisplay { ty, name: self.name, depth_max };
        match self.ty {
            Type::Byte => f.write_str("byte"),
            Type::Nat => f.write_str("nat"),
            Type::String => f.write_str("string"),
            Type::Bool => f.write_str("bool"),
            Type::Array(element) => write!(f, "[{}]", inner(element)),
            Type::Set(element) => write!(f, "set {}", inner(element)),
            Type::Maybe(element) => write!(f, "maybe {}", inner(element)),
            Type::Record(record) if record.is_empty() => f.write_str("{}"),
            Type::Record(fields) => {
                for (index, field) in fields.iter().enumerate() {
                    write!(f, "{}{} : {}", if index == 0 { "{ " } else { ", " }, field.name, inner(&field.ty))?;
                }
                f.write_str(" }")
            }
            Type::Sum(alternatives) => {
                for (index, field) in alternatives.iter().enumerate() {
                    write!(f, "{}{} : {}", if index == 0 { "{ " } else { " | " }, field.name, inner(&field.ty))?;
                }
                // The bar makes it a sum, not a record.
                f.write_str(if alternatives.len() == 1 { " | }" } else { " }" })
            }
            Type::Enum(names) => write!(f, "enum {{ {} }}", names.join(" | ")),
            Type::Predicate(id) => f.write_str(&(self.name)(*id)),
        }
    }
}
