//! The iterator over the triples of a document.
//!
//! Invariants: (1) Triples are returned in the order of the document, each as soon as its element is read. (2) Only the
//! end of the iterator without an error means that the document is complete. (3) Memory is bounded by the XML reader,
//! by the largest literal, and by 16 bytes for each `rdf:ID`.

use std::collections::VecDeque;
use std::io::{self, Read};

use oxrdf::Triple;

use super::elements::Elements;
use super::problem::Problem;
use super::scope::Scope;
use crate::xml::{Event, Place, XmlError, XmlReader};

/// Why a document has no more triples.
#[derive(Debug)]
pub enum Failure {
    Read(io::Error),
    /// It breaks a rule.
    Malformed {
        place: Place,
        message: String,
        /// Whether an IRI is relative, and there is no base.
        needs_base: bool,
    },
    /// It asks for more memory than any document may.
    TooLarge {
        place: Place,
        message: String,
    },
}

impl From<XmlError> for Failure {
    fn from(error: XmlError) -> Self {
        match error {
            XmlError::Read(source) => Self::Read(source),
            XmlError::Malformed { place, message } => Self::Malformed { place, message, needs_base: false },
            XmlError::TooLarge { place, message } => Self::TooLarge { place, message },
        }
    }
}

/// The triples of a document. The first error ends them.
pub struct Parser<R> {
    reader: XmlReader<R>,
    elements: Elements,
    triples: VecDeque<Triple>,
    prefixes: Vec<(String, String)>,
    is_begun: bool,
    is_ended: bool,
}

impl<R: Read> Parser<R> {
    /// # Errors
    /// If `base` is not an absolute IRI.
    pub fn new(source: R, base: Option<&str>) -> Result<Self, String> {
        Ok(Self {
            reader: XmlReader::new(source),
            elements: Elements::new(Scope::of_document(base)?),
            triples: VecDeque::new(),
            prefixes: Vec::new(),
            is_begun: false,
            is_ended: false,
        })
    }

    /// The prefixes that were declared around the first triple, with their IRIs. None before that.
    pub fn prefixes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.prefixes.iter().map(|(prefix, iri)| (prefix.as_str(), iri.as_str()))
    }

    /// Reads on. Returns whether the document goes on.
    fn step(&mut self) -> Result<bool, Failure> {
        let event = self.reader.next()?;
        if event == Event::EndOfDocument {
            return Ok(false);
        }
        self.elements.take(event, &self.reader, &mut self.triples).map_err(|problem| {
            let (place, Problem { message, is_too_large, needs_base }) = (self.reader.place(), problem);
            match is_too_large {
                true => Failure::TooLarge { place, message },
                false => Failure::Malformed { place, message, needs_base },
            }
        })?;
        if !self.is_begun && !self.triples.is_empty() {
            self.is_begun = true;
            let in_scope = self.reader.namespaces().in_scope();
            self.prefixes = in_scope.map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned())).collect();
            self.prefixes.sort_unstable();
        }
        Ok(true)
    }
}

impl<R: Read> Iterator for Parser<R> {
    type Item = Result<Triple, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(triple) = self.triples.pop_front() {
                return Some(Ok(triple));
            }
            if self.is_ended {
                return None;
            }
            match self.step() {
                Ok(goes_on) => self.is_ended = !goes_on,
                Err(failure) => {
                    self.is_ended = true;
                    return Some(Err(failure));
                }
            }
        }
    }
}
