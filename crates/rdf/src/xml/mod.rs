//! XML 1.0 (fifth edition) with namespaces (third edition): a streaming reader that does not validate, and never reads
//! another file.
//!
//! Reading order: [`decoding`] (bytes become characters), [`input`] and [`cursor`] (the input that the grammar is
//! matched against), [`reader`] (the document), [`tag`] (start tags), [`namespaces`], [`doctype`] and [`entities`] (the
//! internal subset and its declarations).
//!
//! (1) A document that is not well-formed, or not namespace-well-formed, is an error with line and column. (2) Memory
//! is bounded by the longest tag, comment or declaration, by [`limits`], and by the declarations. (3) Nothing here
//! depends on RDF.

mod characters;
mod cursor;
mod decoding;
mod doctype;
mod entities;
mod error;
mod input;
mod limits;
mod namespaces;
mod reader;
mod tag;
#[cfg(test)]
mod tests;

pub use characters::{is_character, is_nc_name, is_nc_name_of_all_editions, push_escaped, push_text};
pub use error::{Place, XmlError};
pub use limits::HELD_BYTES_MAX;
pub use namespaces::{Name, Namespace, XML_NAMESPACE};
pub use reader::{Event, XmlReader};
