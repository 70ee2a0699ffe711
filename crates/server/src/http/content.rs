//! What a body is, by its `Content-Type`.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};

use crate::http::refusal::Refusal;

/// A media type without its parameters.
pub fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// The media type of a body, in small letters; empty if there is none.
///
/// # Errors
/// If it is said to be in another encoding than UTF-8.
pub fn content_type(headers: &HeaderMap) -> Result<String, Refusal> {
    let unsupported = |message: String| Refusal::of(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(String::new()) };
    let value = value.to_str().map_err(|_| unsupported("the Content-Type is not text".into()))?;
    let charset = value.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    });
    match charset.as_deref() {
        None | Some("utf-8" | "utf8" | "us-ascii" | "ascii") => Ok(essence(value).to_ascii_lowercase()),
        Some(other) => Err(unsupported(format!("the body is in {other}; send it as UTF-8"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_in_another_encoding_is_refused() {
        let kind = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, text.parse().unwrap());
            content_type(&headers).ok()
        };
        assert_eq!(kind("Text/Turtle; Charset=\"UTF-8\"").as_deref(), Some("text/turtle"));
        assert_eq!(kind("application/sparql-query; charset=UTF-16"), None);
    }
}
