//! Stores of events through the public interface.

#![allow(clippy::unwrap_used)] // A panic is a test's report; clippy sees that only inside of test functions.

mod appending;
mod atomic;
mod checking;
mod codecs;
mod concurrent;
mod folding;
mod following;
mod many_streams;
mod model;
#[cfg(unix)]
mod remote;
mod retention;
mod salvaging;
mod support;
mod views;
