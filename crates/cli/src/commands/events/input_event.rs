//! Events of the input.

use fulgurite_events::{EventData, EventId, Expected, Version};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::json::Members;
use crate::notation::bytes_of_hex;

/// An event that can be appended.
pub struct ReadyEvent {
    pub stream: String,
    pub expected: Expected,
    kind: String,
    schema: u32,
    id: Option<EventId>,
    payload: Vec<u8>,
    metadata: Vec<u8>,
    tags: Vec<String>,
}

impl ReadyEvent {
    /// The event of a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str, stream: Option<&str>, kind: Option<&str>) -> Result<Self, String> {
        let members: Members<'_> = serde_json::from_str(line).map_err(|error| {
            let text = error.to_string();
            text.split(" at line ").next().unwrap_or_default().to_owned()
        })?;
        if let Some((name, _)) = members.0.iter().find(|(name, _)| !MEMBERS.contains(&name.as_str())) {
            return Err(format!("there is no member `{name}`; put it into `data` or `metadata`"));
        }
        let text = |name: &str| member::<String>(&members, name, "a string");
        let missing = |name: &str| format!("no member `{name}`; add it, or name it for all events with --{name}");
        Ok(Self {
            stream: text("stream")?.or_else(|| stream.map(Into::into)).ok_or_else(|| missing("stream"))?,
            kind: text("type")?.or_else(|| kind.map(Into::into)).ok_or_else(|| missing("type"))?,
            schema: member(&members, "schema", "a version of 32 bits")?.unwrap_or_default(),
            id: text("id")?.as_deref().map(parse_id).transpose()?,
            payload: bytes("data", &members)?,
            metadata: bytes("metadata", &members)?,
            tags: member(&members, "tags", "a list of strings")?.unwrap_or_default(),
            expected: member(&members, "expected", "a value")?.as_ref().map_or(Ok(Expected::Any), parse_expected)?,
        })
    }

    /// Its tags, borrowed.
    pub fn tags(&self) -> Vec<&str> {
        self.tags.iter().map(String::as_str).collect()
    }

    /// As the store takes it.
    pub fn data<'a>(&'a self, tags: &'a [&'a str]) -> EventData<'a> {
        let event = EventData::new(&self.kind, &self.payload).schema(self.schema).metadata(&self.metadata).tags(tags);
        EventData { id: self.id, ..event }
    }
}

/// A member by its name, if it is there.
fn member<T: DeserializeOwned>(members: &Members<'_>, name: &str, what: &str) -> Result<Option<T>, String> {
    let parse = |value: &RawValue| serde_json::from_str(value.get()).map_err(|_| format!("`{name}` is not {what}"));
    members.find(name)?.map(parse).transpose()
}

/// The bytes of a member: its JSON as it is, or those of hex digits.
fn bytes(name: &str, members: &Members<'_>) -> Result<Vec<u8>, String> {
    let hex_name = format!("{name}_hex");
    let (json, hex) = (members.find(name)?, member::<String>(members, &hex_name, "a string")?);
    match (json, hex) {
        (Some(_), Some(_)) => Err(format!("`{name}` and `{hex_name}` exclude each other; leave one of them out")),
        (Some(json), None) => Ok(json.get().as_bytes().to_vec()),
        (None, Some(hex)) => bytes_of_hex(&hex),
        (None, None) => Ok(Vec::new()),
    }
}

fn parse_id(text: &str) -> Result<EventId, String> {
    let id = bytes_of_hex(&text.replace('-', "")).ok().and_then(|bytes| bytes.try_into().ok());
    id.ok_or_else(|| format!("`{text}` is no id; an id is a UUID, or 32 hex digits"))
}

fn parse_expected(value: &serde_json::Value) -> Result<Expected, String> {
    match (value.as_str(), value.as_u64()) {
        (Some("any"), _) => Ok(Expected::Any),
        (Some("no stream"), _) => Ok(Expected::NoStream),
        (Some("stream exists"), _) => Ok(Expected::StreamExists),
        (_, Some(version)) => Ok(Expected::Exact(Version(version))),
        _ => Err("`expected` is a version, \"any\", \"no stream\" or \"stream exists\"".into()),
    }
}

/// What an object may have. Positions, versions and times are what `events read` prints; an append gives new ones.
const MEMBERS: &[&str] = &[
    "stream",
    "type",
    "schema",
    "id",
    "data",
    "data_hex",
    "metadata",
    "metadata_hex",
    "tags",
    "expected",
    "position",
    "version",
    "time",
];
