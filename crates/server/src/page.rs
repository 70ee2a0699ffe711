//! The page for browsers: a query editor of one document, one script and one style, without anything from elsewhere.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::Response;

pub async fn html() -> Response {
    sent("text/html; charset=utf-8", include_str!("page/page.html"))
}

pub async fn script() -> Response {
    sent("text/javascript; charset=utf-8", include_str!("page/page.js"))
}

pub async fn style() -> Response {
    sent("text/css; charset=utf-8", include_str!("page/page.css"))
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

/// Scripts and styles of this server alone, and requests to it alone: what stands in the store cannot become part of the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
