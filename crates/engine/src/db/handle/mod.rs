//! Opening and closing a database, and its handle for users.

pub mod close;
pub mod database;
pub mod inner;
pub mod open;
pub mod opened;
pub mod registry;
