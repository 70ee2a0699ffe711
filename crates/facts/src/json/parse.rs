//! JSON to values, by type.

use serde_json::Value as Json;

use crate::angle::tree::DeriveWhen;
use crate::error::{Error, OtherValue, Result};
use crate::ids::{FactId, PredicateId};
use crate::json::base64::decode_base64;
use crate::json::print::{Expansion, Printer};
use crate::schema::compatibility::has_default;
use crate::schema::definition::Schema;
use crate::schema::similar::did_you_mean;
use crate::value::bytes::{put_elements, put_string};
use crate::value::codec::EMPTY_ELEMENTS_MAX;
use crate::value::nat::put_nat;
use crate::value::types::{Field, Type};

/// A receiver of facts.
pub trait FactSink {
    /// Defines a fact: returns the id of the one with this key, or of a new one.
    ///
    /// # Errors
    ///
    /// If the fact with this key has another value, or writing fails.
    fn define(&mut self, predicate: PredicateId, key: &[u8], value: &[u8]) -> Result<FactId>;

    /// The predicate of a fact that was there before this sink defined any. A batch refers to other facts by the
    /// numbers that it gives them: what `define` returns may be provisional, and would match a number by accident only.
    ///
    /// # Errors
    ///
    /// If reading fails.
    fn predicate_of(&self, id: FactId) -> Result<Option<PredicateId>>;

    /// Called at the end of each batch: these are the facts that it lists, and the unit that owns them if it names one.
    ///
    /// # Errors
    ///
    /// If the sink cannot record the owner.
    fn listed(&mut self, unit: Option<&str>, facts: &[FactId]) -> Result<()>;

    /// Called for each derivation that the input lists: the owners of all `sources` own `fact`.
    ///
    /// # Errors
    ///
    /// If the sink cannot record the derivation.
    fn derived(&mut self, fact: FactId, sources: &[FactId]) -> Result<()>;
}

/// Reads values, and defines the facts within them.
pub(super) struct Parser<'a> {
    pub schema: &'a Schema,
    pub sink: &'a mut dyn FactSink,
    /// The facts that the batch has given numbers, and their predicates.
    pub named: &'a mut std::collections::HashMap<u64, (PredicateId, FactId)>,
    /// The path of the value.
    pub path: Vec<String>,
}

impl Parser<'_> {
    pub fn error(&self, message: impl Into<String>) -> Error {
        Error::Json { place: self.path.concat().into(), message: message.into().into() }
    }

    fn at<T>(&mut self, piece: String, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.path.push(piece);
        let read = read(self)?;
        self.path.pop();
        Ok(read)
    }

    /// A fact: `{ id?, key, value? }`.
    pub fn fact(&mut self, predicate: PredicateId, json: &Json) -> Result<FactId> {
        let definition = self.schema.predicate(predicate).ok_or(Error::NoPredicate(predicate))?;
        let Json::Object(object) = json else {
            return Err(self.error(format!("expected a fact, `{{ \"key\": … }}`, found {}", kind(json))));
        };
        if let Some(name) = object.keys().find(|name| !matches!(name.as_str(), "id" | "key" | "value")) {
            return Err(self.error(format!("a fact has `id`, `key` and `value`, not `{name}`")));
        }
        let number = match object.get("id") {
            None => None,
            Some(id) => match id.as_u64() {
                // Generated code writes 0 for an id that was not given.
                Some(0) => None,
                Some(number) => Some(number),
                None => return Err(self.error(format!("the id is {}, not a natural number of 64 bits", quoted(id)))),
            },
        };
        let Some(key) = object.get("key") else {
            return match number {
                Some(number) if object.len() == 1 => self.reference(predicate, number),
                _ => Err(self.error("the fact has no `key`; a reference is `{ \"id\": number }`")),
            };
        };
        if definition.derivation.as_ref().is_some_and(|derivation| derivation.when == DeriveWhen::OnDemand) {
            return Err(self.error(format!(
                "{} is derived on demand, and queries would not find a fact that is written; write the facts that it is \
                 derived from, or remove its query from the schema",
                definition.full_name()
            )));
        }
        let (mut of_key, mut of_value) = (Vec::new(), Vec::new());
        self.at(".key".to_owned(), |parser| parser.value(&definition.key, key, &mut of_key))?;
        match object.get("value") {
            Some(value) => {
                self.at(".value".to_owned(), |parser| parser.value(&definition.value, value, &mut of_value))?;
            }
            None if definition.value.is_unit() => {}
            None => return Err(self.error(format!("a fact of {} has a `value`", definition.full_name()))),
        }
        let id = self.sink.define(predicate, &of_key, &of_value).map_err(|error| match error {
            Error::KeyHasOtherValue(other) => self.error(explain_other_value(self.schema, &other)),
            error => error,
        })?;
        if let Some(number) = number {
            let before = self.named.insert(number, (predicate, id));
            if before.is_some_and(|before| before != (predicate, id)) {
                return Err(self.error(format!("two facts have the id {number}; give one another id")));
            }
        }
        Ok(id)
    }

    /// A derivation: the number of a fact, and those of the facts that it was derived from.
    pub fn derivation(&mut self, json: &Json) -> Result<()> {
        let expected = "expected the ids of a fact and of those that it was derived from, `[3, 1, 2]`";
        let Json::Array(numbers) = json else {
            return Err(self.error(format!("{expected}, found {}", kind(json))));
        };
        let mut facts = Vec::with_capacity(numbers.len());
        for json in numbers {
            let number = json.as_u64().ok_or_else(|| self.error(format!("{} is not an id of a fact", quoted(json))))?;
            let (_, fact) = self.numbered(number)?.ok_or_else(|| self.no_fact(number))?;
            facts.push(fact);
        }
        match facts.split_first() {
            Some((fact, sources)) => self.sink.derived(*fact, sources),
            None => Err(self.error(expected)),
        }
    }

    /// A fact by the number that the batch gave it, or else by its id in the database as it was before the batch.
    fn numbered(&self, number: u64) -> Result<Option<(PredicateId, FactId)>> {
        if let Some(found) = self.named.get(&number) {
            return Ok(Some(*found));
        }
        let Some(id) = FactId::new(number) else { return Ok(None) };
        Ok(self.sink.predicate_of(id)?.map(|predicate| (predicate, id)))
    }

    /// A fact of a predicate, by its number.
    fn reference(&self, predicate: PredicateId, number: u64) -> Result<FactId> {
        match self.numbered(number)? {
            Some((of, id)) if self.schema.may_stand_for(of, predicate) => Ok(id),
            Some((of, _)) => {
                let (of, wanted) = (self.schema.name_of(of), self.schema.name_of(predicate));
                Err(self.error(format!("fact {number} is of {of}; a fact of {wanted} belongs here")))
            }
            None => Err(self.no_fact(number)),
        }
    }

    fn no_fact(&self, number: u64) -> Error {
        self.error(format!(
            "there is no fact {number} before this one; give a fact this `id` before its uses, or write it here"
        ))
    }

    /// Appends the bytes of a value.
    pub fn value(&mut self, ty: &Type, json: &Json, out: &mut Vec<u8>) -> Result<()> {
        match (ty, json) {
            (Type::Nat, Json::Number(number)) => match number.as_u64() {
                Some(nat) => put_nat(out, nat),
                // Languages without unsigned numbers write those from 2⁶³ on as negative ones.
                None => match number.as_i64() {
                    Some(negative) => put_nat(out, negative as u64),
                    None => return Err(self.error(format!("{} is not a natural number of 64 bits", quoted(json)))),
                },
            },
            (Type::Byte, Json::Number(number)) => {
                let byte = number
                    .as_i64()
                    .and_then(|number| u8::try_from(number).or(i8::try_from(number).map(|byte| byte as u8)).ok());
                out.push(byte.ok_or_else(|| self.error(format!("{} is not a byte", quoted(json))))?);
            }
            (Type::String, Json::String(string)) => put_string(out, string),
            (Type::Bool, Json::Bool(bool)) => put_nat(out, u64::from(*bool)),
            (Type::Array(element), Json::String(text)) if **element == Type::Byte => {
                let bytes =
                    decode_base64(text).ok_or_else(|| self.error("an array of bytes is a string of base 64"))?;
                put_nat(out, bytes.len() as u64);
                out.extend_from_slice(&bytes);
            }
            (Type::Array(element), Json::Array(values)) => self.array(element, values, out)?,
            (Type::Set(element), Json::String(text)) if **element == Type::Byte => {
                let mut bytes =
                    decode_base64(text).ok_or_else(|| self.error("a set of bytes is a string of base 64"))?;
                bytes.sort_unstable();
                bytes.dedup();
                put_elements(out, bytes.len(), std::iter::once(bytes.as_slice()));
            }
            (Type::Set(element), Json::Array(values)) => {
                let mut elements = Vec::with_capacity(values.len());
                for (index, value) in values.iter().enumerate() {
                    let mut bytes = Vec::new();
                    self.at(format!("[{index}]"), |parser| parser.value(element, value, &mut bytes))?;
                    elements.push(bytes);
                }
                elements.sort_unstable();
                elements.dedup();
                put_elements(out, elements.len(), elements.iter().map(Vec::as_slice));
            }
            (Type::Record(fields), Json::Object(object)) => self.record(fields, object, out)?,
            (Type::Sum(alternatives), Json::Object(object)) if object.len() == 1 => {
                self.alternative(alternatives, object, out)?;
            }
            (Type::Maybe(_), Json::Null) => put_nat(out, 0),
            (Type::Maybe(element), value) => {
                put_nat(out, 1);
                let value = just(element, value).ok_or_else(|| {
                    self.error("expected the value of a `maybe maybe`, which is an object with `just` alone")
                })?;
                self.value(element, value, out)?;
            }
            (Type::Enum(names), value) => self.enumerator(names, value, out)?,
            (Type::Predicate(predicate), Json::Number(number)) => {
                let number =
                    number.as_u64().ok_or_else(|| self.error(format!("{} is not an id of a fact", quoted(json))))?;
                put_nat(out, self.reference(*predicate, number)?.get());
            }
            (Type::Predicate(predicate), value) => put_nat(out, self.fact(*predicate, value)?.get()),
            _ => {
                let expected = self.schema.short_type_text(ty);
                return Err(self.error(format!("expected {expected}, found {}", kind(json))));
            }
        }
        Ok(())
    }

    fn array(&mut self, element: &Type, values: &[Json], out: &mut Vec<u8>) -> Result<()> {
        if element.is_without_bytes() && values.len() as u64 > EMPTY_ELEMENTS_MAX {
            let most = EMPTY_ELEMENTS_MAX;
            return Err(self.error(format!("an array has at most {most} elements without content, as {{}} is")));
        }
        put_nat(out, values.len() as u64);
        for (index, value) in values.iter().enumerate() {
            self.at(format!("[{index}]"), |parser| parser.value(element, value, out))?;
        }
        Ok(())
    }

    fn record(&mut self, fields: &[Field], object: &serde_json::Map<String, Json>, out: &mut Vec<u8>) -> Result<()> {
        if let Some(name) = object.keys().find(|name| !fields.iter().any(|field| *field.name == ***name)) {
            let names = fields.iter().map(|field| &*field.name);
            let hint = did_you_mean(name, names, "drop it, or add it to the schema");
            return Err(self.error(format!("the record has no field `{name}`; {hint}")));
        }
        for field in fields {
            match object.get(&*field.name) {
                Some(value) => {
                    self.at(format!(".{}", field.name), |parser| parser.value(&field.ty, value, out))?;
                }
                None if has_default(&field.ty) => put_default(&field.ty, out),
                None => return Err(self.error(format!("the field `{}` is missing and has no default", field.name))),
            }
        }
        Ok(())
    }

    fn alternative(
        &mut self,
        alternatives: &[Field],
        object: &serde_json::Map<String, Json>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let Some((name, value)) = object.iter().next() else { return Err(self.error("the sum has no alternative")) };
        let Some(index) = alternatives.iter().position(|field| *field.name == **name) else {
            let names = alternatives.iter().map(|field| &*field.name);
            let hint = did_you_mean(name, names, "see the schema");
            return Err(self.error(format!("the sum has no alternative `{name}`; {hint}")));
        };
        put_nat(out, index as u64);
        self.at(format!(".{name}"), |parser| parser.value(&alternatives[index].ty, value, out))
    }

    fn enumerator(&self, names: &[std::sync::Arc<str>], json: &Json, out: &mut Vec<u8>) -> Result<()> {
        let index = match json {
            Json::Number(number) => number.as_u64().and_then(|index| usize::try_from(index).ok()),
            Json::String(name) => names.iter().position(|other| **other == **name),
            _ => None,
        };
        match index.filter(|index| *index < names.len()) {
            Some(index) => {
                put_nat(out, index as u64);
                Ok(())
            }
            None => Err(self.error(format!("expected one of {}, or its number, found {json}", names.join(", ")))),
        }
    }
}

/// The value of a `maybe` of a type. That of a `maybe maybe` is `{ "just": … }`: `null` alone is the outer `nothing`.
/// Without `just` it may be anything but an object, which could be both. None if it is such an object.
fn just<'j>(element: &Type, json: &'j Json) -> Option<&'j Json> {
    match (element, json) {
        (Type::Maybe(_), Json::Object(object)) => object.get("just").filter(|_| object.len() == 1),
        _ => Some(json),
    }
}

/// The value of a field that is not given. Requires: its type has one.
fn put_default(ty: &Type, out: &mut Vec<u8>) {
    match ty {
        Type::Byte => out.push(0),
        Type::String => put_string(out, ""),
        Type::Record(fields) => fields.iter().for_each(|field| put_default(&field.ty, out)),
        Type::Sum(alternatives) => {
            put_nat(out, 0);
            alternatives.iter().take(1).for_each(|field| put_default(&field.ty, out));
        }
        _ => put_nat(out, 0),
    }
}

/// What is wrong with a fact whose key has another value: with names and values as the schema has them.
pub(crate) fn explain_other_value(schema: &Schema, other: &OtherValue) -> String {
    let name = schema.name_of(other.predicate);
    let printed = |bytes: &[u8]| {
        let ty = &schema.predicate(other.predicate)?.value;
        let text = Printer::new(schema, &|_| Ok(None)).value(ty, bytes, Expansion::FLAT).ok()?.to_string();
        let end = text.char_indices().nth(EXCERPT_CHARS).map(|(end, _)| end);
        Some(end.map_or(text.clone(), |end| format!("{}…", &text[..end])))
    };
    let [existing, new] = [&other.existing_value, &other.value].map(|bytes| printed(bytes).unwrap_or("another".into()));
    let id = other.existing;
    format!("{name} has a fact with this key already, {id}, with the value {existing}, not {new}; a key has one value")
}

/// As much of a value as fits a line.
const EXCERPT_CHARS: usize = 60;

/// A number as in the text, or what else a value is.
fn quoted(json: &Json) -> String {
    match json {
        // Its last digits were lost when it was read.
        Json::Number(number) if number.as_f64().is_some_and(|number| number.abs() >= 2_f64.powi(64)) => {
            "a number of more digits".to_owned()
        }
        Json::Number(number) => number.to_string(),
        other => kind(other).to_owned(),
    }
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}
