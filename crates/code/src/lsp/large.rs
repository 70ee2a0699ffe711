//! [`Outline`]: what a message is that is too large to be held.

use std::fmt;

use lsp_server::{Message, Notification, Request, RequestId};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value as Json, json};

use crate::lsp::documents::{CHANGED, CLOSED, OPENED};

/// What a message is, without its content, which is not held while it is read.
#[derive(Default)]
pub struct Outline {
    id: Option<RequestId>,
    method: Option<String>,
    /// The file that a notification is about.
    uri: Option<String>,
}

impl Outline {
    /// A message to answer or to follow instead: the request without parameters, or that the file with the large text
    /// was closed. `None`, if it is a response.
    pub fn message(self) -> Option<Message> {
        let Self { id, method, uri } = self;
        let method = method?;
        Some(match (id, uri) {
            (Some(id), _) => Request { id, method, params: Json::Null }.into(),
            (None, Some(uri)) if [OPENED, CHANGED].contains(&method.as_str()) => {
                let params = json!({ "textDocument": { "uri": uri } });
                Notification { method: CLOSED.to_owned(), params }.into()
            }
            (None, _) => Notification { method, params: Json::Null }.into(),
        })
    }
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut outline = Self::default();
        Members { of: &mut outline, depth: 0 }.deserialize(deserializer)?;
        Ok(outline)
    }
}

/// Reads an object of a message, so many objects deep.
struct Members<'o> {
    of: &'o mut Outline,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { of, depth } = self;
        while let Some(name) = map.next_key::<String>()? {
            match (depth, name.as_str()) {
                (0, "id") => of.id = map.next_value()?,
                (0, "method") => of.method = map.next_value()?,
                (0, "params") | (1, "textDocument") => {
                    map.next_value_seed(Members { of: &mut *of, depth: depth + 1 })?;
                }
                (2, "uri") => of.uri = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
