//! Arguments that several verbs have.

use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use fulgurite::MergeOperator;

use crate::notation::Notation;

/// A database file.
#[derive(Args, Debug)]
pub struct FileArgument {
    /// The database file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
}

/// The notation of keys.
#[derive(Args, Clone, Debug, Default)]
pub struct KeyArgument {
    /// The notation of keys: text, hex, or a type such as u64, string or (u32,string) [default: the table's key type,
    /// or text if it has none].
    #[arg(long = "key", value_name = "TYPE")]
    pub key_notation: Option<Notation>,
}

/// The notation of values.
#[derive(Args, Clone, Debug, Default)]
pub struct ValueArgument {
    /// The notation of values, as for --key.
    #[arg(long = "value", value_name = "TYPE")]
    pub value_notation: Option<Notation>,
}

/// Whether to create the database and the table.
#[derive(Args, Clone, Debug, Default)]
pub struct CreateArguments {
    /// Create the database and the table if they do not exist. The table gets the types of --key and --value.
    #[arg(long)]
    pub create: bool,
    /// Create the table as a multimap: a set of values for each key.
    #[arg(long, requires = "create")]
    pub multimap: bool,
    /// Create the table with this merge operator, so that programs can merge into its values.
    #[arg(long, requires = "create", conflicts_with = "multimap", value_name = "OPERATOR")]
    pub merge: Option<MergeArgument>,
    /// Create the table so that programs merge into its values by the function that they register with this name.
    #[arg(long, requires = "create", conflicts_with_all = ["multimap", "merge"], value_name = "NAME")]
    pub merge_function: Option<String>,
}

/// A merge operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MergeArgument {
    /// The sum. Values are integers, or 8 bytes, big-endian.
    Add,
    /// The greater value. Values are integers, strings or bytes.
    Max,
    /// The old value, then the new one. Values are strings or bytes.
    Append,
    /// The sum, or the least or greatest number of the type if the sum is outside it.
    AddSaturating,
    /// The sum, or an error if it is outside the type.
    AddChecked,
    /// The lesser value. Values are integers, strings or bytes.
    Min,
    /// The bits that are set in both values.
    And,
    /// The bits that are set in at least one value.
    Or,
    /// The bits that are set in exactly one value.
    Xor,
}

impl From<MergeArgument> for MergeOperator {
    fn from(argument: MergeArgument) -> Self {
        match argument {
            MergeArgument::Add => Self::Add,
            MergeArgument::Max => Self::Max,
            MergeArgument::Append => Self::Append,
            MergeArgument::AddSaturating => Self::AddSaturating,
            MergeArgument::AddChecked => Self::AddChecked,
            MergeArgument::Min => Self::Min,
            MergeArgument::And => Self::And,
            MergeArgument::Or => Self::Or,
            MergeArgument::Xor => Self::Xor,
        }
    }
}

/// How long to wait for another process.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct WaitArgument {
    /// If another process has the file open for writing, wait this many seconds at most for it to close the file.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub wait: Option<Duration>,
}

/// How a database is opened for writing.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct WriteArguments {
    #[command(flatten)]
    pub wait: WaitArgument,
    /// Keep up to this many MiB of log for `changes`. Without this option, retained log is removed.
    #[arg(long, value_name = "MIB", default_value_t = 0, hide_default_value = true)]
    pub keep_log: u32,
    /// How old a commit becomes before a checkpoint flushes it. Verbs that serve set it.
    #[arg(skip)]
    pub checkpoint: Duration,
}

/// A range of keys.
#[derive(Args, Clone, Debug, Default)]
pub struct RangeArguments {
    /// Only keys that begin with this: a text, hex digits, or the first elements of a tuple.
    #[arg(long, value_name = "PREFIX", conflicts_with_all = ["from", "to"])]
    pub prefix: Option<String>,
    /// Only keys from this one on.
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    pub from: Option<String>,
    /// Only keys before this one.
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    pub to: Option<String>,
}

/// The format of printed rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Aligned columns.
    Table,
    /// One JSON array.
    Json,
    /// One JSON object per line.
    Ndjson,
    /// Comma-separated values, with a header.
    Csv,
}

/// The format of a file of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// One JSON object per line: {"key": …, "value": …}.
    Ndjson,
    /// Comma-separated values, with the header key,value.
    Csv,
    /// Tab-separated values, with a header. \t, \n, \r and \\ escape these characters.
    Tsv,
    /// Key length and value length as u32, little-endian; then key and value.
    Binary,
}

/// Parses a time in seconds, which may have a fraction.
pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration >= Duration::from_millis(10) => Ok(duration),
        _ => Err("not from 0.01 to 1e19 seconds".to_owned()),
    }
}

/// Parses a number of things, or the number of one.
pub(super) fn parse_number<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "the number is too large".to_owned(),
        _ => "not a whole number from 0 on".to_owned(),
    })
}
