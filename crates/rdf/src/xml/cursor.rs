//! Matches the grammar against text that may be incomplete.

use super::characters::{is_space, name_length, token_length};
use super::error::Problem;

/// Why matching stops.
#[derive(Debug)]
pub enum Stop {
    /// The text ends too early: it may match with more of it.
    More,
    Problem(Problem),
}

pub type Match<T> = Result<T, Stop>;

/// A place in a text.
#[derive(Clone, Copy)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Something is wrong here.
    pub fn problem(&self, message: impl Into<String>) -> Stop {
        Stop::Problem(Problem::new(self.at, message))
    }

    /// The next byte.
    pub fn peek(&self) -> Match<u8> {
        self.text.as_bytes().get(self.at).copied().ok_or(Stop::More)
    }

    /// Passes over white space. Returns whether there was any.
    pub fn spaces(&mut self) -> bool {
        let bytes = &self.text.as_bytes()[self.at..];
        let count = bytes.iter().position(|&byte| !is_space(byte)).unwrap_or(bytes.len());
        self.at += count;
        count > 0
    }

    /// Skips white space, which must exist before `what`.
    pub fn spaces_before(&mut self, what: &str) -> Match<()> {
        self.peek()?;
        match self.spaces() {
            true => Ok(()),
            false => Err(self.problem(format!("white space must stand before {what}"))),
        }
    }

    /// Takes `expected` if it is next. Returns whether it was.
    pub fn take(&mut self, expected: &str) -> Match<bool> {
        let rest = self.rest();
        if rest.starts_with(expected) {
            self.at += expected.len();
            return Ok(true);
        }
        if expected.starts_with(rest) { Err(Stop::More) } else { Ok(false) }
    }

    pub fn expect(&mut self, expected: &str, within: &str) -> Match<()> {
        match self.take(expected)? {
            true => Ok(()),
            false => Err(self.problem(format!("`{expected}` is missing in {within}"))),
        }
    }

    /// A name (production 5).
    pub fn name(&mut self, what: &str) -> Match<&'t str> {
        let length = name_length(self.rest());
        self.take_word(length, what)
    }

    /// A name without colons, which those of entities, notations and instructions must be.
    pub fn plain_name(&mut self, what: &str) -> Match<&'t str> {
        let begin = *self;
        let name = self.name(what)?;
        match name.contains(':') {
            true => Err(begin.problem(format!("a colon in {what}, `{name}`"))),
            false => Ok(name),
        }
    }

    /// A name token (production 7).
    pub fn token(&mut self, what: &str) -> Match<&'t str> {
        let length = token_length(self.rest());
        self.take_word(length, what)
    }

    fn take_word(&mut self, length: usize, what: &str) -> Match<&'t str> {
        let rest = self.rest();
        if length == rest.len() {
            return Err(Stop::More);
        }
        if length == 0 {
            return Err(self.problem(format!("{what} must stand here")));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// A quoted text, if there is one.
    pub fn quoted(&mut self) -> Match<Option<&'t str>> {
        let quote = self.peek()?;
        if !matches!(quote, b'"' | b'\'') {
            return Ok(None);
        }
        let inner = &self.rest()[1..];
        let length = memchr::memchr(quote, inner.as_bytes()).ok_or(Stop::More)?;
        self.at += length + 2;
        Ok(Some(&inner[..length]))
    }

    /// What stands before `end`, which is passed over.
    pub fn until(&mut self, end: &str) -> Match<&'t str> {
        let rest = self.rest();
        let length = memchr::memmem::find(rest.as_bytes(), end.as_bytes()).ok_or(Stop::More)?;
        self.at += length + end.len();
        Ok(&rest[..length])
    }
}
