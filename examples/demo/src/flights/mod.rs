//! The act about events: the flights of a year from New York as events, and reports by replay.
//!
//! Reading order: [`data`] (lines of the file, and the events of a flight), [`append`], [`reports`], [`act`].

mod act;
mod append;
mod data;
mod reports;

pub use act::{data_file, show, store_file};
