//! Faults of the real kernel: a process writes to a file system whose medium fails beneath it, and what it leaves is
//! compared with what it was told. See `docs/internals/testing.md`.
//!
//! The file system is ext4 on a loop device whose medium is a file in memory (`volume`): that can be made full, cut
//! short and mended at will, and its bytes at a moment are what a power cut would leave. The **writer** is a process
//! of its own (`writer`), for the kernel may answer a fault with SIGBUS; it writes the state of the kill test, and
//! notes each acknowledgement where nothing fails. The parent (`run`) makes the faults, and judges (`judge`).

mod judge;
mod loads;
mod release;
mod run;
mod session;
mod volume;
mod writer;

pub use run::{Kind, Plan, Report, run};
pub use volume::unavailable;
pub use writer::{Ending, Writer, write};
