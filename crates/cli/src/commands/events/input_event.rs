//! Events of the input.

use fulgurite_events::{EventData, EventId, Expected, Version};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::json::{Members, bytes_of_json_hex, fault};
use crate::notation::bytes_of_hex;

/// An event that can be appended.
pub struct ReadyEvent {
    pub stream: Vec<u8>,
    pub expected: Expected,
    /// Whether the input names a time. The store gives the event another one.
    pub has_time: bool,
    kind: String,
    schema: u32,
    id: Option<EventId>,
    payload: Vec<u8>,
    metadata: Vec<u8>,
    tags: Vec<String>,
}

/// What is wrong with a line.
pub struct Fault {
    /// Where in the line, counted in bytes from 1 as the parser does.
    pub column: Option<usize>,
    pub text: String,
}

impl ReadyEvent {
    /// The event of a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str, stream: Option<&[u8]>, kind: Option<&str>) -> Result<Self, Fault> {
        let members = serde_json::from_str(line)
            .map_err(|error| Fault { column: Some(error.column().max(1)), text: fault(&error) })?;
        let line = Line { line, members };
        if let Some((name, value)) = line.members.0.iter().find(|(name, _)| !MEMBERS.contains(&name.as_str())) {
            let text = format!("unknown member `{name}`; put it into `data` or `metadata`");
            return Err(Fault { column: Some(line.column_of(value)), text });
        }
        let text = |name: &str| line.member::<String>(name, "a string");
        let missing = |name: &str| {
            let text = format!("no member `{name}`; add it, or name it for all events with --{name}");
            Fault { column: None, text }
        };
        Ok(Self {
            stream: line.stream()?.or_else(|| stream.map(<[u8]>::to_vec)).ok_or_else(|| missing("stream"))?,
            kind: text("type")?.or_else(|| kind.map(Into::into)).ok_or_else(|| missing("type"))?,
            schema: line.member("schema", "a version of 32 bits")?.unwrap_or_default(),
            id: text("id")?.as_deref().map(parse_id).transpose().map_err(line.at("id"))?,
            payload: line.bytes("data")?,
            metadata: line.bytes("metadata")?,
            tags: line.member("tags", "a list of strings")?.unwrap_or_default(),
            has_time: line.members.0.iter().any(|(name, _)| name == "time"),
            expected: match line.member("expected", "a value")? {
                Some(value) => parse_expected(&value).map_err(line.at("expected"))?,
                None => Expected::Any,
            },
        })
    }

    /// Whether it has an id, by which a repeated append is recognised.
    pub fn has_id(&self) -> bool {
        self.id.is_some()
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

/// A line that is an object.
struct Line<'l> {
    line: &'l str,
    members: Members<'l>,
}

impl<'l> Line<'l> {
    /// The column at which a value begins.
    fn column_of(&self, value: &RawValue) -> usize {
        value.get().as_ptr().addr() - self.line.as_ptr().addr() + 1
    }

    /// Says of an error that it is in the value of a member. Of two members of one name, the second is too many.
    fn at(&self, name: &str) -> impl Fn(String) -> Fault {
        let value = self.members.0.iter().rfind(|(member, _)| member == name);
        let column = value.map(|(_, value)| self.column_of(value));
        move |text| Fault { column, text }
    }

    fn find(&self, name: &str) -> Result<Option<&'l RawValue>, Fault> {
        self.members.find(name).map_err(self.at(name))
    }

    /// A member by its name, if it is there.
    fn member<T: DeserializeOwned>(&self, name: &str, what: &str) -> Result<Option<T>, Fault> {
        let Some(value) = self.find(name)? else { return Ok(None) };
        let parsed = serde_json::from_str(value.get()).map_err(|_| format!("`{name}` is not {what}"));
        parsed.map(Some).map_err(self.at(name))
    }

    /// The name of the stream, which is a text, hex digits, or what `events streams` prints of bytes that are no text.
    fn stream(&self) -> Result<Option<Vec<u8>>, Fault> {
        let given = self.find("stream")?.map(stream_name).transpose().map_err(self.at("stream"))?;
        self.text_or_hex("stream", given)
    }

    /// The bytes of a member: its JSON as it is, or those of hex digits.
    fn bytes(&self, name: &str) -> Result<Vec<u8>, Fault> {
        let json = self.find(name)?;
        Ok(self.text_or_hex(name, json.map(|json| json.get().as_bytes().to_vec()))?.unwrap_or_default())
    }

    /// The bytes of a member, or those of the hex digits of the member that stands for it.
    fn text_or_hex(&self, name: &str, given: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, Fault> {
        let hex_name = format!("{name}_hex");
        let bytes = match (given, self.member::<String>(&hex_name, "a string")?) {
            (Some(_), Some(_)) => Err(format!("`{name}` and `{hex_name}` exclude each other; leave one of them out")),
            (given, None) => Ok(given),
            (None, Some(hex)) => bytes_of_hex(&hex).map(Some),
        };
        bytes.map_err(self.at(&hex_name))
    }
}

/// The bytes of a string, or of `{"hex": "…"}`.
fn stream_name(value: &RawValue) -> Result<Vec<u8>, String> {
    let text = serde_json::from_str::<String>(value.get()).ok().map(String::into_bytes);
    let name = text.or_else(|| bytes_of_json_hex(value).ok());
    name.ok_or_else(|| "`stream` is not a string, nor {\"hex\": \"…\"} with hexadecimal digits".to_owned())
}

fn parse_id(text: &str) -> Result<EventId, String> {
    let id = bytes_of_hex(&text.replace('-', "")).ok().and_then(|bytes| bytes.try_into().ok());
    id.ok_or_else(|| format!("`{text}` is not an id; an id is a UUID, or 32 hex digits"))
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
    "stream_hex",
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
