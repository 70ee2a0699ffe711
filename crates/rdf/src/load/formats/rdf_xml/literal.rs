//! XML literals, in exclusive canonical form with comments (RDF 1.1 XML Syntax, 7.2.17; Exclusive XML Canonicalization
//! 1.0).
//!
//! An element declares the prefixes that it or its attributes use, where an element around it in the literal has not
//! declared the same.

use std::io::Read;

use super::attributes::check_bytes;
use super::problem::Problem;
use crate::xml::{Event, Name, Namespace, XmlReader, push_escaped, push_text};

/// A literal that grows by what its element contains.
#[derive(Default)]
pub struct XmlLiteral {
    text: String,
    /// Of each element that is open, how many prefixes had been declared before.
    open: Vec<usize>,
    declared: Vec<(String, Namespace)>,
    /// What declarations come to.
    declared_bytes: usize,
}

impl XmlLiteral {
    /// Takes what the reader has read. Returns whether it belongs to the literal: the end of the element around does
    /// not.
    pub fn take<R: Read>(&mut self, event: Event, reader: &XmlReader<R>) -> Result<bool, Problem> {
        match event {
            Event::Start => self.start(reader)?,
            Event::End => {
                let Some(declared) = self.open.pop() else { return Ok(false) };
                self.declared.truncate(declared);
                self.push(["</", reader.closed(), ">"]);
            }
            Event::Text => push_text(reader.text(), &mut self.text),
            Event::Comment => self.push(["<!--", reader.text(), "-->"]),
            Event::Instruction if reader.text().is_empty() => self.push(["<?", reader.target(), "?>"]),
            Event::Instruction => {
                self.push(["<?", reader.target(), " "]);
                self.push([reader.text(), "?>", ""]);
            }
            Event::EndOfDocument => {}
        }
        Ok(true)
    }

    pub fn into_text(self) -> String {
        self.text
    }

    fn push(&mut self, parts: [&str; 3]) {
        parts.into_iter().for_each(|part| self.text.push_str(part));
    }

    fn start<R: Read>(&mut self, reader: &XmlReader<R>) -> Result<(), Problem> {
        let tag = reader.tag();
        self.open.push(self.declared.len());
        self.push(["<", &tag.name().qualified, ""]);
        let attributes = || tag.attributes().map(|attribute| (attribute.name(), attribute.value()));
        let with_prefix = attributes().map(|(name, _)| name).filter(|name| !name.prefix().is_empty());
        let mut used: Vec<&Name> = with_prefix.chain([tag.name()]).filter(|name| name.prefix() != "xml").collect();
        used.sort_unstable_by_key(|name| name.prefix());
        used.dedup_by_key(|name| name.prefix());
        for name in used {
            self.declare(name)?;
        }
        let mut ordered: Vec<(&Name, &str)> = attributes().collect();
        ordered.sort_unstable_by_key(|(name, _)| (&*name.namespace, name.local()));
        for (name, value) in ordered {
            self.push([" ", &name.qualified, "=\""]);
            escape_attribute(value, &mut self.text);
            self.text.push('"');
        }
        self.text.push('>');
        Ok(())
    }

    fn declare(&mut self, name: &Name) -> Result<(), Problem> {
        let (prefix, namespace) = (name.prefix(), &name.namespace);
        let around = self.declared.iter().rev().find(|(declared, _)| declared == prefix);
        if around.map_or(namespace.is_empty(), |(_, around)| around == namespace) {
            return Ok(());
        }
        self.declared_bytes += namespace.len();
        check_bytes(self.declared_bytes)?;
        self.declared.push((prefix.to_owned(), namespace.clone()));
        self.push([" xmlns", if prefix.is_empty() { "" } else { ":" }, prefix]);
        self.text.push_str("=\"");
        escape_attribute(namespace, &mut self.text);
        self.text.push('"');
        Ok(())
    }
}

fn escape_attribute(text: &str, out: &mut String) {
    push_escaped(text, out, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'"' => Some("&quot;"),
        b'\t' => Some("&#x9;"),
        b'\n' => Some("&#xA;"),
        b'\r' => Some("&#xD;"),
        _ => None,
    });
}
