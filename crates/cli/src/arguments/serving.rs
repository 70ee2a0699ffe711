//! Arguments of all verbs that serve over HTTP. Doc comments are the help that users read.

use std::time::Duration;

use clap::{Args, ValueHint};

use crate::arguments::shared::parse_seconds;

/// What every server has.
#[derive(Args, Debug)]
pub struct ServingArguments {
    /// Refuse request bodies that are incomplete after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = parse_seconds)]
    pub body_time: Duration,
    /// Run this many requests at once [default: two for each processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1 << 10))]
    pub queries: Option<u16>,
    /// Refuse a request that has waited this many seconds to run.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    pub wait: Duration,
    /// A further host name of the server, besides its addresses. * is any name. May be repeated.
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Hostname)]
    pub host_name: Vec<String>,
    /// Allow web pages of this origin to call the server: scheme, host and port. * allows all.
    #[arg(long, value_name = "ORIGIN")]
    pub cors: Option<String>,
    /// Print one line for each request.
    #[arg(long, short)]
    pub verbose: bool,
}
