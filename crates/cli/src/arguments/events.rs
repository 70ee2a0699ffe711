//! The arguments of `fulgurite events`. Doc comments of arguments and verbs are the help that users read.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use fulgurite_events::Timestamp;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime};

use crate::arguments::shared::{FileArgument, OutputFormat, WriteArguments, parse_number, parse_seconds};
use crate::notation::bytes_of_text;

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
    ///
    /// Each event gets the time at which it is appended. The members "position", "version" and "time", which `events
    /// read` prints, are accepted and not stored.
    Append(Append),
    /// Print events as NDJSON: all, or those of a stream.
    Read(Read),
    /// Print events as NDJSON, then print new events as they appear in the file, or come from a socket.
    ///
    /// Events of another process appear in the file when that process writes its next checkpoint, or closes the
    /// database. With --socket, they come as soon as they have the durability of the store.
    Follow(Follow),
    /// List the streams.
    Streams(Streams),
    /// List the consumers and their positions.
    Consumers(Consumers),
    /// Read all events, and count them by type.
    Replay(Replay),
    /// Print how many events, streams and types there are.
    Stats(EventStats),
    /// Verify a store: pages, log, indexes, streams and their names.
    Check(EventCheck),
    /// Hide the events of a stream before a version. `events retention` then removes them from the file.
    Truncate(Truncate),
    /// Delete a stream. `events retention` then removes its events from the file.
    ///
    /// An append opens the stream again, with the version after its last one; its earlier events stay deleted.
    Delete(DeleteStream),
    /// Remove events from the file: those of deleted and truncated streams, and the oldest ones beyond the limits.
    ///
    /// Limits apply to whole chunks of up to 8,000 bytes, and the newest chunk stays. New events use the space, and
    /// `compact` makes the file smaller.
    Retention(Retain),
    /// Write the indexes of streams, types and tags again, from the log. Refused if other tables are damaged.
    Reindex(Reindex),
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

impl StoreArgument {
    /// A store that is named by other arguments.
    pub fn new(path: PathBuf, store: String) -> Self {
        Self { file: FileArgument { path }, store }
    }
}

/// The name of a stream, or its beginning: text, or `hex:` and digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamName(pub Vec<u8>);

impl FromStr for StreamName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        bytes_of_text(text).map(Self)
    }
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
    /// The stream of events that name none. Bytes that are not text are written as hex:00ff.
    #[arg(long, value_name = "STREAM")]
    pub stream: Option<StreamName>,
    /// The type of events that name none.
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// How many events are appended at a time: all of them or none.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: u32,
    /// Meanwhile, serve the events of the store at this Unix socket, for `events follow --socket` and other programs.
    /// Events are then appended as they arrive, in batches that may have fewer events.
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath)]
    pub serve: Option<PathBuf>,
    /// With --serve: write events to the file when they are this many seconds old. Until then, verbs of another process
    /// that read the file, such as `backup`, do not see them.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds, requires = "serve")]
    pub checkpoint: Duration,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `events read`.
#[derive(Args, Debug)]
pub struct Read {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The stream, as `events streams` prints it in a table: text, or hex:00ff for names that are not text, have
    /// control characters or begin with hex:. Without it, all events are printed.
    pub stream: Option<StreamName>,
    /// Begin at this position; of a stream, at this version.
    #[arg(long, value_name = "NUMBER", value_parser = parse_number::<u64>)]
    pub from: Option<u64>,
    /// Only events of this time or later: a date, a time as events have, or seconds since 1970.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub since: Option<Timestamp>,
    /// Only events before this time.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub until: Option<Timestamp>,
    /// Print the newest events first. With --from N, print only events before N.
    #[arg(long)]
    pub backwards: bool,
    /// Print this many events at most.
    #[arg(long, value_name = "COUNT", value_parser = parse_number::<u64>)]
    pub limit: Option<u64>,
    /// Only events of these types.
    #[arg(long = "type", value_name = "TYPE")]
    pub kinds: Vec<String>,
    /// Only events that have all of these tags.
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Read a damaged store: leave out the events that cannot be read, print their positions to standard error, and end
    /// with exit code 3 if there are any. Indexes are not read.
    #[arg(long, conflicts_with_all = ["stream", "since", "until", "backwards"])]
    pub skip_damaged: bool,
}

/// Arguments of `events follow`.
#[derive(Args, Debug)]
pub struct Follow {
    /// The database file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "socket")]
    pub path: Option<PathBuf>,
    /// The name of the store in the database.
    #[arg(long, value_name = "NAME", default_value = "events", conflicts_with = "socket")]
    pub store: String,
    /// Instead of opening a file, receive the events from a process that serves them at this Unix socket, such as
    /// `events append --serve`. If that process ends, connect again as soon as one serves there.
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath, conflicts_with = "path")]
    pub socket: Option<PathBuf>,
    /// Continue where the consumer of this name has stopped, at the first event if it is new. The process that serves
    /// stores its position when events were printed, so each is printed at least once. A name has one follower at a
    /// time.
    #[arg(long, value_name = "NAME", requires = "socket", conflicts_with_all = ["path", "from"])]
    pub consumer: Option<String>,
    /// Begin at this position [default: after the newest event].
    // The greatest number asks a process that serves for new events only.
    #[arg(long, value_name = "POSITION", value_parser = parse_position)]
    pub from: Option<u64>,
    /// End after this many events.
    #[arg(long, value_name = "COUNT", value_parser = parse_number::<u64>)]
    pub limit: Option<u64>,
    /// How often to look for events, in seconds. With --socket: how often to connect again.
    #[arg(long, value_name = "SECONDS", default_value = "0.2", value_parser = parse_seconds)]
    pub interval: Duration,
}

/// Arguments of `events streams`.
#[derive(Args, Debug)]
pub struct Streams {
    #[command(flatten)]
    pub store: StoreArgument,
    /// Only streams whose names begin with this. Bytes that are not text are written as hex:00ff.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub prefix: StreamName,
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
    #[arg(long, value_name = "POSITION", requires = "set", value_parser = parse_number::<u64>)]
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
    #[arg(long, value_name = "POSITION", default_value_t = 0, value_parser = parse_number::<u64>)]
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

/// Arguments of `events check`.
#[derive(Args, Debug)]
pub struct EventCheck {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
}

/// Arguments of `events truncate`.
#[derive(Args, Debug)]
pub struct Truncate {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The stream, as for `events read`.
    pub stream: StreamName,
    /// The first version that is kept.
    #[arg(long, value_name = "VERSION", value_parser = parse_number::<u64>)]
    pub before: u64,
    /// Confirm that events are removed. It cannot be undone.
    #[arg(long, required = true)]
    pub yes: bool,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `events delete`.
#[derive(Args, Debug)]
pub struct DeleteStream {
    #[command(flatten)]
    pub store: StoreArgument,
    /// The stream, as for `events read`.
    pub stream: StreamName,
    /// Refuse later appends to the stream.
    #[arg(long)]
    pub tombstone: bool,
    /// Confirm the deletion. It cannot be undone.
    #[arg(long, required = true)]
    pub yes: bool,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `events retention`.
#[derive(Args, Debug)]
pub struct Retain {
    #[command(flatten)]
    pub store: StoreArgument,
    /// Keep events of the last DAYS days only. It may have a fraction.
    #[arg(long, value_name = "DAYS", value_parser = parse_days)]
    pub age_max: Option<Duration>,
    /// Keep this many events at most: the newest.
    #[arg(long, value_name = "COUNT", value_parser = parse_number::<u64>)]
    pub count_max: Option<u64>,
    /// Keep about this many MiB of events at most: the newest.
    #[arg(long, value_name = "MIB")]
    pub bytes_max: Option<u32>,
    /// Confirm that events are removed. It cannot be undone.
    #[arg(long, required = true)]
    pub yes: bool,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// Arguments of `events reindex`.
#[derive(Args, Debug)]
pub struct Reindex {
    #[command(flatten)]
    pub store: StoreArgument,
    #[command(flatten)]
    pub writing: WriteArguments,
}

/// A position at which an event can be.
fn parse_position(text: &str) -> Result<u64, String> {
    match parse_number(text)? {
        u64::MAX => Err("the number is too large".to_owned()),
        position => Ok(position),
    }
}

/// An age in days, which may have a fraction.
fn parse_days(text: &str) -> Result<Duration, String> {
    let days: Option<f64> = text.parse().ok();
    let age = days.and_then(|days| Duration::try_from_secs_f64(days * 86_400.0).ok());
    age.ok_or_else(|| "not a number of days from 0 on".to_owned())
}

/// A date (midnight in UTC), a time as in RFC 3339, or seconds since 1970.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    let seconds = || Duration::try_from_secs_f64(text.parse().ok()?).ok()?.as_micros().try_into().ok();
    let date = || Date::parse(text, format_description!("[year]-[month]-[day]")).ok();
    let time =
        || date().map(|date| date.midnight().assume_utc()).or_else(|| OffsetDateTime::parse(text, &Rfc3339).ok());
    let since_1970 = || u64::try_from(time()?.unix_timestamp_nanos() / 1000).ok();
    seconds().or_else(since_1970).map(Timestamp).ok_or_else(|| {
        "not a time since 1970; write it as 2026-11-28, 2026-11-28T12:30:00Z, or in seconds since 1970".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_a_time_with_its_zone_or_a_number_of_seconds() {
        for (text, micros) in [
            ("0", 0),
            ("1.5", 1_500_000),
            ("1970-01-02", 86_400_000_000),
            ("2024-02-29T23:59:59.999999Z", 1_709_251_199_999_999),
            ("2024-03-01T01:59:59.999999+02:00", 1_709_251_199_999_999),
        ] {
            assert_eq!(parse_time(text), Ok(Timestamp(micros)), "{text}");
        }
        for wrong in ["", "nan", "inf", "-1", "1e300", "1969-12-31", "2026-02-30", "2026-11-28T12:30:00", "yesterday"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
