//! Terms in the formats of RDF and of results.
//!
//! RDF/XML, and results in XML and CSV, have their own writers. Each escapes what its format can escape; a term that
//! the format cannot express is [`Error::Unwritable`], which names the term. Callers that can read their input twice
//! call [`check`] first; others write into a [`Spool`]. A term that no format of RDF can express is
//! [`Error::MalformedTerm`].

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
