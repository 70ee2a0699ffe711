//! The one error of this program.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why instructions could not be counted, or what their counts are wrong with.
#[derive(Debug)]
pub enum Error {
    /// The engine refused a call.
    Engine(fulgurite::Error),
    #[cfg(feature = "quads")]
    /// The store of quads refused a call.
    Store(fulgurite_rdf::Error),
    /// An operation answered wrongly: its count means nothing.
    Wrong {
        /// The operation.
        operation: &'static str,
    },
    /// A call of the operating system failed.
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// valgrind failed, or left something that this program does not understand.
    Valgrind {
        /// What is wrong.
        what: String,
    },
    /// The table of counts has a line that this program does not understand.
    Table {
        /// The table.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
    },
    /// Counts differ from the table; the report says how.
    Differs {
        /// How many.
        counts: usize,
    },
    /// The command line cannot be understood.
    Usage {
        /// What is wrong with it.
        what: String,
    },
}

impl Error {
    /// Wraps a system error.
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_path_buf(), source }
    }
}

impl From<fulgurite::Error> for Error {
    fn from(error: fulgurite::Error) -> Self {
        Self::Engine(error)
    }
}

#[cfg(feature = "quads")]
impl From<fulgurite_rdf::Error> for Error {
    fn from(error: fulgurite_rdf::Error) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(out),
            #[cfg(feature = "quads")]
            Self::Store(error) => error.fmt(out),
            Self::Wrong { operation } => write!(out, "{operation}: wrong answer"),
            Self::Io { action, path, source } => write!(out, "cannot {action} {}: {source}", path.display()),
            Self::Valgrind { what } => write!(out, "valgrind: {what}"),
            Self::Table { path, line } => {
                write!(out, "{}, line {line}: expected SEARCH OPERATION COUNT", path.display())
            }
            Self::Differs { counts } => write!(out, "{counts} counts differ from the table, see above"),
            Self::Usage { what } => write!(out, "{what}; --help shows the arguments"),
        }
    }
}

impl std::error::Error for Error {}
