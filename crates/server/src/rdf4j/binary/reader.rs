//! [`Reader`]: the statements of a binary document.

use std::collections::HashMap;

use fulgurite_rdf::Error;
use fulgurite_rdf::oxrdf::{BlankNode, GraphName, Literal, NamedNode, NamedOrBlankNode, Term, Triple};

use super::{MAGIC, record, value};

/// A statement. In RDF-star, triples can be subjects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub subject: Term,
    pub predicate: NamedNode,
    pub object: Term,
    pub graph: GraphName,
}

/// An iterator over the statements of a document. The first error ends it.
pub struct Reader<'d> {
    document: &'d [u8],
    at: usize,
    encoding: Encoding,
    values: HashMap<u32, Term>,
    namespaces: Vec<(String, String)>,
    has_ended: bool,
}

/// How numbers and strings are encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// Version 1.
    Fixed,
    /// Version 2.
    Variable { is_utf16: bool },
}

impl<'d> Reader<'d> {
    /// Reads the head.
    ///
    /// # Errors
    /// [`Error::Syntax`] if it is not the head of a document of this format.
    pub fn new(document: &'d [u8]) -> Result<Self, Error> {
        let mut reader = Self {
            document,
            at: 0,
            encoding: Encoding::Fixed,
            values: HashMap::new(),
            namespaces: Vec::new(),
            has_ended: false,
        };
        if !document.starts_with(MAGIC) {
            return Err(reader.malformed("the document does not begin with BRDF"));
        }
        reader.at = MAGIC.len();
        match reader.number()? {
            1 => {}
            2 => {
                reader.encoding = Encoding::Variable { is_utf16: false };
                let name = reader.string()?;
                let is_utf16 = match name.to_ascii_uppercase().as_str() {
                    "UTF-8" | "US-ASCII" => false,
                    "UTF-16" | "UTF-16BE" => true,
                    _ => return Err(reader.malformed(&format!("strings are in {name}; write UTF-8"))),
                };
                reader.encoding = Encoding::Variable { is_utf16 };
            }
            version => return Err(reader.malformed(&format!("it is of version {version}; 1 and 2 can be read"))),
        }
        Ok(reader)
    }

    /// The prefixes and namespaces that were read so far.
    pub fn namespaces(&self) -> &[(String, String)] {
        &self.namespaces
    }

    fn malformed(&self, message: &str) -> Error {
        let message = format!("byte {}: {message}", self.at);
        Error::Syntax { input: "the document".to_owned(), line: 0, column: 0, message, needs_base: false }
    }

    /// The next statement; `None` at the end.
    fn statement(&mut self) -> Result<Option<Statement>, Error> {
        loop {
            match self.byte()? {
                record::NAMESPACE => {
                    let pair = (self.string()?, self.string()?);
                    self.namespaces.push(pair);
                }
                record::COMMENT => drop(self.string()?),
                record::VALUE => {
                    let reference = self.number()?;
                    let term = self.term("value")?;
                    self.values.insert(reference, term);
                }
                record::STATEMENT => {
                    let subject = self.term("subject")?;
                    if matches!(subject, Term::Literal(_)) {
                        return Err(self.malformed("the subject of a statement is a literal"));
                    }
                    let Term::NamedNode(predicate) = self.term("predicate")? else {
                        return Err(self.malformed("the predicate of a statement is not an IRI"));
                    };
                    let object = self.term("object")?;
                    let graph = match self.value(DEPTH_MAX)? {
                        None => GraphName::DefaultGraph,
                        Some(Term::NamedNode(name)) => name.into(),
                        Some(Term::BlankNode(name)) => name.into(),
                        Some(_) => return Err(self.malformed("a graph is named by a literal or triple")),
                    };
                    return Ok(Some(Statement { subject, predicate, object, graph }));
                }
                record::END => return Ok(None),
                other => return Err(self.malformed(&format!("there is no record of kind {other}"))),
            }
        }
    }

    fn term(&mut self, place: &str) -> Result<Term, Error> {
        self.value(DEPTH_MAX)?.ok_or_else(|| self.malformed(&format!("a {place} is missing")))
    }

    fn value(&mut self, depth: usize) -> Result<Option<Term>, Error> {
        Ok(Some(match self.byte()? {
            value::NONE => return Ok(None),
            value::IRI => self.iri()?.into(),
            value::BLANK_NODE => {
                let name = self.string()?;
                BlankNode::new(name).map_err(|error| self.malformed(&format!("a blank node: {error}")))?.into()
            }
            value::PLAIN => Literal::from(self.string()?).into(),
            value::LANGUAGE => {
                // RDF4J has tags that are malformed, and is to get them back.
                let (text, language) = (self.string()?, self.string()?.to_ascii_lowercase());
                Literal::new_language_tagged_literal_unchecked(text, language).into()
            }
            value::TYPED => {
                let text = self.string()?;
                Literal::new_typed_literal(text, self.iri()?).into()
            }
            value::REFERENCE => {
                let reference = self.number()?;
                let term = self.values.get(&reference).cloned();
                term.ok_or_else(|| self.malformed(&format!("nothing was declared for reference {reference}")))?
            }
            value::TRIPLE => {
                let Some(depth) = depth.checked_sub(1) else {
                    return Err(self.malformed("triple terms are nested too deep"));
                };
                let subject = match self.value(depth)? {
                    Some(Term::NamedNode(node)) => NamedOrBlankNode::NamedNode(node),
                    Some(Term::BlankNode(node)) => NamedOrBlankNode::BlankNode(node),
                    _ => return Err(self.malformed("the subject of a triple term is not an IRI or blank node")),
                };
                let Some(Term::NamedNode(predicate)) = self.value(depth)? else {
                    return Err(self.malformed("the predicate of a triple term is not an IRI"));
                };
                let object = self.value(depth)?;
                let object = object.ok_or_else(|| self.malformed("the object of a triple term is missing"))?;
                Triple::new(subject, predicate, object).into()
            }
            other => return Err(self.malformed(&format!("there is no value of kind {other}"))),
        }))
    }

    fn iri(&mut self) -> Result<NamedNode, Error> {
        let text = self.string()?;
        NamedNode::new(text.as_str()).map_err(|error| self.malformed(&format!("`{text}` is not an IRI: {error}")))
    }

    fn bytes(&mut self, length: usize) -> Result<&'d [u8], Error> {
        let rest = &self.document[self.at..];
        let bytes = rest.get(..length).ok_or_else(|| self.malformed("the document ends within a record"))?;
        self.at += length;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.bytes(1)?[0])
    }

    fn number(&mut self) -> Result<u32, Error> {
        if self.encoding == Encoding::Fixed {
            let bytes = self.bytes(4)?;
            return Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte)));
        }
        let mut number: u64 = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return u32::try_from(number).map_err(|_| self.malformed("a number has more than 32 bits"));
            }
        }
        Err(self.malformed("a number has more than 32 bits"))
    }

    fn string(&mut self) -> Result<String, Error> {
        let length = self.number()? as usize;
        let is_utf16 = self.encoding != Encoding::Variable { is_utf16: false };
        let bytes = self.bytes(if self.encoding == Encoding::Fixed { length.saturating_mul(2) } else { length })?;
        if !is_utf16 {
            let text = std::str::from_utf8(bytes).map_err(|_| self.malformed("a string is not UTF-8"))?;
            return Ok(text.to_owned());
        }
        let (pairs, rest) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|&pair| u16::from_be_bytes(pair)).collect();
        let text = if rest.is_empty() { String::from_utf16(&units).ok() } else { None };
        text.ok_or_else(|| self.malformed("a string is not UTF-16"))
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Statement, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let statement = self.statement().transpose();
        self.has_ended = !matches!(statement, Some(Ok(_)));
        statement
    }
}

/// Triple terms within each other.
const DEPTH_MAX: usize = 32;
