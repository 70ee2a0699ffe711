//! The arguments of `fulgurite facts serve`. Doc comments are the help that users read.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use crate::arguments::serving::ServingArguments;
use crate::arguments::shared::parse_seconds;

/// Arguments of `facts serve`.
#[derive(Args, Debug)]
pub struct Serve {
    /// The database files. For clients, a database has the name of its file without the extension.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// The databases below, the lowest first, if the served one is stacked. Only with a single FILE.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub base: Vec<PathBuf>,
    /// The address or host name to listen on, and the port. Port 0 is any free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7879")]
    pub bind: String,
    /// End the page of a query that takes more than this many seconds. Clients can continue it.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_seconds)]
    pub timeout: Duration,
    /// Return at most this many results on a page.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub results_max: u32,
    /// End a page when its results have this many MiB.
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1 << 11))]
    pub bytes_max: u32,
    /// Refuse a query, or a list of an index of code, that needs more than this many MiB of memory. Several may run at
    /// once.
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub memory_max: u32,
    /// Refuse request bodies of more than this many MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 11))]
    pub body_max: u32,
    #[command(flatten)]
    pub serving: ServingArguments,
}
