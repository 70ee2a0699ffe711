//! `compare`: what changed from one result of a suite to another beyond noise. It knows results only by their lines
//! of JSON.
//!
//! Reading order: `command` reads the options; `results` reads the files, `pairs` finds what is the same in both,
//! `noise` judges it with `student`'s distribution, `changes` prints it.

mod changes;
mod command;
mod noise;
mod pairs;
pub mod results;
mod student;

#[cfg(test)]
pub use changes::Side;
pub use changes::{Comparison, Question, Verdict};
pub use command::{NAME, compare, execute};
