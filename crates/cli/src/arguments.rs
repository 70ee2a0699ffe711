//! What the command line accepts. The doc comments here are the help that users read.

#[cfg(feature = "rdf")]
pub mod rdf;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use fulgurite::MergeOperator;

use crate::notation::Notation;

/// Look into, change, load and check Fulgurite databases.
///
/// Data goes to standard output, messages and progress to standard error. Verbs that read never write, and no verb
/// creates a database or table unless told with --create.
///
/// Exit codes: 0 done, 1 failed, 2 wrong usage, 3 damaged or not a database, 4 locked by another process, 5 internal
/// error.
#[derive(Debug, Parser)]
#[command(name = "fulgurite", version, max_term_width = 100)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// List the tables, their types and sizes.
    Tables(Tables),
    /// Print the values of keys, a line each.
    Get(Get),
    /// Give a key a value.
    Put(Put),
    /// Delete keys, or all keys with a prefix.
    Del(Del),
    /// Print entries in key order.
    Scan(Scan),
    /// Count entries.
    Count(Count),
    /// Load entries from NDJSON, CSV, TSV or the binary form.
    Import(Import),
    /// Write entries as NDJSON, CSV, TSV or the binary form.
    Export(Export),
    /// Tell what every byte of the file is used for.
    Stats(Stats),
    /// Print what commits did, in order.
    Changes(Changes),
    /// Verify every page, key and checksum.
    Check(Check),
    /// Rewrite the file as small as it gets.
    Compact(Compact),
    /// Copy a database to a new file, also while another process writes to it.
    ///
    /// The copy is one compact file without a log. If another process has the database open for writing, the copy holds
    /// what that process has brought into the file: its newest checkpoint.
    Backup(Backup),
    /// Load, query, change and serve stores of RDF.
    #[cfg(feature = "rdf")]
    Rdf(rdf::Rdf),
    /// Print completions for a shell.
    Completions(Completions),
    /// Write the manual pages.
    Man(Man),
}

/// A database file.
#[derive(Args, Debug)]
pub struct FileArgument {
    /// The database.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
}

/// How keys are written in text.
#[derive(Args, Clone, Debug, Default)]
pub struct KeyArgument {
    /// How keys are written: text, hex, or a type such as u64, string, (u32,string) [default: the table's own type,
    /// else text].
    #[arg(long = "key", value_name = "TYPE")]
    pub key_notation: Option<Notation>,
}

/// How values are written in text.
#[derive(Args, Clone, Debug, Default)]
pub struct ValueArgument {
    /// How values are written, as for --key.
    #[arg(long = "value", value_name = "TYPE")]
    pub value_notation: Option<Notation>,
}

/// Whether to create what is not there.
#[derive(Args, Clone, Debug, Default)]
pub struct CreateArguments {
    /// Create the database and the table if they do not exist; the table gets the types of --key and --value.
    #[arg(long)]
    pub create: bool,
    /// Create the table as a multimap, which holds a set of values under each key.
    #[arg(long, requires = "create")]
    pub multimap: bool,
    /// Create the table so that programs can merge into its values, by adding, by keeping the greater, by appending and
    /// so on.
    #[arg(long, requires = "create", conflicts_with = "multimap", value_name = "OPERATOR")]
    pub merge: Option<MergeArgument>,
    /// Create the table so that programs can merge into its values by the function that they register under this name.
    #[arg(long, requires = "create", conflicts_with_all = ["multimap", "merge"], value_name = "NAME")]
    pub merge_function: Option<String>,
}

/// A merge operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MergeArgument {
    /// The sum: of integers, or of plain values of 8 bytes, big-endian.
    Add,
    /// The greater: of integers, or of strings and bytes.
    Max,
    /// One after the other: strings and bytes.
    Append,
    /// The sum, or the least or greatest number if the type cannot hold it.
    AddSaturating,
    /// The sum, or an error if the type cannot hold it.
    AddChecked,
    /// The lesser: of integers, or of strings and bytes.
    Min,
    /// The bits that are set in both.
    And,
    /// The bits that are set in either.
    Or,
    /// The bits that are set in one of both.
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

/// How long to wait for other processes.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct WaitArgument {
    /// If another process has the file open for writing, wait up to so many seconds for it to close the file.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub wait: Option<Duration>,
}

/// How a database is opened for writing.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct WriteArguments {
    #[command(flatten)]
    pub wait: WaitArgument,
    /// Keep up to so many MiB of log for `changes`; without it, what was kept is removed.
    #[arg(long, value_name = "MIB", default_value_t = 0, hide_default_value = true)]
    pub keep_log: u32,
}

/// Which keys.
#[derive(Args, Clone, Debug, Default)]
pub struct RangeArguments {
    /// Only keys that begin so: with this text, these hex digits, or these first elements of a tuple.
    #[arg(long, value_name = "PREFIX", conflicts_with_all = ["from", "to"])]
    pub prefix: Option<String>,
    /// Only this key and those above it.
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    pub from: Option<String>,
    /// Only keys below this one.
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    pub to: Option<String>,
}

/// How output looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Aligned columns, for reading.
    Table,
    /// One JSON array.
    Json,
    /// A JSON object a line.
    Ndjson,
    /// Comma-separated values with a header.
    Csv,
}

/// How files of entries look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// A JSON object a line: {"key": …, "value": …}.
    Ndjson,
    /// Comma-separated values with a header: key,value.
    Csv,
    /// Tab-separated values with a header; \t, \n, \r and \\ stand for these characters.
    Tsv,
    /// u32 LE key length, u32 LE value length, key, value.
    Binary,
}

/// Arguments of `tables`.
#[derive(Args, Debug)]
pub struct Tables {
    #[command(flatten)]
    pub file: FileArgument,
    /// How to print.
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
    /// Print the values' bytes alone, without line ends.
    #[arg(long, conflicts_with = "format")]
    pub raw: bool,
    /// How to print; without it, a value a line.
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
    /// The value, or - to read it from standard input.
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
    /// In a multimap, delete only this value of each key, rather than all.
    #[arg(long, value_name = "VALUE", conflicts_with = "prefix", allow_negative_numbers = true)]
    pub only: Option<String>,
    /// Delete all keys that begin so; needs --yes.
    #[arg(long, value_name = "PREFIX", requires = "yes")]
    pub prefix: Option<String>,
    /// Do it: what is deleted is gone.
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
    /// From the last key to the first.
    #[arg(long)]
    pub reverse: bool,
    /// At most so many entries.
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Without the values.
    #[arg(long)]
    pub keys_only: bool,
    /// How to print.
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
    /// Print a quick estimate instead, with the least and the most that there can be.
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
    /// The file to read; standard input without it or with -.
    #[arg(value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,
    #[command(flatten)]
    pub key: KeyArgument,
    #[command(flatten)]
    pub value: ValueArgument,
    /// The input's form [default: by the file's ending, else ndjson].
    #[arg(long, value_enum)]
    pub format: Option<FileFormat>,
    /// Take the key from this member of each JSON object, or this column, and for the value all of the object or row.
    #[arg(long, value_name = "NAME")]
    pub key_field: Option<String>,
    /// Take the value from this member or column.
    #[arg(long, value_name = "NAME", requires = "key_field")]
    pub value_field: Option<String>,
    /// The CSV or TSV input has no header: its columns are key and value.
    #[arg(long, conflicts_with = "key_field")]
    pub no_header: bool,
    /// Promise that the keys rise: loads faster, and fails at the first that does not.
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
    /// The file to write, which must not exist; standard output without it or with -.
    #[arg(value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub range: RangeArguments,
    #[command(flatten)]
    pub key: KeyArgument,
    #[command(flatten)]
    pub value: ValueArgument,
    /// The output's form [default: by the file's ending, else ndjson].
    #[arg(long, value_enum)]
    pub format: Option<FileFormat>,
}

/// Arguments of `stats`.
#[derive(Args, Debug)]
pub struct Stats {
    #[command(flatten)]
    pub file: FileArgument,
    /// Print a line with what changes, again and again, every so many seconds. Beside a process that writes, commits
    /// count when they are merged into the file.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1", value_parser = parse_seconds)]
    pub watch: Option<Duration>,
    /// With --watch: end after so many lines.
    #[arg(long, value_name = "NUMBER", requires = "watch")]
    pub times: Option<u64>,
    /// How to print.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `changes`.
#[derive(Args, Debug)]
pub struct Changes {
    #[command(flatten)]
    pub file: FileArgument,
    /// Only commits above this one.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub after: u64,
    /// Go on, and look for more every so many seconds. Beside a process that writes, commits come when they are merged
    /// into the file.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1", value_parser = parse_seconds)]
    pub follow: Option<Duration>,
    /// How to print.
    #[arg(long, value_enum, default_value = "ndjson")]
    pub format: OutputFormat,
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub struct Check {
    #[command(flatten)]
    pub file: FileArgument,
    /// How to print.
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
    /// The new file. Nothing that exists is overwritten.
    #[arg(value_name = "COPY", value_hint = ValueHint::FilePath)]
    pub copy: PathBuf,
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
    /// The directory to write into; it is created.
    #[arg(value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
}

/// A time in seconds, with or without a fraction.
fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration >= Duration::from_millis(10) => Ok(duration),
        _ => Err("at least 0.01 seconds".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_description_of_the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn negative_numbers_are_keys_and_values() {
        let arguments = Arguments::try_parse_from(["fulgurite", "put", "a.ful", "t", "-7", "-1.5"]).unwrap();
        let Verb::Put(put) = arguments.verb else { panic!("put was given") };
        assert_eq!((put.key_text.as_str(), put.value_text.as_str()), ("-7", "-1.5"));
    }

    #[test]
    fn deleting_a_prefix_needs_yes() {
        assert!(Arguments::try_parse_from(["fulgurite", "del", "a.ful", "t", "--prefix", "x"]).is_err());
        assert!(Arguments::try_parse_from(["fulgurite", "del", "a.ful", "t", "--prefix", "x", "--yes"]).is_ok());
        assert!(Arguments::try_parse_from(["fulgurite", "del", "a.ful", "t", "x"]).is_ok());
        assert!(Arguments::try_parse_from(["fulgurite", "del", "a.ful", "t"]).is_err());
    }
}
