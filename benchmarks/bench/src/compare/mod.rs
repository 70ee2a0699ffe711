//! `compare`: what changed from one result of a suite to another beyond noise.
//!
//! Reading order: `command` reads the options; `results` reads the files, `pairs` finds what is the same in both, `noise` judges it
//! with `student`'s distribution, `changes` prints it. `proof` plants slowdowns, by the engine `slowed`, and counts which are found.

mod changes;
mod command;
mod noise;
mod pairs;
mod proof;
mod results;
mod slowed;
mod student;

pub use command::{NAME, execute};
pub use proof::{VERB, work};
