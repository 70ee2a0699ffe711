//! RDF/XML: documents become triples (RDF 1.1 XML Syntax, and triple terms, annotations and text directions of RDF
//! 1.2).
//!
//! Reading order: [`parser`] (the iterator), [`scope`] (bases, languages, versions), [`attributes`] (the attributes of
//! a tag), [`elements`] (nodes and properties), [`literal`] (XML literals).

mod attributes;
mod elements;
mod literal;
mod parser;
mod problem;
mod scope;
#[cfg(test)]
mod tests;

pub use parser::{Failure, Parser};
