//! Golden stores: written by one version, opened, read and continued by every later one.
//!
//! They are in `layout-N/`, N the version of their layout, with lines of what they hold beside them. Existing files
//! stay as they are. The test of `writing` writes new ones:
//!
//! ```text
//! EVENTS_GOLDEN_OUT=$PWD/crates/events/tests/golden/layout-N cargo test -p fulgurite-events --test golden written
//! ```
//!
//! The store of layout 1 was written in the same way by the last version that wrote this layout.

#![allow(clippy::unwrap_used)] // A panic is a test's report; clippy sees that only inside of test functions.

mod lines;
mod reading;
mod story;
mod writing;
