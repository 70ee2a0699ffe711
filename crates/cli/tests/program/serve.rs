//! Serving a store: the printed address, requests, and the end by a signal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr};

use crate::fixture::TestDirectory;

/// A running server; killed if the test fails.
struct Serving {
    child: Child,
    messages: BufReader<ChildStderr>,
    address: String,
    first_line: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Serving {
    fn start(place: &TestDirectory, arguments: &[&str]) -> Self {
        Self::of(place, &[&["rdf", "serve", "people.ful"], arguments].concat())
    }

    /// With these verbs and arguments.
    fn of(place: &TestDirectory, arguments: &[&str]) -> Self {
        let arguments = [arguments, &["--bind", "127.0.0.1:0", "-v"]].concat();
        let mut child = place.spawn(&arguments);
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        let mut first_line = String::new();
        messages.read_line(&mut first_line).unwrap();
        let address = first_line.split_once("http://").and_then(|(_, rest)| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("{first_line}")).to_owned();
        messages.read_line(&mut String::new()).unwrap();
        Self { child, messages, address, first_line }
    }

    /// Status and body.
    fn ask(&self, method: &str, target: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (address, length) = (&self.address, body.len());
        write!(
            stream,
            "{method} {target} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Ends it as Ctrl-C does, and returns what it has printed since the start.
    #[cfg(unix)]
    fn interrupt(mut self) -> String {
        let process = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &process]).status().unwrap().success());
        let mut printed = String::new();
        self.messages.read_to_string(&mut printed).unwrap();
        assert!(self.child.wait().unwrap().success(), "{printed}");
        printed
    }
}

const COUNT: &str = "/sparql?query=SELECT%20(COUNT(*)%20AS%20%3Fn)%20%7B%20%3Fs%20%3Fp%20%3Fo%20%7D";

fn with_people() -> TestDirectory {
    let place = TestDirectory::new();
    place.file("people.nt", "<http://a/ada> <http://a/born> \"1815\" .\n");
    place.run(&["rdf", "load", "people.ful", "people.nt", "--create"]).ok();
    place
}

#[test]
fn a_store_is_served_beside_a_process_that_writes_to_it() {
    let place = with_people();
    let serving = Serving::start(&place, &[]);
    assert!(serving.first_line.contains("people.ful") && serving.first_line.contains("(read-only)"));
    assert_eq!(serving.ask("GET", COUNT, "Accept: text/csv\r\n", ""), (200, "n\r\n1\r\n".into()));
    let refused = serving.ask("POST", "/sparql", "Content-Type: application/sparql-update\r\n", "CLEAR ALL");
    assert!(refused.0 == 403 && refused.1.contains("--read-write"), "{refused:?}");
    place.run(&["rdf", "update", "people.ful", "INSERT DATA { <http://a/s> <http://a/p> 1 }"]);
    let after = place.run(&["rdf", "query", "people.ful", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "--format", "csv"]);
    assert_eq!(after.ok(), "n\r\n2\r\n");
    assert_eq!(serving.ask("GET", COUNT, "Accept: text/csv\r\n", "").0, 200);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_server_in_order_and_what_was_changed_is_there() {
    let place = TestDirectory::new();
    let serving = Serving::start(&place, &["--read-write", "--create"]);
    let text = "INSERT DATA { <http://a/s> <http://a/p> 1 }";
    let done = serving.ask("POST", "/sparql", "Content-Type: application/sparql-update\r\n", text);
    assert_eq!(done.0, 204, "{done:?}");
    let printed = serving.interrupt();
    assert!(printed.contains("204 POST /sparql 0 B in "), "{printed}");
    assert!(printed.ends_with("stopped\n") && !printed.contains("cut off"), "{printed}");
    assert_eq!(place.names(), ["people.ful"], "neither log nor lock is left");
    let count = place.run(&["rdf", "query", "people.ful", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "--format", "csv"]);
    assert_eq!(count.ok(), "n\r\n1\r\n");
}

#[test]
fn an_address_that_cannot_be_had_is_an_error_that_names_it() {
    let place = with_people();
    let serving = Serving::start(&place, &[]);
    let refused = place.run(&["rdf", "serve", "people.ful", "--bind", &serving.address]).fails(1);
    assert!(refused.contains(&serving.address), "{refused}");
    let refused = place.run(&["rdf", "serve", "people.ful", "--base", "http://example.org/no-slash"]).fails(1);
    assert!(refused.contains("slash"), "{refused}");
    place.run(&["rdf", "serve", "missing.ful"]).fails(1);
    assert!(!place.path("missing.ful").exists());
}

#[cfg(unix)]
#[test]
fn a_second_interrupt_ends_a_server_at_once() {
    let place = TestDirectory::new();
    let text: String = (0..1000).map(|n| format!("<http://a/{n}> <http://a/p> \"{n}\" .\n")).collect();
    place.file("people.nt", &text);
    place.run(&["rdf", "load", "people.ful", "people.nt", "--create"]).ok();
    let mut serving = Serving::start(&place, &["--timeout", "1000"]);
    // An answer of 10^15 rows, which nobody takes: a server that is interrupted once waits for it for some seconds.
    let text = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }";
    let mut endless = TcpStream::connect(&serving.address).unwrap();
    let (address, length) = (&serving.address, text.len());
    let head = "POST /sparql HTTP/1.1\r\nContent-Type: application/sparql-query\r\n";
    write!(endless, "{head}Host: {address}\r\nContent-Length: {length}\r\n\r\n{text}").unwrap();
    endless.read_exact(&mut [0]).unwrap();
    let process = serving.child.id().to_string();
    let status = loop {
        assert!(std::process::Command::new("kill").args(["-INT", &process]).status().unwrap().success());
        if let Some(status) = serving.child.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Some(130));
}

#[test]
fn verbs_and_servers_ask_the_endpoints_that_they_are_told_to() {
    let place = with_people();
    let towns = Serving::start(&place, &[]);
    place.file("here.nt", "<http://a/ada> <http://a/here> \"yes\" .\n");
    place.run(&["rdf", "load", "here.ful", "here.nt", "--create"]).ok();
    let url = format!("http://{}/sparql", towns.address);
    let pattern = format!("{{ ?s <http://a/here> ?here SERVICE <{url}> {{ ?s <http://a/born> ?born }} }}");
    let select = format!("SELECT ?born {pattern}");
    let query = ["rdf", "query", "here.ful", &select, "--format", "csv"];
    let refused = place.run(&query).fails(1);
    let expected = format!("SERVICE <{url}>: calls to other endpoints are not allowed; allow this one with --service");
    assert!(refused.contains(&expected), "{refused}");
    let refused = place.run(&[&query[..], &["--service", "http://127.0.0.1:1/"]].concat()).fails(1);
    assert!(refused.contains("this endpoint is not allowed; allow it with --service"), "{refused}");
    assert_eq!(place.run(&[&query[..], &["--service", &url]].concat()).ok(), "born\r\n1815\r\n");
    let update = format!("INSERT {{ ?s <http://a/born> ?born }} WHERE {pattern}");
    let below = format!("http://{}/", towns.address);
    place.run(&["rdf", "update", "here.ful", &update, "--service", &below]).ok();
    assert!(place.run(&["rdf", "dump", "here.ful"]).ok().contains("<http://a/born> \"1815\""));
    let asking = Serving::start(&place, &["--service", &below]);
    let body = format!("ASK {{ SERVICE <{url}> {{ ?s ?p \"1815\" }} }}");
    let headers = "Content-Type: application/sparql-query\r\nAccept: text/csv\r\n";
    assert_eq!(asking.ask("POST", "/query", headers, &body), (200, "true".to_owned()));
    for wrong in ["ftp://a.example/", "people.ful", "http://u:p@a.example/"] {
        let refused = place.run(&[&query[..], &["--service", wrong]].concat()).fails(1);
        assert!(refused.starts_with(&format!("--service {wrong}: ")), "{refused}");
    }
    let certificates = ["--service", &url, "--service-ca", "here.nt"];
    let refused = place.run(&[&query[..], &certificates].concat()).fails(1);
    if cfg!(all(unix, feature = "tls")) {
        assert!(refused.starts_with("--service-ca here.nt: no certificate in PEM"), "{refused}");
    }
}

const JSON: &str = "Content-Type: application/json\r\n";

#[cfg(unix)]
#[test]
fn databases_of_facts_are_served_by_the_names_of_their_files_until_an_interrupt() {
    let place = TestDirectory::new();
    place.file("a.angle", "schema src.1 { predicate File : string }");
    place.file("facts.json", r#"[{"predicate":"src.File.1","facts":[{"key":"a.rs"}]}]"#);
    for name in ["one.ful", "two.ful"] {
        place.run(&["facts", "create", name, "--schema", "a.angle"]).ok();
    }
    place.run(&["facts", "write", "one.ful", "facts.json"]).ok();
    place.run(&["facts", "finish", "one.ful"]).ok();
    let serving = Serving::of(&place, &["facts", "serve", "one.ful", "two.ful"]);
    assert!(serving.first_line.starts_with("serving one.ful, two.ful at http://127.0.0.1:"), "{}", serving.first_line);
    let query = r#"{"query": "F where src.File F"}"#;
    let answer = serving.ask("POST", "/userQuery?repo=one", JSON, query);
    assert!(answer.0 == 200 && answer.1.starts_with(r#"{"facts":["a.rs"],"#), "{answer:?}");
    let answer = serving.ask("POST", "/userQuery?repo=two", JSON, query);
    assert!(answer.0 == 200 && answer.1.starts_with(r#"{"facts":[],"#), "{answer:?}");
    let answer = serving.ask("GET", "/getDatabase?repo=one", "", "");
    assert!(answer.1.contains(r#""status":"Complete""#), "{answer:?}");
    let printed = serving.interrupt();
    assert!(printed.contains("200 POST /userQuery ") && printed.ends_with("stopped\n"), "{printed}");
}

#[test]
fn databases_of_facts_that_cannot_be_served_are_named() {
    let place = TestDirectory::new();
    place.file("a.angle", "schema src.1 { predicate File : string }");
    place.run(&["facts", "create", "a.ful", "--schema", "a.angle"]).ok();
    std::fs::create_dir(place.path("other")).unwrap();
    std::fs::copy(place.path("a.ful"), place.path("other/a.ful")).unwrap();
    let serve = |arguments: &[&str]| place.run(&[&["facts", "serve", "--bind", "127.0.0.1:0"], arguments].concat());
    assert!(serve(&["missing.ful"]).fails(1).contains("missing.ful: no such database"));
    assert!(serve(&["a.ful", "other/a.ful"]).fails(1).contains("two databases have this name"));
    assert!(serve(&["a.ful", "b.ful", "--base", "c.ful"]).fails(1).contains("--base is for one"));
    assert!(serve(&["a.ful", "--host-name", "http://a"]).fails(1).contains("not a host name"));
}
