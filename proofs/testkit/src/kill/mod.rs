//! The kill test: a process that writes is killed at any moment. The database that it leaves is opened, timed and
//! compared with the acknowledgements.
//!
//! A **writer** is a process of its own, the same program started again. What its threads commit follows from their
//! numbers and from how many commits they have made ([`change`](self)), so that the numbers of the last commits
//! determine the whole content. They write each acknowledgement into a file (`acknowledged`), which survives the
//! process. Readers in the same process check the whole state all the time (`state`). The parent kills the process,
//! checks the state itself, and starts the next one on the same files (`run`).
//!
//! Meanwhile other processes read the file as another user, try to write it under another name, inherit it by `fork`,
//! or find it renamed or copied without its log (`other_processes`).

mod acknowledged;
mod change;
mod other_processes;
mod run;
mod state;
mod writer;
mod writing;

pub(crate) use acknowledged::{Acknowledged, Ring};
pub(crate) use state::{State, Unlike};

pub use other_processes::{look_on, open_second_writer};
pub use run::{Plan, Report, run};
pub use writer::Writer;
pub use writing::{open_only, write};
