//! Errors with the words by which RDF4J's client chooses the class of its exception.

use axum::http::StatusCode;
use fulgurite_rdf::Error;

use crate::http::refusal::Refusal;

/// The refusal for an error of a query or update.
pub fn of_query(error: Error) -> Refusal {
    let is_malformed = matches!(
        error,
        Error::SparqlSyntax { .. }
            | Error::QueryTooDeep { .. }
            | Error::QueryTooLong { .. }
            | Error::AggregatesTooDeep { .. }
            | Error::FunctionUnknown { .. }
    );
    if is_malformed { marked("MALFORMED QUERY", error.into()) } else { error.into() }
}

/// The refusal for an error of inserting or removing the statements of a document.
pub fn of_document(error: Error) -> Refusal {
    let is_malformed =
        matches!(error, Error::Syntax { .. } | Error::Input { .. } | Error::Invalid { .. } | Error::TooDeep { .. });
    if is_malformed { marked("MALFORMED DATA", error.into()) } else { error.into() }
}

/// The refusal for a format of a document.
pub fn of_format(refusal: Refusal) -> Refusal {
    if refusal.status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        marked("UNSUPPORTED FILE FORMAT", refusal)
    } else {
        refusal
    }
}

/// The refusal for a query language.
pub fn of_language(language: &str) -> Refusal {
    let message = format!("{language} is not a query language of this server; use SPARQL");
    marked("UNSUPPORTED QUERY LANGUAGE", Refusal::bad_request(message))
}

fn marked(kind: &str, refusal: Refusal) -> Refusal {
    let mut marked = refusal;
    marked.message = format!("{kind}: {}", marked.message).into();
    marked
}
