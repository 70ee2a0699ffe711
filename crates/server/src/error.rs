//! The error type of the crate: errors of starting and running a server. `http::refusal` has those of requests.

use std::fmt;
use std::io;

/// An error of starting or running a server. Its message says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server cannot listen on the address.
    Bind {
        /// The address.
        address: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The system refuses a resource: threads, sockets, signals.
    System {
        /// The resource.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// An option has an invalid value.
    Invalid {
        /// The option, and its valid values.
        message: String,
    },
}

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind { address, source } => {
                write!(out, "{address}: cannot listen: {source}; choose another address or port")
            }
            Self::System { what, source } => write!(
                out,
                "the system refuses {what} for the server: {source}; close other programs, or raise the limits of the process"
            ),
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
