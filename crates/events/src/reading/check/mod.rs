//! Checking a store: the log against the tables that are derived from it, streams against names.
//!
//! The engine's own check proves that pages are sound. This one finds entries that are missing or malformed, or that
//! contradict the log. Reading order: `report` is the result, `checker` the order of the steps; `log`, `indexes` and
//! `streams` are the steps.

pub mod checker;
mod indexes;
mod log;
pub mod report;
mod streams;
