//! JSON in which an object names each of its fields once. `serde_json` keeps the last of several without a word.

use std::fmt;
use std::io::{self, Read};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

/// Reads a text of JSON in which each object names its fields once, perhaps after a byte order mark.
///
/// # Errors
///
/// What is wrong, with its line and column.
pub fn strict_json(text: &[u8]) -> serde_json::Result<Json> {
    let mut deserializer = serde_json::Deserializer::from_slice(text.strip_prefix(&BYTE_ORDER_MARK).unwrap_or(text));
    let json = Strict.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(json)
}

/// What `reader` reads, without a byte order mark at its beginning.
///
/// # Errors
///
/// If reading fails.
pub(super) fn without_byte_order_mark(mut reader: impl Read) -> io::Result<impl Read> {
    let mut first = Vec::new();
    reader.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut first)?;
    if first == BYTE_ORDER_MARK {
        first.clear();
    }
    Ok(io::Cursor::new(first).chain(reader))
}

/// U+FEFF in UTF-8, which some programs write before a text.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Reads a value.
pub(super) struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = sequence.next_element_seed(Strict)? {
            values.push(value);
        }
        Ok(Json::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(Strict)?;
            if object.contains_key(&name) {
                return Err(A::Error::custom(given_twice(&name)));
            }
            object.insert(name, value);
        }
        Ok(Json::Object(object))
    }
}

/// The message about a name that an object has twice.
pub(super) fn given_twice(name: &str) -> String {
    format!("the object has `{name}` twice; keep one of them")
}
