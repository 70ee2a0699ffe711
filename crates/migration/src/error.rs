//! The crate's one error type.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What failed, where, and what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory of the source cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// What the system reports.
        source: io::Error,
    },
    /// The source is not the data directory of a store of RDF4J that is known.
    NotAStore {
        /// The source.
        path: PathBuf,
        /// What it is instead.
        found: &'static str,
    },
    /// A file of the source has a format that this crate does not know.
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it has.
        found: String,
    },
    /// A file of the source is damaged.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        offence: String,
    },
    /// A process has the source open.
    InUse {
        /// The source.
        path: PathBuf,
        /// The process and its host, as RDF4J notes them; empty if they are not known.
        process: String,
    },
    /// A process changed the source while it was read.
    Changed {
        /// The source.
        path: PathBuf,
    },
    /// The target is there already.
    TargetExists {
        /// The target.
        path: PathBuf,
        /// Whether it is a directory.
        is_directory: bool,
    },
    /// The new store cannot be given the name of the target, or an incomplete one cannot be removed.
    Target {
        /// The file.
        path: PathBuf,
        /// What the system reports.
        source: io::Error,
    },
    /// The copy does not have the statements of the source.
    Differs {
        /// What differs.
        what: String,
    },
    /// The new store failed.
    Store(fulgurite_rdf::Error),
}

/// What this crate's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Damage of a file.
pub fn damaged(path: &Path, offence: impl Into<String>) -> Error {
    Error::Damaged { path: path.to_path_buf(), offence: offence.into() }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } => write!(out, "{}: cannot be read: {source}", path.display()),
            Self::NotAStore { path, found } => write!(
                out,
                "{} is not the data directory of an LmdbStore or a NativeStore: {found}; check the path",
                path.display()
            ),
            Self::Unsupported { path, found } => write!(
                out,
                "{}: {found}; export the store as N-Quads by RDF4J, and load that, or use a newer version of this program",
                path.display()
            ),
            Self::Damaged { path, offence } => {
                write!(out, "{} is damaged: {offence}; restore a backup of the store", path.display())
            }
            Self::InUse { path, process } => {
                let by = if process.is_empty() { String::new() } else { format!(" in the process {process}") };
                write!(out, "{} is open{by}; stop the programs that use it", path.display())
            }
            Self::Changed { path } => {
                write!(out, "{} was changed while it was read; stop the programs that use it", path.display())
            }
            Self::TargetExists { path, is_directory: true } => {
                let inside = path.join("store.ful");
                write!(
                    out,
                    "{} is a directory; name a new file, such as {} for a FulguriteStore",
                    path.display(),
                    inside.display()
                )
            }
            Self::TargetExists { path, is_directory: false } => {
                write!(out, "{} exists already; name a new file", path.display())
            }
            Self::Target { path, source } => {
                write!(out, "{}: cannot be created: {source}; check the directory", path.display())
            }
            Self::Differs { what } => write!(out, "the copy differs from the source: {what}; please report this"),
            Self::Store(error) => write!(out, "{error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } | Self::Target { source, .. } => Some(source),
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<fulgurite_rdf::Error> for Error {
    fn from(error: fulgurite_rdf::Error) -> Self {
        Self::Store(error)
    }
}

impl From<fulgurite::Error> for Error {
    fn from(error: fulgurite::Error) -> Self {
        Self::Store(fulgurite_rdf::Error::Engine(error))
    }
}
