//! The steps of a load: parsing on several threads, merging terms, sorting quads, filling tables.

pub(crate) mod batch;
pub(crate) mod build;
pub(crate) mod feeder;
pub(crate) mod merge;
pub(crate) mod parse;
pub(crate) mod prefixes;
pub(crate) mod progress;
mod run;
pub(crate) mod scratch;
pub(crate) mod sink;
pub(crate) mod sort;
pub(crate) mod stash;
