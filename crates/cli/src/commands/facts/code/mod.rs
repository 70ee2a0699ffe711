//! The verbs for indexes of code, one file each.

pub mod describe;
pub mod diagnostics;
pub mod entry;
pub mod hierarchy;
pub mod index;
pub mod lsp;
pub mod places;
pub mod search;
pub mod symbols;
