//! [`Writer`]: statements written as a binary document of version 2, in UTF-8.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};

use fulgurite_rdf::oxrdf::vocab::xsd;
use fulgurite_rdf::oxrdf::{Term, TermRef};

use super::{MAGIC, record, value};

/// Writes a document. A term that is written again soon is declared the second time, and referred to after that.
pub struct Writer<W> {
    out: W,
    /// For each place the last term that has hashed to it, and whether it is declared.
    places: Vec<Option<(Term, bool)>>,
    /// The reference of each place that has one. RDF4J's reader needs them to be numbered in the order of their use.
    references: Vec<Option<usize>>,
    referenced: usize,
    hasher: RandomState,
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes the head.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        out.write_all(&2_u32.to_be_bytes())?;
        let mut buffer = Vec::new();
        push_string(&mut buffer, "UTF-8");
        out.write_all(&buffer)?;
        Ok(Self {
            out,
            places: vec![None; PLACES],
            references: vec![None; PLACES],
            referenced: 0,
            hasher: RandomState::new(),
            buffer,
        })
    }

    /// Writes a namespace.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn namespace(&mut self, prefix: &str, iri: &str) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.push(record::NAMESPACE);
        push_string(&mut self.buffer, prefix);
        push_string(&mut self.buffer, iri);
        self.out.write_all(&self.buffer)
    }

    /// Writes a statement of a graph; `None` is the default graph.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn statement(&mut self, terms: [TermRef<'_>; 3], graph: Option<TermRef<'_>>) -> io::Result<()> {
        self.buffer.clear();
        let [subject, predicate, object] = terms.map(Some);
        let terms = [subject, predicate, object, graph];
        let places = terms.map(|term| term.map(|term| self.declare(term)));
        self.buffer.push(record::STATEMENT);
        for (place, term) in places.into_iter().zip(terms) {
            let (Some(place), Some(term)) = (place, term) else {
                self.buffer.push(value::NONE);
                continue;
            };
            // Another term of the statement may have taken the place.
            match (&self.places[place], self.references[place]) {
                (Some((declared, true)), Some(reference)) if declared.as_ref() == term => {
                    self.buffer.push(value::REFERENCE);
                    push_number(&mut self.buffer, reference);
                }
                _ => push_term(&mut self.buffer, term),
            }
        }
        self.out.write_all(&self.buffer)
    }

    /// Declares a term if it was written before, and returns its place.
    fn declare(&mut self, term: TermRef<'_>) -> usize {
        let place = self.hasher.hash_one(term) as usize % PLACES;
        match &mut self.places[place] {
            Some((known, is_declared)) if known.as_ref() == term => {
                if !std::mem::replace(is_declared, true) {
                    let reference = *self.references[place].get_or_insert_with(|| {
                        self.referenced += 1;
                        self.referenced - 1
                    });
                    self.buffer.push(record::VALUE);
                    push_number(&mut self.buffer, reference);
                    push_term(&mut self.buffer, term);
                }
            }
            other => *other = Some((term.into_owned(), false)),
        }
        place
    }

    /// Writes the end mark.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[record::END])?;
        Ok(self.out)
    }
}

fn push_term(buffer: &mut Vec<u8>, term: TermRef<'_>) {
    match term {
        TermRef::NamedNode(node) => {
            buffer.push(value::IRI);
            push_string(buffer, node.as_str());
        }
        TermRef::BlankNode(node) => {
            buffer.push(value::BLANK_NODE);
            push_string(buffer, node.as_str());
        }
        TermRef::Literal(literal) => match literal.language() {
            Some(language) => {
                buffer.push(value::LANGUAGE);
                push_string(buffer, literal.value());
                push_string(buffer, language);
            }
            None if literal.datatype() == xsd::STRING => {
                buffer.push(value::PLAIN);
                push_string(buffer, literal.value());
            }
            None => {
                buffer.push(value::TYPED);
                push_string(buffer, literal.value());
                push_string(buffer, literal.datatype().as_str());
            }
        },
        TermRef::Triple(triple) => {
            buffer.push(value::TRIPLE);
            push_term(buffer, triple.subject.as_ref().into());
            push_term(buffer, triple.predicate.as_ref().into());
            push_term(buffer, triple.object.as_ref());
        }
    }
}

fn push_string(buffer: &mut Vec<u8>, text: &str) {
    push_number(buffer, text.len());
    buffer.extend_from_slice(text.as_bytes());
}

fn push_number(buffer: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        buffer.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    buffer.push(number as u8);
}

/// At most so many terms can be referred to.
const PLACES: usize = 1024;
