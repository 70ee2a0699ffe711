//! Recovery: what the log holds above the newest checkpoint, in a form that can be merged or shown.

pub mod recover;
pub mod replayed;
pub mod volume;
