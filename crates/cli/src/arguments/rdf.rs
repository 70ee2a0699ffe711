//! What `fulgurite rdf` accepts. The doc comments here are the help that users read.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use fulgurite_rdf::RdfFormat;
use fulgurite_rdf::oxrdf::NamedNode;
use fulgurite_rdf::oxrdfio::JsonLdProfileSet;

use super::{OutputFormat, WaitArgument, parse_seconds};

/// Arguments of `rdf`.
#[derive(Args, Debug)]
pub struct Rdf {
    /// What to do.
    #[command(subcommand)]
    pub verb: RdfVerb,
}

/// What can be done with a store of quads.
#[derive(Debug, Subcommand)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub enum RdfVerb {
    /// Load RDF files, all of them or nothing.
    Load(Load),
    /// Answer a SPARQL query.
    Query(Query),
    /// Carry out a SPARQL update, all of it or nothing.
    Update(Update),
    /// Write the quads as RDF.
    Dump(Dump),
    /// Tell how many quads each graph has, and how many entries each table.
    Stats(RdfStats),
    /// Check that all of a store is sound: its pages, indexes and dictionary.
    Check(RdfCheck),
    /// Take terms that no quad uses out of the dictionary.
    Sweep(Sweep),
    /// Serve a store over HTTP: SPARQL queries, updates and graphs.
    Serve(Serve),
}

/// A store of quads.
#[derive(Args, Debug)]
pub struct StoreArgument {
    /// The store: a database.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
}

/// Forms of RDF.
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

/// Forms of answers to queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerFormat {
    /// Aligned columns, for reading; Turtle for triples.
    Table,
    /// SPARQL Query Results JSON.
    Json,
    /// SPARQL Query Results XML.
    Xml,
    /// Comma-separated values: texts without types.
    Csv,
    /// Tab-separated values: terms as in Turtle.
    Tsv,
    /// N-Triples, of CONSTRUCT and DESCRIBE.
    Nt,
    /// Turtle, of CONSTRUCT and DESCRIBE.
    Ttl,
    /// RDF/XML, of CONSTRUCT and DESCRIBE.
    Rdf,
    /// JSON-LD, of CONSTRUCT and DESCRIBE.
    Jsonld,
}

/// Arguments of `rdf load`.
#[derive(Args, Debug)]
pub struct Load {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The files to read, which may be packed by gzip, bzip2, xz or zstd; - is standard input.
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,
    /// Create the store if it does not exist.
    #[arg(long)]
    pub create: bool,
    #[command(flatten)]
    pub wait: WaitArgument,
    /// The inputs' form [default: by each file's ending].
    #[arg(long, value_enum)]
    pub format: Option<GraphFormat>,
    /// Pass over statements that break the rules of their form, and count them; in RDF/XML and JSON-LD with all that
    /// follows.
    #[arg(long)]
    pub lenient: bool,
    /// The graph for statements that name none [default: the default graph].
    #[arg(long, value_name = "IRI", value_parser = parse_iri)]
    pub graph: Option<NamedNode>,
    /// What relative IRIs are resolved against. Without it they are errors; JSON-LD drops their statements, which are
    /// counted.
    #[arg(long, value_name = "IRI", value_parser = parse_iri)]
    pub base: Option<NamedNode>,
    /// Memory for sorting, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub memory: u32,
}

/// A SPARQL text.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct Text {
    /// The SPARQL text.
    #[arg(value_name = "SPARQL")]
    pub text: Option<String>,
    /// Read the SPARQL text from this file; - is standard input.
    #[arg(long, value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}

/// Other endpoints.
#[derive(Args, Debug)]
pub struct Services {
    /// Let SERVICE ask the endpoint at this URL, or, if it ends with a slash, at every URL that begins so; can be given
    /// several times.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub service: Vec<String>,
    /// Give an endpoint up that has not answered after so many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = parse_seconds)]
    pub service_timeout: Duration,
    /// Give an endpoint up whose answer has more than so many MiB.
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
    /// How to print.
    #[arg(long, value_enum, default_value = "table")]
    pub format: AnswerFormat,
    /// What relative IRIs in the query are resolved against.
    #[arg(long, value_name = "IRI", value_parser = parse_iri)]
    pub base: Option<NamedNode>,
    /// The default graph of the query is the union of all graphs.
    #[arg(long)]
    pub union: bool,
    /// Leave out quads that are only inferred.
    #[arg(long)]
    pub explicit: bool,
    /// Give up after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
    /// Give up after so many rows or triples.
    #[arg(long, value_name = "N")]
    pub rows_max: Option<u64>,
    /// Give up when the evaluation holds more than so many MiB of memory.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub memory_max: Option<u32>,
    #[command(flatten)]
    pub services: Services,
    /// Print how the query is evaluated, with expected and actual rows, instead of its answer.
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
    pub wait: WaitArgument,
    /// What relative IRIs in the update are resolved against.
    #[arg(long, value_name = "IRI", value_parser = parse_iri)]
    pub base: Option<NamedNode>,
    /// Give up after so many seconds, and change nothing.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
    /// Give up when the WHERE of an operation, and what it is to change, hold more than so many MiB of memory; then
    /// nothing is changed.
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
    /// The file to write, which must not exist; standard output without it or with -.
    #[arg(value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// The output's form [default: by the file's ending, else nq].
    #[arg(long, value_enum)]
    pub format: Option<GraphFormat>,
    /// Only this graph, and its triples as those of the default graph.
    #[arg(long, value_name = "IRI", value_parser = parse_iri)]
    pub graph: Option<NamedNode>,
    /// Only the default graph.
    #[arg(long, conflicts_with = "graph")]
    pub default_graph: bool,
    /// Write quads that are only inferred, too: when they are loaded, they are explicit.
    #[arg(long)]
    pub inferred: bool,
}

/// Arguments of `rdf stats`.
#[derive(Args, Debug)]
pub struct RdfStats {
    #[command(flatten)]
    pub store: StoreArgument,
    /// Tell how many terms of the dictionary no quad uses, too, for which all quads are read.
    #[arg(long)]
    pub unused: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `rdf sweep`.
#[derive(Args, Debug)]
pub struct Sweep {
    #[command(flatten)]
    pub store: StoreArgument,
    #[command(flatten)]
    pub wait: WaitArgument,
}

/// Arguments of `rdf check`.
#[derive(Args, Debug)]
pub struct RdfCheck {
    #[command(flatten)]
    pub store: StoreArgument,
    /// How to print.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `rdf serve`.
#[derive(Args, Debug)]
pub struct Serve {
    #[command(flatten)]
    pub store: StoreArgument,
    /// Where to listen: an address or name of this machine, and a port, of which 0 is any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878")]
    pub bind: String,
    /// Allow updates and changes of graphs; without it, another process may write meanwhile.
    #[arg(long)]
    pub read_write: bool,
    /// Create the store if it does not exist.
    #[arg(long, requires = "read_write")]
    pub create: bool,
    /// The default graph of queries is the union of all graphs.
    #[arg(long)]
    pub union: bool,
    /// End a request whose evaluation and answer take more than so many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_seconds)]
    pub timeout: Duration,
    /// End a query after so many rows or triples.
    #[arg(long, value_name = "N")]
    pub rows_max: Option<u64>,
    /// End a query or update that holds more than so many MiB of memory: each of those that run at once.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub memory_max: u32,
    /// End a query or update whose own terms (CONCAT, BIND, aggregates) take more than so many MiB.
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub computed_max: u32,
    /// Refuse bodies of more than so many MiB.
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1 << 11))]
    pub body_max: u32,
    /// Refuse bodies that are not whole after so many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = parse_seconds)]
    pub body_time: Duration,
    /// Run so many requests at once [default: two for each processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1 << 10))]
    pub queries: Option<u16>,
    /// Let a request wait so many seconds for others to end before it is refused.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    pub wait: Duration,
    /// Where clients reach the server, if not where it listens: http or https, with a slash at the end.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub base: Option<String>,
    /// A name by which clients reach the server, besides its addresses and the name in --base; can be given several
    /// times. * is any name.
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Hostname)]
    pub host_name: Vec<String>,
    /// Let the pages of this site use the server: its scheme, host and port, or * for all.
    #[arg(long, value_name = "ORIGIN")]
    pub cors: Option<String>,
    #[command(flatten)]
    pub services: Services,
    /// Print a line for each request.
    #[arg(long, short)]
    pub verbose: bool,
}

fn parse_iri(text: &str) -> Result<NamedNode, String> {
    NamedNode::new(text).map_err(|error| format!("not an absolute IRI: {error}"))
}
