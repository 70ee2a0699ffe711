//! One state of the database, which snapshots read, and how the next state replaces it.

pub mod history;
pub mod large;
pub mod pins;
pub mod published;
pub mod state;
pub mod table;
