//! `SERVICE` over HTTP: between two servers, and with endpoints that do what endpoints do wrong.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use fulgurite_rdf::sparql::{Limits, Query, QueryResults, Update};
use fulgurite_rdf::{CancellationToken, Error};
use fulgurite_server::{ServerOptions, ServiceClient};

use crate::client::{query, update};
use crate::fixture::Fixture;

/// A server that may ask what these URLs allow.
fn asking(urls: &[String]) -> Fixture {
    let client = ServiceClient::new(urls).expect("they are URLs");
    Fixture::with(ServerOptions::new().writable(true).service(Some(Arc::new(client))))
}

#[test]
fn a_server_asks_another_one_in_queries_and_updates() {
    let other = Fixture::writable();
    other.change("INSERT DATA { <http://a/s> <http://a/p> 1, \"two\"@en, _:b . _:b <http://a/q> <http://a/o> }");
    let url = format!("http://{}/sparql", other.address);
    let fixture = asking(std::slice::from_ref(&url));
    fixture.change("INSERT DATA { <http://a/s> <http://a/local> true }");
    let text = format!(
        "SELECT ?o {{ ?s <http://a/local> true SERVICE <{url}> {{ ?s <http://a/p> ?o FILTER(!ISBLANK(?o)) }} }} ORDER BY ?o"
    );
    let answer = query(&text).accept("text/csv").ask(fixture.address).expect(200);
    assert_eq!(answer.body, "o\r\n1\r\ntwo\r\n");
    update(&format!("INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE <{url}> {{ ?s ?p ?o }} }}"))
        .ask(fixture.address)
        .expect(204);
    let linked = query("ASK { <http://a/s> <http://a/p> ?b . ?b <http://a/q> <http://a/o> FILTER(ISBLANK(?b)) }");
    assert!(linked.accept("text/csv").ask(fixture.address).expect(200).body.contains("true"));
    assert_eq!(fixture.quads(), 5);
    let described = crate::client::get("/sparql").ask(fixture.address).expect(200);
    assert!(described.body.contains("BasicFederatedQuery"), "{described:?}");
    // Each query and each update was one request.
    let told: Vec<String> = other.told.try_iter().map(|told| format!("{} {}", told.method, told.path)).collect();
    assert_eq!(told, ["POST /sparql", "POST /sparql"]);
}

#[test]
fn what_is_not_allowed_is_not_asked() {
    let other = Fixture::writable();
    let url = format!("http://{}/sparql", other.address);
    let text = format!("SELECT * {{ SERVICE <{url}> {{ ?s ?p ?o }} }}");
    let plain = Fixture::writable();
    let refused = query(&text).ask(plain.address).expect(400);
    assert!(refused.body.contains("calls to other endpoints are not allowed"), "{refused:?}");
    assert!(refused.body.contains("--service"), "{refused:?}");
    let fixture = asking(&[format!("http://{}/other", other.address), "http://127.0.0.1:1/".into()]);
    let refused = query(&text).ask(fixture.address).expect(502);
    assert!(
        refused.body.contains(&format!("SERVICE <{url}>: this endpoint is not allowed; allow it with --service")),
        "{refused:?}"
    );
    let variable = format!("SELECT * {{ VALUES ?e {{ <{url}> }} SERVICE ?e {{ ?s ?p ?o }} }}");
    query(&variable).ask(fixture.address).expect(502);
    query(&variable.replace("SERVICE", "SERVICE SILENT")).ask(fixture.address).expect(200);
    assert_eq!(other.told.try_iter().count(), 0, "nothing was asked");
    let below = asking(&[format!("http://{}/", other.address)]);
    query(&text).ask(below.address).expect(200);
    query(&variable).ask(below.address).expect(200);
    assert_eq!(other.told.try_iter().count(), 2);
}

/// An endpoint that does one thing to every connection. What it is sent comes over the channel.
fn endpoint(act: impl Fn(&mut TcpStream) + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address: SocketAddr = listener.local_addr().expect("it has an address");
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                let mut bytes = [0; 4096];
                match stream.read(&mut bytes) {
                    Ok(count) if count > 0 => request.extend_from_slice(&bytes[..count]),
                    _ => break,
                }
            }
            // A test that does not look at what it was sent has dropped the channel.
            let _ = sender.send(String::from_utf8_lossy(&request).into_owned());
            act(&mut stream);
        }
    });
    (format!("http://{address}/"), asked)
}

fn answering(head: &str, body: &str) -> (String, Receiver<String>) {
    let text = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    endpoint(move |stream| drop(stream.write_all(text.as_bytes())))
}

/// The rows of a query that asks `url`, by a client that may.
pub fn rows(url: &str, keyword: &str, client: ServiceClient, limits: Limits) -> Result<usize, Error> {
    let fixture = Fixture::writable();
    let text = format!("SELECT * {{ SERVICE {keyword} <{url}> {{ ?s ?p ?o }} }}");
    let query = Query::parse(&text, None)?.with_limits(limits).with_service(Arc::new(client));
    let QueryResults::Solutions(solutions) = query.evaluate(&fixture.store.snapshot()?)? else { panic!("a SELECT") };
    solutions.map(|solution| solution.map(drop)).collect::<Result<Vec<()>, Error>>().map(|rows| rows.len())
}

/// A client that waits long enough for every answer that comes.
pub fn client(url: &str) -> ServiceClient {
    ServiceClient::new([url]).expect("a URL").timeout(Duration::from_secs(60)).body_bytes_max(1 << 20)
}

pub const JSON: &str = "200 OK\r\nContent-Type: application/sparql-results+json";
pub const ROW: &str = r#"{"head":{"vars":["s"]},"results":{"bindings":[{"s":{"type":"uri","value":"http://a/s"}}]}}"#;

#[test]
fn what_is_sent_is_a_query_of_the_protocol_without_credentials() {
    let (url, asked) = answering(JSON, ROW);
    assert_eq!(rows(&format!("{url}people/query?x=1"), "", client(&url), Limits::new()).expect("a row"), 1);
    let request = asked.recv().expect("it was asked");
    let (head, body) = request.split_once("\r\n\r\n").expect("a head and a body");
    let head = head.to_ascii_lowercase();
    assert!(head.starts_with("post /people/query?x=1 http/1.1\r\n"), "{head}");
    for header in
        ["content-type: application/sparql-query", "accept: application/sparql-results+json, ", "host: 127.0.0.1:"]
    {
        assert!(head.contains(header), "{head}");
    }
    assert!(!head.contains("authorization") && !head.contains("cookie") && !head.contains("referer"), "{head}");
    assert_eq!(body, "SELECT ?s ?p ?o WHERE { ?s ?p ?o . }");
}

#[test]
fn every_bad_endpoint_is_one_clear_error_or_nothing_with_silent() {
    // A port that was free a moment ago may be another test's by now. Nobody is given this one.
    let gone = String::from("http://127.0.0.1:1/");
    let endless = |stream: &mut TcpStream| {
        let head = format!("HTTP/1.1 {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n");
        let chunk = format!("8000\r\n{}\r\n", " ".repeat(0x8000));
        let mut sent = stream.write_all(head.as_bytes());
        while sent.is_ok() {
            sent = stream.write_all(chunk.as_bytes());
        }
    };
    let silent_for_ever = |stream: &mut TcpStream| {
        // Reading returns when the client gives up.
        let _ = stream.write_all(format!("HTTP/1.1 {JSON}\r\nContent-Length: 100\r\n\r\n{{").as_bytes());
        let _ = stream.read(&mut [0; 1]);
    };
    let no_head = |stream: &mut TcpStream| drop(stream.read(&mut [0; 1]));
    let cut = |stream: &mut TcpStream| {
        let _ = stream.write_all(format!("HTTP/1.1 {JSON}\r\nContent-Length: 1000\r\n\r\n{{\"head\"").as_bytes());
    };
    let cases: Vec<(String, &str)> = vec![
        (gone, "it cannot be reached: "),
        (
            answering("404 Not Found\r\nContent-Type: text/plain", "no such\r\n  dataset\u{1b}[31m").0,
            "status 404 Not Found: no such dataset [31m; check the URL",
        ),
        (answering("500 Internal Server Error", "").0, "status 500 Internal Server Error; check"),
        (
            answering("200 OK\r\nContent-Type: text/html; charset=utf-8", "<html></html>").0,
            "the answer is text/html; charset=utf-8, not results",
        ),
        (answering("200 OK", ROW).0, "the answer is nothing that it names"),
        (answering("200 OK\r\nContent-Type: text/csv", "s\r\nhttp://a/s\r\n").0, "the answer is text/csv"),
        (answering(&format!("{JSON}\r\nContent-Encoding: gzip"), "x").0, "the answer has Content-Encoding gzip"),
        (
            answering(JSON, "{\"head\":{\"vars\":[\"s\"]},\"results\":{\"bindings\":[oops").0,
            "the answer is not SPARQL Results in JSON",
        ),
        (answering(JSON, "{\"head\":{},\"boolean\":true}").0, "the answer is a truth value"),
        (answering(JSON, "").0, "the answer is not SPARQL Results in JSON"),
        (answering("200 OK\r\nContent-Type: application/sparql-results+xml", "<sparql><oops").0, "the answer "),
        (
            answering("302 Found\r\nLocation: http://elsewhere.example/", "").0,
            "it redirects to http://elsewhere.example/, which is not allowed",
        ),
        (
            answering("302 Found\r\nLocation: file:///etc/passwd", "").0,
            "it redirects to file:///etc/passwd, which is not allowed",
        ),
        (answering("302 Found", "").0, "it redirects without a usable Location header"),
        (answering("307 Temporary Redirect\r\nLocation: /again", "").0, "it redirects more than 5 times"),
        (answering("204 No Content", "").0, "the answer is nothing that it names"),
        (endpoint(endless).0, "the answer is larger than 1048576 bytes"),
        (endpoint(silent_for_ever).0, "no whole answer after 300ms"),
        (endpoint(no_head).0, "no whole answer after 300ms"),
        (endpoint(cut).0, "the answer breaks off after 7 bytes"),
        (endpoint(|_| ()).0, "the connection failed"),
        (endpoint(|stream| drop(stream.write_all(b"SSH-2.0-nonsense\r\n\r\n"))).0, "the connection failed"),
    ];
    for (url, expected) in cases {
        let waits = expected.starts_with("no whole answer");
        let client = || if waits { client(&url).timeout(Duration::from_millis(300)) } else { client(&url) };
        let error = rows(&url, "", client(), Limits::new()).expect_err(expected);
        let text = error.to_string();
        assert!(matches!(error, Error::Service { .. }), "{text}");
        assert!(text.starts_with(&format!("SERVICE <{url}>: {expected}")), "{expected}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert_eq!(rows(&url, "SILENT", client(), Limits::new()).expect(expected), 1);
    }
}

#[test]
fn an_endpoint_that_sends_us_to_an_allowed_one_is_followed() {
    let (target, asked) = answering(JSON, ROW);
    let (url, _) = answering(&format!("308 Permanent Redirect\r\nLocation: {target}there"), "");
    let both = ServiceClient::new([&url, &target]).expect("URLs");
    assert_eq!(rows(&url, "", both, Limits::new()).expect("a row"), 1);
    assert!(asked.recv().expect("it was asked").starts_with("POST /there "));
}

#[test]
fn the_time_and_the_token_of_a_query_end_an_exchange_that_waits() {
    let (url, asked) = endpoint(|stream| drop(stream.read(&mut [0; 1])));
    let patient = || ServiceClient::new([&url]).expect("a URL").timeout(Duration::from_secs(600));
    for keyword in ["", "SILENT"] {
        let begun = Instant::now();
        let error =
            rows(&url, keyword, patient(), Limits::new().timeout(Duration::from_millis(100))).expect_err("late");
        assert!(matches!(error, Error::TimedOut { .. }), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(60));
        asked.recv().expect("it was asked");
        let token = CancellationToken::new();
        let limits = Limits::new().cancellation(token.clone());
        let error = std::thread::scope(|scope| {
            let evaluation = scope.spawn(|| rows(&url, keyword, patient(), limits).map_err(|error| error.to_string()));
            // The evaluation waits for the answer now.
            asked.recv().expect("it was asked");
            token.cancel();
            evaluation.join().expect("it does not panic").expect_err("it is cancelled")
        });
        assert!(error.contains("cancelled"), "{error}");
    }
    let fixture = Fixture::writable();
    let text = format!("INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE <{url}> {{ ?s ?p ?o }} }}");
    let late = Update::parse(&text, None).expect("an update").with_timeout(Duration::from_millis(100));
    let error = late.with_service(Arc::new(patient())).execute(&fixture.store).expect_err("late");
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
}
