//! Random operations beside a plain model in memory, which computes the expected answers by itself.
//!
//! `cargo xtask events model --seeds N --seed S` runs more seeds, or others. A failure prints how to repeat
//! it, with the operations that are needed.
//!
//! Reading order: `state` is the model, `known` its events and `wanted` its queries; `run` chooses operations;
//! `appends`, `streams`, `retention` and `consumers` do them; `checks` compares everything that is read.

mod appends;
mod checks;
mod consumers;
mod known;
mod retention;
mod run;
mod state;
mod streams;
mod wanted;
