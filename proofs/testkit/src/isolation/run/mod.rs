//! The isolation run: many threads of transactions on the real engine, recorded and judged by the checker.
//!
//! A **world** is one database, used in one [`Shape`] until it is closed. Its work is cut into **segments**, each of
//! which is recorded, ended, and checked. Worlds follow one another, each with the next seed. Threads are not
//! deterministic: the seed repeats the calls of the engine, not their interleaving; so a failure also leaves its
//! history in a file.
//!
//! Reading order: `shapes` (the table of what is tried), `worlds` (the whole run, and the faults that are planted),
//! `world` (a database and its segments), `process` (a thread and its transactions), `session` (one transaction and
//! its steps), `record` (what is recorded), `loads`, `counts` and `judge` (what the record means).

mod counts;
mod judge;
mod loads;
mod medium;
mod process;
mod record;
mod session;
mod shapes;
mod world;
mod worlds;

pub use judge::Failure;
pub use record::Tally;
pub use shapes::Shape;
pub use worlds::{Plan, Planted, Report, run};

#[cfg(test)]
mod tests;
