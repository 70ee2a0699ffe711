//! The crate's one error type: why a server does not start or run. What a request is refused for is `refusal`'s.

use std::fmt;
use std::io;

/// What went wrong, and what to do about it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened on.
    Bind {
        /// The address.
        address: String,
        /// What the system reports.
        source: io::Error,
    },
    /// The system refuses what a server runs with: threads, timers, signals.
    System {
        /// What it refuses.
        what: &'static str,
        /// What it reports.
        source: io::Error,
    },
    /// An option is outside what is allowed.
    Invalid {
        /// Which one, and what is allowed.
        message: String,
    },
}

/// What this crate's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind { address, source } => {
                write!(out, "{address}: cannot be listened on: {source}; choose another address or port")
            }
            Self::System { what, source } => write!(out, "no {what} for the server: {source}"),
            Self::Invalid { message } => out.write_str(message),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Bind { source, .. } | Self::System { source, .. } => Some(source),
            Self::Invalid { .. } => None,
        }
    }
}
