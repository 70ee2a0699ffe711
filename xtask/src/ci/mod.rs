//! `cargo xtask test`: everything that CI checks.

mod report;
mod step;
mod steps;
mod test;

pub use step::Outcome;
pub use test::TEST;
