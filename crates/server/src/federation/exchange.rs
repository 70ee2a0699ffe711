//! One exchange with an endpoint: a connection of its own, one request, one answer.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use axum::body::Body;
use axum::http::header::{ACCEPT, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use axum::http::{HeaderMap, HeaderName, Request, Response, Uri};
use fulgurite_rdf::sparesults::QueryResultsFormat;
use fulgurite_rdf::sparql::ServiceError;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::tls::Trust;

/// What has come of a request.
pub enum Outcome {
    /// Solutions in this form.
    Answer(QueryResultsFormat, Vec<u8>),
    /// The endpoint is at this URL.
    Elsewhere(String),
}

/// Sends a query to the URL.
///
/// # Errors
/// Why there is no answer.
pub async fn exchange(url: &str, query: &str, bytes_max: usize, trust: &Trust) -> Result<Outcome, ServiceError> {
    let uri: Uri = url.parse().map_err(|_| ServiceError::new("not a URL in ASCII; write it with percent escapes"))?;
    let target = Target::of(&uri)?;
    let stream = TcpStream::connect((target.host, target.port)).await;
    let stream = stream.map_err(|error| {
        ServiceError::new(format!("it cannot be reached: {error}; check the URL, and whether the endpoint runs"))
    })?;
    // The query is sent as one, and nothing follows.
    let _ = stream.set_nodelay(true);
    let request = request(&uri, &target, query)?;
    match target.is_secret {
        true => over(trust.secured(stream, target.host).await?, request, &uri, bytes_max).await,
        false => over(stream, request, &uri, bytes_max).await,
    }
}

/// Sends the request over a connection of its own.
async fn over(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: Request<Body>,
    uri: &Uri,
    bytes_max: usize,
) -> Result<Outcome, ServiceError> {
    let broken = |error: hyper::Error| ServiceError::new(format!("the connection failed: {}; try again", root(&error)));
    let mut builder = http1::Builder::new();
    let (mut sender, connection) =
        builder.max_buf_size(BUFFER_BYTES).handshake::<_, Body>(TokioIo::new(stream)).await.map_err(broken)?;
    let work = async {
        let response = sender.send_request(request).await.map_err(broken)?;
        outcome(response, uri, bytes_max).await
    };
    beside(pin!(connection), pin!(work)).await
}

/// Where a URL leads.
struct Target<'u> {
    /// Whether the connection is encrypted.
    is_secret: bool,
    host: &'u str,
    port: u16,
    authority: &'u str,
}

impl<'u> Target<'u> {
    fn of(uri: &'u Uri) -> Result<Self, ServiceError> {
        let wrong = || ServiceError::new("not a URL of HTTP; check it");
        let (is_secret, port) = match uri.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let authority = authority.as_str().rsplit('@').next().unwrap_or_default();
        Ok(Self { is_secret, host, port: uri.port_u16().unwrap_or(port), authority })
    }
}

fn request(uri: &Uri, target: &Target<'_>, query: &str) -> Result<Request<Body>, ServiceError> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Request::post(path)
        .header(HOST, target.authority)
        .header(CONTENT_TYPE, "application/sparql-query")
        .header(ACCEPT, FORMS)
        .header(USER_AGENT, concat!("fulgurite/", env!("CARGO_PKG_VERSION")))
        .header(CONNECTION, "close")
        .body(Body::from(query.to_owned()))
        .map_err(|error| ServiceError::new(format!("no request can be made of its URL: {error}; check it")))
}

async fn outcome(response: Response<Incoming>, uri: &Uri, bytes_max: usize) -> Result<Outcome, ServiceError> {
    let (parts, body) = response.into_parts();
    let mut body = pin!(body);
    let status = parts.status;
    if matches!(status.as_u16(), 301 | 302 | 307 | 308) {
        return location(&parts.headers, uri).map(Outcome::Elsewhere);
    }
    if !status.is_success() {
        let said = read(body.as_mut(), EXCERPT_READ_BYTES).await.unwrap_or_default();
        let said = excerpt(&said);
        let colon = if said.is_empty() { "" } else { ": " };
        return Err(ServiceError::new(format!("status {status}{colon}{said}; check the URL and the pattern")));
    }
    let format = format(&parts.headers)?;
    match read(body.as_mut(), bytes_max).await? {
        bytes if bytes.len() > bytes_max => Err(ServiceError::new(format!(
            "the answer is larger than {bytes_max} bytes; narrow the pattern, or raise the limit by --service-max \
             (ServiceClient::body_bytes_max)"
        ))),
        bytes => Ok(Outcome::Answer(format, bytes)),
    }
}

/// Reads the body: all of it, or somewhat more than `bytes_max`.
async fn read(mut body: Pin<&mut Incoming>, bytes_max: usize) -> Result<Vec<u8>, ServiceError> {
    let mut bytes = Vec::new();
    while bytes.len() <= bytes_max {
        match poll_fn(|context| body.as_mut().poll_frame(context)).await {
            None => break,
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    bytes.extend_from_slice(&data);
                }
            }
            Some(Err(error)) => {
                let message = format!("the answer breaks off after {} bytes: {}; try again", bytes.len(), root(&error));
                return Err(ServiceError::new(message));
            }
        }
    }
    Ok(bytes)
}

fn format(headers: &HeaderMap) -> Result<QueryResultsFormat, ServiceError> {
    if let Some(encoding) =
        text(headers, CONTENT_ENCODING).filter(|encoding| !encoding.eq_ignore_ascii_case("identity"))
    {
        let message = format!(
            "the answer has Content-Encoding {}, which was not requested; check the URL",
            excerpt(encoding.as_bytes())
        );
        return Err(ServiceError::new(message));
    }
    let kind = text(headers, CONTENT_TYPE).unwrap_or_default();
    match QueryResultsFormat::from_media_type(kind) {
        Some(format) if format != QueryResultsFormat::Csv => Ok(format),
        _ => {
            let kind = if kind.is_empty() { "nothing that it names".to_owned() } else { excerpt(kind.as_bytes()) };
            let message = format!(
                "the answer is {kind}, not results in JSON, XML or TSV; check that the URL is that of an endpoint"
            );
            Err(ServiceError::new(message))
        }
    }
}

/// Where a redirection goes.
fn location(headers: &HeaderMap, uri: &Uri) -> Result<String, ServiceError> {
    let missing = || ServiceError::new("it redirects without a usable Location header; check the URL");
    let place = text(headers, LOCATION).ok_or_else(missing)?;
    match (place.starts_with('/') && !place.starts_with("//"), uri.scheme_str(), uri.authority()) {
        (true, Some(scheme), Some(authority)) => Ok(format!("{scheme}://{authority}{place}")),
        _ => Ok(place.to_owned()),
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The beginning of what an endpoint says, in one line.
fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> = text.split(|character: char| character.is_whitespace() || character.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The innermost cause: what the system says.
fn root(error: &hyper::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Returns what `work` does, with the connection that it needs kept going beside it.
async fn beside<T>(mut connection: Pin<&mut impl Future>, mut work: Pin<&mut impl Future<Output = T>>) -> T {
    let mut is_open = true;
    poll_fn(|context| {
        // An error of the connection reaches the work.
        is_open = is_open && connection.as_mut().poll(context).is_pending();
        match work.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

const FORMS: &str =
    "application/sparql-results+json, application/sparql-results+xml;q=0.9, text/tab-separated-values;q=0.8";
/// The head of an answer is no longer.
const BUFFER_BYTES: usize = 64 << 10;
const EXCERPT_READ_BYTES: usize = 4 << 10;
const EXCERPT_CHARACTERS: usize = 200;
