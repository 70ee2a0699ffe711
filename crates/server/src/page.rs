//! The pages for browsers, without anything from elsewhere: a query editor of one document, one script and one style;
//! and, with the feature `yasgui`, in its place the editor YASGUI, whose files `build.rs` has brought.

use axum::Router;
use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::Response;
use axum::routing::get;

/// A file of a page: where it is served, its media type, and its text.
type File = (&'static str, &'static str, &'static str);

/// The routes of all pages.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.iter().chain(EDITOR).fold(Router::new(), |router, &(path, media_type, text)| {
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

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The page of our own.
const FILES: &[File] = &[
    (if cfg!(feature = "yasgui") { "/plain" } else { "/" }, HTML, include_str!("page/page.html")),
    ("/page.js", SCRIPT, include_str!("page/page.js")),
    ("/page.css", STYLE, include_str!("page/page.css")),
];

#[cfg(not(feature = "yasgui"))]
const EDITOR: &[File] = &[];
#[cfg(feature = "yasgui")]
const EDITOR: &[File] = &[
    ("/", HTML, include_str!("page/yasgui/editor.html")),
    ("/editor.js", SCRIPT, include_str!("page/yasgui/editor.js")),
    ("/editor.css", STYLE, include_str!("page/yasgui/editor.css")),
    ("/licences.txt", "text/plain; charset=utf-8", include_str!("page/yasgui/licences.txt")),
    ("/yasgui.min.js", SCRIPT, include_str!(concat!(env!("OUT_DIR"), "/yasgui.min.js"))),
    ("/yasgui.min.css", STYLE, include_str!(concat!(env!("OUT_DIR"), "/yasgui.min.css"))),
];

/// Only scripts and styles of this server, and only requests to it: data of the store cannot become part of
/// the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
