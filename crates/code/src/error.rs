//! [`Error`], the one error type of the crate.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The database failed.
    Facts(fulgurite_facts::Error),
    /// A file that an indexer wrote is wrong.
    Index {
        /// The file.
        path: PathBuf,
        /// Where: a byte of SCIP, or a line of ctags.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// A file or a directory cannot be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// What could not be done, such as `be read`.
        operation: &'static str,
        /// Why.
        source: io::Error,
    },
    /// No indexer on this machine reads what the directory has.
    NoIndexer {
        /// The directory.
        path: PathBuf,
        /// What is missing, and how to install it.
        missing: Vec<String>,
    },
    /// An indexer is missing that the index has files of: its references would be lost.
    MissingIndexer {
        /// Its name.
        name: &'static str,
        /// How it is installed.
        install: &'static str,
    },
    /// An indexer failed.
    Indexer {
        /// Its name.
        name: &'static str,
        /// What it wrote last, or why it could not be run.
        message: String,
        /// Whether another indexer would read the directory without it.
        can_be_skipped: bool,
    },
    /// Indexers, or an update from their outputs, failed. Outputs that were finished stay until indexers run again.
    OutputsKept {
        /// Why.
        error: Box<Error>,
        /// The outputs.
        outputs: Vec<KeptOutput>,
    },
    /// The database is one of facts, but not an index of code.
    NotAnIndex {
        /// The file.
        path: PathBuf,
    },
    /// An incremental database of an index is damaged: what a power cut or a full disk may have left.
    DamagedIncrement {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A file has the name of an increment, but is not a database, so it may not belong to the index.
    NotAnIncrement {
        /// The file.
        path: PathBuf,
    },
    /// The database itself is damaged, below its incremental databases.
    DamagedIndex {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
        /// Whether it can be seen that it is an index. Otherwise it may be another database, and is not replaced.
        is_recognised: bool,
    },
    /// Another database than an index of code is where an index would be written.
    NotOverwritten {
        /// The file.
        path: PathBuf,
    },
    /// The source of a new index has no files.
    NoSources,
    /// The output of an indexer was changed while it was read.
    SourceChanged {
        /// A file of the index that is concerned.
        unit: String,
    },
    /// The index has no such file.
    NoSuchFile {
        /// The path.
        path: String,
        /// Paths that are like it.
        similar: Vec<String>,
    },
    /// The index has no such symbol, or none at the place.
    NoSuchSymbol {
        /// What was looked for.
        symbol: String,
        /// Names that are like it.
        similar: Vec<String>,
    },
    /// The path of a file without a line, where a place or a symbol is expected.
    NotAPlace {
        /// What was looked for.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The time of the reader's [limits](crate::ReadLimits) is up.
    TimeUp,
    /// A list needs more memory than the reader's [limits](crate::ReadLimits) allow.
    Memory {
        /// The most bytes that it may hold.
        bytes_max: usize,
    },
    /// The other side of the language server failed, or did not keep to the protocol.
    Client(String),
}

/// The output of an indexer that stays after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptOutput {
    /// The file.
    pub path: PathBuf,
    /// The directory in which the indexer ran, from the indexed directory on. It is empty for the indexed directory.
    pub root: String,
    /// Whether [`ScipFile::of_root`](crate::ScipFile::of_root) can read it. A file with an error stays so that the
    /// error can be reported.
    pub is_readable: bool,
}

impl Error {
    pub(crate) fn file(path: &Path, operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, operation, source }
    }
}

impl From<fulgurite_facts::Error> for Error {
    fn from(error: fulgurite_facts::Error) -> Self {
        Self::Facts(error)
    }
}

impl From<fulgurite_facts::ValueError> for Error {
    fn from(error: fulgurite_facts::ValueError) -> Self {
        Self::Facts(error.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Facts(error) => error.fmt(out),
            Self::Index { path, place, message } => write!(out, "{}: {place}: {message}", path.display()),
            Self::File { path, operation, source } => fmt_file(out, path, operation, source),
            Self::NoIndexer { path, missing } => {
                write!(out, "{}: no indexer reads this directory: {}", path.display(), missing.join("; "))
            }
            Self::MissingIndexer { name, install } => write!(
                out,
                "{name} is missing, and the index has files that it found: install it ({install}), or put it on PATH; \
                 the index was not changed; `--skip {name}` indexes without it, and loses the references in its files"
            ),
            Self::Indexer { name, message, can_be_skipped } => {
                write!(out, "{name} failed: {message}; the index was not changed")?;
                match can_be_skipped {
                    true => write!(out, "; `--skip {name}` indexes without it"),
                    false => Ok(()),
                }
            }
            Self::OutputsKept { error, outputs } => {
                let paths: Vec<_> = outputs.iter().map(|output| output.path.display().to_string()).collect();
                write!(out, "{error}; finished outputs are kept until indexers run again: {}", paths.join(", "))
            }
            Self::NotAnIndex { path } => write!(
                out,
                "{}: the database is not an index of code; make one with `fulgurite facts index`",
                path.display()
            ),
            Self::DamagedIncrement { path, message } => write!(
                out,
                "{}: the increment of the index is damaged ({message}); `fulgurite facts index` replaces it",
                path.display()
            ),
            Self::NotAnIncrement { path } => write!(
                out,
                "{}: the file has the name of an increment of the index, but is not a database; remove it, or move it \
                 away",
                path.display()
            ),
            Self::DamagedIndex { path, message, is_recognised } => fmt_damaged(out, path, message, *is_recognised),
            Self::NotOverwritten { path } => write!(
                out,
                "{}: the file is not an index of code, and is not overwritten; index into another file, or move it away",
                path.display()
            ),
            Self::NoSources => out.write_str("there are no sources; give the directory of a project"),
            Self::SourceChanged { unit } => {
                write!(out, "what the indexer found in `{unit}` was changed while it was read; run it again")
            }
            Self::NoSuchFile { path, similar } => {
                write!(out, "the index has no file `{path}`; ")?;
                write_similar(out, similar, "paths begin at the indexed directory")
            }
            Self::NoSuchSymbol { symbol, similar } => {
                write!(out, "the index has no symbol {symbol}; ")?;
                write_similar(out, similar, "`search` finds symbols by parts of their names")
            }
            Self::NotAPlace { text, reason } => write!(out, "{text}: {reason}"),
            Self::TimeUp => out.write_str("the time to read the index is up; ask for less, or allow more time"),
            Self::Memory { bytes_max } => write!(
                out,
                "the list would need more than {bytes_max} bytes of memory; ask for less, such as one file or fewer \
                 symbols, or allow more memory"
            ),
            Self::Client(message) => write!(out, "the client of the language server: {message}"),
        }
    }
}

fn fmt_file(out: &mut fmt::Formatter<'_>, path: &Path, operation: &str, source: &io::Error) -> fmt::Result {
    write!(out, "{}: cannot {operation}: {source}", path.display())?;
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            out.write_str("; free space, or choose another disk; the index was not changed")
        }
        _ => Ok(()),
    }
}

fn fmt_damaged(out: &mut fmt::Formatter<'_>, path: &Path, message: &str, is_recognised: bool) -> fmt::Result {
    let path = path.display();
    match is_recognised {
        true => {
            write!(out, "{path}: the index is damaged ({message}); `--whole` writes it again")
        }
        false => write!(
            out,
            "{path}: the database is too damaged to see whether it is an index ({message}); if it is, delete it with \
             `fulgurite facts delete {path} --yes`, and index again"
        ),
    }
}

fn write_similar(out: &mut fmt::Formatter<'_>, similar: &[String], otherwise: &str) -> fmt::Result {
    match similar {
        [] => out.write_str(otherwise),
        names => write!(out, "did you mean `{}`?", names.join("`, `")),
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Facts(error) => Some(error),
            Self::OutputsKept { error, .. } => Some(&**error),
            Self::File { source, .. } => Some(source),
            _ => None,
        }
    }
}
