//! How deep the objects and arrays of a JSON text are nested, found out before it is parsed: what the parser makes of
//! them goes as deep on the stack when it is dropped or written.
//!
//! (1) Tokens end where the parser ends them, also in texts that are wrong: else what is nested could be hidden. (2)
//! What the parser refuses may be counted as anything, for it stops there.

use std::io::{self, Read};

/// Goes over a text byte by byte.
pub trait Depth {
    /// Goes over bytes. Returns whether the text is too deep somewhere.
    fn is_too_deep(&mut self, bytes: &[u8]) -> bool;

    /// What is wrong with a text that is too deep.
    fn message(&self) -> String;
}

/// A text that ends with an error where it is too deep.
pub struct Shallow<R, D> {
    inner: R,
    depth: D,
}

impl<R: Read, D: Depth> Shallow<R, D> {
    pub fn new(inner: R, depth: D) -> Self {
        Self { inner, depth }
    }
}

impl<R: Read, D: Depth> Read for Shallow<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if self.depth.is_too_deep(&buffer[..count]) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, self.depth.message()));
        }
        Ok(count)
    }
}

/// Of JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonDepth {
    state: Json,
    depth: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum Json {
    #[default]
    Plain,
    Text,
    Escape,
}

impl JsonDepth {
    fn step(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (Json::Plain, b'{' | b'[') => {
                self.depth += 1;
                Json::Plain
            }
            (Json::Plain, b'}' | b']') => {
                self.depth = self.depth.saturating_sub(1);
                Json::Plain
            }
            (Json::Plain, b'"') => Json::Text,
            (Json::Plain, _) | (Json::Text, b'"') => Json::Plain,
            (Json::Text, b'\\') => Json::Escape,
            (Json::Text | Json::Escape, _) => Json::Text,
        };
    }
}

impl Depth for JsonDepth {
    fn is_too_deep(&mut self, bytes: &[u8]) -> bool {
        let mut is_too_deep = false;
        for &byte in bytes {
            self.step(byte);
            is_too_deep |= self.depth > DEPTH_MAX;
        }
        is_too_deep
    }

    fn message(&self) -> String {
        format!(
            "objects and arrays are nested deeper than {DEPTH_MAX}; name the inner nodes, and write them beside the outer ones"
        )
    }
}

/// Deeper than anything that is written by hand or made from triples, and far from the end of a stack.
const DEPTH_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> usize {
        let mut depth = JsonDepth::default();
        text.bytes().for_each(|byte| depth.step(byte));
        depth.depth
    }

    #[test]
    fn only_brackets_outside_of_texts_count_in_json() {
        assert_eq!(json(r#"{"a": [1, {"b[{": "c\"[\\"}, ["#), 3);
        assert_eq!(json(r#"[{}, [], {"a": [[]]}]"#), 0);
    }

    #[test]
    fn texts_end_where_they_are_too_deep() {
        let text = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(!JsonDepth::default().is_too_deep(text(DEPTH_MAX).as_bytes()));
        assert!(JsonDepth::default().is_too_deep(text(DEPTH_MAX + 1).as_bytes()));
    }
}
