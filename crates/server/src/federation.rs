//! [`ServiceClient`]: calls other endpoints over HTTP, for `SERVICE`.
//!
//! Invariants: (1) Only allowed URLs are called, also after a redirect. (2) No credentials are sent, and no cookies
//! kept. (3) A call ends when its own time or the evaluation's time is over, or the evaluation is cancelled, whichever
//! is first. Nothing of it continues after that. (4) An https endpoint is sent nothing before its certificate has been
//! verified.

mod allowed;
mod exchange;
#[cfg_attr(not(all(unix, feature = "tls")), path = "federation/no_tls.rs")]
mod tls;

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

use fulgurite_rdf::sparql::{ServiceError, ServiceHandler, ServiceRequest, ServiceResponse};
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::error::{Error, Result};
use allowed::Allowed;
use exchange::{Outcome, exchange};
use tls::Trust;

/// Calls other endpoints by the SPARQL 1.1 Protocol, for
/// [`Query::with_service`](fulgurite_rdf::sparql::Query::with_service),
/// [`Update::with_service`](fulgurite_rdf::sparql::Update::with_service) and
/// [`ServerOptions::service`](crate::ServerOptions::service).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fulgurite_server::ServiceClient;
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let client = ServiceClient::new(["http://localhost:3030/", "http://towns.example/sparql"])?;
/// let query = fulgurite_rdf::sparql::Query::parse("SELECT * { SERVICE <http://towns.example/sparql> { ?a ?b ?c } }", None)?
///     .with_service(Arc::new(client.timeout(Duration::from_secs(5))));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ServiceClient {
    allowed: Vec<Allowed>,
    timeout: Duration,
    body_bytes_max: usize,
    rows_max: u64,
    trust: Trust,
}

impl ServiceClient {
    /// Returns a client that may call these URLs. A URL that ends with a slash allows all URLs that begin with it.
    ///
    /// # Errors
    /// [`Error::Invalid`] if one is not an HTTP URL, or has a user, a password or a fragment. An https URL needs the
    /// feature `tls`, and Unix.
    pub fn new(urls: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        let allowed = urls.into_iter().map(|url| Allowed::new(url.as_ref())).collect::<Result<_, String>>();
        Ok(Self {
            allowed: allowed.map_err(|message| Error::Invalid { message })?,
            timeout: Duration::from_secs(30),
            body_bytes_max: 64 << 20,
            rows_max: 1_000_000,
            trust: Trust::default(),
        })
    }

    /// Sets the longest time of a call, from the connection to the last byte. Default: 30 seconds. If the evaluation
    /// has less time left, that is the limit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the longest answer, in bytes. It is in memory while it is read. Default: 64 MiB.
    #[must_use]
    pub fn body_bytes_max(mut self, bytes: usize) -> Self {
        self.body_bytes_max = bytes;
        self
    }

    /// Sets the most rows of an answer. Default: 1,000,000.
    #[must_use]
    pub fn rows_max(mut self, rows: u64) -> Self {
        self.rows_max = rows;
        self
    }

    /// Trusts the certificate authorities of a PEM text, in addition to those that the system trusts. Each call
    /// replaces those of the call before. It concerns https endpoints only.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the text has no certificate or a bad one, or the crate is built without the feature `tls`.
    pub fn certificate_authorities(mut self, pem: &[u8]) -> Result<Self> {
        self.trust = Trust::with(pem).map_err(|message| Error::Invalid { message })?;
        Ok(self)
    }

    fn check(&self, url: &str) -> Result<(), ServiceError> {
        if self.allowed.iter().any(|allowed| allowed.has(url)) {
            return Ok(());
        }
        Err(ServiceError::new("this endpoint is not allowed; allow it with --service URL (ServiceClient::new)"))
    }

    /// Calls the endpoint, and follows allowed redirects.
    async fn answer(&self, endpoint: &str, query: &str) -> Result<ServiceResponse, ServiceError> {
        self.check(endpoint)?;
        let mut url = endpoint.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            match exchange(&url, query, self.body_bytes_max, &self.trust).await? {
                Outcome::Answer(format, body) => {
                    return Ok(ServiceResponse::new(format, body).rows_max(self.rows_max));
                }
                Outcome::Elsewhere(place) => {
                    let refused = |_| {
                        ServiceError::new(format!(
                            "it redirects to {place}, which is not allowed; allow that URL with --service, or use it in the query"
                        ))
                    };
                    self.check(&place).map_err(refused)?;
                    url = place;
                }
            }
        }
        Err(ServiceError::new(format!("it redirects more than {REDIRECTS_MAX} times; check the URL")))
    }

    /// Does the work for as long as it may take and is wanted.
    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, ServiceError>>,
        request: &ServiceRequest<'_>,
    ) -> Result<T, ServiceError> {
        let (begun, mut work) = (Instant::now(), pin!(work));
        loop {
            let left = self.timeout.saturating_sub(begun.elapsed());
            if let Ok(done) = timeout(left.min(LOOK), work.as_mut()).await {
                return done;
            }
            if !request.is_wanted() {
                return Err(ServiceError::new("the evaluation has ended"));
            }
            if begun.elapsed() >= self.timeout {
                let message = format!(
                    "no whole answer after {:?}; narrow the pattern, or allow more time by --service-timeout (ServiceClient::timeout)",
                    self.timeout
                );
                return Err(ServiceError::new(message));
            }
        }
    }
}

impl ServiceHandler for ServiceClient {
    fn ask(&self, request: &ServiceRequest<'_>) -> Result<ServiceResponse, ServiceError> {
        let failed = |error| ServiceError::new(format!("no runtime for the connection: {error}; try again"));
        // It lives as long as the exchange: no thread waits between requests, and dropping it drops the connection.
        let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
        let work = self.in_time(self.answer(request.endpoint(), request.query()), request);
        let answer = runtime.block_on(work);
        // A name that is still being looked up is not waited for.
        runtime.shutdown_background();
        answer
    }
}

/// Whether the evaluation still wants an answer is looked at so often.
const LOOK: Duration = Duration::from_millis(20);
const REDIRECTS_MAX: usize = 5;
