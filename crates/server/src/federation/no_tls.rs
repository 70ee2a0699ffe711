//! In place of `tls`, where the crate is built without the feature of that name or not for Unix: https endpoints are
//! refused.

use fulgurite_rdf::sparql::ServiceError;
use tokio::net::TcpStream;

const MISSING: &str = "this program has no TLS, so https endpoints cannot be called; build it with the feature `tls`, \
                           or put a proxy that has TLS between, and give its http URL";

/// Why https endpoints are refused, if they are.
pub const fn refuse_https() -> Option<&'static str> {
    Some(MISSING)
}

/// No certificate authorities.
#[derive(Clone, Debug, Default)]
pub struct Trust(());

impl Trust {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn with(_: &[u8]) -> Result<Self, String> {
        Err(MISSING.to_owned())
    }

    /// Refuses: a redirection may lead to an https endpoint.
    ///
    /// # Errors
    /// Always.
    pub async fn secured(&self, _: TcpStream, _: &str) -> Result<TcpStream, ServiceError> {
        Err(ServiceError::new(MISSING))
    }
}
