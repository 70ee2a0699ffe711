//! The arguments of the verbs of `fulgurite facts` for whole databases. Doc comments are the help that users read.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::arguments::facts_database::{DatabaseArgument, SliceArguments};
use crate::arguments::shared::{OutputFormat, WriteArguments, parse_number};

/// Arguments of `facts derive`.
#[derive(Args, Debug)]
pub struct Derive {
    #[command(flatten)]
    pub database: DatabaseArgument,
    /// Derive only this predicate, such as src.CalledBy, and before it the stored predicates that it uses.
    #[arg(long, value_name = "PREDICATE")]
    pub predicate: Vec<String>,
    /// Stop if a predicate that is derived from itself has new facts in more than N rounds.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = parse_number::<u64>)]
    pub rounds_max: u64,
    /// Stop after the round in which the new facts exceed N.
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000, value_parser = parse_number::<u64>)]
    pub facts_max: u64,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `facts dump`.
#[derive(Args, Debug)]
pub struct Dump {
    #[command(flatten)]
    pub database: DatabaseArgument,
    #[command(flatten)]
    pub slice: SliceArguments,
}

/// Arguments of `facts units`.
#[derive(Args, Debug)]
pub struct Units {
    #[command(flatten)]
    pub database: DatabaseArgument,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `facts owners`.
#[derive(Args, Debug)]
pub struct Owners {
    #[command(flatten)]
    pub database: DatabaseArgument,
    /// The ids of the facts, as `query` prints them.
    #[arg(required = true, value_name = "ID", value_parser = parse_number::<u64>)]
    pub ids: Vec<u64>,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
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
    /// Confirm the deletion. It cannot be undone.
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

/// Arguments of `facts image`.
#[derive(Args, Debug)]
pub struct Image {
    /// The database.
    #[arg(value_name = "FROM", value_hint = ValueHint::FilePath)]
    pub from: PathBuf,
    /// The new file, which must not exist. Images of increments are named TO-increment.N.
    #[arg(value_name = "TO", value_hint = ValueHint::FilePath)]
    pub to: PathBuf,
    /// Write one SquashFS image with all files, to be mounted read-only. Needs the program mksquashfs.
    #[arg(long)]
    pub squashfs: bool,
    /// The level of Zstandard: 1 is fast, 22 is small.
    #[arg(long, value_name = "LEVEL", default_value_t = 8, value_parser = clap::value_parser!(i32).range(1..=22))]
    pub level: i32,
    /// The size of a block in KiB, a power of two from 4 to 1024. Larger blocks compress better and are slower to read.
    #[arg(long, value_name = "KIB", default_value_t = 16, value_parser = clap::value_parser!(u32).range(4..=1024))]
    pub block: u32,
    /// The number of threads that compress; 0 is one for each processor.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub threads: usize,
}

/// Arguments of `facts shell`.
#[derive(Args, Debug)]
pub struct Shell {
    #[command(flatten)]
    pub database: DatabaseArgument,
    /// End a page when the keys and values of its results have this many MiB. The line `:bytes N` changes it.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub bytes_max: Option<u32>,
}
