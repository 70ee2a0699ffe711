//! The bytes of a store's tables: `docs/reference/facts.md` specifies them. No module here decides what is written.

pub mod block;
pub mod fact;
pub mod growing;
pub mod meta;
pub mod packed;
pub mod tables;
