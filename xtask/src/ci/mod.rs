//! `cargo xtask test`: everything that CI checks.

mod report;
mod steps;
mod test;

pub use test::TEST;
