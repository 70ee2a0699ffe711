//! The arguments of `fulgurite rdf`. Doc comments of arguments and verbs are the help that users read.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use fulgurite_rdf::RdfFormat;
use fulgurite_rdf::oxrdf::NamedNode;
use fulgurite_rdf::oxrdfio::JsonLdProfileSet;

use crate::arguments::serving::ServingArguments;
use crate::arguments::shared::{OutputFormat, WriteArguments, parse_number, parse_seconds};

/// Arguments of `rdf`.
#[derive(Args, Debug)]
pub struct Rdf {
    /// The verb.
    #[command(subcommand)]
    pub verb: RdfVerb,
}

/// The verbs of RDF stores.
#[derive(Debug, Subcommand)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub enum RdfVerb {
    /// Load RDF files: all of them, or none if one has an error.
    Load(Load),
    /// Copy the data directory of an LmdbStore or NativeStore of RDF4J into a new store, and verify the copy.
    Migrate(Migrate),
    /// Answer a SPARQL query.
    Query(Query),
    /// Run a SPARQL update: all of its operations, or none.
    ///
    /// LOAD reads files of this machine, by file: IRIs. Nothing is fetched from the Web.
    Update(Update),
    /// Write the quads to an RDF file.
    Dump(Dump),
    /// Print the number of quads of each graph and of entries of each table.
    Stats(RdfStats),
    /// Verify the pages, indexes and dictionary of a store.
    Check(RdfCheck),
    /// Remove terms that no quad uses from the dictionary.
    Sweep(Sweep),
    /// Serve a store over HTTP: SPARQL queries, SPARQL updates and the Graph Store Protocol.
    Serve(Serve),
}

/// An RDF store.
#[derive(Args, Debug)]
pub struct StoreArgument {
    /// The database file of the store.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
}

/// RDF formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// N-Triples.
    Nt,
    /// N-Quads.
    Nq,
    /// Turtle.
    Ttl,
    /// TriG.
    Trig,
    /// RDF/XML.
    Rdf,
    /// JSON-LD.
    Jsonld,
}

impl From<GraphFormat> for RdfFormat {
    fn from(format: GraphFormat) -> Self {
        match format {
            GraphFormat::Nt => Self::NTriples,
            GraphFormat::Nq => Self::NQuads,
            GraphFormat::Ttl => Self::Turtle,
            GraphFormat::Trig => Self::TriG,
            GraphFormat::Rdf => Self::RdfXml,
            GraphFormat::Jsonld => Self::JsonLd { profile: JsonLdProfileSet::empty() },
        }
    }
}

/// Formats of query results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerFormat {
    /// Aligned columns. Turtle for triples.
    Table,
    /// SPARQL Query Results JSON.
    Json,
    /// SPARQL Query Results XML.
    Xml,
    /// Comma-separated values, without the types of literals.
    Csv,
    /// Tab-separated values, with terms as in Turtle.
    Tsv,
    /// N-Triples, for CONSTRUCT and DESCRIBE.
    Nt,
    /// Turtle, for CONSTRUCT and DESCRIBE.
    Ttl,
    /// RDF/XML, for CONSTRUCT and DESCRIBE.
    Rdf,
    /// JSON-LD, for CONSTRUCT and DESCRIBE.
    Jsonld,
}

/// Arguments of `rdf load`.
#[derive(Args, Debug)]
pub struct Load {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The files to read. They may be compressed by gzip, bzip2, xz or zstd. - is standard input.
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,
    /// Create the store if it does not exist.
    #[arg(long)]
    pub create: bool,
    #[command(flatten)]
    pub writing: WriteArguments,
    /// The format of the inputs [default: by each file's extension].
    #[arg(long, value_enum)]
    pub format: Option<GraphFormat>,
    /// Skip invalid statements, and count them. In RDF/XML and JSON-LD this skips the rest of the file too.
    #[arg(long)]
    pub lenient: bool,
    /// The graph of statements without a graph name [default: the default graph].
    #[arg(long, value_name = "IRI", value_parser = parse_iri)]
    pub graph: Option<NamedNode>,
    /// Base IRI for relative IRIs. Without it, relative IRIs are errors; in JSON-LD their statements are skipped and
    /// counted.
    #[arg(long, value_name = "IRI", value_parser = parse_iri)]
    pub base: Option<NamedNode>,
    /// Memory for sorting, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub memory: u32,
}

/// Arguments of `rdf migrate`.
#[derive(Args, Debug)]
#[command(after_help = MIGRATE_EXAMPLE)]
pub struct Migrate {
    /// The data directory of the LmdbStore or NativeStore. Stop programs that use it. It is only read.
    #[arg(value_name = "SOURCE", value_hint = ValueHint::DirPath)]
    pub source: PathBuf,
    /// The database file of the new store, which must not exist.
    #[arg(value_name = "TARGET", value_hint = ValueHint::FilePath)]
    pub target: PathBuf,
}

const MIGRATE_EXAMPLE: &str = "Example:
  fulgurite rdf migrate rdf4j/people/storage people.ful";

/// A SPARQL text.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct Text {
    /// The SPARQL text.
    #[arg(value_name = "SPARQL")]
    pub text: Option<String>,
    /// Read the SPARQL text from this file. - is standard input.
    #[arg(long, value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}

/// Access to other endpoints.
#[derive(Args, Debug)]
pub struct Services {
    /// Allow SERVICE to call the endpoint at this URL. A URL that ends with a slash allows all URLs that begin with it.
    /// May be repeated.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub service: Vec<String>,
    /// Trust the certificate authorities of this PEM file in https endpoints, in addition to those of the system.
    #[arg(long, value_name = "PEM", requires = "service", value_hint = ValueHint::FilePath)]
    pub service_ca: Option<PathBuf>,
    /// Fail if an endpoint does not answer within this many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = parse_seconds)]
    pub service_timeout: Duration,
    /// Fail if the answer of an endpoint has more than this many MiB.
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1 << 11))]
    pub service_max: u32,
}

/// Arguments of `rdf query`.
#[derive(Args, Debug)]
pub struct Query {
    #[command(flatten)]
    pub store: StoreArgument,
    #[command(flatten)]
    pub text: Text,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: AnswerFormat,
    /// Base IRI for relative IRIs of the query.
    #[arg(long, value_name = "IRI", value_parser = parse_iri)]
    pub base: Option<NamedNode>,
    /// Use the union of all graphs as the default graph of the query.
    #[arg(long)]
    pub union: bool,
    /// Ignore quads that are only inferred.
    #[arg(long)]
    pub explicit: bool,
    /// Fail after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
    /// Fail if the result has more than this many rows or triples.
    #[arg(long, value_name = "N", value_parser = parse_number::<u64>)]
    pub rows_max: Option<u64>,
    /// Fail if the evaluation needs more than this many MiB of memory.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub memory_max: Option<u32>,
    #[command(flatten)]
    pub services: Services,
    /// Print the plan of the query, with the expected and actual number of rows, instead of the result.
    #[arg(long, conflicts_with = "format")]
    pub explain: bool,
}

/// Arguments of `rdf update`.
#[derive(Args, Debug)]
pub struct Update {
    #[command(flatten)]
    pub store: StoreArgument,
    #[command(flatten)]
    pub text: Text,
    /// Create the store if it does not exist.
    #[arg(long)]
    pub create: bool,
    #[command(flatten)]
    pub writing: WriteArguments,
    /// Base IRI for relative IRIs of the update.
    #[arg(long, value_name = "IRI", value_parser = parse_iri)]
    pub base: Option<NamedNode>,
    /// Fail after this many seconds, and change nothing.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
    /// Fail, and change nothing, if the WHERE clause of an operation and its changes need more than this many MiB of
    /// memory.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub memory_max: Option<u32>,
    #[command(flatten)]
    pub services: Services,
}

/// Arguments of `rdf dump`.
#[derive(Args, Debug)]
pub struct Dump {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The file to write, which must not exist [default: standard output, which is also -].
    #[arg(value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// The format of the output [default: by the file's extension, or nq].
    #[arg(long, value_enum)]
    pub format: Option<GraphFormat>,
    /// Write only this graph, as triples without a graph name.
    #[arg(long, value_name = "IRI", value_parser = parse_iri)]
    pub graph: Option<NamedNode>,
    /// Write only the default graph.
    #[arg(long, conflicts_with = "graph")]
    pub default_graph: bool,
    /// Also write quads that are only inferred. A load makes them explicit.
    #[arg(long)]
    pub inferred: bool,
    /// Read a damaged store: leave out the quads that cannot be read, print the damaged places to standard error, and
    /// end with exit code 3 if there are any. One index of the quads is read.
    #[arg(long)]
    pub skip_damaged: bool,
}

/// Arguments of `rdf stats`.
#[derive(Args, Debug)]
pub struct RdfStats {
    #[command(flatten)]
    pub store: StoreArgument,
    /// Also count the terms that no quad uses. This reads all quads.
    #[arg(long)]
    pub unused: bool,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `rdf sweep`.
#[derive(Args, Debug)]
pub struct Sweep {
    #[command(flatten)]
    pub store: StoreArgument,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `rdf check`.
#[derive(Args, Debug)]
pub struct RdfCheck {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `rdf serve`.
#[derive(Args, Debug)]
pub struct Serve {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The address or host name to listen on, and the port. Port 0 is any free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878")]
    pub bind: String,
    /// Allow updates and changes of graphs. Without it, another process may write to the store.
    #[arg(long)]
    pub read_write: bool,
    /// Create the store if it does not exist.
    #[arg(long, requires = "read_write")]
    pub create: bool,
    /// With --read-write: keep up to this many MiB of log for `changes`. Without this option, retained log is removed.
    #[arg(long, value_name = "MIB", default_value_t = 0, hide_default_value = true, requires = "read_write")]
    pub keep_log: u32,
    /// With --read-write: write changes to the file when they are this many seconds old. Until then, verbs of another
    /// process that read the file, such as `backup`, do not see them.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds, requires = "read_write")]
    pub checkpoint: Duration,
    /// Use the union of all graphs as the default graph of queries.
    #[arg(long)]
    pub union: bool,
    /// Stop requests that take more than this many seconds, including their answer.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_seconds)]
    pub timeout: Duration,
    /// Fail queries that return more than this many rows or triples.
    #[arg(long, value_name = "N", value_parser = parse_number::<u64>)]
    pub rows_max: Option<u64>,
    /// Stop a query or update that needs more than this many MiB of memory. Several may run at once.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub memory_max: u32,
    /// Stop a query or update whose computed terms (CONCAT, BIND, aggregates) need more than this many MiB.
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub computed_max: u32,
    /// Refuse request bodies of more than this many MiB.
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1 << 11))]
    pub body_max: u32,
    /// The URL by which clients reach the server, if it is not the listening address. It is http or https, and ends
    /// with a slash.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub base: Option<String>,
    /// The name of the store as a repository of RDF4J's protocol [default: the name of the file
    /// without its extension].
    #[arg(long, value_name = "NAME")]
    pub repository: Option<String>,
    /// Refuse to begin more than this many transactions of RDF4J's protocol at once.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub transactions: u16,
    /// Roll back a transaction of RDF4J's protocol for which no request came for this many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_seconds)]
    pub transaction_idle: Duration,
    #[command(flatten)]
    pub services: Services,
    #[command(flatten)]
    pub serving: ServingArguments,
}

fn parse_iri(text: &str) -> Result<NamedNode, String> {
    NamedNode::new(text).map_err(|_| "not an absolute IRI, such as http://example.org/a (without < and >)".to_owned())
}
