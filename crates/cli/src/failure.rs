//! What ends a command early, and the exit code it ends with.

use std::fmt;
use std::io;
use std::path::Path;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub enum Failure {
    /// The engine's error.
    Engine(fulgurite::Error),
    /// Of a store of quads.
    #[cfg(feature = "rdf")]
    Rdf(fulgurite_rdf::Error),
    /// Anything else, said in one line with what to do.
    Message(String),
    /// The database is damaged; what was found was printed.
    Damaged(String),
    /// Standard output does not take more.
    Output(io::Error),
}

impl Failure {
    /// That something cannot be done with a file that is not a database.
    pub fn file(path: &Path, doing: &str, error: &io::Error) -> Self {
        Self::Message(format!("{}: {doing}: {error}", path.display()))
    }

    /// The exit code that tells programs what happened.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Engine(error) if error.is_corruption() => DAMAGED,
            Self::Engine(fulgurite::Error::Locked { .. }) => LOCKED,
            Self::Damaged(_) => DAMAGED,
            #[cfg(feature = "rdf")]
            // Its numbers come from quads of the store.
            Self::Rdf(fulgurite_rdf::Error::Damaged { .. } | fulgurite_rdf::Error::NoSuchTerm { .. }) => DAMAGED,
            #[cfg(feature = "rdf")]
            Self::Rdf(_) => FAILED,
            Self::Engine(_) | Self::Message(_) | Self::Output(_) => FAILED,
        }
    }

    /// Whether there is nothing to say: whoever read our output has had enough.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => write!(out, "{error}"),
            #[cfg(feature = "rdf")]
            Self::Rdf(error) => write!(out, "{error}"),
            Self::Message(message) | Self::Damaged(message) => out.write_str(message),
            Self::Output(error) => write!(out, "standard output: {error}"),
        }
    }
}

impl From<fulgurite::Error> for Failure {
    fn from(error: fulgurite::Error) -> Self {
        Self::Engine(error)
    }
}

#[cfg(feature = "rdf")]
impl From<fulgurite_rdf::Error> for Failure {
    fn from(error: fulgurite_rdf::Error) -> Self {
        match error {
            fulgurite_rdf::Error::Engine(error) => Self::Engine(error),
            fulgurite_rdf::Error::Output { source } => Self::Output(source),
            error => Self::Rdf(error),
        }
    }
}

/// It was not done.
const FAILED: u8 = 1;
/// The file is damaged, or no database.
const DAMAGED: u8 = 3;
/// Another process has it open for writing.
const LOCKED: u8 = 4;
