//! Failures of a command, and their exit codes.

use std::fmt;
use std::io;
use std::path::Path;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The engine's error.
    Engine(fulgurite::Error),
    /// An error of an RDF store.
    #[cfg(feature = "rdf")]
    Rdf(fulgurite_rdf::Error),
    /// An error of an event store.
    #[cfg(feature = "events")]
    Events(fulgurite_events::Error),
    /// An error of a database of facts.
    #[cfg(feature = "facts")]
    Facts(fulgurite_facts::Error),
    /// Any other failure: one line that says what to do.
    Message(String),
    /// A failure with an exit code of its own.
    Coded {
        /// Its exit code.
        code: u8,
        /// One line.
        message: String,
    },
    /// Standard output cannot be written to.
    Output(io::Error),
}

impl Failure {
    /// A failure of an operation on a file that is not a database.
    pub fn file(path: &Path, doing: &str, error: &io::Error) -> Self {
        let remedy = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "; check the path",
            io::ErrorKind::IsADirectory => "; name a file",
            io::ErrorKind::PermissionDenied => "; check the permissions of the file and of its directory",
            io::ErrorKind::ReadOnlyFilesystem => "; choose a directory that is writable",
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free space, or choose another disk",
            _ => "",
        };
        Self::Message(format!("{}: {doing}: {error}{remedy}", path.display()))
    }

    /// A failure of writing a copy of a database that is named `to` when it is complete.
    pub fn of_copy(error: fulgurite::Error, to: &Path) -> Self {
        match error {
            fulgurite::Error::DiskFull { source, .. } => Self::Message(format!(
                "{}: no space for the copy ({source}); free space, or choose another disk; there is no copy",
                to.display()
            )),
            error => error.into(),
        }
    }

    /// The database is damaged.
    pub fn damaged(message: String) -> Self {
        Self::Coded { code: DAMAGED, message }
    }

    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Coded { code, .. } => *code,
            Self::Engine(error) => code_of(error),
            #[cfg(feature = "rdf")]
            // The numbers of such terms come from quads of the store.
            Self::Rdf(fulgurite_rdf::Error::Damaged { .. } | fulgurite_rdf::Error::NoSuchTerm { .. }) => DAMAGED,
            #[cfg(feature = "rdf")]
            Self::Rdf(error) => code_of(error),
            #[cfg(feature = "events")]
            Self::Events(fulgurite_events::Error::Damaged { .. }) => DAMAGED,
            #[cfg(feature = "events")]
            Self::Events(error) => code_of(error),
            #[cfg(feature = "facts")]
            Self::Facts(fulgurite_facts::Error::Damaged { .. }) => DAMAGED,
            #[cfg(feature = "facts")]
            Self::Facts(error) => code_of(error),
            Self::Message(_) | Self::Output(_) => FAILED,
        }
    }

    /// Whether the file is damaged.
    pub fn is_damage(&self) -> bool {
        self.exit_code() == DAMAGED
    }

    /// The failure in other words. Its exit code stays.
    pub fn reworded(self, message: String) -> Self {
        Self::Coded { code: self.exit_code(), message }
    }

    /// Whether no message is printed: the reader of the output has closed it.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// The exit code of an error: that of the first error of the engine among its sources that has a code of its own.
fn code_of(error: &(dyn std::error::Error + 'static)) -> u8 {
    let sources = std::iter::successors(Some(error), |error| error.source());
    let code = |error: &fulgurite::Error| match error {
        fulgurite::Error::Locked { .. } => Some(LOCKED),
        error => error.is_corruption().then_some(DAMAGED),
    };
    sources.filter_map(|error| error.downcast_ref()).find_map(code).unwrap_or(FAILED)
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => write!(out, "{error}"),
            #[cfg(feature = "rdf")]
            Self::Rdf(error) => write!(out, "{error}"),
            #[cfg(feature = "events")]
            Self::Events(error) => write!(out, "{error}"),
            #[cfg(feature = "facts")]
            Self::Facts(error) => write!(out, "{error}"),
            Self::Message(message) | Self::Coded { message, .. } => out.write_str(message),
            Self::Output(error) => write!(out, "standard output: {error}"),
        }
    }
}

impl From<fulgurite::Error> for Failure {
    fn from(error: fulgurite::Error) -> Self {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};

        match error {
            fulgurite::Error::Io { operation: "find", path, source }
                if source.kind() == io::ErrorKind::IsADirectory =>
            {
                Self::Message(format!("{}: {source}; name the file of a database", path.display()))
            }
            // No verb that writes can open read-only instead, as the error of the library says.
            fulgurite::Error::Io { operation: "lock", path, source }
                if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem) =>
            {
                let remedy = "the directory must be writable, for the lock and the log; use another directory";
                Self::Message(format!("{}: lock failed: {source}; {remedy}", path.display()))
            }
            error => Self::Engine(error),
        }
    }
}

#[cfg(feature = "rdf")]
impl From<fulgurite_rdf::Error> for Failure {
    fn from(mut error: fulgurite_rdf::Error) -> Self {
        use fulgurite_rdf::{Error, LimitKind};

        // Instead of the library's remedy, which does not name the option.
        if let Error::Syntax { message, needs_base, .. } | Error::SparqlSyntax { message, needs_base, .. } = &mut error
            && std::mem::take(needs_base)
        {
            message.push_str(GIVE_A_BASE);
        }
        match error {
            Error::Engine(error) => error.into(),
            Error::Output { source } => Self::Output(source),
            Error::LimitReached { what: LimitKind::Memory, limit } => {
                let mebibytes = limit >> 20;
                Self::Message(format!("more than {mebibytes} MiB of memory; raise --memory-max, or ask for less"))
            }
            Error::LimitReached { what: LimitKind::Rows, limit } => {
                Self::Message(format!("more than {limit} rows; raise --rows-max, or ask for less"))
            }
            Error::ServiceUnsupported { service } => Self::Message(format!(
                "SERVICE <{service}>: calls to other endpoints are not allowed; allow this one with --service, load its \
                 data, or use SERVICE SILENT"
            )),
            Error::LoadRefused { iri } => Self::Message(format!(
                "LOAD <{iri}>: LOAD reads file: IRIs only; download the document, and load it with `fulgurite rdf \
                 load`"
            )),
            error => Self::Rdf(error),
        }
    }
}

#[cfg(feature = "rdf")]
impl From<fulgurite_migration::Error> for Failure {
    fn from(error: fulgurite_migration::Error) -> Self {
        use fulgurite_migration::Error;

        match error {
            Error::Store(error) => error.into(),
            error @ (Error::Damaged { .. } | Error::NotAStore { .. }) => Self::damaged(error.to_string()),
            error @ (Error::InUse { .. } | Error::Changed { .. }) => {
                Self::Coded { code: LOCKED, message: error.to_string() }
            }
            error => Self::Message(error.to_string()),
        }
    }
}

#[cfg(feature = "events")]
impl From<fulgurite_events::Error> for Failure {
    fn from(error: fulgurite_events::Error) -> Self {
        match error {
            fulgurite_events::Error::Engine(error) => (*error).into(),
            error => Self::Events(error),
        }
    }
}

#[cfg(feature = "facts")]
impl From<fulgurite_facts::Error> for Failure {
    fn from(error: fulgurite_facts::Error) -> Self {
        match error {
            fulgurite_facts::Error::Engine(error) => (*error).into(),
            // What the errors of the library say of its functions, in the verbs of the command line.
            fulgurite_facts::Error::NotCompacted(error) => {
                let message = format!(
                    "the database is complete, but compacting its file failed: {error}; run `fulgurite compact`"
                );
                Self::Engine(*error).reworded(message)
            }
            fulgurite_facts::Error::NoSuchUnit { name } => {
                Self::Message(format!("no unit `{name}` owns facts; `fulgurite facts units` lists the units"))
            }
            fulgurite_facts::Error::NoSchema { path } => Self::Message(format!(
                "{}: the database has no schema: a program created it as a store of bytes, and has to read it",
                path.display()
            )),
            error => Self::Facts(error),
        }
    }
}

#[cfg(feature = "facts")]
impl From<fulgurite_code::Error> for Failure {
    fn from(error: fulgurite_code::Error) -> Self {
        match error {
            fulgurite_code::Error::Facts(error) => error.into(),
            error @ fulgurite_code::Error::DamagedIncrement { .. } => Self::damaged(error.to_string()),
            error => Self::Message(error.to_string()),
        }
    }
}

/// What to do about a relative IRI without a base.
#[cfg(feature = "rdf")]
pub const GIVE_A_BASE: &str = "; give one by --base";
/// Any other failure.
const FAILED: u8 = 1;
/// The file is damaged, or not a database.
const DAMAGED: u8 = 3;
/// Another process has the database open for writing.
const LOCKED: u8 = 4;

#[cfg(all(test, feature = "rdf"))]
mod tests {
    use super::*;

    #[test]
    fn a_copy_without_space_has_the_name_that_its_user_gave() {
        let (path, source) = ("/d/b.ful-unfinished.7.0/0".into(), io::ErrorKind::StorageFull.into());
        let failure = Failure::of_copy(fulgurite::Error::DiskFull { path, source }, Path::new("b.ful"));
        assert!(failure.to_string().starts_with("b.ful: no space for the copy ("), "{failure}");
    }

    #[test]
    fn other_words_keep_the_exit_code_of_what_failed() {
        let locked = fulgurite::Error::Locked { path: "a.ful".into(), pid: None, is_here: false };
        let damaged = fulgurite::Error::NotADatabase { path: "a.ful".into(), is_squashfs: false };
        let full = fulgurite::Error::DiskFull { path: "a.ful".into(), source: io::ErrorKind::StorageFull.into() };
        for (error, code) in [(locked, LOCKED), (damaged, DAMAGED), (full, FAILED)] {
            let failure = Failure::from(fulgurite_rdf::Error::Engine(error)).reworded("words".into());
            assert_eq!((failure.exit_code(), failure.to_string().as_str()), (code, "words"));
        }
    }
}
