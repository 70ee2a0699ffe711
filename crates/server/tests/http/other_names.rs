//! The paths and parameters by which clients of other servers ask: `/query`, `/update`, `/store`, `timeout`.

use std::time::Duration;

use fulgurite_rdf::oxrdf::{GraphName, NamedNode, Quad};
use fulgurite_server::ServerOptions;

use crate::client::{Asked, encoded, get, post};
use crate::fixture::{ENDLESS, Fixture};

const QUADS: &str =
    "<http://a/s> <http://a/p> \"1\" .\n<http://a/s> <http://a/p> \"2\" <http://a/g> .\n_:b <http://a/p> \"3\" _:g .\n";

fn put(target: &str, content_type: &str, body: &str) -> Asked {
    Asked::new("PUT", target).header("Content-Type", content_type).body(body)
}

/// All quads that the server gives, sorted, with their blank nodes made alike.
fn quads(fixture: &Fixture) -> Vec<String> {
    let answer = get("/store").accept("application/n-quads").ask(fixture.address).expect(200);
    assert_eq!(answer.media_type(), "application/n-quads");
    let alike = |word: &str| if word.starts_with("_:") { "_:".to_owned() } else { word.to_owned() };
    let line = |line: &str| line.split(' ').map(alike).collect::<Vec<_>>().join(" ");
    let mut lines: Vec<String> = answer.body.lines().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn queries_and_updates_are_answered_by_the_names_that_other_servers_give_them() {
    let fixture = Fixture::writable();
    post("/update", "application/sparql-update", "INSERT DATA { <http://a/s> <http://a/p> 1 }")
        .ask(fixture.address)
        .expect(204);
    let text = encoded("ASK { <http://a/s> <http://a/p> 1 }");
    for asked in [
        get(&format!("/query?query={text}")),
        post("/query", "application/sparql-query", "ASK { <http://a/s> <http://a/p> 1 }"),
        post("/query", "application/x-www-form-urlencoded", format!("query={text}")),
    ] {
        let answer = asked.accept("text/csv").ask(fixture.address).expect(200);
        assert_eq!(answer.body.trim(), "true");
    }
    let form = format!("update={}", encoded("CLEAR ALL"));
    post("/update", "application/x-www-form-urlencoded", form).ask(fixture.address).expect(204);
    assert_eq!(fixture.quads(), 0);
}

#[test]
fn other_names_are_protected_as_the_first_ones_are() {
    let fixture = Fixture::writable();
    fixture.change("INSERT DATA { <http://a/s> <http://a/p> 1 }");
    let form = || post("/update", "application/x-www-form-urlencoded", format!("update={}", encoded("CLEAR ALL")));
    form().header("Origin", "https://evil.example").ask(fixture.address).expect(403);
    form().header("Host", "evil.example").ask(fixture.address).expect(421);
    for target in ["/query?query=ASK%20%7B%7D", "/store", "/store?default", "/store/a"] {
        get(target).header("Sec-Fetch-Site", "cross-site").ask(fixture.address).expect(403);
        get(target).header("Host", "evil.example").ask(fixture.address).expect(421);
    }
    Asked::new("DELETE", "/store").header("Origin", "null").ask(fixture.address).expect(403);
    let load = post("/update", "application/sparql-update", "LOAD <file:///etc/passwd>");
    load.ask(fixture.address).expect(403);
    assert_eq!(fixture.quads(), 1);
    let fixture = Fixture::with(ServerOptions::new());
    for asked in [
        form(),
        put("/store", "application/n-quads", QUADS),
        post("/store", "application/n-quads", QUADS),
        Asked::new("DELETE", "/store"),
    ] {
        asked.ask(fixture.address).expect(403);
    }
}

#[test]
fn the_store_is_read_replaced_extended_and_emptied_as_one_document() {
    let fixture = Fixture::writable();
    let ask = |asked: Asked, status: u16| asked.ask(fixture.address).expect(status);
    ask(put("/store", "application/n-quads", QUADS), 204);
    let expected = [
        "<http://a/s> <http://a/p> \"1\" .",
        "<http://a/s> <http://a/p> \"2\" <http://a/g> .",
        "_: <http://a/p> \"3\" _: .",
    ];
    assert_eq!(quads(&fixture), expected);
    let trig = ask(get("/store"), 200);
    assert!(trig.media_type() == "application/trig" && trig.body.contains("<http://a/g>"), "{trig:?}");
    ask(get("/store").accept("text/turtle"), 406);
    assert!(ask(Asked::new("HEAD", "/store"), 200).body.is_empty());
    ask(post("/store", "application/trig", "<http://a/h> { <http://a/s> <http://a/p> \"4\" }"), 204);
    assert_eq!(fixture.quads(), 4);
    // What is not there any more leaves no graph either.
    ask(put("/store", "text/turtle", "<http://a/s> <http://a/p> \"5\" ."), 204);
    assert_eq!(quads(&fixture), ["<http://a/s> <http://a/p> \"5\" ."]);
    ask(get("/store?graph=http://a/g"), 404);
    for wrong in [put("/store", "application/n-quads", "oops"), post("/store", "application/trig", "<http://a/g> {")] {
        ask(wrong, 400);
        assert_eq!(fixture.quads(), 1, "nothing has changed");
    }
    ask(Asked::new("DELETE", "/store"), 204);
    assert_eq!(fixture.quads(), 0);
}

#[test]
fn graphs_of_the_store_are_reached_by_both_names() {
    let fixture = Fixture::writable();
    let ask = |asked: Asked, status: u16| asked.ask(fixture.address).expect(status);
    let turtle = "<http://a/s> <http://a/p> 1 .";
    ask(put("/store?default", "text/turtle", turtle), 204);
    ask(put("/store?graph=http://a/g", "text/turtle", turtle), 201);
    ask(put("/store/named/here", "text/turtle", turtle), 201);
    let created = ask(post("/store", "text/turtle", turtle), 201);
    let location = created.header("location").expect("a new graph has a name").to_owned();
    assert_eq!(fixture.quads(), 4);
    ask(get("/graphs?graph=http://a/g"), 200);
    ask(get(location.trim_start_matches(&format!("http://{}", fixture.address))), 200);
    ask(Asked::new("DELETE", &format!("/graphs?graph=http://{}/store/named/here", fixture.address)), 204);
    ask(get("/store/named/here"), 404);
    ask(get("/store?default&graph=http://a/g"), 400);
}

#[test]
fn an_emptied_store_has_no_inferred_quads_and_a_replaced_one_has() {
    let fixture = Fixture::writable();
    let node = |name: &str| NamedNode::new_unchecked(format!("http://a/{name}"));
    let graph = GraphName::from(node("g"));
    let infer = || {
        let quad = Quad::new(node("s"), node("p"), node("o"), graph.clone());
        fixture.store.update(|transaction| transaction.insert_inferred(&quad)).expect("it is committed");
    };
    infer();
    assert_eq!(get("/store").accept("application/n-quads").ask(fixture.address).expect(200).body, "");
    put("/store", "application/n-quads", QUADS).ask(fixture.address).expect(204);
    assert_eq!(fixture.quads(), 4);
    Asked::new("DELETE", "/store").ask(fixture.address).expect(204);
    assert_eq!(fixture.quads(), 0);
}

#[test]
fn a_client_may_ask_for_less_time_than_the_server_allows_and_not_for_more() {
    let fixture = Fixture::with_quads(ServerOptions::new().timeout(Some(Duration::from_secs(600))).writable(true));
    let text = encoded(ENDLESS);
    let refused = get(&format!("/query?timeout=0.05&query={text}")).ask(fixture.address).expect(503);
    assert!(refused.body.contains("not complete after 0.05 s"), "{refused:?}");
    let form = format!("query={text}&timeout=0.05");
    post("/sparql", "application/x-www-form-urlencoded", form).ask(fixture.address).expect(503);
    let update = format!("INSERT {{ <http://a/s> <http://a/n> ?n }} WHERE {{ {{ {ENDLESS} }} }}");
    post("/update?timeout=0.05", "application/sparql-update", update).ask(fixture.address).expect(503);
    let fixture = Fixture::with_quads(ServerOptions::new().timeout(Some(Duration::from_millis(50))));
    for timeout in ["600", "0", "600s"] {
        let refused = get(&format!("/query?timeout={timeout}&query={text}")).ask(fixture.address).expect(503);
        assert!(refused.body.contains("not complete after 0.05 s"), "{refused:?}");
    }
    for timeout in ["soon", "-1", ""] {
        let refused = get(&format!("/query?timeout={timeout}&query=ASK%20%7B%7D")).ask(fixture.address).expect(400);
        assert!(refused.body.contains("give seconds"), "{refused:?}");
    }
    get("/store?timeout=soon").ask(fixture.address).expect(400);
}
