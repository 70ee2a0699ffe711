//! The database that the verbs of `fulgurite facts` work on, and the part of it that they read. Doc comments are the
//! help that users read.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use fulgurite_facts::Backend;

/// A database of facts.
#[derive(Args, Debug)]
pub struct DatabaseArgument {
    /// The database file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
    /// The databases below, the lowest first, if this one is stacked.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub base: Vec<PathBuf>,
}

/// A value of `--backend`.
#[derive(ValueEnum, Clone, Copy, Debug, Default)]
pub enum BackendArgument {
    /// Fulgurite.
    #[default]
    Fulgurite,
    /// LMDB, if the program was built with it: cargo install --path crates/cli --features lmdb.
    Lmdb,
}

impl From<BackendArgument> for Backend {
    fn from(argument: BackendArgument) -> Self {
        match argument {
            BackendArgument::Fulgurite => Self::Fulgurite,
            BackendArgument::Lmdb => Self::Lmdb,
        }
    }
}

/// The facts that a verb reads, by the units that own them.
#[derive(Args, Debug)]
pub struct SliceArguments {
    /// Read only the facts that one of these units owns, and facts without owners. The database must be complete.
    #[arg(long, value_name = "UNIT")]
    pub slice: Vec<String>,
    /// Read no facts that only these units own. The database must be complete.
    #[arg(long = "slice-without", value_name = "UNIT", conflicts_with = "slice")]
    pub without: Vec<String>,
}

impl SliceArguments {
    /// Whether all facts are read.
    pub fn is_empty(&self) -> bool {
        self.slice.is_empty() && self.without.is_empty()
    }
}
