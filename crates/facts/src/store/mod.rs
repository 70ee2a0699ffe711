//! The store: creating and opening it, adding facts, and completing it.

pub mod backing;
pub mod batch;
pub mod commit;
pub mod fold;
pub mod folding;
pub mod handle;
pub mod known;
pub mod open;
pub mod owners;
pub mod pending;
