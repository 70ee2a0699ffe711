//! The arguments of `fulgurite events`. Doc comments of arguments and verbs are the help that users read.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use crate::arguments::shared::{FileArgument, OutputFormat, WriteArguments, parse_seconds};

/// Arguments of `events`.
#[derive(Args, Debug)]
pub struct Events {
    /// The verb.
    #[command(subcommand)]
    pub verb: EventsVerb,
}

/// The verbs of event stores.
#[derive(Debug, Subcommand)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub enum EventsVerb {
    /// Append events from NDJSON: {"stream", "type", "data"?, "id"?, "metadata"?, "tags"?, "schema"?, "expected"?}.
    Append(Append),
    /// Print events as NDJSON: all, or those of a stream.
    Read(Read),
    /// Print events as NDJSON, and go on with those that come.
    Follow(Follow),
    /// List the streams.
    Streams(Streams),
    /// List the consumers and their positions.
    Consumers(Consumers),
    /// Read all events, and count them by type.
    Replay(Replay),
    /// Print how many events, streams and types there are.
    Stats(EventStats),
}

/// A database with an event store.
#[derive(Args, Debug)]
pub struct StoreArgument {
    #[command(flatten)]
    pub file: FileArgument,
    /// The name of the store in the database.
    #[arg(long, value_name = "NAME", default_value = "events")]
    pub store: String,
}

/// Arguments of `events append`.
#[derive(Args, Debug)]
pub struct Append {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The files to read. - is standard input, which is also the default.
    #[arg(value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,
    /// Create the database and the store if they do not exist.
    #[arg(long)]
    pub create: bool,
    /// The stream of events that name none.
    #[arg(long, value_name = "STREAM")]
    pub stream: Option<String>,
    /// The type of events that name none.
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// How many events are appended at a time: all of them or none.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: u32,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `events read`.
#[derive(Args, Debug)]
pub struct Read {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The stream. Without it, all events are printed.
    pub stream: Option<String>,
    /// Begin at this position; of a stream, at this version.
    #[arg(long, value_name = "NUMBER")]
    pub from: Option<u64>,
    /// Begin with the first event of this time or later, in seconds since 1970.
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["from", "stream", "backwards"])]
    pub since: Option<f64>,
    /// Print the newest events first. --from then names the first one that is not printed.
    #[arg(long)]
    pub backwards: bool,
    /// Print this many events at most.
    #[arg(long, value_name = "COUNT")]
    pub limit: Option<u64>,
    /// Only events of these types.
    #[arg(long = "type", value_name = "TYPE", conflicts_with = "stream")]
    pub kinds: Vec<String>,
    /// Only events that have all of these tags.
    #[arg(long = "tag", value_name = "TAG", conflicts_with = "stream")]
    pub tags: Vec<String>,
}

/// Arguments of `events follow`.
#[derive(Args, Debug)]
pub struct Follow {
    #[command(flatten)]
    pub store: StoreArgument,
    /// Begin at this position [default: the newest event].
    #[arg(long, value_name = "POSITION")]
    pub from: Option<u64>,
    /// End after this many events.
    #[arg(long, value_name = "COUNT")]
    pub limit: Option<u64>,
    /// How often to look for events, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "0.2", value_parser = parse_seconds)]
    pub interval: Duration,
}

/// Arguments of `events streams`.
#[derive(Args, Debug)]
pub struct Streams {
    #[command(flatten)]
    pub store: StoreArgument,
    /// Only streams whose names begin with this.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub prefix: String,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `events consumers`.
#[derive(Args, Debug)]
pub struct Consumers {
    #[command(flatten)]
    pub store: StoreArgument,
    /// Set the position of this consumer instead: it continues there.
    #[arg(long, value_name = "NAME", requires = "to")]
    pub set: Option<String>,
    /// The position for --set.
    #[arg(long, value_name = "POSITION", requires = "set")]
    pub to: Option<u64>,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `events replay`.
#[derive(Args, Debug)]
pub struct Replay {
    #[command(flatten)]
    pub store: StoreArgument,
    /// Begin at this position.
    #[arg(long, value_name = "POSITION", default_value_t = 0)]
    pub from: u64,
    /// The number of threads.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `events stats`.
#[derive(Args, Debug)]
pub struct EventStats {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}
