//! Batches of facts: `[{ predicate: "a.B.1", facts: [{ id?, key, value? }], unit? }]`, read fact by fact. If the facts
//! come before their predicate, memory holds those of the batch.
//!
//! A batch can list facts before it by their numbers, as `{ id }`: so several units own a fact. An element
//! `{ derivations: [[fact, source, …]] }` lists derivations by numbers.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::json::parse::{FactSink, Parser};
use crate::json::reading_place::{ReadingPlace, Tracked};
use crate::json::strict::{Strict, given_twice, without_byte_order_mark};
use crate::schema::definition::Schema;
use crate::schema::similar::did_you_mean;

/// Reads a batch of facts and defines them in `sink`, one fact at a time. Returns the number of facts that the batch
/// lists, without facts within facts.
///
/// # Errors
///
/// If the JSON is wrong, with its line and column; if a fact is not of its predicate's type, with the line and column
/// at which it begins and its place in the batch, both counted from 1; and if the sink fails. What was defined before
/// remains defined: the sink's transaction decides.
pub fn write_batch(schema: &Schema, reader: impl Read, sink: &mut dyn FactSink) -> Result<u64> {
    let place = Cell::default();
    let state = RefCell::new(State { schema, sink, place: &place, named: HashMap::new(), facts: 0, failure: None });
    let read = without_byte_order_mark(reader).map_err(serde_json::Error::io).and_then(|reader| {
        let mut deserializer = serde_json::Deserializer::from_reader(Tracked::new(reader, &place));
        Batches(&state).deserialize(&mut deserializer).and_then(|()| deserializer.end())
    });
    let state = state.into_inner();
    match (read, state.failure) {
        (_, Some(failure)) => Err(failure),
        (Ok(()), None) => Ok(state.facts),
        (Err(error), None) => {
            let place = format!("line {}, column {}", error.line(), error.column());
            // The message ends with the place, which is said already.
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or("").to_owned();
            Err(Error::Json { place: place.into(), message: message.into() })
        }
    }
}

struct State<'a> {
    schema: &'a Schema,
    sink: &'a mut dyn FactSink,
    /// How far the input is read.
    place: &'a Cell<ReadingPlace>,
    named: HashMap<u64, (PredicateId, FactId)>,
    facts: u64,
    /// What went wrong, as the reader's errors are only texts.
    failure: Option<Error>,
}

impl State<'_> {
    fn write(&mut self, predicate: PredicateId, place: String, json: &Json) -> Result<FactId> {
        let mut parser = Parser { schema: self.schema, sink: self.sink, named: &mut self.named, path: vec![place] };
        let id = parser.fact(predicate, json)?;
        self.facts += 1;
        Ok(id)
    }

    fn derivation(&mut self, place: String, json: &Json) -> Result<()> {
        let mut parser = Parser { schema: self.schema, sink: self.sink, named: &mut self.named, path: vec![place] };
        parser.derivation(json)
    }

    /// Keeps an error of the crate, and returns the one that stops the reader.
    fn fail<E: serde::de::Error>(&mut self, error: Error) -> E {
        self.failure = Some(error);
        E::custom("the fact is wrong")
    }
}

/// The array of batches.
struct Batches<'s, 'a>(&'s RefCell<State<'a>>);

impl<'de> DeserializeSeed<'de> for Batches<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Batches<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of batches, `[{ \"predicate\": …, \"facts\": […] }]`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> std::result::Result<(), A::Error> {
        let mut index = 0;
        while sequence.next_element_seed(Batch { state: self.0, index })?.is_some() {
            index += 1;
        }
        Ok(())
    }
}

/// `{ predicate, facts, unit? }`
struct Batch<'s, 'a> {
    state: &'s RefCell<State<'a>>,
    index: usize,
}

impl Batch<'_, '_> {
    fn predicate<E: serde::de::Error>(&self, json: &Json) -> std::result::Result<PredicateId, E> {
        let Some(name) = predicate_name(json) else {
            let message = "`predicate` is a name, `\"a.B.1\"`, or `{ \"name\": \"a.B\", \"version\": 1 }`";
            return Err(E::custom(message));
        };
        let state = self.state.borrow();
        state.schema.find(&name).map(|predicate| predicate.id).ok_or_else(|| {
            let hint = did_you_mean(&name, state.schema.query_scope().names(), "see the schema");
            E::custom(format!("there is no predicate {name}; {hint}"))
        })
    }

    /// Writes facts that came before their predicate.
    fn write<E: serde::de::Error>(&self, facts: Json, predicate: PredicateId) -> std::result::Result<Vec<FactId>, E> {
        let Json::Array(facts) = facts else {
            return Err(E::custom("`facts` are an array of facts, `[{ \"key\": … }]`"));
        };
        let place = Facts { state: self.state, batch: self.index, predicate };
        facts.iter().enumerate().map(|(index, json)| place.write(index, None, json)).collect()
    }
}

/// The name of a predicate with its version, which may stand apart.
fn predicate_name(json: &Json) -> Option<String> {
    match json {
        Json::String(name) => Some(name.clone()),
        Json::Object(object) if object.len() == 2 => {
            let (name, version) = (object.get("name")?.as_str()?, object.get("version")?.as_u64()?);
            Some(format!("{name}.{version}"))
        }
        _ => None,
    }
}

impl<'de> DeserializeSeed<'de> for Batch<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Batch<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a batch, `{ \"predicate\": …, \"facts\": […] }`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let (mut predicate, mut facts, mut early, mut unit) = (None, None, None, None);
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(given_twice(&name)));
            }
            match name.as_str() {
                "predicate" => predicate = Some(self.predicate::<A::Error>(&map.next_value_seed(Strict)?)?),
                "facts" => match predicate {
                    Some(predicate) => {
                        facts = Some(map.next_value_seed(Facts { state: self.state, batch: self.index, predicate })?);
                    }
                    None => early = Some(map.next_value_seed(Strict)?),
                },
                "unit" => unit = map.next_value::<Option<String>>()?,
                "derivations" => map.next_value_seed(Derivations { state: self.state, batch: self.index })?,
                // Other programs add it to a batch, or write it alone. The schema is that of the database.
                "schema_id" => map.next_value::<serde::de::IgnoredAny>().map(drop)?,
                _ => {
                    let known = "`predicate`, `facts` and `unit`, or `derivations`";
                    return Err(A::Error::custom(format!("a batch has {known}, not `{name}`")));
                }
            }
            names.insert(name);
        }
        if names.contains("derivations") {
            return match names.len() {
                1 => Ok(()),
                _ => Err(A::Error::custom("`derivations` must be the only member of an element")),
            };
        }
        let facts = match (facts, early, predicate) {
            (Some(facts), ..) => facts,
            (None, Some(early), Some(predicate)) => self.write::<A::Error>(early, predicate)?,
            (None, Some(_), None) => return Err(A::Error::custom("the batch has no `predicate`")),
            (None, None, None) if names.len() == 1 && names.contains("schema_id") => return Ok(()),
            (None, None, _) => return Err(A::Error::custom("the batch has no `facts`; an empty array will do")),
        };
        let mut state = self.state.borrow_mut();
        let listed = state.sink.listed(unit.as_deref(), &facts);
        listed.map_err(|error| state.fail(error))
    }
}

/// A fact or a derivation, with the place of its first byte.
struct Element<'s, 'a>(&'s RefCell<State<'a>>);

impl<'de> DeserializeSeed<'de> for Element<'_, '_> {
    type Value = (ReadingPlace, Json);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Self::Value, D::Error> {
        // The reader has looked at the first byte, and at no other.
        let place = self.0.borrow().place.get();
        Ok((place, Strict.deserialize(deserializer)?))
    }
}

/// The facts of a batch.
struct Facts<'s, 'a> {
    state: &'s RefCell<State<'a>>,
    batch: usize,
    predicate: PredicateId,
}

impl Facts<'_, '_> {
    /// `begin` is where the fact begins. Of facts that come before their predicate it is not known.
    fn write<E: serde::de::Error>(
        &self,
        index: usize,
        begin: Option<ReadingPlace>,
        json: &Json,
    ) -> std::result::Result<FactId, E> {
        let mut state = self.state.borrow_mut();
        let begin = begin.map(|begin| format!("{begin}, ")).unwrap_or_default();
        let place = format!("{begin}batch {}, fact {}: $", self.batch + 1, index + 1);
        let written = state.write(self.predicate, place, json);
        written.map_err(|error| state.fail(error))
    }
}

impl<'de> DeserializeSeed<'de> for Facts<'_, '_> {
    type Value = Vec<FactId>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Vec<FactId>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Facts<'_, '_> {
    type Value = Vec<FactId>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of facts, `[{ \"key\": … }]`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> std::result::Result<Vec<FactId>, A::Error> {
        let mut facts = Vec::new();
        while let Some((begin, json)) = sequence.next_element_seed(Element(self.state))? {
            facts.push(self.write::<A::Error>(facts.len(), Some(begin), &json)?);
        }
        Ok(facts)
    }
}

/// The derivations of an element: `[[fact, source, …]]`.
struct Derivations<'s, 'a> {
    state: &'s RefCell<State<'a>>,
    batch: usize,
}

impl<'de> DeserializeSeed<'de> for Derivations<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Derivations<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of derivations, `[[fact, source, …]]`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> std::result::Result<(), A::Error> {
        let mut index = 0;
        while let Some((begin, json)) = sequence.next_element_seed(Element(self.state))? {
            let mut state = self.state.borrow_mut();
            index += 1;
            let place = format!("{begin}, batch {}, derivation {index}: $", self.batch + 1);
            let read = state.derivation(place, &json);
            read.map_err(|error| state.fail(error))?;
        }
        Ok(())
    }
}
