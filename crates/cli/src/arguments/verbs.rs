//! The arguments of each verb.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use crate::arguments::shared::{
    CreateArguments, FileArgument, FileFormat, KeyArgument, OutputFormat, RangeArguments, ValueArgument,
    WriteArguments, parse_number, parse_seconds,
};

/// Arguments of `tables`.
#[derive(Args, Debug)]
pub struct Tables {
    #[command(flatten)]
    pub file: FileArgument,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `get`.
#[derive(Args, Debug)]
pub struct Get {
    #[command(flatten)]
    pub file: FileArgument,
    /// The table.
    pub table: String,
    /// The keys.
    #[arg(required = true, value_name = "KEY", allow_negative_numbers = true)]
    pub keys: Vec<String>,
    #[command(flatten)]
    pub key: KeyArgument,
    #[command(flatten)]
    pub value: ValueArgument,
    /// Print the bytes of the values, without line ends.
    #[arg(long, conflicts_with = "format")]
    pub raw: bool,
    /// The format of the output [default: one value per line].
    #[arg(long, value_enum)]
    pub format: Option<OutputFormat>,
}

/// Arguments of `put`.
#[derive(Args, Debug)]
pub struct Put {
    #[command(flatten)]
    pub file: FileArgument,
    /// The table.
    pub table: String,
    /// The key.
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    pub key_text: String,
    /// The value. - reads it from standard input.
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    pub value_text: String,
    #[command(flatten)]
    pub key: KeyArgument,
    #[command(flatten)]
    pub value: ValueArgument,
    #[command(flatten)]
    pub create: CreateArguments,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `del`.
#[derive(Args, Debug)]
pub struct Del {
    #[command(flatten)]
    pub file: FileArgument,
    /// The table.
    pub table: String,
    /// The keys.
    #[arg(
        required_unless_present = "prefix",
        conflicts_with = "prefix",
        value_name = "KEY",
        allow_negative_numbers = true
    )]
    pub keys: Vec<String>,
    #[command(flatten)]
    pub key: KeyArgument,
    #[command(flatten)]
    pub value: ValueArgument,
    /// In a multimap, delete only this value of each key, not all values.
    #[arg(long, value_name = "VALUE", conflicts_with = "prefix", allow_negative_numbers = true)]
    pub only: Option<String>,
    /// Delete all keys that begin with this. Requires --yes.
    #[arg(long, value_name = "PREFIX", requires = "yes")]
    pub prefix: Option<String>,
    /// Confirm that all keys with the prefix are deleted.
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `scan`.
#[derive(Args, Debug)]
pub struct Scan {
    #[command(flatten)]
    pub file: FileArgument,
    /// The table.
    pub table: String,
    #[command(flatten)]
    pub range: RangeArguments,
    #[command(flatten)]
    pub key: KeyArgument,
    #[command(flatten)]
    pub value: ValueArgument,
    /// Print from the last key to the first.
    #[arg(long)]
    pub reverse: bool,
    /// Print this many entries at most.
    #[arg(long, value_name = "N", value_parser = parse_number::<u64>)]
    pub limit: Option<u64>,
    /// Print the keys only.
    #[arg(long)]
    pub keys_only: bool,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `count`.
#[derive(Args, Debug)]
pub struct Count {
    #[command(flatten)]
    pub file: FileArgument,
    /// The table.
    pub table: String,
    #[command(flatten)]
    pub range: RangeArguments,
    #[command(flatten)]
    pub key: KeyArgument,
    /// Print an estimate with its lower and upper bound. This is faster in a table with many recent changes.
    #[arg(long)]
    pub estimate: bool,
}

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct Import {
    #[command(flatten)]
    pub file: FileArgument,
    /// The table.
    pub table: String,
    /// The file to read [default: standard input, which is also -].
    #[arg(value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,
    #[command(flatten)]
    pub key: KeyArgument,
    #[command(flatten)]
    pub value: ValueArgument,
    /// The format of the input [default: by the file's extension, or ndjson].
    #[arg(long, value_enum)]
    pub format: Option<FileFormat>,
    /// Use this member of each JSON object, or this column, as the key. The value is the whole object or row.
    #[arg(long, value_name = "NAME")]
    pub key_field: Option<String>,
    /// Use this member or column as the value.
    #[arg(long, value_name = "NAME", requires = "key_field")]
    pub value_field: Option<String>,
    /// The CSV or TSV input has no header. Its columns are key and value.
    #[arg(long, conflicts_with = "key_field")]
    pub no_header: bool,
    /// The keys of the input are in ascending order. The load is faster, and fails at the first key out of order.
    #[arg(long)]
    pub sorted: bool,
    #[command(flatten)]
    pub create: CreateArguments,
    /// Memory for sorting, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub memory: u32,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `export`.
#[derive(Args, Debug)]
pub struct Export {
    #[command(flatten)]
    pub file: FileArgument,
    /// The table.
    pub table: String,
    /// The file to write, which must not exist [default: standard output, which is also -].
    #[arg(value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub range: RangeArguments,
    #[command(flatten)]
    pub key: KeyArgument,
    #[command(flatten)]
    pub value: ValueArgument,
    /// The format of the output [default: by the file's extension, or ndjson].
    #[arg(long, value_enum)]
    pub format: Option<FileFormat>,
    /// Read a damaged table: leave out the entries that cannot be read, print the damaged places to standard error, and
    /// end with exit code 3 if there are any.
    #[arg(long)]
    pub skip_damaged: bool,
}

/// Arguments of `stats`.
#[derive(Args, Debug)]
pub struct Stats {
    #[command(flatten)]
    pub file: FileArgument,
    /// Print one line of changing figures every so many seconds. Commits of another process count from its next
    /// checkpoint on.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1", value_parser = parse_seconds)]
    pub watch: Option<Duration>,
    /// With --watch: stop after this many lines.
    #[arg(long, value_name = "NUMBER", requires = "watch", value_parser = parse_number::<u64>)]
    pub times: Option<u64>,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `changes`.
#[derive(Args, Debug)]
pub struct Changes {
    #[command(flatten)]
    pub file: FileArgument,
    /// Only commits after this one.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_number::<u64>)]
    pub after: u64,
    /// Do not stop at the last commit: look for new commits every so many seconds. Commits of another process appear
    /// with its next checkpoint.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1", value_parser = parse_seconds)]
    pub follow: Option<Duration>,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "ndjson")]
    pub format: OutputFormat,
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub struct Check {
    #[command(flatten)]
    pub file: FileArgument,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `compact`.
#[derive(Args, Debug)]
pub struct Compact {
    #[command(flatten)]
    pub file: FileArgument,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `backup`.
#[derive(Args, Debug)]
pub struct Backup {
    #[command(flatten)]
    pub file: FileArgument,
    /// The new file, which must not exist.
    #[arg(value_name = "COPY", value_hint = ValueHint::FilePath)]
    pub copy: PathBuf,
}

/// Arguments of `image`.
#[derive(Args, Debug)]
pub struct Image {
    #[command(flatten)]
    pub file: FileArgument,
    /// The new file, which must not exist.
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// Write a SquashFS image with the database in it, to be mounted read-only. Needs the program mksquashfs. If it is
    /// interrupted, it leaves a directory IMAGE-unfinished.PID.N, which you can remove.
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

/// Arguments of `restore`.
#[derive(Args, Debug)]
pub struct Restore {
    /// The image.
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// The new database, which must not exist.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct Man {
    /// The directory to write to. It is created.
    #[arg(value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
}
