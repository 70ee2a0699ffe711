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
            | Error::FunctionUnknown { .. }
            | Error::PatternExhausted { .. }
            | Error::Evaluation { .. }
            | Error::Graph { .. }
            | Error::Invalid { .. } => Self::bad_request(text),
            Error::Unwritable { .. } => Self::of(StatusCode::NOT_ACCEPTABLE, text),
            // No format helps: the store has a term that is not valid.
            Error::MalformedTerm { .. } => Self::failure(text),
            Error::ServiceUnsupported { .. } => {
                Self::bad_request(format!("{text}; the server allows endpoints that --service names at its start"))
            }
            Error::Service { .. } => Self::of(StatusCode::BAD_GATEWAY, text),
            Error::LoadRefused { iri } => {
                let remedy = "send the document to /graphs or /store, or load it with `fulgurite rdf load`";
                Self::of(StatusCode::FORBIDDEN, format!("LOAD <{iri}>: LOAD is not allowed here; {remedy}"))
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// It was 406, so clients asked for other formats.
    #[test]
    fn a_stored_term_that_no_format_has_is_not_a_matter_of_formats() {
        let (term, reason) = ("<a b>".to_owned(), "it has a space".to_owned());
        let malformed = Refusal::from(Error::MalformedTerm { term: term.clone(), graph: None, reason: reason.clone() });
        assert_eq!(malformed.status, StatusCode::INTERNAL_SERVER_ERROR);
        let unwritable = Refusal::from(Error::Unwritable { term, format: "RDF/XML", reason });
        assert_eq!(unwritable.status, StatusCode::NOT_ACCEPTABLE);
    }
}
