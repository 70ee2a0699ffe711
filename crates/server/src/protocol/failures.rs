//! What errors of the store are to clients, and how its evaluations are cancelled.

use std::io;

use axum::http::StatusCode;
use fulgurite_rdf::{CancellationToken, Error};

use crate::http::admission::Cancel;
use crate::http::refusal::Refusal;

impl Cancel for CancellationToken {
    fn cancel(&self) {
        Self::cancel(self);
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::SparqlSyntax { .. }
            | Error::QueryTooDeep { .. }
            | Error::AggregatesTooDeep { .. }
            | Error::QueryTooLong { .. }
            | Error::Syntax { .. }
            | Error::Input { .. }
            | Error::TooDeep { .. }
            | Error::LimitReached { .. }
            | Error::ServiceUnsupported { .. }
            | Error::FunctionUnknown { .. }
            | Error::PatternExhausted { .. }
            | Error::Evaluation { .. }
            | Error::Graph { .. }
            | Error::Invalid { .. } => Self::bad_request(text),
            Error::Unwritable { .. } => Self::of(StatusCode::NOT_ACCEPTABLE, text),
            Error::Service { .. } => Self::of(StatusCode::BAD_GATEWAY, text),
            Error::LoadRefused { .. } => Self::of(StatusCode::FORBIDDEN, text),
            Error::TimedOut { .. } => Self::of(StatusCode::SERVICE_UNAVAILABLE, text),
            Error::Cancelled => Self::of(StatusCode::SERVICE_UNAVAILABLE, "cancelled, because the server shuts down"),
            Error::WriterBusy { .. } => {
                Self::busy("a bulk load or another long change is running; retry after it has ended")
            }
            Error::Engine(error) => Self::from(&error),
            _ => Self::failure(text),
        }
    }
}

/// The refusal of an evaluation that was written to a client: if the client is gone, nobody reads it.
pub fn written(outcome: Result<u64, Error>) -> Result<(), Refusal> {
    match outcome {
        Ok(_) => Ok(()),
        Err(Error::Output { source }) if source.kind() == io::ErrorKind::BrokenPipe => {
            Err(Refusal::bad_request("the client is gone"))
        }
        Err(error) => Err(error.into()),
    }
}
