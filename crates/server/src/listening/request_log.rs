//! The middleware around every request: checks it, answers panics, and reports the request to the log.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, EXPECT, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};

use crate::http::answer::CutOff;
use crate::http::body::KeptBody;
use crate::http::panics::CatchPanic;
use crate::http::refusal::{Particulars, Refusal};
use crate::listening::front::Front;
use crate::settings::Event;

/// Refuses requests that the guard does not allow, and logs every request.
pub async fn surround(State(front): State<Arc<Front>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let mut log = RequestLog {
        front: Arc::clone(&front),
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        status: 0,
        bytes: 0,
        is_whole: false,
        begun,
    };
    let mut response = match front.guard.check(&request) {
        Err(refusal) => refusal.into_response(),
        Ok(()) => {
            let version = request.version();
            let mut response = match front.guard.preflight(&request) {
                Some(response) => response,
                None => run(request, next).await,
            };
            if version < Version::HTTP_11 && response.body().size_hint().exact().is_none() {
                response = no_end().into_response();
            }
            front.guard.mark(response.headers_mut());
            response
        }
    };
    if let Some(Particulars(message)) = response.extensions_mut().remove() {
        log.failed(&message);
    }
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    log.status = response.status().as_u16();
    // An empty body is not polled.
    log.is_whole = response.body().is_end_stream();
    response.map(|body| Body::new(LoggedBody { log, body }))
}

/// Runs the handler. The rest of a body that it refuses is discarded.
async fn run(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return CatchPanic::new(next.run(request)).await.unwrap_or_else(IntoResponse::into_response);
    }
    let (parts, body) = request.into_parts();
    let (body, waits) = (KeptBody::new(body), parts.headers.contains_key(EXPECT));
    let request = Request::from_parts(parts, Body::new(body.clone()));
    let mut response = CatchPanic::new(next.run(request)).await.unwrap_or_else(IntoResponse::into_response);
    if response.status().is_client_error() || response.status().is_server_error() {
        if waits && body.is_untouched() {
            // It is not asked for a body that nobody wants.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        } else {
            body.discard_rest().await;
        }
    }
    response
}

/// HTTP/1.0 has no chunks: a truncated answer would look complete.
fn no_end() -> Refusal {
    let message = "the answer is too long for HTTP/1.0, which cannot mark the end of an answer; \
                   use HTTP/1.1, or ask for less";
    Refusal::of(StatusCode::HTTP_VERSION_NOT_SUPPORTED, message)
}

/// The log entry of a request, written when its answer has ended.
struct RequestLog {
    front: Arc<Front>,
    method: String,
    path: String,
    status: u16,
    bytes: u64,
    is_whole: bool,
    begun: Instant,
}

impl RequestLog {
    /// Logs a failure with the method and path only: parameters and body may be confidential.
    fn failed(&self, message: &str) {
        let message = format!("{} {}: {message}", self.method, self.path);
        self.front.settings.notify(Event::Failed { message: &message });
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        // There is no status if the client left before the head was sent.
        let status = if self.status == 0 { CLIENT_GONE } else { self.status };
        self.front.settings.notify(Event::Answered {
            method: &self.method,
            path: &self.path,
            status,
            bytes: self.bytes,
            is_whole: self.is_whole,
            elapsed: self.begun.elapsed(),
        });
    }
}

/// A body that counts what was sent, for the log.
struct LoggedBody {
    log: RequestLog,
    body: Body,
}

impl HttpBody for LoggedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        match &frame {
            Poll::Ready(Some(Ok(frame))) => {
                self.log.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                self.log.is_whole = self.body.is_end_stream();
            }
            Poll::Ready(None) => self.log.is_whole = true,
            Poll::Ready(Some(Err(error))) => {
                if let Some(particulars) = particulars_of(error) {
                    self.log.failed(particulars);
                }
            }
            _ => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The details of a failure that cut off an answer. The client does not get them.
fn particulars_of(error: &axum::Error) -> Option<&str> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(cut) = inner.and_then(|inner| inner.downcast_ref::<CutOff>()) {
            return cut.particulars.as_deref();
        }
        cause = error.source();
    }
    None
}

/// The status that other servers log for requests whose clients left.
const CLIENT_GONE: u16 = 499;
