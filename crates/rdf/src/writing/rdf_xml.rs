//! RDF/XML: statements of one subject that follow each other are in one element.
//!
//! Names of properties are the only place where IRIs must have a form: a namespace and an `NCName`, if possible one of
//! every edition of XML 1.0. Prefixes of the store are declared in the root element; where none fits, the element
//! declares one.

use std::collections::BTreeMap;
use std::io::{self, Write};

use oxrdf::vocab::xsd;
use oxrdf::{BaseDirection, LiteralRef, NamedNodeRef, NamedOrBlankNode, NamedOrBlankNodeRef, TermRef, TripleRef};

use super::unwritable::unwritable;
use super::xml_text::{illegal_character, node_label, push_value};
use crate::error::{Error, Result};
use crate::xml::{XML_NAMESPACE, is_nc_name, is_nc_name_of_all_editions, push_text};

/// Writes triples.
pub struct RdfXmlWriter<W> {
    out: W,
    /// Prefixes by their namespaces.
    prefixes: BTreeMap<String, String>,
    /// A prefix that is not among them.
    local_prefix: String,
    subject: Option<NamedOrBlankNode>,
    is_begun: bool,
    buffer: String,
}

impl<W: Write> RdfXmlWriter<W> {
    /// Writes with prefixes, which are passed over where XML cannot declare them.
    pub fn new<'p>(out: W, declared: impl IntoIterator<Item = (&'p str, &'p str)>) -> Self {
        let mut prefixes = BTreeMap::from([(RDF.to_owned(), "rdf".to_owned())]);
        for (prefix, namespace) in declared {
            let is_free = !prefixes.values().any(|taken| taken == prefix);
            let is_name = prefix.is_empty()
                || (is_nc_name_of_all_editions(prefix) && !prefix.to_ascii_lowercase().starts_with("xml"));
            if is_free && is_name && can_be_namespace(namespace) && !prefixes.contains_key(namespace) {
                prefixes.insert(namespace.to_owned(), prefix.to_owned());
            }
        }
        let is_taken = |name: &String| prefixes.values().any(|taken| taken == name);
        let local_prefix = (0..).map(|number| format!("p{number}")).find(|name| !is_taken(name)).unwrap_or_default();
        Self { out, prefixes, local_prefix, subject: None, is_begun: false, buffer: String::new() }
    }

    /// Writes a triple, all of it or nothing.
    ///
    /// # Errors
    /// [`Error::Unwritable`]; [`Error::Output`].
    pub fn write(&mut self, triple: TripleRef<'_>) -> Result<()> {
        check(triple)?;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        self.begin(&mut buffer);
        if self.subject.as_ref().map(NamedOrBlankNode::as_ref) != Some(triple.subject) {
            self.end_subject(&mut buffer);
            buffer.push_str("  <rdf:Description ");
            push_subject(triple.subject, &mut buffer);
            buffer.push_str(">\n");
            self.subject = Some(triple.subject.into_owned());
        }
        buffer.push_str("    ");
        self.push_property(triple.predicate, triple.object, &mut buffer)?;
        buffer.push('\n');
        let written = self.out.write_all(buffer.as_bytes());
        self.buffer = buffer;
        written.map_err(output)
    }

    /// Ends the document.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn finish(mut self) -> Result<W> {
        let mut buffer = String::new();
        self.begin(&mut buffer);
        self.end_subject(&mut buffer);
        buffer.push_str("</rdf:RDF>\n");
        self.out.write_all(buffer.as_bytes()).map_err(output)?;
        Ok(self.out)
    }

    fn begin(&mut self, buffer: &mut String) {
        if std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        buffer.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rdf:RDF");
        for (namespace, prefix) in &self.prefixes {
            push_declaration(prefix, namespace, buffer);
        }
        buffer.push_str(">\n");
    }

    fn end_subject(&mut self, buffer: &mut String) {
        if self.subject.take().is_some() {
            buffer.push_str("  </rdf:Description>\n");
        }
    }

    /// Goes as deep as triple terms are nested.
    fn push_property(&self, predicate: NamedNodeRef<'_>, object: TermRef<'_>, buffer: &mut String) -> Result<()> {
        let name = self.push_name(predicate, buffer)?;
        match object {
            TermRef::NamedNode(node) => {
                buffer.push_str(" rdf:resource=");
                push_value(node.as_str(), buffer);
                buffer.push_str("/>");
                return Ok(());
            }
            TermRef::BlankNode(node) => {
                buffer.push_str(" rdf:nodeID=");
                push_value(&node_label(node.as_str()), buffer);
                buffer.push_str("/>");
                return Ok(());
            }
            TermRef::Literal(literal) => push_literal(literal, buffer),
            TermRef::Triple(triple) => {
                buffer.push_str(" rdf:version=\"1.2\" rdf:parseType=\"Triple\"><rdf:Description ");
                push_subject(triple.subject.as_ref(), buffer);
                buffer.push('>');
                self.push_property(triple.predicate.as_ref(), triple.object.as_ref(), buffer)?;
                buffer.push_str("</rdf:Description>");
            }
        }
        buffer.push_str("</");
        buffer.push_str(&name);
        buffer.push('>');
        Ok(())
    }

    /// Begins an element, and returns its name.
    fn push_name(&self, predicate: NamedNodeRef<'_>, buffer: &mut String) -> Result<String> {
        let (namespace, local) = split(predicate.as_str()).ok_or_else(|| no_name(predicate))?;
        let known = self.prefixes.get(namespace);
        let prefix = known.unwrap_or(&self.local_prefix);
        let name = if prefix.is_empty() { local.to_owned() } else { format!("{prefix}:{local}") };
        buffer.push('<');
        buffer.push_str(&name);
        if known.is_none() {
            push_declaration(prefix, namespace, buffer);
        }
        Ok(name)
    }
}

fn push_declaration(prefix: &str, namespace: &str, buffer: &mut String) {
    buffer.push_str(if prefix.is_empty() { " xmlns" } else { " xmlns:" });
    buffer.push_str(prefix);
    buffer.push('=');
    push_value(namespace, buffer);
}

fn push_subject(subject: NamedOrBlankNodeRef<'_>, buffer: &mut String) {
    match subject {
        NamedOrBlankNodeRef::NamedNode(node) => {
            buffer.push_str("rdf:about=");
            push_value(node.as_str(), buffer);
        }
        NamedOrBlankNodeRef::BlankNode(node) => {
            buffer.push_str("rdf:nodeID=");
            push_value(&node_label(node.as_str()), buffer);
        }
    }
}

/// The rest of a tag, and its text.
fn push_literal(literal: LiteralRef<'_>, buffer: &mut String) {
    if let Some(language) = literal.language() {
        buffer.push_str(" xml:lang=");
        push_value(language, buffer);
        if let Some(direction) = literal.direction() {
            let direction = match direction {
                BaseDirection::Ltr => "ltr",
                BaseDirection::Rtl => "rtl",
            };
            buffer.push_str(" rdf:version=\"1.2\"");
            push_declaration("its", ITS, buffer);
            buffer.push_str(" its:version=\"2.0\" its:dir=");
            push_value(direction, buffer);
        }
    } else if literal.datatype() != xsd::STRING {
        buffer.push_str(" rdf:datatype=");
        push_value(literal.datatype().as_str(), buffer);
    }
    buffer.push('>');
    push_text(literal.value(), buffer);
}

/// Whether RDF/XML can say a triple.
///
/// # Errors
/// [`Error::Unwritable`] if it cannot.
pub fn check(triple: TripleRef<'_>) -> Result<()> {
    if split(triple.predicate.as_str()).is_none() {
        return Err(no_name(triple.predicate));
    }
    if let Some(local) = triple.predicate.as_str().strip_prefix(RDF)
        && RESERVED.contains(&local)
    {
        return Err(unwritable(triple.predicate.into(), FORMAT, "as a property it would be its syntax"));
    }
    match triple.object {
        TermRef::Literal(literal) => match illegal_character(literal.value()) {
            Some(character) => {
                let reason = format!("XML has no way to write U+{:04X}", u32::from(character));
                Err(unwritable(triple.object, FORMAT, &reason))
            }
            None => Ok(()),
        },
        TermRef::Triple(inner) => check(inner.as_ref()),
        TermRef::NamedNode(_) | TermRef::BlankNode(_) => Ok(()),
    }
}

fn no_name(predicate: NamedNodeRef<'_>) -> Error {
    unwritable(
        predicate.into(),
        FORMAT,
        "as a property it must end with a name of XML (a letter or `_`, then letters and digits)",
    )
}

/// Divides an IRI into a namespace that can be declared and the longest name. Readers that follow an older edition of
/// XML can read the name, unless that leaves none.
fn split(iri: &str) -> Option<(&str, &str)> {
    split_at_name(iri, is_nc_name_of_all_editions).or_else(|| split_at_name(iri, is_nc_name))
}

fn split_at_name(iri: &str, is_name: fn(&str) -> bool) -> Option<(&str, &str)> {
    let continues = |character: char| {
        let mut buffer = [b'a', 0, 0, 0, 0];
        let length = character.encode_utf8(&mut buffer[1..]).len();
        std::str::from_utf8(&buffer[..1 + length]).is_ok_and(is_name)
    };
    let begin = iri.char_indices().rev().take_while(|&(_, character)| continues(character)).last()?.0;
    let places = iri[begin..].char_indices().map(|(at, _)| begin + at);
    let mut splits = places.map(|at| iri.split_at(at));
    splits.find(|(namespace, local)| is_name(local) && can_be_namespace(namespace))
}

fn can_be_namespace(namespace: &str) -> bool {
    !namespace.is_empty() && namespace != XML_NAMESPACE && namespace != "http://www.w3.org/2000/xmlns/"
}

fn output(source: io::Error) -> Error {
    Error::Output { source }
}

const FORMAT: &str = "RDF/XML";
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const ITS: &str = "http://www.w3.org/2005/11/its";
/// Terms of RDF that cannot be properties.
const RESERVED: [&str; 12] = [
    "RDF",
    "Description",
    "ID",
    "about",
    "parseType",
    "resource",
    "nodeID",
    "datatype",
    "li",
    "bagID",
    "aboutEach",
    "aboutEachPrefix",
];
