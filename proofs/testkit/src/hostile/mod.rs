//! Hostile files: sound databases are mutated, and used in every way. Whatever is in a file, the engine answers with
//! an error or with what was stored: it never panics, hangs, takes wild amounts of memory, or answers wrong. See
//! `docs/internals/testing.md`.

mod base;
mod fields;
mod images;
mod layout;
mod mutate;
mod records;
mod run;
mod trial;
mod watch;
mod work;

pub use run::{Report, Tester};
pub use watch::{CountingAllocator, Watch};
