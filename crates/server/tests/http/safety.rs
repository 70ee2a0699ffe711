//! Who may ask: names and pages of others.

use crate::client::{Asked, form, get, query};
use crate::fixture::Fixture;
use fulgurite_server::{Error, Server, ServerOptions};

#[test]
fn a_foreign_name_that_resolves_to_this_machine_is_refused() {
    let fixture = Fixture::writable();
    let refused = query("ASK {}").header("Host", "evil.example:7878").ask(fixture.address).expect(421);
    assert!(refused.body.contains("evil.example"), "{refused:?}");
    query("ASK {}").header("Host", "localhost:7878").ask(fixture.address).expect(200);
}

#[test]
fn a_server_answers_to_the_names_that_it_was_given() {
    let fixture = Fixture::with(ServerOptions::new().host_names(vec!["quads.example".into()]));
    for (host, status) in [("quads.example:7878", 200), ("QUADS.example", 200), ("evil.example", 421)] {
        query("ASK {}").header("Host", host).ask(fixture.address).expect(status);
    }
    for wrong in ["", "http://quads.example", "quads.example:80", "a b"] {
        let options = ServerOptions::new().host_names(vec![wrong.into()]);
        let refused = Server::bind(&fixture.store, "127.0.0.1:0", options).map(drop).expect_err(wrong);
        assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
    }
}

#[test]
fn a_server_for_other_machines_refuses_foreign_names_too() {
    let fixture = Fixture::writable();
    let options = ServerOptions::new().host_names(vec!["quads.example".into()]);
    let server = Server::bind(&fixture.store, "0.0.0.0:0", options).expect("a port is free");
    let (handle, port) = (server.handle(), server.address().port());
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let thread = std::thread::spawn(move || server.run());
    for (host, status) in [("192.0.2.7:80", 200), ("quads.example", 200), ("localhost", 200), ("evil.example", 421)] {
        let answer = query("ASK {}").header("Host", host).ask(address).expect(status);
        assert!(status == 200 || answer.body.contains("--host-name"), "{answer:?}");
    }
    handle.shut_down();
    thread.join().expect("it does not panic").expect("it ends in order");
}

#[test]
fn a_form_on_a_page_of_another_site_cannot_change_the_store() {
    let fixture = Fixture::writable();
    fixture.change("INSERT DATA { <http://a/s> <http://a/p> 1 }");
    form("update", "CLEAR ALL").header("Origin", "https://evil.example").ask(fixture.address).expect(403);
    let kept = query("ASK { ?s ?p ?o }").ask(fixture.address).expect(200);
    assert!(kept.body.contains("true"));
    let own = format!("http://{}", fixture.address);
    form("update", "CLEAR ALL").header("Origin", &own).ask(fixture.address).expect(204);
}

#[test]
fn pages_of_the_allowed_origin_may_ask_and_read() {
    let origin = "https://good.example";
    let fixture = Fixture::with(ServerOptions::new().cors_origin(Some(origin.into())));
    let preflight = Asked::new("OPTIONS", "/sparql").header("Origin", origin);
    let preflight = preflight.header("Access-Control-Request-Method", "POST").ask(fixture.address).expect(204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some(origin));
    assert!(preflight.header("access-control-allow-methods").is_some_and(|methods| methods.contains("POST")));
    let answer = query("ASK {}").header("Origin", origin).ask(fixture.address).expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), Some(origin));
    query("ASK {}").header("Origin", "https://evil.example").ask(fixture.address).expect(403);
}

#[test]
fn a_picture_on_a_page_of_another_site_cannot_make_the_server_work() {
    let fixture = Fixture::writable();
    query("ASK {}").header("Sec-Fetch-Site", "cross-site").ask(fixture.address).expect(403);
    query("ASK {}").header("Sec-Fetch-Site", "same-origin").ask(fixture.address).expect(200);
    get("/").header("Sec-Fetch-Site", "cross-site").ask(fixture.address).expect(200);
}

#[test]
fn a_request_with_several_hosts_is_refused() {
    let fixture = Fixture::writable();
    let own = fixture.address.to_string();
    query("ASK {}").header("Host", &own).header("Host", "evil.example").ask(fixture.address).expect(400);
}

#[test]
fn no_answer_is_taken_for_another_type_than_it_says() {
    let fixture = Fixture::writable();
    for target in ["/", "/sparql", "/sparql?query=ASK%20%7B%7D", "/graphs?default", "/nothing", "/sparql?query=oops"] {
        let answer = get(target).ask(fixture.address);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{target}");
    }
}

#[test]
fn nobody_is_allowed_unless_it_is_said() {
    let fixture = Fixture::with(ServerOptions::new());
    let answer = query("ASK {}").ask(fixture.address).expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), None);
    Asked::new("OPTIONS", "/sparql").ask(fixture.address).expect(405);
}

#[test]
fn options_that_cannot_be_are_refused_before_anything_listens() {
    let fixture = Fixture::writable();
    for options in [
        ServerOptions::new().base(Some("relative/".into())),
        ServerOptions::new().base(Some("http://example.org/no-slash".into())),
        ServerOptions::new().base(Some("httpx://example.org/".into())),
        ServerOptions::new().cors_origin(Some("https://example.org/path".into())),
        ServerOptions::new().cors_origin(Some("example.org".into())),
    ] {
        let refused = Server::bind(&fixture.store, "127.0.0.1:0", options);
        assert!(matches!(refused, Err(Error::Invalid { .. })));
    }
    let taken = Server::bind(&fixture.store, &fixture.address.to_string(), ServerOptions::new());
    assert!(matches!(taken, Err(Error::Bind { .. })));
}

#[test]
fn names_are_made_from_the_base_that_is_given() {
    let base = "https://quads.example/data/";
    let fixture = Fixture::with(ServerOptions::new().writable(true).base(Some(base.into())));
    let put = Asked::new("PUT", "/graphs/one").header("Content-Type", "text/turtle").body("<a> <b> <c> .");
    put.ask(fixture.address).expect(201);
    let asked = format!("ASK {{ GRAPH <{base}graphs/one> {{ <{base}graphs/a> ?p ?o }} }}");
    let found = query(&asked).header("Host", "quads.example").ask(fixture.address).expect(200);
    assert!(found.body.contains("true"), "{found:?}");
}

#[test]
fn a_connection_can_be_used_again_after_a_body_that_was_refused() {
    use std::io::{Read, Write};
    let fixture = Fixture::writable();
    let mut stream = std::net::TcpStream::connect(fixture.address).expect("it listens");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).expect("a time-out");
    for (path, status) in
        [("/graphs?default", "415"), ("/repositories/no/statements", "404"), ("/graphs?default", "415")]
    {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n",
            fixture.address
        );
        stream.write_all(head.as_bytes()).expect("open");
        for _ in 0..3 {
            stream.write_all(b"5\r\nbytes\r\n").expect("open");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        stream.write_all(b"0\r\n\r\n").expect("open");
        let mut answer = [0; 4096];
        let count = stream.read(&mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(&answer[..count]);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
}

#[test]
fn a_client_that_waits_to_be_asked_for_a_refused_body_is_told_that_the_connection_ends() {
    use std::io::{Read, Write};
    let fixture = Fixture::writable();
    let mut stream = std::net::TcpStream::connect(fixture.address).expect("it listens");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).expect("a time-out");
    let head = format!(
        "POST /graphs?default HTTP/1.1\r\nHost: {}\r\nContent-Type: image/png\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
        fixture.address
    );
    stream.write_all(head.as_bytes()).expect("open");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer, and its end");
    assert!(answer.starts_with("HTTP/1.1 415") && answer.contains("connection: close"), "{answer}");
}
