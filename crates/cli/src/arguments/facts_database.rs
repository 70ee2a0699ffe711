//! The database that the verbs of `fulgurite facts` work on. Doc comments are the help that users read.

use std::path::PathBuf;

use clap::{Args, ValueHint};

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
