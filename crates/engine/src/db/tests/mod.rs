//! Tests that look at what an open database holds.

mod flush;
mod recovery;
mod shortcuts;
mod slots;
