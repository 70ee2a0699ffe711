//! Lists and maps by key.

pub mod list;
pub mod map;
