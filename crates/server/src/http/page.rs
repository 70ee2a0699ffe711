//! Pages for browsers: what they are sent as.

use axum::Router;
use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::Response;
use axum::routing::get;

/// A file of a page: where it is served, its media type, and its text.
pub type File = (&'static str, &'static str, &'static str);

/// The routes of the files of pages.
pub fn routes<'f, S: Clone + Send + Sync + 'static>(files: impl IntoIterator<Item = &'f File>) -> Router<S> {
    files.into_iter().fold(Router::new(), |router, &(path, media_type, text)| {
        router.route(path, get(move || async move { sent(media_type, text) }))
    })
}

fn sent(media_type: &'static str, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, media_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

pub const HTML: &str = "text/html; charset=utf-8";
pub const SCRIPT: &str = "text/javascript; charset=utf-8";
pub const STYLE: &str = "text/css; charset=utf-8";

/// Only scripts and styles of this server, and only requests to it: data of the store cannot become part of
/// the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
