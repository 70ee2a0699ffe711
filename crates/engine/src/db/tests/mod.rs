//! Tests that look at what an open database holds.

mod flush;
mod intervals;
mod notes;
mod panics;
mod recovery;
mod shortcuts;
mod slots;
