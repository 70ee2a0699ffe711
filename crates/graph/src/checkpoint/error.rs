//! [`CheckpointError`].

use std::fmt;
use std::io;

/// Why a checkpoint was not created or restored.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The database failed.
    Engine(fulgurite::Error),
    /// The storage failed, or a local file that is sent or was fetched.
    Storage {
        /// The operation, such as `store`.
        operation: &'static str,
        /// The file.
        name: String,
        /// What the storage reports.
        source: io::Error,
    },
    /// A stored file is not what its checkpoint says.
    Damaged {
        /// The file.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no committed checkpoint with this id.
    NoSuchCheckpoint {
        /// The id.
        id: u64,
    },
}

impl CheckpointError {
    pub(crate) fn storage<'n>(operation: &'static str, name: &'n str) -> impl Fn(io::Error) -> Self + use<'n> {
        move |source| Self::Storage { operation, name: name.to_owned(), source }
    }

    /// The error of reading a file that was fetched: its bytes may be wrong, or the disk.
    pub(crate) fn unreadable(name: &str, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::damaged(name, "it ends too early"),
            io::ErrorKind::InvalidData => Self::damaged(name, error.to_string()),
            _ => Self::storage("read", name)(error),
        }
    }

    pub(crate) fn damaged(name: &str, reason: impl Into<String>) -> Self {
        Self::Damaged { name: name.to_owned(), reason: reason.into() }
    }
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(out),
            Self::Storage { operation, name, source } => write!(out, "cannot {operation} {name}: {source}"),
            Self::Damaged { name, reason } => {
                write!(out, "{name} is damaged: {reason}; restore an older checkpoint")
            }
            Self::NoSuchCheckpoint { id } => {
                write!(out, "there is no committed checkpoint {id}; the method `ids` lists those that exist")
            }
        }
    }
}

impl std::error::Error for CheckpointError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => Some(error),
            Self::Storage { source, .. } => Some(source),
            Self::Damaged { .. } | Self::NoSuchCheckpoint { .. } => None,
        }
    }
}

impl From<fulgurite::Error> for CheckpointError {
    fn from(error: fulgurite::Error) -> Self {
        Self::Engine(error)
    }
}
