//! The verbs for whole databases of facts, one file each.

pub mod copy;
pub mod delete;
pub mod derive;
pub mod dump;
pub mod image;
pub mod list;
pub mod owners;
mod stack;
pub mod units;
pub mod validate;
