//! JSON-LD with the values of its `@base` keys [without dots](crate::model::base_iri), on the way to the parser.
//!
//! Invariants: all other bytes pass as they are. A value that is not a plain string, or has escapes, passes as it is
//! too.

use std::io::{self, Read};

use crate::model::base_iri;

/// Reads what `inner` reads, with such bases.
pub struct JsonBase<R> {
    inner: R,
    rewriting: Rewriting,
    /// Bytes that wait to be read, from a place on.
    ready: Vec<u8>,
    read: usize,
    is_at_end: bool,
}

impl<R: Read> JsonBase<R> {
    pub fn new(inner: R) -> Self {
        Self { inner, rewriting: Rewriting::default(), ready: Vec::new(), read: 0, is_at_end: false }
    }
}

impl<R: Read> Read for JsonBase<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.read == self.ready.len() && !self.is_at_end {
            let mut chunk = [0; CHUNK_BYTES];
            let length = self.inner.read(&mut chunk)?;
            self.ready.clear();
            self.read = 0;
            self.rewriting.take(&chunk[..length], &mut self.ready);
            if length == 0 {
                self.is_at_end = true;
                self.rewriting.finish(&mut self.ready);
            }
        }
        let length = out.len().min(self.ready.len() - self.read);
        out[..length].copy_from_slice(&self.ready[self.read..self.read + length]);
        self.read += length;
        Ok(length)
    }
}

const CHUNK_BYTES: usize = 8 << 10;

/// A value that is longer is no base worth looking at.
const VALUE_BYTES_MAX: usize = 8 << 10;

/// A whole text with such bases.
pub fn rewritten(text: &[u8]) -> Vec<u8> {
    let (mut rewriting, mut out) = (Rewriting::default(), Vec::with_capacity(text.len()));
    rewriting.take(text, &mut out);
    rewriting.finish(&mut out);
    out
}

/// Where in a text we are.
#[derive(Default)]
struct Rewriting {
    place: JsonPosition,
    /// The string so far, as long as it may be one that counts.
    string: Vec<u8>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum JsonPosition {
    #[default]
    Outside,
    /// In a string that may be the key.
    String,
    /// Behind a backslash in a string.
    Escape,
    /// In a string that is longer than the key.
    LongString,
    /// Behind the key.
    Key,
    /// Behind the key and its colon.
    Colon,
    /// In the value of the key, which is held back.
    Value,
}

impl Rewriting {
    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            if self.place != JsonPosition::Value {
                out.push(byte);
            }
            self.place = self.after(byte, out);
        }
    }

    fn after(&mut self, byte: u8, out: &mut Vec<u8>) -> JsonPosition {
        match (self.place, byte) {
            (JsonPosition::Colon, b'"') => {
                self.string.clear();
                JsonPosition::Value
            }
            (JsonPosition::Outside | JsonPosition::Key, b'"') => {
                self.string.clear();
                JsonPosition::String
            }
            (JsonPosition::Key | JsonPosition::Colon, b' ' | b'\t' | b'\n' | b'\r') => self.place,
            (JsonPosition::Key, b':') => JsonPosition::Colon,
            (JsonPosition::Outside | JsonPosition::Key | JsonPosition::Colon, _) => JsonPosition::Outside,
            (JsonPosition::String, b'"') if self.string == b"@base" => JsonPosition::Key,
            (JsonPosition::String | JsonPosition::LongString, b'"') => JsonPosition::Outside,
            (JsonPosition::String | JsonPosition::LongString, b'\\') => JsonPosition::Escape,
            (JsonPosition::Escape, _) => JsonPosition::LongString,
            (JsonPosition::String, _) if self.string.len() < b"@base".len() => {
                self.string.push(byte);
                JsonPosition::String
            }
            (JsonPosition::String | JsonPosition::LongString, _) => JsonPosition::LongString,
            (JsonPosition::Value, b'"') => {
                self.release(out);
                out.push(byte);
                JsonPosition::Outside
            }
            (JsonPosition::Value, b'\\') => {
                out.append(&mut self.string);
                out.push(byte);
                JsonPosition::Escape
            }
            (JsonPosition::Value, _) => {
                self.string.push(byte);
                if self.string.len() < VALUE_BYTES_MAX {
                    return JsonPosition::Value;
                }
                out.append(&mut self.string);
                JsonPosition::LongString
            }
        }
    }

    /// Writes the value that was held back.
    fn release(&mut self, out: &mut Vec<u8>) {
        match std::str::from_utf8(&self.string) {
            Ok(base) => out.extend_from_slice(base_iri::without_dots(base).as_bytes()),
            Err(_) => out.extend_from_slice(&self.string),
        }
        self.string.clear();
    }

    /// The text has ended: what was held back is written as it is.
    fn finish(&mut self, out: &mut Vec<u8>) {
        if self.place == JsonPosition::Value {
            out.append(&mut self.string);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rewritten text, which is the same read byte by byte.
    fn of(text: &str) -> String {
        struct Slow<'t>(&'t [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let length = self.0.len().min(1);
                out[..length].copy_from_slice(&self.0[..length]);
                self.0 = &self.0[length..];
                Ok(length)
            }
        }
        let whole = String::from_utf8(rewritten(text.as_bytes())).expect("text");
        let mut slowly = String::new();
        JsonBase::new(Slow(text.as_bytes())).read_to_string(&mut slowly).expect("read");
        assert_eq!(slowly, whole);
        whole
    }

    #[test]
    fn the_values_of_base_lose_their_dots() {
        assert_eq!(of(r#"{"@base":"http://e/./b/"}"#), r#"{"@base":"http://e/b/"}"#);
        assert_eq!(
            of("{\"@base\" \n: \"http://e/a/../b\", \"@id\": \"x\"}"),
            "{\"@base\" \n: \"http://e/b\", \"@id\": \"x\"}"
        );
    }

    #[test]
    fn everything_else_passes_as_it_is() {
        for text in [
            r#"{"@id":"http://e/./b/"}"#,
            r#"["@base","http://e/./b/"]"#,
            r#"{"\"@base":"http://e/./b/","@bases":"http://e/./b/","@bas":"http://e/../"}"#,
            r#"{"@base":"http:\/\/e/./b/"}"#,
            r#"{"@base":null,"x":"http://e/./b/"}"#,
            r#"{"@base":"http://e/./b"#,
            r#"{"@base":{"x":"http://e/./b/"}}"#,
            "\"@base",
            "",
        ] {
            assert_eq!(of(text), text);
        }
        let long = format!("{{\"@base\":\"http://e/./{}\"}}", "a".repeat(3 * VALUE_BYTES_MAX));
        assert_eq!(of(&long), long);
    }
}
