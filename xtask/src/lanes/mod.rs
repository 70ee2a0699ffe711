//! Programs that run side by side: as many at once as there are processors.
//!
//! (1) Programs start in the order in which they are given. (2) While one runs, it has a line for each of its programs
//! of tests that has ended. What it printed is shown when it ends, in one piece below the line that names it. (3) A
//! program that fails does not keep the others from running. Called by `ci` and by `miri`.

mod program;
mod progress;
mod queue;

pub use program::Program;
pub use queue::{Ending, Prepare, Task, run};
