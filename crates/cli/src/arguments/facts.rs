//! The arguments of `fulgurite facts`. Doc comments of arguments and verbs are the help that users read.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use crate::arguments::facts_database::{BackendArgument, DatabaseArgument, SliceArguments};
use crate::arguments::shared::{OutputFormat, WriteArguments, parse_seconds};
use crate::arguments::{code, facts_files, facts_serve};

/// Arguments of `facts`.
#[derive(Args, Debug)]
pub struct Facts {
    /// The verb.
    #[command(subcommand)]
    pub verb: FactsVerb,
}

/// The verbs of databases of facts.
#[derive(Debug, Subcommand)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub enum FactsVerb {
    /// Create a database with a schema in Angle.
    Create(Create),
    /// Write facts from JSON files: each file whole, or not at all.
    Write(Write),
    /// Answer a query in Angle: one result as JSON on each line.
    Query(Query),
    /// Complete a database: afterwards it cannot be changed, and takes less space.
    #[command(visible_alias = "complete")]
    Finish(Finish),
    /// Print the number of facts of each predicate, and their bytes.
    Stats(FactsStats),
    /// Print the schema.
    Schema(SchemaArguments),
    /// Answer queries line by line: from the terminal, with editing, or from standard input.
    Shell(facts_files::Shell),
    /// Write the facts that the schema derives into the database, with `stored`.
    Derive(facts_files::Derive),
    /// Print all facts as JSON, with the units that own them, as `write` reads them.
    Dump(facts_files::Dump),
    /// List the units that own facts, such as source files, with the numbers of their facts.
    ///
    /// A unit owns the facts that were written for it (`write --unit`), and those that they refer to. The column
    /// `needed` counts the facts that only slices with the unit have: `create --hide` hides these.
    Units(facts_files::Units),
    /// Print the units that own facts: `a.rs | b.rs` if any of the two suffices, `a.rs & b.rs` if both are needed.
    Owners(facts_files::Owners),
    /// Verify every page, and that each fact is what the schema says and is found by its key.
    Validate(facts_files::Validate),
    /// List the databases of facts in a directory.
    List(facts_files::List),
    /// Delete a database with its log, and the incremental databases of an index.
    ///
    /// If a copy to this name was interrupted, delete the files that it has left.
    Delete(facts_files::Delete),
    /// Copy a database, and the incremental databases of an index, to new files.
    Backup(facts_files::Copy),
    /// Write a compressed image of a database, and of the incremental databases of an index.
    ///
    /// All verbs that read open an image in place. With --squashfs, the image is a file system that Linux mounts, with
    /// the database in it.
    Image(facts_files::Image),
    /// Make a database of a backup or an image.
    Restore(facts_files::Copy),
    /// Find the definitions and references in source code, with the indexers that are installed.
    ///
    /// The indexers are rust-analyzer, scip-typescript, scip-python, scip-java and scip-go: all that fit the directory
    /// and are installed are run. One that fits directories below it only, at most three levels down, is run in each of
    /// these. Where one is missing, Universal Ctags finds definitions.
    Index(code::Index),
    /// Print the definitions in a source file.
    Symbols(code::Symbols),
    /// Print what is known of a symbol: its signature, its documentation, where it is defined.
    Describe(code::OfSymbol),
    /// Print where a symbol is defined.
    Definition(code::OfSymbol),
    /// Print where a symbol is used.
    References(code::References),
    /// Find symbols by a part of their names.
    Search(code::Search),
    /// Print the containers and members of a symbol, what it implements, and what implements it.
    Hierarchy(code::OfSymbol),
    /// Print the messages of compilers and linters, as far as the indexer reports them.
    Diagnostics(code::Diagnostics),
    /// Answer an editor from an index of code: a language server on standard input and output.
    Lsp(code::Lsp),
    /// Serve databases over HTTP, as JSON with the fields of Glean's queries. It only reads.
    Serve(facts_serve::Serve),
}

/// Arguments of `facts create`.
#[derive(Args, Debug)]
pub struct Create {
    #[command(flatten)]
    pub database: DatabaseArgument,
    /// Files with the schema in Angle. Not needed with --base: then the schema is that of the base.
    #[arg(long, value_name = "ANGLE", value_hint = ValueHint::FilePath, required_unless_present = "base")]
    pub schema: Vec<PathBuf>,
    /// Hide the facts of the databases below that only this unit owns, such as a file that has changed.
    #[arg(long, value_name = "UNIT", requires = "base")]
    pub hide: Vec<String>,
    /// Hide the facts of the databases below that only other units own. Facts without owners stay.
    #[arg(long, value_name = "UNIT", requires = "base", conflicts_with = "hide")]
    pub keep: Vec<String>,
    /// What stores the database. The other verbs find it by the file.
    #[arg(long, value_enum, default_value_t)]
    pub backend: BackendArgument,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `facts write`.
#[derive(Args, Debug)]
pub struct Write {
    #[command(flatten)]
    pub database: DatabaseArgument,
    /// The files to read: [{ "predicate": "a.B.1", "facts": [{ "id"?, "key", "value"? }], "unit"? }], or what `dump`
    /// printed. They may be compressed by gzip. - is standard input.
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,
    /// The unit that owns the facts of batches that name none, such as the source file that they are about.
    #[arg(long)]
    pub unit: Option<String>,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `facts query`.
#[derive(Args, Debug)]
pub struct Query {
    #[command(flatten)]
    pub database: DatabaseArgument,
    /// The query, such as `src.File _`.
    #[arg(value_name = "ANGLE")]
    pub text: String,
    /// Expand the facts that results refer to.
    #[arg(long)]
    pub recursive: bool,
    /// Stop after this many results, and print how to continue. A result that matches in several ways can be printed
    /// again after that.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// Stop when the keys and values of the results have this many MiB, and print how to continue.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub bytes_max: Option<u32>,
    /// Continue where an earlier run of the same query stopped: the text that it printed.
    #[arg(long = "continue", value_name = "TEXT")]
    pub continuation: Option<String>,
    /// Stop after this many seconds, including the time to print results, and print how to continue.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
    /// Stop if the query needs more than this many MiB of memory.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub memory_max: u32,
    /// Print how many facts of each predicate were searched.
    #[arg(long)]
    pub profile: bool,
    #[command(flatten)]
    pub slice: SliceArguments,
}

/// Arguments of `facts finish`.
#[derive(Args, Debug)]
pub struct Finish {
    #[command(flatten)]
    pub database: DatabaseArgument,
    /// Complete the database even if stored predicates were not derived since facts were written. Queries go on to say
    /// so.
    #[arg(long)]
    pub allow_underived: bool,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `facts stats`.
#[derive(Args, Debug)]
pub struct FactsStats {
    #[command(flatten)]
    pub database: DatabaseArgument,
    #[command(flatten)]
    pub slice: SliceArguments,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `facts schema`.
#[derive(Args, Debug)]
pub struct SchemaArguments {
    #[command(flatten)]
    pub database: DatabaseArgument,
}
