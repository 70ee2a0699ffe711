//! Opening and closing a database, and the handle that users hold of it.

pub mod close;
pub mod database;
pub mod inner;
pub mod open;
pub mod opened;
pub mod registry;
