//! The proof of `compare`: slowdowns that are planted in the suite `core`, by the engine `slowed`, must be found.

mod proof;
mod slowed;

pub use proof::{VERB, run, work};
