//! [`Refusal`]: the status and text for a request that is refused or fails.

use std::borrow::Cow;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// The result of a handler.
pub type Answer = Result<Response, Refusal>;

/// A request that is refused or fails.
#[derive(Debug)]
pub struct Refusal {
    pub status: StatusCode,
    /// The text for the client.
    pub message: Cow<'static, str>,
    header: Option<(HeaderName, &'static str)>,
    /// Details for the server's log only.
    particulars: Option<String>,
}

/// An extension of a response: details for the server's log only.
#[derive(Clone)]
pub struct Particulars(pub String);

impl Refusal {
    pub fn of(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, message: message.into(), header: None, particulars: None }
    }

    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::of(StatusCode::BAD_REQUEST, message)
    }

    /// The server is busy. The client may retry after a second.
    pub fn busy(message: impl Into<Cow<'static, str>>) -> Self {
        Self { header: Some((RETRY_AFTER, "1")), ..Self::of(StatusCode::SERVICE_UNAVAILABLE, message) }
    }

    pub fn read_only() -> Self {
        Self::of(
            StatusCode::FORBIDDEN,
            "this server only reads; start it with --read-write (ServerOptions::writable) to allow changes",
        )
    }

    /// A bug of the server. Its place is in the log only.
    pub fn internal_error(particulars: String) -> Self {
        let message = "internal error: the server failed while it worked on this request; please report the place, which is in its log";
        Self { particulars: Some(particulars), ..Self::of(StatusCode::INTERNAL_SERVER_ERROR, message) }
    }

    /// Details for the server's log only.
    pub fn particulars(&self) -> Option<&str> {
        self.particulars.as_deref()
    }

    /// Adds details for the server's log.
    pub fn behind_it(mut self, more: &str) -> Self {
        self.particulars = Some(match self.particulars {
            Some(particulars) => format!("{particulars} ({more})"),
            None => more.to_owned(),
        });
        self
    }

    /// The server's fault: clients are not told of paths and the like.
    pub fn failure(particulars: String) -> Self {
        let message = "the server failed; its log says more";
        Self { particulars: Some(particulars), ..Self::of(StatusCode::INTERNAL_SERVER_ERROR, message) }
    }
}

/// The handler of a path that is requested by a method that it does not have.
pub async fn method_not_allowed(request: Request) -> Refusal {
    let (method, path) = (request.method(), request.uri().path());
    let message = format!("{method} is not allowed for {path}; the header Allow lists the allowed methods");
    Refusal::of(StatusCode::METHOD_NOT_ALLOWED, message)
}

/// Of the engine, below any store.
impl From<&fulgurite::Error> for Refusal {
    fn from(error: &fulgurite::Error) -> Self {
        use fulgurite::Error as Engine;
        match error {
            error if error.is_retryable() => {
                Self::busy("other requests repeatedly changed the same data; nothing was changed; try again")
            }
            Engine::ReadOnly { .. } => Self::read_only(),
            Engine::DiskFull { .. } | Engine::QuotaExceeded { .. } => Self {
                particulars: Some(error.to_string()),
                ..Self::of(StatusCode::INSUFFICIENT_STORAGE, "no space is left on the server; nothing was changed")
            },
            error => Self::failure(error.to_string()),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(format!("{}\n", self.message)));
        *response.status_mut() = self.status;
        if let Some(particulars) = self.particulars {
            response.extensions_mut().insert(Particulars(particulars));
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if let Some((name, value)) = self.header {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
