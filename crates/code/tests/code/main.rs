//! Indexes of code, from what indexers write to answers.

#![allow(clippy::unwrap_used)] // A panic is a test's report; clippy sees that only inside of test functions.

mod browse;
mod ctags;
mod damage;
mod details;
mod limits;
mod live;
mod lsp;
mod sample;
mod support;
mod update;
