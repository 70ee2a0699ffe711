//! Power cuts: workloads run on a disk that records everything, and every state that a power cut may leave of it is
//! recovered and checked against what was acknowledged. See `docs/internals/testing.md`.

mod draws;
mod follow;
mod history;
mod merging;
mod planted;
mod run;
mod session;
mod side_by_side;
mod spilled;
mod stacked;
mod verify;
mod workloads;

pub use follow::TRIMMED;
pub use history::{Expected, History};
pub use planted::Planted;
pub use run::{Failure, Plan, Report, repeat, run, run_workload};
pub use session::{Change, Session, Trouble};
pub use side_by_side::{Draft, Shape};
pub use verify::{Defect, DefectKind, Recovered, verify};
pub use workloads::Workload;
