//! The prefixes of the store's namespaces, which queries and updates need not declare, as a document of Turtle without
//! a statement.

use std::sync::Arc;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use fulgurite_rdf::oxrdf::NamedNode;
use fulgurite_rdf::{Quads, is_turtle_prefix};

use crate::http::answer::compute;
use crate::http::refusal::Refusal;
use crate::protocol::service::Service;

/// Sends them.
///
/// # Errors
/// As [`compute`]; what the store reports.
pub async fn read(service: &Service) -> Result<Response, Refusal> {
    let served = Arc::clone(&service.served);
    compute(&service.admission, move |_| {
        let mut response = Response::new(Body::from(document(&served.store.snapshot()?.namespaces()?)));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/turtle"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Ok(response)
    })
    .await
}

/// A line for each that can be declared.
fn document(namespaces: &[(String, String)]) -> String {
    let mut text = String::new();
    for (prefix, iri) in namespaces {
        if is_turtle_prefix(prefix) && NamedNode::new(iri.as_str()).is_ok() {
            text.push_str(&format!("PREFIX {prefix}: <{iri}>\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_declared_is_left_out() {
        let pairs = [("", "http://a/"), ("ex", "http://b/#"), ("a b", "http://c/"), ("bad", "http://d/>"), ("no", "")];
        let pairs = pairs.into_iter().chain([("_x", "http://e/"), ("µ", "http://f/"), ("a.", "http://g/")]);
        let namespaces: Vec<_> = pairs.map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned())).collect();
        assert_eq!(document(&namespaces), "PREFIX : <http://a/>\nPREFIX ex: <http://b/#>\n");
    }
}
