//! The characters that the grammar is matched against: of the document, or of an entity that replaces a reference.
//!
//! A function that matches begins at [`Input::rest`] and, if that ends too early, asks for more by [`Input::fill`] and
//! begins again. What is held is at least doubled each time, so that beginning again costs no more than reading.

use std::io::Read;

use super::decoding::{Decoder, Failure};
use super::error::{Place, Problem, Result, XmlError};
use super::limits::HELD_BYTES_MAX;

pub struct Input<R> {
    text: String,
    /// What comes before was matched.
    at: usize,
    origin: Origin<R>,
    /// The place of the first character of `text`.
    begin: Place,
    /// Elements that were open when it began.
    pub depth: usize,
}

enum Origin<R> {
    Document(Decoder<R>),
    /// The name of an entity that is complete.
    Entity(String),
}

impl<R: Read> Input<R> {
    pub fn of_document(source: R) -> Self {
        let begin = Place { line: 1, column: 1 };
        Self { text: String::new(), at: 0, origin: Origin::Document(Decoder::new(source)), begin, depth: 0 }
    }

    /// What an entity stands for. Its place is that of the reference.
    pub fn of_entity(name: &str, text: &str, reference: Place, depth: usize) -> Self {
        Self { text: text.to_owned(), at: 0, origin: Origin::Entity(name.to_owned()), begin: reference, depth }
    }

    /// The entity.
    pub fn entity(&self) -> Option<&str> {
        match &self.origin {
            Origin::Document(_) => None,
            Origin::Entity(name) => Some(name),
        }
    }

    pub fn decoder(&self) -> Option<&Decoder<R>> {
        match &self.origin {
            Origin::Document(decoder) => Some(decoder),
            Origin::Entity(_) => None,
        }
    }

    /// What was read and not yet matched.
    pub fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    pub fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Reads more. Returns whether there was any.
    ///
    /// # Errors
    /// What the source reports, or is wrong with the characters behind the rest; if too much is held.
    pub fn fill(&mut self) -> Result<bool> {
        let Origin::Document(decoder) = &mut self.origin else { return Ok(false) };
        let begin = place_behind(self.begin, &self.text[..self.at]);
        self.text.drain(..self.at);
        (self.begin, self.at) = (begin, 0);
        if self.text.len() > HELD_BYTES_MAX {
            let message =
                format!("a tag, comment, instruction or declaration is longer than {} MiB", HELD_BYTES_MAX >> 20);
            return Err(Problem::too_large(0, message).at(begin));
        }
        let before = self.text.len();
        while self.text.len() == before {
            match decoder.append(before.max(BLOCK_BYTES), &mut self.text) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(Failure::Read(source)) => return Err(XmlError::Read(source)),
                Err(Failure::Malformed(message)) => {
                    let place = place_behind(self.begin, &self.text);
                    return Err(XmlError::Malformed { place, message });
                }
            }
        }
        Ok(true)
    }

    /// The place of what stands so many bytes before the rest, and was matched last.
    pub fn place_before(&self, bytes: usize) -> Place {
        match self.origin {
            Origin::Document(_) => place_behind(self.begin, &self.text[..self.at - bytes]),
            Origin::Entity(_) => self.begin,
        }
    }

    /// The place of a character of the rest.
    pub fn place(&self, offset: usize) -> Place {
        match self.origin {
            Origin::Document(_) => place_behind(self.begin, &self.text[..self.at + offset]),
            Origin::Entity(_) => self.begin,
        }
    }
}

/// The place behind some text that begins at a place.
fn place_behind(begin: Place, text: &str) -> Place {
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    match text.rfind('\n') {
        None => Place { line: begin.line, column: begin.column + text.chars().count() as u64 },
        Some(last) => Place { line: begin.line + lines, column: 1 + text[last + 1..].chars().count() as u64 },
    }
}

const BLOCK_BYTES: usize = 64 << 10;
