//! Tests that look at what an open database holds.

mod shortcuts;
mod slots;
