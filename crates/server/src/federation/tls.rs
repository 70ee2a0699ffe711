//! Connections to https endpoints: which certificates are trusted, and why a handshake fails.
//!
//! Certificates are verified by rustls, and there is no way to skip that. Trusted are the authorities of the system,
//! and those that the program adds.

use std::io;
use std::sync::{Arc, OnceLock};

use fulgurite_rdf::sparql::ServiceError;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error, RootCertStore};

/// Why https endpoints are refused, if they are.
pub const fn refuse_https() -> Option<&'static str> {
    None
}

/// The trusted certificate authorities. Clones share what was made of them.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    added: Vec<CertificateDer<'static>>,
    /// Made for the first call, because reading the authorities of the system takes milliseconds.
    config: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl Trust {
    /// The authorities of the system, and those of a PEM text.
    ///
    /// # Errors
    /// If the text has no certificate, or one that is not an authority's.
    pub fn with(pem: &[u8]) -> Result<Self, String> {
        let added: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let added = added.map_err(|error| format!("not certificates in PEM: {error}; check the file"))?;
        if added.is_empty() {
            return Err("no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----; check the file".into());
        }
        let mut roots = RootCertStore::empty();
        for certificate in &added {
            roots.add(certificate.clone()).map_err(|error| format!("a certificate is not usable: {error}"))?;
        }
        Ok(Self { added, config: Arc::default() })
    }

    /// Does the handshake, and verifies the certificate.
    ///
    /// # Errors
    /// Why there is no trusted connection to the host.
    pub async fn secured(&self, stream: TcpStream, host: &str) -> Result<TlsStream<TcpStream>, ServiceError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            ServiceError::new("the host of its URL is not a name that a certificate can have; check it")
        })?;
        let connected = TlsConnector::from(self.config()?).connect(name, stream).await;
        connected.map_err(|error| ServiceError::new(refusal(&error)))
    }

    fn config(&self) -> Result<Arc<ClientConfig>, ServiceError> {
        if let Some(config) = self.config.get() {
            return Ok(Arc::clone(config));
        }
        let mut roots = RootCertStore::empty();
        let system = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(system.certs);
        roots.add_parsable_certificates(self.added.iter().cloned());
        if roots.is_empty() {
            let why = system.errors.first().map_or(String::new(), |error| format!(" ({error})"));
            return Err(ServiceError::new(format!(
                "the system has no trusted certificate authorities{why}; install them, or give some by --service-ca \
                 (ServiceClient::certificate_authorities)"
            )));
        }
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| ServiceError::new(format!("no TLS: {error}")))?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::clone(self.config.get_or_init(|| Arc::new(config))))
    }
}

/// What a failed handshake is to the user.
fn refusal(error: &io::Error) -> String {
    use CertificateError as C;
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>());
    match cause {
        Some(Error::InvalidCertificate(C::UnknownIssuer)) => "its certificate is of an unknown authority; if that is \
             yours, trust it by --service-ca (ServiceClient::certificate_authorities)"
            .to_owned(),
        Some(Error::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. })) => {
            "its certificate is for another host; check the URL".to_owned()
        }
        Some(Error::InvalidCertificate(C::Expired | C::ExpiredContext { .. })) => {
            "its certificate has expired; ask its operator to renew it, and check the clock of this machine".to_owned()
        }
        Some(Error::InvalidCertificate(error)) => format!("its certificate is not valid: {error}; check the URL"),
        Some(error) => format!("no TLS with it: {error}; check that its URL is one of https"),
        None => format!("the connection failed: {error}; try again"),
    }
}
