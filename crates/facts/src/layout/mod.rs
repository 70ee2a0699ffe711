//! The bytes of a store's tables, which `docs/reference/facts.md` specifies. No module here decides what is written.

pub mod fact;
pub mod growing;
pub mod hashes;
pub mod index;
pub mod magic;
pub mod meta;
pub mod places;
pub mod records;
pub mod tables;
