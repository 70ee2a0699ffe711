//! Copying a store: [`Migration`].

mod copying;
mod run;
mod statement_sum;
mod target;
mod verifying;

pub use run::{Migration, MigrationReport, Progress, Stage};
