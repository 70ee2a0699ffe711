//! Quads in tables: the orders, the choice of an index, reading and changing.

pub(crate) mod changes;
pub(crate) mod graph_names;
pub(crate) mod index_choice;
pub(crate) mod indexes;
pub(crate) mod inferred;
pub(crate) mod quad_ids;
pub(crate) mod reading;
pub(crate) mod statements;
pub(crate) mod tables;
pub(crate) mod view;
