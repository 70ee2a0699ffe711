//! [`Repository`]: the state that requests of this protocol share.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use fulgurite_rdf::Store;
use tokio::sync::OwnedSemaphorePermit;

use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::protocol::service::{ReceivedBody, Service};
use crate::rdf4j::transactions::registry::Registry;
use crate::rdf4j::upload::{SentDocument, Upload};

/// The store as a repository.
pub struct Repository {
    pub service: Arc<Service>,
    /// Its name in paths.
    pub id: String,
    pub transactions: Arc<Registry>,
}

impl Repository {
    /// The repository of a service. Its name is that of the options, or that of the file without its extension.
    pub fn new(service: Arc<Service>) -> Self {
        let options = &service.served.options;
        let id = options.repository.clone().unwrap_or_else(|| name_of(&service.served.store));
        let transactions = Arc::new(Registry::new(options.transaction_idle, options.transactions_max));
        Self { service, id, transactions }
    }

    /// Checks that a path means this repository.
    ///
    /// # Errors
    /// 404 if it means another one.
    pub fn check_id(&self, id: &str) -> Result<(), Refusal> {
        if id == self.id {
            return Ok(());
        }
        let message = format!("there is no repository {id}; the repository of this server is {}", self.id);
        Err(Refusal::of(StatusCode::NOT_FOUND, message))
    }

    /// The URL of the repository as the client sees it. `parts` are of a request below it.
    ///
    /// # Errors
    /// As [`Service::base`].
    pub fn url(&self, parts: &Parts) -> Result<String, Refusal> {
        let base = self.service.base(parts)?;
        let below = parts.uri.path().split("repositories").next().unwrap_or_default();
        Ok(format!("{base}{}repositories/{}", below.trim_start_matches('/'), self.id))
    }

    /// Receives a document.
    ///
    /// # Errors
    /// As [`Upload::of`] and [`Service::receive`]; 400 if the headers say that the body is gzip, and it is not.
    pub async fn document(
        &self,
        headers: &HeaderMap,
        parameters: &Parameters,
        body: Body,
    ) -> Result<(SentDocument, Option<OwnedSemaphorePermit>), Refusal> {
        let upload = Upload::of(headers, parameters)?;
        let ReceivedBody { bytes, upload: permit } = self.service.receive(body, usize::MAX).await?;
        check_encoding(headers, &bytes)?;
        Ok((upload.document(Bytes::from(bytes)), permit))
    }
}

/// Refuses a body that is not gzip although its headers say so. Documents are decompressed by their first bytes, so it
/// would be parsed as text.
fn check_encoding(headers: &HeaderMap, bytes: &[u8]) -> Result<(), Refusal> {
    let encoding = headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes).unwrap_or_default();
    let is_gzip = [&b"gzip"[..], b"x-gzip"].iter().any(|name| encoding.eq_ignore_ascii_case(name));
    if is_gzip && !bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(Refusal::bad_request("Content-Encoding says gzip, but the body is not gzip"));
    }
    Ok(())
}

/// A plain text.
pub fn text(text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn name_of(store: &Store) -> String {
    let stem = store.database().path().file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let allowed = |char: char| if is_of_ids(char) { char } else { '-' };
    stem.filter(|stem| !stem.is_empty()).map_or_else(|| "store".to_owned(), |stem| stem.chars().map(allowed).collect())
}

/// Whether the name of a repository may have a character.
pub fn is_of_ids(char: char) -> bool {
    char.is_ascii_alphanumeric() || "-_.".contains(char)
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::StoreOptions;

    use super::*;

    #[test]
    fn a_repository_has_the_name_of_its_file_in_characters_of_paths() {
        let directory = tempfile::tempdir().unwrap();
        for (file, expected) in [("people.ful", "people"), ("my people/ü.ful", "-"), ("a b.c.ful", "a-b.c")] {
            let path = directory.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let store = Store::create(&path, StoreOptions::new()).unwrap();
            assert_eq!(name_of(&store), expected, "{file}");
        }
    }
}
