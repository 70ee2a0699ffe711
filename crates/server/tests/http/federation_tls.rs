//! `SERVICE` to https endpoints: which are trusted, and what becomes of those that are not.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use fulgurite_rdf::Error;
use fulgurite_rdf::sparql::Limits;
use fulgurite_server::ServiceClient;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::federation::{JSON, ROW, client, rows};

type Secured = StreamOwned<ServerConnection, TcpStream>;

/// An authority that signs certificates of endpoints.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).expect("no names");
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = parameters.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(parameters, key), pem }
    }

    /// An endpoint with a certificate for a name, until the end of a year.
    fn endpoint(&self, name: &str, year: i32, act: impl Fn(&mut Secured) + Send + 'static) -> Endpoint {
        let mut parameters = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        parameters.not_before = date_time_ymd(2000, 1, 1);
        parameters.not_after = date_time_ymd(year, 12, 31);
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("a certificate");
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
            )
            .expect("a certificate and its key");
        let config = Arc::new(config);
        Endpoint::new(move |stream, asked| {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a configuration");
            let mut stream = StreamOwned::new(connection, stream);
            let mut request = Vec::new();
            let mut bytes = [0; 4096];
            while !request.ends_with(b"}") {
                match stream.read(&mut bytes) {
                    Ok(count) if count > 0 => request.extend_from_slice(&bytes[..count]),
                    _ => return,
                }
            }
            asked(String::from_utf8_lossy(&request).into_owned());
            act(&mut stream);
        })
    }

    fn answering(&self, name: &str, year: i32, answer: &str) -> Endpoint {
        let answer = answer.to_owned();
        self.endpoint(name, year, move |stream| {
            let _ = stream.write_all(answer.as_bytes());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        })
    }

    /// A client that trusts it, may call the URL, and waits long enough for any handshake.
    fn client(&self, url: &str) -> ServiceClient {
        let client = client(url).timeout(Duration::from_secs(60));
        client.certificate_authorities(self.pem.as_bytes()).expect("a certificate")
    }
}

/// An endpoint on a port of its own.
struct Endpoint {
    port: u16,
    /// The requests that it could read.
    asked: Receiver<String>,
}

impl Endpoint {
    fn new(act: impl Fn(TcpStream, &dyn Fn(String)) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let (sender, asked) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                act(stream, &|request| drop(sender.send(request)));
            }
        });
        Self { port, asked }
    }

    fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/sparql", self.port)
    }
}

fn row() -> String {
    format!("HTTP/1.1 {JSON}\r\nContent-Length: {}\r\n\r\n{ROW}", ROW.len())
}

#[test]
fn an_endpoint_with_a_certificate_of_a_trusted_authority_is_asked() {
    let authority = Authority::new("one");
    for host in ["127.0.0.1", "localhost"] {
        let endpoint = authority.answering(host, 2100, &row());
        let url = endpoint.url(host);
        assert_eq!(rows(&url, "", authority.client(&url), Limits::new()).expect(host), 1);
        let asked = endpoint.asked.recv().expect("it was asked");
        assert!(asked.starts_with("POST /sparql HTTP/1.1\r\n"), "{asked}");
        assert!(asked.to_ascii_lowercase().contains(&format!("host: {host}:{}\r\n", endpoint.port)), "{asked}");
    }
}

/// The query fails with an error that begins so, or has one row that binds nothing with `SILENT`.
fn fails(url: &str, client: &ServiceClient, expected: &str) {
    let error = rows(url, "", client.clone(), Limits::new()).expect_err(expected);
    let text = error.to_string();
    assert!(matches!(error, Error::Service { .. }), "{text}");
    assert!(text.starts_with(&format!("SERVICE <{url}>: {expected}")), "{expected}: {text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(rows(url, "SILENT", client.clone(), Limits::new()).expect(expected), 1);
}

#[test]
fn an_endpoint_whose_certificate_is_not_valid_is_sent_nothing() {
    let (authority, other) = (Authority::new("one"), Authority::new("other"));
    let host = "127.0.0.1";
    for (endpoint, trusted, expected) in [
        (authority.answering(host, 2100, &row()), &other, "its certificate is of an unknown authority"),
        (authority.answering("elsewhere.example", 2100, &row()), &authority, "its certificate is for another host"),
        (authority.answering(host, 2001, &row()), &authority, "its certificate has expired"),
    ] {
        let url = endpoint.url(host);
        fails(&url, &trusted.client(&url), expected);
        assert!(endpoint.asked.try_recv().is_err(), "{expected}");
    }
}

#[test]
fn without_authorities_of_its_own_a_client_trusts_no_private_one() {
    let endpoint = Authority::new("one").answering("127.0.0.1", 2100, &row());
    let url = endpoint.url("127.0.0.1");
    let plain = client(&url).timeout(Duration::from_secs(60));
    // The system may have no authorities at all.
    let error = rows(&url, "", plain, Limits::new()).expect_err("not trusted").to_string();
    assert!(error.contains("--service-ca"), "{error}");
    assert!(endpoint.asked.try_recv().is_err());
}

#[test]
fn every_bad_https_endpoint_is_one_clear_error_or_nothing_with_silent() {
    let authority = Authority::new("one");
    let secured = |act: fn(&mut Secured)| authority.endpoint("127.0.0.1", 2100, act);
    let endless = |stream: &mut Secured| {
        let chunk = format!("8000\r\n{}\r\n", " ".repeat(0x8000));
        let mut sent = stream.write_all(format!("HTTP/1.1 {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n").as_bytes());
        while sent.is_ok() {
            sent = stream.write_all(chunk.as_bytes());
        }
    };
    // Without its length, an answer ends with the connection. TLS says whether that end is the sender's.
    let cut = |stream: &mut Secured| {
        let _ = stream.write_all(format!("HTTP/1.1 {JSON}\r\n\r\n{ROW}").as_bytes());
        let _ = stream.flush();
    };
    let no_tls = |mut stream: TcpStream, _: &dyn Fn(String)| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    };
    for (endpoint, expected) in [
        (secured(endless), "the answer is larger than 1048576 bytes"),
        (secured(cut), "the answer breaks off after "),
        (Endpoint::new(no_tls), "no TLS with it: "),
        (
            authority.answering("127.0.0.1", 2100, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"),
            "it redirects to http://127.0.0.1:1/, which is not allowed",
        ),
        (
            authority.answering("127.0.0.1", 2100, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
            "status 404 Not Found; check the URL",
        ),
    ] {
        let url = endpoint.url("127.0.0.1");
        fails(&url, &authority.client(&url), expected);
    }
}

#[test]
fn the_time_of_a_call_includes_the_handshake() {
    let authority = Authority::new("one");
    let silent_for_ever = |stream: &mut Secured| {
        // Reading returns when the client gives up.
        let _ = stream.read(&mut [0; 1]);
    };
    let no_handshake = |mut stream: TcpStream, _: &dyn Fn(String)| {
        let mut bytes = [0; 4096];
        while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
    };
    for endpoint in [authority.endpoint("127.0.0.1", 2100, silent_for_ever), Endpoint::new(no_handshake)] {
        let url = endpoint.url("127.0.0.1");
        let hasty = authority.client(&url).timeout(Duration::from_millis(300));
        fails(&url, &hasty, "no whole answer after 300ms");
    }
}

#[test]
fn what_is_no_certificate_of_an_authority_is_refused_at_once() {
    for (pem, expected) in [
        ("", "no certificate in PEM"),
        ("hello", "no certificate in PEM"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "a certificate is not usable"),
        ("-----BEGIN CERTIFICATE-----\n????\n-----END CERTIFICATE-----\n", "not certificates in PEM"),
    ] {
        let client = ServiceClient::new(["https://a.example/"]).expect("a URL");
        let error = client.certificate_authorities(pem.as_bytes()).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
