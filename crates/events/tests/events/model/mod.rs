//! Random operations beside a plain model in memory, which computes the expected answers by itself.
//!
//! `EVENTS_SEED=N cargo test -p fulgurite-events --test events model` repeats one seed. A failure prints how many
//! operations are needed, for `EVENTS_OPERATIONS`.
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
