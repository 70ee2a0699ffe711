//! A long run under load: whether what the engine holds of memory, disk and descriptors stays, and whether every
//! answer is right.
//!
//! Some threads write, each to keys of its own, so that it knows what they must hold; others read everybody's and
//! check that each value is whole, belongs to its key, and was committed together with its twin in another table.
//! Snapshots are held for some seconds now and then. First the peak rate is measured, then the load stays at a part
//! of it, as in a service with headroom: a plateau under overload would only show where back-pressure begins.

mod account;
mod load;
mod sample;

pub use load::{Plan, run};
pub use sample::{Plateau, Sample};

/// What a soak found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Transactions that were committed under the steady load.
    pub transactions: u64,
    /// Reads that were checked.
    pub reads: u64,
    /// The most runs that were seen above the trees.
    pub most_runs: u64,
    /// Wrong answers, in words; the first ones.
    pub wrong: Vec<String>,
    /// What was held, second by second.
    pub samples: Vec<Sample>,
}
