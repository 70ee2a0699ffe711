//! RDF/XML: documents become triples (RDF 1.1 XML Syntax; of RDF 1.2 triple terms, annotations and text directions).
//!
//! Reading order: [`parser`] (the iterator), [`scope`] (bases, languages, versions), [`attributes`] (what a tag says),
//! [`elements`] (nodes and properties), [`literal`] (XML literals).

mod attributes;
mod elements;
mod literal;
mod parser;
mod problem;
mod scope;
#[cfg(test)]
mod tests;

pub use parser::{Failure, Parser};
