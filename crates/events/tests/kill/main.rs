//! Processes that are killed at any moment, again and again: one that folds a view, and those on both sides of a
//! follower.
//!
//! `EVENTS_KILLS=5000 cargo test -p fulgurite-events --test kill` kills more processes.

#![cfg(unix)]
#![allow(clippy::unwrap_used)] // A panic is a test's report; clippy sees that only inside of test functions.

mod followers;
mod process;
mod store;
mod views;
