//! The data, state and limits of an evaluation.

pub(crate) mod best_rows;
pub(crate) mod dataset;
pub(crate) mod evaluation_term;
pub(crate) mod heap;
pub(crate) mod interrupt;
pub(crate) mod known_terms;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod scope;
pub(crate) mod sort_tables;
pub(crate) mod term_cache;
pub(crate) mod terms;
pub(crate) mod value;
