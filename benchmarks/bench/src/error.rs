//! The one error of the benchmarks.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fulgurite_rivals::Failure;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a run could not go on.
#[derive(Debug)]
pub enum Error {
    /// An engine refused a call.
    Engine(Failure),
    /// An engine answered wrongly: its figures mean nothing.
    Wrong {
        /// What was asked.
        workload: &'static str,
        /// What is wrong with the answer.
        what: String,
    },
    /// A call of the operating system failed.
    Io {
        /// What was attempted.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A measurement in a process of its own did not succeed.
    Child {
        /// What it was to measure.
        what: String,
        /// How it ended.
        outcome: String,
    },
    /// A file that was named cannot be used.
    Input {
        /// The file.
        path: PathBuf,
        /// Why not, and what to do.
        what: String,
    },
    /// Of the engines that were asked for, none can be measured here.
    NoEngine {
        /// Each of them, with why it is missing and what to do.
        missing: String,
    },
    /// The command line cannot be understood.
    Usage(String),
}

impl Error {
    /// Wraps a system error.
    pub fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { operation, path: path.to_path_buf(), source }
    }

    /// Whether the system, or an engine that passes on its answer, reports that the disk is full.
    fn is_of_a_full_disk(&self) -> bool {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(self);
        while let Some(error) = cause {
            if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::StorageFull) {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Engine(failure)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(failure) => failure.fmt(out),
            Self::Wrong { workload, what } => write!(out, "{workload}: {what}; no figure of this run counts"),
            Self::Io { operation, path, source } => write!(out, "{}: {operation} failed: {source}", path.display()),
            Self::Child { what, outcome } => write!(out, "the process for {what} failed: {outcome}"),
            Self::Input { path, what } => write!(out, "{}: {what}", path.display()),
            Self::NoEngine { missing } => write!(out, "no engine can be measured: {missing}"),
            Self::Usage(message) => write!(out, "{message}; see `cargo xtask bench --help`"),
        }?;
        match self.is_of_a_full_disk() {
            true => out.write_str("; --directory DIR puts the stores on another disk"),
            false => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(failure) => Some(failure),
            Self::Io { source, .. } => Some(source),
            Self::Wrong { .. } | Self::Child { .. } | Self::Input { .. } | Self::NoEngine { .. } | Self::Usage(_) => {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_full_disk_says_how_to_choose_another() {
        let system = |kind| Error::io("write", Path::new("/d/file"), io::Error::from(kind)).to_string();
        assert!(system(io::ErrorKind::StorageFull).ends_with("; --directory DIR puts the stores on another disk"));
        assert!(!system(io::ErrorKind::NotFound).contains("--directory"));
        let engine = Failure::new("lmdb", "put", io::Error::from(io::ErrorKind::StorageFull));
        assert!(Error::from(engine).to_string().contains("--directory DIR"));
    }
}
