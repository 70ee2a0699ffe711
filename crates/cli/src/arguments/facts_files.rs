//! The arguments of the verbs of `fulgurite facts` for whole databases. Doc comments are the help that users read.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::arguments::facts_database::DatabaseArgument;
use crate::arguments::shared::{OutputFormat, WriteArguments};

/// Arguments of `facts derive`.
#[derive(Args, Debug)]
pub struct Derive {
    #[command(flatten)]
    pub database: DatabaseArgument,
    /// Derive only this predicate, such as src.CalledBy.
    #[arg(long, value_name = "PREDICATE")]
    pub predicate: Vec<String>,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `facts dump`.
#[derive(Args, Debug)]
pub struct Dump {
    #[command(flatten)]
    pub database: DatabaseArgument,
}

/// Arguments of `facts validate`.
#[derive(Args, Debug)]
pub struct Validate {
    #[command(flatten)]
    pub database: DatabaseArgument,
}

/// Arguments of `facts list`.
#[derive(Args, Debug)]
pub struct List {
    /// The directory.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub directory: PathBuf,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `facts delete`.
#[derive(Args, Debug)]
pub struct Delete {
    /// The database file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
    /// Needed, because deleting cannot be undone.
    #[arg(long, required = true)]
    pub yes: bool,
}

/// Arguments of `facts backup` and `facts restore`.
#[derive(Args, Debug)]
pub struct Copy {
    /// The database, or the backup of it.
    #[arg(value_name = "FROM", value_hint = ValueHint::FilePath)]
    pub from: PathBuf,
    /// The new file, which must not exist.
    #[arg(value_name = "TO", value_hint = ValueHint::FilePath)]
    pub to: PathBuf,
}

/// Arguments of `facts shell`.
#[derive(Args, Debug)]
pub struct Shell {
    #[command(flatten)]
    pub database: DatabaseArgument,
}
