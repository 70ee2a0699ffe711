//! What the benchmarks ask of an engine: `engine` has reads, loads and single puts, `writing` has transactions from
//! several threads, and `walk` says which records a scan visits. `writing_checks` tests an implementation of
//! `writing`.

pub mod engine;
pub mod walk;
pub mod writing;
#[cfg(test)]
pub mod writing_checks;
