//! What routes share: the bodies of requests are received within limits, and answers that are a few values of JSON are
//! sent. Answers that clients may make long are written by [`answer::send`], within the time to send them.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use tokio::sync::OwnedSemaphorePermit;

use crate::facts::databases::Chosen;
use crate::facts::service::FactService;
use crate::facts::{answer, databases};
use crate::http::body::{self, BodyLimits};
use crate::http::content::content_type;
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;

impl FactService {
    /// The database that a request is about, its body, and the right to hold that in memory.
    ///
    /// # Errors
    /// What is wrong with the request; that the server is busy.
    pub async fn receive(&self, request: Request) -> Result<(Chosen, Vec<u8>, Option<OwnedSemaphorePermit>), Refusal> {
        let (parts, body) = request.into_parts();
        let chosen = databases::chosen(&self.databases, &Parameters::of_url(&parts.uri)?)?;
        let (body, permit) = self.receive_body(parts.headers, body).await?;
        Ok((chosen, body, permit))
    }

    /// The body of a request, and the right to hold it in memory.
    ///
    /// # Errors
    /// As [`FactService::receive`].
    pub async fn receive_body(
        &self,
        headers: HeaderMap,
        body: Body,
    ) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), Refusal> {
        if content_type(&headers)? != answer::JSON {
            let message = format!("the Content-Type must be {}", answer::JSON);
            return Err(Refusal::of(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
        let permit = if body::is_small(&body) { None } else { Some(self.admission.receive().await?) };
        let (bytes_max, time) = (self.options.body_bytes_max, self.options.settings.body_time);
        let limits = BodyLimits { bytes_max, time, instead: "send a shorter one" };
        Ok((body::read(body, limits).await?, permit))
    }
}

/// An answer with this text of JSON. Requires: it is short, since the request has ended when it is sent.
pub fn sent(json: &impl std::fmt::Display) -> Response {
    let mut response = Response::new(Body::from(format!("{json}\n")));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer::JSON));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
