//! What errors of databases of facts are to clients, and how queries are cancelled.

use std::fmt;

use axum::http::StatusCode;
use fulgurite_facts::{CancellationToken, Error, FactId};

use crate::http::admission::Cancel;
use crate::http::refusal::Refusal;

impl Cancel for CancellationToken {
    fn cancel(&self) {
        Self::cancel(self);
    }
}

/// Why the printing of results ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Its time is up.
    TimeUp,
    /// One result needs too much memory.
    TooLarge {
        /// So many bytes of facts would be in it.
        bytes_max: usize,
    },
    /// A fact that is printed apart is wanted in the shapes of two predicates, one evolved from the other.
    OtherShape {
        /// The fact.
        id: FactId,
    },
}

impl fmt::Display for Stopped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimeUp => out.write_str("the results were not printed in time; ask for fewer of them (max_results)"),
            Self::TooLarge { bytes_max } => write!(
                out,
                "a result has more than {bytes_max} bytes of facts; ask without `recursive`, or for parts of it"
            ),
            Self::OtherShape { id } => write!(
                out,
                "fact {id} would be in `nestedFacts` in the shapes of two schemas; ask with `expand_results`"
            ),
        }
    }
}

impl std::error::Error for Stopped {}

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Self {
        Self::Program(Box::new(stopped))
    }
}

/// Why printing ended early, if that is what the error says.
pub fn stopped(error: &Error) -> Option<Stopped> {
    match error {
        Error::Program(error) => error.downcast_ref().copied(),
        _ => None,
    }
}

impl From<fulgurite_code::Error> for Refusal {
    fn from(error: fulgurite_code::Error) -> Self {
        use fulgurite_code::Error as Code;
        match error {
            Code::Facts(error) => error.into(),
            // Without the path: clients know a database by its name.
            Code::NotAnIndex { .. } => {
                Self::bad_request("the database is not an index of code; `fulgurite facts index` makes one")
            }
            Code::Memory { .. } | Code::NotAPlace { .. } => Self::bad_request(error.to_string()),
            Code::NoSuchFile { .. } | Code::NoSuchSymbol { .. } => Self::of(StatusCode::NOT_FOUND, error.to_string()),
            Code::TimeUp => Self::of(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            error => Self::failure(error.to_string()),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match stopped(&error) {
            Some(Stopped::TimeUp) => return Self::of(StatusCode::SERVICE_UNAVAILABLE, text),
            Some(Stopped::TooLarge { .. } | Stopped::OtherShape { .. }) => return Self::bad_request(text),
            None => {}
        }
        match error {
            Error::Angle(_) | Error::Continuation(_) | Error::QueryMemory { .. } => Self::bad_request(text),
            Error::QueryTime => Self::of(StatusCode::SERVICE_UNAVAILABLE, text),
            Error::Cancelled => Self::of(StatusCode::SERVICE_UNAVAILABLE, "cancelled, because the server shuts down"),
            Error::Engine(error) => Self::from(&*error),
            _ => Self::failure(text),
        }
    }
}
