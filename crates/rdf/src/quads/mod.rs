//! Quads in tables: the choice of an index, reading and changing.

pub(crate) mod changes;
pub(crate) mod graph_names;
pub(crate) mod index_choice;
pub(crate) mod inferred;
pub(crate) mod joined;
pub(crate) mod packed_rows;
pub(crate) mod quad_ids;
pub(crate) mod reading;
pub(crate) mod shared;
pub(crate) mod statements;
pub(crate) mod stored_terms;
pub(crate) mod term_pattern;
pub(crate) mod view;
