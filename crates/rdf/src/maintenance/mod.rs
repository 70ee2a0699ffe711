//! Maintenance of a store: checks, counts, sweeps of unused terms, dumps.

pub(crate) mod check;
pub(crate) mod dump;
pub(crate) mod salvage;
pub(crate) mod stats;
pub(crate) mod sweep;
