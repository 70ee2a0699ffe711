//! The limits of requests, and the answers to clients that exceed them.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use crate::client::{Asked, form, post, query, update};
use crate::fixture::{ENDLESS, ENDLESS_ROWS, Fixture, QUADS, Told};
use fulgurite_server::ServerOptions;

/// Long enough for a query that is short to end, so that one that comes meanwhile has its turn.
const TURN: Duration = Duration::from_secs(1);

#[test]
fn a_query_that_takes_too_long_is_ended_and_refused() {
    let fixture = Fixture::with_quads(ServerOptions::new().timeout(Some(Duration::from_millis(50))));
    let refused = query(ENDLESS).ask(fixture.address).expect(503);
    assert!(refused.body.contains("not complete after 0.05 s"), "{refused:?}");
}

#[test]
fn an_answer_that_fails_half_way_is_cut_off() {
    let fixture = Fixture::with_quads(ServerOptions::new().rows_max(Some(100_000)));
    let cut = query(ENDLESS_ROWS).accept("text/csv").ask(fixture.address).expect(200);
    assert!(!cut.is_whole && cut.body.lines().count() > 100);
    let told = fixture.told.recv().expect("the event is reported");
    assert_eq!(told, Told { method: "GET".into(), path: "/sparql".into(), status: 200, is_whole: false });
}

#[test]
fn answers_without_a_body_are_told_of_as_whole() {
    let fixture = Fixture::writable();
    for (asked, status) in
        [(update("CLEAR ALL"), 204), (Asked::new("HEAD", "/graphs?default"), 200), (query("ASK {}"), 200)]
    {
        asked.ask(fixture.address).expect(status);
        let told = fixture.told.recv().expect("the event is reported");
        assert!(told.status == status && told.is_whole, "{told:?}");
    }
}

/// The answer to a request that is not HTTP has no text.
#[test]
fn a_url_with_characters_that_are_not_encoded_is_refused() {
    let fixture = Fixture::writable();
    let refused = Asked::new("GET", "/sparql?query=<x>").ask(fixture.address).expect(400);
    assert_eq!(refused.body, "");
}

#[test]
fn more_rows_than_allowed_are_refused() {
    let fixture = Fixture::with_quads(ServerOptions::new().rows_max(Some(10)));
    let refused = query("SELECT * { ?s ?p ?o }").ask(fixture.address).expect(400);
    assert!(refused.body.contains("more than 10 rows"), "{refused:?}");
    query("SELECT * { ?s ?p ?o } LIMIT 10").ask(fixture.address).expect(200);
}

#[test]
fn bodies_larger_than_allowed_are_refused_whether_they_tell_their_length_or_not() {
    let fixture = Fixture::with(ServerOptions::new().writable(true).body_bytes_max(100_000));
    let large = format!("ASK {{}} #{}", "x".repeat(200_000));
    let refused = post("/sparql", "application/sparql-query", large.as_str()).ask(fixture.address).expect(413);
    assert!(refused.body.contains("100000 bytes"), "{refused:?}");
    let chunks: String = (0..20).map(|_| format!("2710\r\n{}\r\n", " ".repeat(10_000))).collect();
    let chunked = post("/sparql", "application/sparql-query", format!("{chunks}0\r\n\r\n"));
    chunked.header("Transfer-Encoding", "chunked").ask(fixture.address).expect(413);
    let fits: String = (0..5).map(|_| format!("2710\r\n{}\r\n", " ".repeat(10_000))).collect();
    let chunked = post("/sparql", "application/sparql-query", format!("{fits}6\r\nASK {{}}\r\n0\r\n\r\n"));
    chunked.header("Transfer-Encoding", "chunked").ask(fixture.address).expect(200);
}

#[test]
fn texts_of_queries_are_shorter_than_a_mebibyte() {
    let fixture = Fixture::with(ServerOptions::new());
    let long = format!("ASK {{}} #{}", "x".repeat(1 << 20));
    post("/sparql", "application/sparql-query", long).ask(fixture.address).expect(413);
}

#[test]
fn a_query_whose_client_leaves_is_cancelled() {
    let options = ServerOptions::new().timeout(None).queries_max(1).wait(Duration::from_secs(100));
    let fixture = Fixture::with_quads(options);
    // Rows are on the way.
    query(ENDLESS_ROWS).begin(fixture.address).leave();
    // There is one place, which is free when the first has ended.
    query("ASK {}").ask(fixture.address).expect(200);
}

#[test]
fn a_query_whose_client_leaves_before_the_answer_begins_is_cancelled() {
    let fixture = Fixture::with_quads(ServerOptions::new().timeout(None).queries_max(1).wait(TURN));
    let endless = query(ENDLESS).send(fixture.address);
    let busy = || query("ASK {}").ask(fixture.address);
    // It is refused as soon as the first one runs, and has its place.
    let refused = std::iter::repeat_with(busy).find(|answer| answer.status != 200).expect("endless");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
    drop(endless);
    std::iter::repeat_with(busy).find(|answer| answer.status == 200).expect("endless");
    let told =
        std::iter::from_fn(|| fixture.told.recv().ok()).find(|told| told.status == 499).expect("the event is reported");
    assert_eq!(told, Told { method: "GET".into(), path: "/sparql".into(), status: 499, is_whole: false });
}

#[test]
fn an_update_whose_time_is_over_has_changed_nothing() {
    let options = ServerOptions::new().writable(true).timeout(Some(Duration::from_millis(50)));
    let fixture = Fixture::with_quads(options);
    let text = "DELETE WHERE { <http://a/s1> ?p ?o } ;
                INSERT { ?a <http://a/new> ?i } WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }";
    update(text).ask(fixture.address).expect(503);
    assert_eq!(fixture.quads(), QUADS);
}

#[test]
fn a_server_that_only_reads_refuses_changes_and_says_how_to_allow_them() {
    let fixture = Fixture::with_quads(ServerOptions::new());
    let turtle = "<http://a/s> <http://a/p> 1 .";
    for asked in [
        update("CLEAR ALL"),
        form("update", "CLEAR ALL"),
        post("/graphs?default", "text/turtle", turtle),
        Asked::new("PUT", "/graphs?default").header("Content-Type", "text/turtle").body(turtle),
        Asked::new("DELETE", "/graphs?default"),
    ] {
        let refused = asked.ask(fixture.address).expect(403);
        assert!(refused.body.contains("--read-write"), "{refused:?}");
    }
    let count = query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").accept("text/csv").ask(fixture.address).expect(200);
    assert_eq!(count.body, format!("n\r\n{QUADS}\r\n"));
}

#[test]
fn files_of_the_machine_cannot_be_loaded() {
    let fixture = Fixture::writable();
    let refused = update("LOAD <file:///etc/passwd>").ask(fixture.address).expect(403);
    assert!(refused.body.contains("LOAD is not allowed here"), "{refused:?}");
}

#[test]
fn texts_that_double_again_and_again_are_refused_before_they_fill_the_memory() {
    let options = ServerOptions::new().writable(true).computed_bytes_max(Some(1 << 20));
    let fixture = Fixture::with_quads(options);
    let mut doubled = String::from("BIND('ab' AS ?t0) ");
    for n in 0..40 {
        doubled += &format!("BIND(CONCAT(?t{n}, ?t{n}) AS ?t{}) ", n + 1);
    }
    let refused = query(&format!("SELECT (STRLEN(?t40) AS ?n) {{ {doubled} }}")).ask(fixture.address).expect(400);
    assert!(refused.body.contains("1048576"), "{refused:?}");
    let text = format!("INSERT {{ <http://a/s> <http://a/p> ?t40 }} WHERE {{ {doubled} }}");
    update(&text).ask(fixture.address).expect(400);
    assert_eq!(fixture.quads(), QUADS);
}

#[test]
fn what_holds_more_memory_than_allowed_is_refused_before_it_fills_the_memory() {
    let fixture = Fixture::with_quads(ServerOptions::new().writable(true).memory_bytes_max(Some(1 << 20)));
    let pairs = "?a ?b ?c . ?d ?e ?f";
    let sorted = format!("SELECT * {{ {pairs} }} ORDER BY ?f ?c");
    let refused = query(&sorted).ask(fixture.address).expect(400);
    assert!(refused.body.contains("more than 1048576 bytes of memory"), "{refused:?}");
    update(&format!("DELETE {{ ?a ?b ?f }} WHERE {{ {pairs} }}")).ask(fixture.address).expect(400);
    assert_eq!(fixture.quads(), QUADS);
    // What came to the limit holds nothing any more, and each request has the limit to itself.
    for _ in 0..3 {
        let rows = query(&format!("SELECT ?a {{ {pairs} }} LIMIT 100000")).accept("text/csv").ask(fixture.address);
        assert_eq!(rows.expect(200).body.lines().count(), 100_001);
    }
}

#[test]
fn a_server_of_a_program_that_counts_memory_bounds_it_by_default() {
    assert!(format!("{:?}", ServerOptions::new()).contains("memory_bytes_max: Some(1073741824)"));
}

#[test]
fn forms_with_more_than_a_thousand_parameters_are_refused() {
    let fixture = Fixture::with(ServerOptions::new());
    let ask = |body: String| post("/sparql", "application/x-www-form-urlencoded", body).ask(fixture.address);
    ask("a&".repeat(1 << 20) + "query=ASK%20%7B%7D").expect(400);
    ask("a&".repeat(999) + "query=ASK%20%7B%7D").expect(200);
    // Large enough to be parsed apart.
    ask(format!("other={}&query=ASK%20%7B%7D", "x".repeat(200_000))).expect(200);
}

#[test]
fn a_query_in_a_form_is_shorter_than_a_mebibyte_and_an_update_need_not_be() {
    let fixture = Fixture::writable();
    let long = format!("#{}%0A", "x".repeat(1 << 20));
    let ask = |body: String| post("/sparql", "application/x-www-form-urlencoded", body).ask(fixture.address);
    ask(format!("query={long}ASK%20%7B%7D")).expect(413);
    ask(format!("update={long}CLEAR%20ALL")).expect(204);
}

#[test]
fn an_answer_that_may_be_cut_is_not_sent_by_a_protocol_that_cannot_tell() {
    let fixture = Fixture::with_quads(ServerOptions::new().timeout(None).queries_max(1).wait(Duration::from_secs(100)));
    let refused = query(ENDLESS_ROWS).version("1.0").begin(fixture.address);
    assert_eq!(refused.status, 505);
    let refused = refused.finish();
    assert!(refused.body.contains("HTTP/1.1"), "{refused:?}");
    // It runs no more, for its place is free.
    let short = query("ASK { ?s ?p 7 }").version("1.0").ask(fixture.address).expect(200);
    assert!(short.body.contains("true") && short.header("content-length").is_some(), "{short:?}");
}

#[test]
fn a_client_that_takes_nothing_is_cut_off() {
    let options = ServerOptions::new().timeout(None).stall(Duration::from_millis(50));
    let fixture = Fixture::with_quads(options);
    let silent = query(ENDLESS_ROWS).send(fixture.address);
    let told = fixture.told.recv_timeout(Duration::from_secs(55)).expect("before an evaluation gives its client up");
    assert_eq!(told, Told { method: "GET".into(), path: "/sparql".into(), status: 200, is_whole: false });
    drop(silent);
}

#[test]
fn a_body_that_does_not_come_in_time_is_refused() {
    let fixture = Fixture::with(ServerOptions::new().body_time(Duration::from_millis(50)));
    let part = post("/sparql", "application/sparql-query", "ASK").header("Content-Length", "10");
    let refused = part.ask(fixture.address).expect(408);
    assert!(refused.body.contains("50ms"), "{refused:?}");
}

#[test]
fn hundreds_of_clients_that_send_slowly_keep_nobody_else_from_an_answer() {
    let fixture = Fixture::with(ServerOptions::new().queries_max(1));
    let heads = ["GET /query?query=ASK%20%7B%7D HTTP/1.1\r\nHost: lo", "POST /store?default HTTP/1.1\r\nHo", "G"];
    let bodies = ["/sparql", "/update", "/store", "/graphs?default"];
    let mut slow = Vec::new();
    for number in 0..150 {
        let body = format!(
            "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-query\r\nContent-Length: 1000\r\n\r\nASK",
            bodies[number % bodies.len()]
        );
        for text in [heads[number % heads.len()], &body] {
            let mut stream = TcpStream::connect(fixture.address).expect("it listens");
            stream.write_all(text.as_bytes()).expect("it reads");
            slow.push(stream);
        }
    }
    for _ in 0..3 {
        query("ASK {}").ask(fixture.address).expect(200);
    }
    drop(slow);
}
