//! [`Error`], the one error type of the crate.

use std::path::PathBuf;
use std::{fmt, io};

use crate::event::Expected;
use crate::ids::{Position, Version};

/// Results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The engine failed.
    Engine(Box<fulgurite::Error>),
    /// A stream does not have the expected version. Nothing was appended.
    WrongVersion {
        /// The stream.
        stream: Vec<u8>,
        /// What the caller expected.
        expected: Expected,
        /// The version of its last event. None if the stream does not exist or is deleted.
        actual: Option<Version>,
    },
    /// An event matches the query of an append's condition. Nothing was appended.
    ConditionFailed {
        /// The first such event.
        position: Position,
    },
    /// Some events of an append have ids that the stream has already, but not all of them in this order.
    IdReused {
        /// The stream.
        stream: Vec<u8>,
        /// The version of the event that has one of the ids.
        version: Version,
    },
    /// There is no such stream, or it was deleted.
    StreamNotFound {
        /// Its name.
        stream: Vec<u8>,
    },
    /// The stream has a tombstone: nothing can be appended to it again.
    Tombstone {
        /// Its name.
        stream: Vec<u8>,
    },
    /// A name, a type, a tag or an option is out of its limits.
    Invalid {
        /// What is wrong, and what to do.
        message: String,
    },
    /// A call within [`EventStore::transact`](crate::EventStore::transact) that begins another transaction of the same
    /// store would wait for itself.
    Nested,
    /// The database has no event store of this name.
    NotEvents {
        /// The name.
        name: String,
    },
    /// A newer version of Fulgurite has written the store.
    NewerLayout {
        /// The name.
        name: String,
        /// The layout of the store.
        layout: u8,
        /// The newest layout that this version reads.
        known: u8,
    },
    /// The store is open in this process with other options.
    OtherOptions {
        /// The name.
        name: String,
    },
    /// The tables contradict each other.
    Damaged {
        /// The table.
        table: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A payload cannot be encoded or decoded.
    Codec {
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A socket that serves a store, or one that a follower reads, failed.
    Socket {
        /// The file of the socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
        /// Whether this process serves at the socket, or has tried to.
        is_server: bool,
    },
    /// A function that the program gave failed.
    Program(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// An error of the program, for functions that fold events.
    pub fn program(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Program(error.into())
    }

    /// A position to follow from that is above the head.
    pub(crate) fn after_the_head(from: Position, head: Position) -> Self {
        let message = format!(
            "cannot follow from position {from}: the next event gets position {head}; follow from {head} for new \
             events, or check that it is the same store, and that a power cut has not lost events"
        );
        Self::Invalid { message }
    }

    /// Whether bytes of the store are not what was written.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::Engine(error) => error.is_corruption(),
            _ => false,
        }
    }

    /// Whether the transaction can be tried again: another one conflicted with it.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Engine(error) if error.is_retryable())
    }
}

impl From<fulgurite::Error> for Error {
    fn from(error: fulgurite::Error) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(out),
            Self::WrongVersion { stream, expected, actual } => {
                write!(out, "stream {}: expected {expected}, ", Name(stream))?;
                match actual {
                    Some(version) => write!(out, "but its last event has version {version}")?,
                    None => out.write_str("but it does not exist")?,
                }
                out.write_str("; read the stream again, then decide again")
            }
            Self::ConditionFailed { position } => write!(
                out,
                "the event at position {position} matches the query of the condition; read again, then decide again"
            ),
            Self::IdReused { stream, version } => write!(
                out,
                "stream {}: its event {version} has an id of this append, but the other ids differ; repeat an append \
                 with all its events, or give new events new ids",
                Name(stream)
            ),
            Self::StreamNotFound { stream } => {
                write!(out, "stream {} does not exist, or was deleted; check the name", Name(stream))
            }
            Self::Tombstone { stream } => {
                write!(out, "stream {} has a tombstone: nothing can be appended to it; use another name", Name(stream))
            }
            Self::Invalid { message } => out.write_str(message),
            Self::Nested => out.write_str(
                "a call within a transaction of the event store began another one; call the methods of the transaction",
            ),
            Self::NotEvents { name } => {
                let remedy = "check the name, or open the database for writing to create it";
                write!(out, "the database has no event store `{name}`; {remedy}; {NOT_MERGED}")
            }
            Self::NewerLayout { name, layout, known } => write!(
                out,
                "the event store `{name}` has layout {layout}, and this version of Fulgurite reads layouts up to \
                 {known}; open it with a newer version"
            ),
            Self::OtherOptions { name } => write!(
                out,
                "the event store `{name}` is open in this process with other options; open it with the same ones"
            ),
            Self::Damaged { table, what } => {
                let is_index = INDEXES.iter().any(|index| table.ends_with(index));
                let remedy = if is_index { "rebuild the indexes with `fulgurite events reindex`, or " } else { "" };
                write!(out, "table `{table}` is damaged: {what}; {remedy}restore a backup")
            }
            Self::Codec { source } => write!(out, "a payload does not fit its codec or upcaster: {source}"),
            Self::Socket { path, source, is_server } => write!(
                out,
                "{}: the socket of an event store: {source}; {}",
                path.display(),
                remedy_of_socket(source.kind(), *is_server)
            ),
            Self::Program(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => Some(&**error),
            Self::Codec { source } | Self::Program(source) => Some(&**source),
            Self::Socket { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// What to do after an error of a socket: that of a server or of a follower.
fn remedy_of_socket(kind: io::ErrorKind, is_server: bool) -> &'static str {
    match kind {
        io::ErrorKind::AlreadyExists | io::ErrorKind::AddrInUse => "choose another path",
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => SHORTER,
        io::ErrorKind::PermissionDenied => "check who may use the socket and its directory",
        _ if is_server => "check the path",
        _ => "check the path, and check that a process serves the store there",
    }
}

/// The beginning of a name, for messages: as text, or as `hex:` and digits, which the command line accepts.
struct Name<'n>(&'n [u8]);

impl fmt::Display for Name<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(NAME_BYTES_SHOWN)];
        if std::str::from_utf8(self.0).is_ok() && !self.0.starts_with(HEX.as_bytes()) {
            // A character that is cut is left out.
            let text = shown.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            write!(out, "`{}`", text.escape_debug())?;
        } else {
            write!(out, "`{HEX}")?;
            shown.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
            out.write_str("`")?;
        }
        if shown.len() < self.0.len() { write!(out, "… ({} bytes)", self.0.len()) } else { Ok(()) }
    }
}

/// Why a reader may not see a store that another process has created.
const NOT_MERGED: &str = "if another process has created it, it appears with the next checkpoint of that process";
/// The ends of the names of tables that the log can replace.
const INDEXES: [&str; 3] = [".index", ".by_type", ".by_tag"];
/// As much as fits a line.
const NAME_BYTES_SHOWN: usize = 64;
/// Begins a name that is written as hexadecimal digits.
const HEX: &str = "hex:";
/// What to do with a path that does not fit the address of a socket.
const SHORTER: &str =
    if cfg!(target_os = "linux") { "choose a path of at most 107 bytes" } else { "choose a path of at most 103 bytes" };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_as_the_command_line_accepts_it() {
        let cut = [&[b'a'; 63][..], "é".as_bytes()].concat();
        for (name, shown) in [
            (&b"order-7"[..], "`order-7`".to_owned()),
            (&b"\xaa\0"[..], "`hex:aa00`".to_owned()),
            (&b"hex:00"[..], "`hex:6865783a3030`".to_owned()),
            (&cut[..], format!("`{}`… (65 bytes)", "a".repeat(63))),
        ] {
            assert_eq!(Name(name).to_string(), shown);
        }
    }
}
