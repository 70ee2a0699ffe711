//! The kill test: a process that writes is killed at any moment, and what it leaves is opened, timed and compared
//! with what it had acknowledged.
//!
//! A **writer** is a process of its own, the same program started again. Its threads commit what follows from who
//! they are and how many they have committed ([`change`](self)), so that the numbers of the last commits tell all
//! that must be there; and they write each acknowledgement into a file (`acknowledged`), which the death of the
//! process does not undo. Readers in the same process look at the whole state all the time (`state`). The parent
//! kills it, looks itself, and starts the next one on the same files (`run`).
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
