//! Inputs: opening and unpacking them, and turning their text into quads.

pub(crate) mod byte_order_mark;
pub(crate) mod document;
pub(crate) mod input;
pub(crate) mod json_base;
pub(crate) mod json_depth;
pub(crate) mod json_invalid;
pub(crate) mod lines;
pub(crate) mod quad_parser;
pub(crate) mod rdf_xml;
pub(crate) mod triple_nesting;
pub(crate) mod xz;
pub(crate) mod zstd;
