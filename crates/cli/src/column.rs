//! The keys, or the values, of one table: between the bytes that are stored and what is read and printed.

use std::fmt::Display;

use fulgurite_keys::{Datum, Type};
use serde_json::value::RawValue;

use crate::failure::Failure;
use crate::json;
use crate::notation::{Notation, bytes_of_hex, bytes_of_text, excerpt, push_hex, push_text};

/// Which of a type's two encodings is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// That of keys, and of values in multimaps.
    Key,
    /// That of values.
    Value,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Column {
    name: &'static str,
    encoding: Encoding,
    notation: Notation,
    /// The type that the table records.
    recorded: Option<Type>,
    /// A type that the table records and this program does not know.
    unknown: Option<String>,
}

impl Column {
    /// The column that messages call `name`, of a table that records this type (empty for plain bytes).
    ///
    /// # Errors
    /// If `asked` is another type.
    pub fn new(
        name: &'static str,
        encoding: Encoding,
        recorded: &str,
        asked: Option<&Notation>,
    ) -> Result<Self, Failure> {
        let mut column = Self::plain(name, encoding);
        match recorded.parse::<Type>() {
            Ok(kind) => {
                column.notation = Notation::Typed(kind.clone());
                column.recorded = Some(kind);
            }
            Err(_) if recorded.is_empty() => {}
            Err(_) => column.unknown = Some(recorded.to_owned()),
        }
        match (asked, recorded.is_empty()) {
            (None, _) => {}
            (Some(Notation::Typed(kind)), false) if column.recorded.as_ref() != Some(kind) => {
                let recorded = column.recorded.as_ref().map_or_else(|| recorded.to_owned(), Type::to_string);
                let message =
                    format!("the table's {name}s are {recorded}, not {kind}; omit --{name}, or give --{name} hex");
                return Err(Failure::Message(message));
            }
            (Some(asked), _) => column.notation = asked.clone(),
        }
        Ok(column)
    }

    /// The column of plain bytes that messages call `name`.
    pub fn plain(name: &'static str, encoding: Encoding) -> Self {
        Self { name, encoding, notation: Notation::Text, recorded: None, unknown: None }
    }

    /// How messages and headers call it: `key` or `value`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The type of what is read and printed, if there is one.
    fn kind(&self) -> Option<&Type> {
        match &self.notation {
            Notation::Typed(kind) => Some(kind),
            Notation::Text | Notation::Hex => None,
        }
    }

    /// Whether it is shown as a number.
    pub fn is_number(&self) -> bool {
        !matches!(
            self.kind(),
            None | Some(
                Type::Bool
                    | Type::Char
                    | Type::String
                    | Type::Bytes
                    | Type::ByteArray(_)
                    | Type::Option(_)
                    | Type::Tuple(_)
            )
        )
    }

    /// Whether plain bytes, or those of a string, can be given as they are.
    pub fn takes_bytes(&self) -> bool {
        matches!(self.kind(), None | Some(Type::String | Type::Bytes))
    }

    /// The stored form of text.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(&self, text: &str) -> Result<Vec<u8>, String> {
        let bytes = match &self.notation {
            Notation::Text => bytes_of_text(text),
            Notation::Hex => bytes_of_hex(text),
            Notation::Typed(kind) => kind.parse_text(text).map_err(words).and_then(|datum| self.encode(kind, &datum)),
        };
        bytes.and_then(|bytes| self.checked(bytes)).map_err(|error| self.offence(text, &error))
    }

    /// The stored form of a JSON value.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub fn parse_json(&self, value: &RawValue) -> Result<Vec<u8>, String> {
        let bytes = match &self.notation {
            Notation::Text if self.name == KEY && !is_plain_key(value) => {
                Err(json::wanted("a string, a number or {\"hex\": …}", value))
            }
            Notation::Text => json::bytes_of_json(value),
            Notation::Hex => json::bytes_of_json_hex(value),
            Notation::Typed(kind) => json::datum_of_json(kind, value).and_then(|datum| self.encode(kind, &datum)),
        };
        bytes.and_then(|bytes| self.checked(bytes)).map_err(|error| format!("{}: {error}", self.name))
    }

    /// Plain text as it is, such as a whole JSON object.
    ///
    /// # Errors
    /// If the table records a type that text is not.
    pub fn of_text(&self, text: &str) -> Result<Vec<u8>, String> {
        match &self.recorded {
            Some(kind) if !matches!(kind, Type::String | Type::Bytes) => {
                Err(format!("the table's {}s are {kind}, not text; name a field with --value-field", self.name))
            }
            _ => self.checked(text.as_bytes().to_vec()),
        }
    }

    /// Bytes as they are stored.
    ///
    /// # Errors
    /// If they are not of the type that the table records.
    pub fn of_bytes(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        match self.recorded.as_ref().map(|kind| self.decode(kind, &bytes)) {
            Some(Err(error)) => Err(format!("the {}: {error}", self.name)),
            _ => Ok(bytes),
        }
    }

    /// The bytes with which the stored forms of keys begin that begin as `text` says.
    ///
    /// # Errors
    /// What is wrong with the text, or that keys of this type have no beginnings.
    pub fn parse_prefix(&self, text: &str) -> Result<Vec<u8>, String> {
        let bytes = match &self.notation {
            Notation::Text => bytes_of_text(text),
            Notation::Hex | Notation::Typed(Type::Bytes | Type::ByteArray(_)) => bytes_of_hex(text),
            Notation::Typed(Type::String) => Ok(text.as_bytes().to_vec()),
            Notation::Typed(Type::Tuple(kinds)) => tuple_prefix(kinds, text),
            Notation::Typed(kind) => Err(format!("does not apply to {kind} keys; use --from and --to")),
        };
        bytes.map_err(|error| format!("--prefix `{}`: {error}", excerpt(text)))
    }

    /// Appends the text form of stored bytes.
    ///
    /// # Errors
    /// If they are not of the type that they should be.
    pub fn push_text(&self, bytes: &[u8], out: &mut String) -> Result<(), Failure> {
        match &self.notation {
            Notation::Text => push_text(bytes, out),
            Notation::Hex => push_hex(bytes, out),
            Notation::Typed(kind) => out.push_str(&self.stored(kind, bytes)?.to_string()),
        }
        Ok(())
    }

    /// Appends stored bytes as JSON.
    ///
    /// # Errors
    /// As [`Column::push_text`].
    pub fn push_json(&self, bytes: &[u8], out: &mut String) -> Result<(), Failure> {
        match &self.notation {
            Notation::Text => json::push_bytes(bytes, out),
            Notation::Hex => json::push_hex_object(bytes, out),
            Notation::Typed(kind) => json::push_datum(&self.stored(kind, bytes)?, out),
        }
        Ok(())
    }

    /// Refuses to write what a program that knows the type could not read.
    fn checked(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        if let Some(unknown) = &self.unknown
            && self.notation != Notation::Hex
        {
            return Err(format!("this program does not know the type {unknown}; give --{} hex", self.name));
        }
        match &self.recorded {
            Some(kind) if self.kind().is_none() => self.decode(kind, &bytes).map(|_| bytes),
            _ => Ok(bytes),
        }
    }

    fn encode(&self, kind: &Type, datum: &Datum) -> Result<Vec<u8>, String> {
        match self.encoding {
            Encoding::Key => kind.encode_key(datum),
            Encoding::Value => kind.encode_value(datum),
        }
        .map_err(words)
    }

    fn decode(&self, kind: &Type, bytes: &[u8]) -> Result<Datum, String> {
        match self.encoding {
            Encoding::Key => kind.decode_key(bytes),
            Encoding::Value => kind.decode_value(bytes),
        }
        .map_err(|error| format!("not a {kind}: {error}"))
    }

    fn stored(&self, kind: &Type, bytes: &[u8]) -> Result<Datum, Failure> {
        self.decode(kind, bytes).map_err(|error| {
            let mut digits = String::new();
            push_hex(bytes, &mut digits);
            let name = self.name;
            Failure::Message(format!("a stored {name} is {error} ({}); print it with --{name} hex", excerpt(&digits)))
        })
    }

    fn offence(&self, text: &str, error: &str) -> String {
        format!("{} `{}`: {error}", self.name, excerpt(text))
    }
}

/// The bytes that the keys share whose first elements these are. The last one given may be the beginning of a string.
fn tuple_prefix(kinds: &[Type], text: &str) -> Result<Vec<u8>, String> {
    let mut error = String::new();
    for given in 1..=kinds.len() {
        let kind = Type::Tuple(kinds[..given].to_vec());
        let elements = match kind.parse_text(text) {
            Ok(Datum::Tuple(elements)) => elements,
            Ok(_) => continue,
            Err(other) => {
                error = other.to_string();
                continue;
            }
        };
        if given == kinds.len() {
            return kind.encode_key(&Datum::Tuple(elements)).map_err(words);
        }
        // One more element makes the encoding that of elements after which more follows; then it is cut off again, with
        // the end of a string before it, because a longer string begins so too.
        let mut longer = kinds[..given].to_vec();
        let string = matches!(longer.last(), Some(Type::String | Type::Bytes));
        longer.push(Type::U8);
        let elements = elements.into_iter().chain([Datum::Unsigned(0)]).collect();
        let mut bytes = Type::Tuple(longer).encode_key(&Datum::Tuple(elements)).map_err(words)?;
        bytes.truncate(bytes.len() - if string { 1 + ESCAPED_END_BYTES } else { 1 });
        return Ok(bytes);
    }
    Err(format!("{error}; write the prefix as a tuple of the first elements, such as (apple) or (apple, 2)"))
}

/// Whether plain text can stand for it: there is no reason to have a whole object or `null` for a key but a mistake.
fn is_plain_key(value: &RawValue) -> bool {
    match json::Shape::of(value) {
        json::Shape::String | json::Shape::Number => true,
        json::Shape::Object => json::bytes_of_json_hex(value).is_ok(),
        _ => false,
    }
}

fn words(error: impl Display) -> String {
    error.to_string()
}

/// The name of the column of keys.
pub const KEY: &str = "key";
/// The name of the column of values.
pub const VALUE: &str = "value";
/// `00 00`, which ends a string inside of a key.
const ESCAPED_END_BYTES: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(recorded: &str, asked: Option<&str>) -> Column {
        let asked = asked.map(|asked| asked.parse().unwrap());
        Column::new(KEY, Encoding::Key, recorded, asked.as_ref()).unwrap()
    }

    fn json(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_tables_own_type_holds_unless_another_notation_is_asked_for() {
        assert_eq!(keys("u16", None).parse("258").unwrap(), [1, 2]);
        assert_eq!(keys("u16", Some("hex")).parse("0102").unwrap(), [1, 2]);
        assert_eq!(keys("", None).parse("258").unwrap(), b"258");
        assert_eq!(keys("", Some("u16")).parse("258").unwrap(), [1, 2]);
        let other = Column::new(KEY, Encoding::Key, "u16", Some(&"u32".parse().unwrap())).unwrap_err();
        let message = "the table's keys are u16, not u32; omit --key, or give --key hex";
        assert_eq!(other.to_string(), message);
    }

    #[test]
    fn bytes_that_are_not_of_the_recorded_type_are_refused() {
        let error = keys("u16", Some("hex")).parse("010203").unwrap_err();
        assert_eq!(error, "key `010203`: not a u16: 1 bytes are left over at the end");
        assert!(keys("u16", None).of_bytes(vec![1]).is_err());
        assert!(keys("string", Some("text")).parse("hex:ff").is_err());
        assert!(keys("u16", None).parse("many").unwrap_err().starts_with("key `many`: not a u16: "));
        let unknown = keys("celsius", None).parse("7").unwrap_err();
        assert_eq!(unknown, "key `7`: this program does not know the type celsius; give --key hex");
        assert_eq!(keys("celsius", Some("hex")).parse("07").unwrap(), [7]);
    }

    #[test]
    fn whole_objects_and_null_are_no_keys() {
        let plain = keys("", None);
        assert_eq!(plain.parse_json(json("7")).unwrap(), b"7");
        assert_eq!(plain.parse_json(json("{\"hex\":\"07\"}")).unwrap(), [7]);
        for text in ["null", "{\"a\":1}", "[1]", "true"] {
            assert!(
                plain.parse_json(json(text)).unwrap_err().starts_with("key: expected a string, a number or "),
                "{text}"
            );
        }
    }

    #[test]
    fn prefixes_of_tuples_are_first_elements_the_last_of_which_may_be_a_beginning() {
        let key = |text: &str| keys("(string,u8,string)", None).parse(text).unwrap();
        let prefix = |text: &str| keys("(string,u8,string)", None).parse_prefix(text).unwrap();
        assert!(key("(dog, 7, x)").starts_with(&prefix("(do)")));
        assert!(key("(dog, 7, x)").starts_with(&prefix("(dog, 7)")));
        assert!(key("(dog, 7, xyz)").starts_with(&prefix("(dog, 7, xy)")));
        assert!(!key("(dog, 8, x)").starts_with(&prefix("(dog, 7)")));
        assert!(!key("(dogs, 7, x)").starts_with(&prefix("(dog, 7)")));
        let error = keys("(u8,u8)", None).parse_prefix("(x)").unwrap_err();
        assert!(error.starts_with("--prefix `(x)`: ") && error.contains("first elements"), "{error}");
        assert!(keys("u8", None).parse_prefix("7").unwrap_err().contains("--from and --to"));
    }

    #[test]
    fn stored_bytes_of_another_type_are_an_error_that_says_how_to_look_at_them() {
        let error = keys("", Some("u16")).push_text(b"\x01", &mut String::new()).unwrap_err();
        let message = "a stored key is not a u16: cut short: 2 bytes are needed where 1 are left (01); \
                       print it with --key hex";
        assert_eq!(error.to_string(), message);
    }
}
