//! Values to JSON, as Glean prints them.
//!
//! A fact is `{ "id": …, "key": …, "value": … }`, without the value if it is `{}`; a reference that is not expanded has
//! the id alone. A record is an object without its fields that are `nothing`; a sum is an object of one field; an
//! enumerator is its number; an array of bytes is base 64.
//!
//! Outside of records, where Glean cannot print it, `nothing` is `null`. The value of a `maybe maybe` is
//! `{ "just": … }`, so that its two kinds of `nothing` differ.

use serde_json::{Map, Value as Json, json};

use crate::error::Result;
use crate::ids::{FactId, PredicateId};
use crate::json::base64::encode_base64;
use crate::schema::definition::Schema;
use crate::value::bytes::{Cursor, unescape};
use crate::value::codec::decode;
use crate::value::error::ValueFault;
use crate::value::types::Type;
use crate::value::values::StoredFact;

/// A look-up of facts by their ids.
pub type FactLookup<'a> = dyn Fn(FactId) -> Result<Option<StoredFact>> + 'a;

/// How far facts are expanded.
#[derive(Debug, Clone, Copy)]
pub struct Expansion {
    /// How many facts deep: 0 prints ids alone, 1 the facts themselves.
    pub depth: usize,
    /// How many facts at most: the others are printed as ids.
    pub facts_max: usize,
}

impl Expansion {
    /// The fact itself, with ids for those that it refers to.
    pub const FLAT: Expansion = Expansion { depth: 1, facts_max: usize::MAX };
    /// Everything, up to bounds that a cycle or a large graph reaches.
    pub const RECURSIVE: Expansion = Expansion { depth: 60, facts_max: 100_000 };
}

/// Prints values of one schema.
pub struct Printer<'a> {
    schema: &'a Schema,
    lookup: &'a FactLookup<'a>,
    facts_left: usize,
}

impl<'a> Printer<'a> {
    /// A printer.
    pub fn new(schema: &'a Schema, lookup: &'a FactLookup<'a>) -> Printer<'a> {
        Printer { schema, lookup, facts_left: 0 }
    }

    /// A fact, in the shape of its own predicate.
    ///
    /// # Errors
    ///
    /// If reading fails, or bytes are no values of their types.
    pub fn fact(&mut self, id: FactId, expansion: Expansion) -> Result<Json> {
        self.facts_left = expansion.facts_max;
        self.expand(id, None, expansion.depth)
    }

    /// A fact, in the shape of a predicate that its own predicate evolved from, or of its own if it did not.
    ///
    /// # Errors
    ///
    /// As [`Printer::fact`].
    pub fn fact_shaped_as(&mut self, predicate: PredicateId, id: FactId, expansion: Expansion) -> Result<Json> {
        self.facts_left = expansion.facts_max;
        self.expand(id, Some(predicate), expansion.depth)
    }

    /// A value that is encoded. A fact is in the shape of the predicate that the type names, if the fact's own
    /// predicate evolved from it. Alternatives that the older type lacks are `{}`.
    ///
    /// # Errors
    ///
    /// As [`Printer::fact`].
    pub fn value(&mut self, ty: &Type, bytes: &[u8], expansion: Expansion) -> Result<Json> {
        self.facts_left = expansion.facts_max;
        self.whole(ty, bytes, expansion.depth)
    }

    fn expand(&mut self, id: FactId, shape: Option<PredicateId>, depth: usize) -> Result<Json> {
        let reference = json!({ "id": id.get() });
        if depth == 0 || self.facts_left == 0 {
            return Ok(reference);
        }
        let Some(fact) = (self.lookup)(id)? else { return Ok(reference) };
        let (predicate, key, value) = self.schema.shaped_as(shape.unwrap_or(fact.0), fact)?;
        let Some(definition) = self.schema.predicate(predicate) else { return Ok(reference) };
        self.facts_left -= 1;
        let mut object = Map::new();
        object.insert("id".to_owned(), json!(id.get()));
        object.insert("key".to_owned(), self.whole(&definition.key, &key, depth - 1)?);
        if !definition.value.is_unit() {
            object.insert("value".to_owned(), self.whole(&definition.value, &value, depth - 1)?);
        }
        Ok(Json::Object(object))
    }

    fn whole(&mut self, ty: &Type, bytes: &[u8], depth: usize) -> Result<Json> {
        let mut cursor = Cursor::new(bytes);
        let json = self.json(ty, &mut cursor, depth)?;
        cursor.end()?;
        Ok(json)
    }

    fn json(&mut self, ty: &Type, cursor: &mut Cursor<'_>, depth: usize) -> Result<Json> {
        let unknown = cursor.fault(ValueFault::UnknownAlternative);
        Ok(match ty {
            Type::Byte => json!(cursor.byte()?),
            Type::Nat => json!(cursor.nat()?),
            Type::String => {
                let offset = cursor.offset();
                Json::String(unescape(cursor.escaped_string()?, offset)?)
            }
            Type::Bool => Json::Bool(cursor.nat()? != 0),
            Type::Enum(names) => match cursor.nat()? {
                unknown if unknown == names.len() as u64 => Json::Object(Map::new()),
                index => json!(index),
            },
            Type::Predicate(predicate) => {
                let fault = cursor.fault(ValueFault::NoFact);
                let id = FactId::new(cursor.nat()?).ok_or(fault)?;
                self.expand(id, Some(*predicate), depth)?
            }
            Type::Array(element) | Type::Set(element) if **element == Type::Byte => {
                let length = cursor.nat()?;
                Json::String(encode_base64(cursor.take(length)?))
            }
            Type::Array(element) | Type::Set(element) => {
                let start = cursor.offset();
                let mut end = cursor.clone();
                end.skip(ty)?;
                if element.is_without_bytes() {
                    // The bound on their number is that of values.
                    decode(ty, end.since(start))?;
                }
                let mut elements = Vec::new();
                for _ in 0..cursor.nat()? {
                    elements.push(self.json(element, cursor, depth)?);
                }
                Json::Array(elements)
            }
            Type::Record(fields) => {
                let mut object = Map::new();
                for field in fields.iter() {
                    if matches!(field.ty, Type::Maybe(_)) && cursor.rest().first() == Some(&0) {
                        cursor.byte()?;
                        continue;
                    }
                    object.insert(field.name.to_string(), self.json(&field.ty, cursor, depth)?);
                }
                Json::Object(object)
            }
            Type::Sum(alternatives) => {
                let tag = usize::try_from(cursor.nat()?).unwrap_or(usize::MAX);
                let mut object = Map::new();
                if tag == alternatives.len() {
                    return Ok(Json::Object(object));
                }
                let alternative = alternatives.get(tag).ok_or(unknown)?;
                object.insert(alternative.name.to_string(), self.json(&alternative.ty, cursor, depth)?);
                Json::Object(object)
            }
            Type::Maybe(element) => match cursor.nat()? {
                0 => Json::Null,
                1 if matches!(**element, Type::Maybe(_)) => json!({ "just": self.json(element, cursor, depth)? }),
                1 => self.json(element, cursor, depth)?,
                _ => return Err(unknown.into()),
            },
        })
    }
}
