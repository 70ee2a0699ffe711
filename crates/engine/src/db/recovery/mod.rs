//! Recovery: the commits in the log since the newest checkpoint, in a form that can be merged or read.

pub mod recover;
pub mod replayed;
pub mod volume;
