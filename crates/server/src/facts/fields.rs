//! [`Fields`]: an object of a request, read field by field.
//!
//! A field that is not known is refused: a mistyped limit would otherwise have no effect. `null` is as no field.

use fulgurite_facts::strict_json;
use serde_json::{Map, Value as Json};

use crate::http::refusal::Refusal;

/// An object of a request.
pub struct Fields {
    /// Before the names of its fields: empty, or with a dot at the end.
    path: String,
    fields: Map<String, Json>,
}

impl Fields {
    /// The object that a body is.
    ///
    /// # Errors
    /// 400 with the place, if it is none.
    pub fn of_body(body: &[u8]) -> Result<Self, Refusal> {
        match strict_json(body) {
            Ok(Json::Object(fields)) => Ok(Self { path: String::new(), fields }),
            Ok(_) => Err(Refusal::bad_request("the body must be a JSON object")),
            Err(error) => Err(Refusal::bad_request(format!("the body is not JSON: {error}"))),
        }
    }

    fn take(&mut self, name: &str) -> Option<Json> {
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    /// The refusal of a field.
    pub fn wrong(&self, name: &str, what: &str) -> Refusal {
        Refusal::bad_request(format!("{}{name} {what}", self.path))
    }

    /// # Errors
    /// 400, as of all others, if it is of another type.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(name, "must be a string")),
        }
    }

    /// A non-negative integer.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.take(name) else { return Ok(None) };
        value.as_u64().map(Some).ok_or_else(|| self.wrong(name, "must be a non-negative integer"))
    }

    /// A limit: an integer of at least 1.
    pub fn limit(&mut self, name: &str) -> Result<Option<u64>, Refusal> {
        match self.number(name)? {
            Some(0) => Err(self.wrong(name, "must be at least 1")),
            number => Ok(number),
        }
    }

    /// `false` if it is missing.
    pub fn flag(&mut self, name: &str) -> Result<bool, Refusal> {
        self.flag_or(name, false)
    }

    /// `otherwise` if it is missing.
    pub fn flag_or(&mut self, name: &str, otherwise: bool) -> Result<bool, Refusal> {
        match self.take(name) {
            None => Ok(otherwise),
            Some(Json::Bool(flag)) => Ok(flag),
            Some(_) => Err(self.wrong(name, "must be true or false")),
        }
    }

    pub fn object(&mut self, name: &str) -> Result<Option<Self>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Object(fields)) => Ok(Some(Self { path: format!("{}{name}.", self.path), fields })),
            Some(_) => Err(self.wrong(name, "must be an object")),
        }
    }

    /// A list of objects; empty if it is missing.
    pub fn objects(&mut self, name: &str) -> Result<Vec<Self>, Refusal> {
        let elements = match self.take(name) {
            None => return Ok(Vec::new()),
            Some(Json::Array(elements)) => elements,
            Some(_) => return Err(self.wrong(name, "must be an array")),
        };
        let objects = elements.into_iter().enumerate().map(|(index, element)| match element {
            Json::Object(fields) => Ok(Self { path: format!("{}{name}[{index}].", self.path), fields }),
            _ => Err(self.wrong(&format!("{name}[{index}]"), "must be an object")),
        });
        objects.collect()
    }

    /// A list of strings.
    pub fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>, Refusal> {
        let elements = match self.take(name) {
            None => return Ok(None),
            Some(Json::Array(elements)) => elements,
            Some(_) => return Err(self.wrong(name, "must be an array")),
        };
        let texts = elements.into_iter().enumerate().map(|(index, element)| match element {
            Json::String(text) => Ok(text),
            _ => Err(self.wrong(&format!("{name}[{index}]"), "must be a string")),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    /// A field as it is.
    pub fn any(&mut self, name: &str) -> Option<Json> {
        self.take(name)
    }

    /// Takes fields that have no effect here.
    pub fn ignore(&mut self, names: &[&str]) {
        for name in names {
            self.fields.remove(*name);
        }
    }

    /// Refuses fields of Glean's that cannot be done here. Clients that send every field send their defaults.
    ///
    /// # Errors
    /// 400, if one of them is there and asks for something.
    pub fn refuse(&mut self, names: &[&str], why: &str) -> Result<(), Refusal> {
        for name in names {
            if self.take(name).is_some_and(|value| !is_default(&value)) {
                return Err(self.wrong(name, &format!("is not supported: {why}")));
            }
        }
        Ok(())
    }

    /// Nothing else may be left.
    ///
    /// # Errors
    /// 400 with the field.
    pub fn end(self) -> Result<(), Refusal> {
        match self.fields.keys().next() {
            None => Ok(()),
            Some(name) => {
                let path = &self.path;
                let message = format!("unknown field `{path}{name}`; see docs/reference/facts/serve.md");
                Err(Refusal::bad_request(message))
            }
        }
    }
}

/// Whether a value is what Thrift has for a field that is not set: `false`, an empty text or list, or a structure of
/// these. A number never is: refused fields with numbers are optional.
fn is_default(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(flag) => !flag,
        Json::Number(_) => false,
        Json::String(text) => text.is_empty(),
        Json::Array(elements) => elements.is_empty(),
        Json::Object(fields) => fields.values().all(is_default),
    }
}
