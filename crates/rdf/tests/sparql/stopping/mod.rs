//! Evaluations that end early: by limits, interrupts and panics.

mod interrupts;
mod limits;
mod memory;
mod panics;
