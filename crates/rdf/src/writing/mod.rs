//! Terms written in the forms of RDF and of results.
//!
//! RDF/XML, and the XML and CSV of results, have writers of their own: a form escapes what it can, and what it cannot
//! say is [`Error::Unwritable`], which names the term. Callers that can read what they write twice ask [`check`]
//! before; others write into a [`Spool`]. A term that no form of RDF has is [`Error::MalformedTerm`].

mod check;
mod csv;
mod graph;
mod prefix;
mod rdf_xml;
mod results_xml;
mod solutions;
mod spool;
mod terms;
mod unwritable;
mod xml_text;

pub use check::{check, each_scheme, is_limited, is_limited_in_results};
pub use graph::GraphWriter;
pub use prefix::is_turtle_prefix;
pub use solutions::SolutionsWriter;
pub use spool::Spool;
