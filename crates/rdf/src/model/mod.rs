//! The parts of quads: ids of terms, patterns, IRIs.

pub(crate) mod base_iri;
pub(crate) mod id;
pub(crate) mod pattern;
pub(crate) mod plain_iri;
