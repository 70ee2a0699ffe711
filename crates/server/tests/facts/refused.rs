//! Requests that are refused: the status, and the message for the client.

use std::sync::{Arc, Mutex};

use fulgurite_facts::{FactDatabase, Schema};
use fulgurite_server::{FactServer, FactServerOptions, FactSource, ServedFacts};
use serde_json::json;

use crate::client::{Asked, get, post};
use crate::fixture::Fixture;

#[test]
fn a_query_that_is_wrong_is_refused_with_its_place() {
    let fixture = Fixture::new();
    let refused = fixture.query("src.Fil _", &json!({})).expect(400);
    assert!(refused.body.contains("query:1:1: there is no predicate src.Fil"), "{refused:?}");
    assert!(refused.body.contains("did you mean `src.File`"), "{refused:?}");
    assert_eq!(refused.media_type(), "text/plain");
    let refused = fixture.query("src.Line {\n nmber = 1 }", &json!({})).expect(400);
    assert!(refused.body.contains("query:2:2"), "{refused:?}");
}

#[test]
fn a_body_that_is_no_query_is_refused() {
    let fixture = Fixture::new();
    let ask = |kind: &str, body: &str| post("/userQuery?repo=code", kind, body).ask(fixture.address);
    let refused = ask("application/json", "{\"query\": \"src.File _\"").expect(400);
    assert!(refused.body.contains("the body is not JSON") && refused.body.contains("line 1"), "{refused:?}");
    ask("application/json", "").expect(400);
    ask("application/json", "{}").expect(400);
    ask("application/json", &"[".repeat(100_000)).expect(400);
    let refused = ask("application/json", r#"{"query": "src.File _", "option": {}}"#).expect(400);
    assert!(refused.body.contains("unknown field `option`"), "{refused:?}");
    let refused = ask("application/json", r#"{"query": "src.File _", "options": {"recursive": true, "recursive": 0}}"#);
    assert!(refused.expect(400).body.contains("the object has `recursive` twice"));
    ask("application/json", "\u{feff}{\"query\": \"src.File _\"}").expect(200);
    // As a form of another site would send it.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16"] {
        ask(kind, r#"{"query": "src.File _"}"#).expect(415);
    }
    ask("application/json; charset=UTF-8", r#"{"query": "src.File _"}"#).expect(200);
}

#[test]
fn a_body_that_is_too_large_is_refused_and_the_server_goes_on() {
    let fixture = Fixture::with(FactServerOptions::new().body_bytes_max(1000));
    let refused = fixture.query(&"x".repeat(2000), &json!({})).expect(413);
    assert!(refused.body.contains("1000 bytes"), "{refused:?}");
    fixture.query("src.Number 1", &json!({})).expect(200);
}

#[test]
fn other_paths_methods_names_and_sites_are_refused() {
    let fixture = Fixture::new();
    let refused = get("/sparql").ask(fixture.address).expect(404);
    assert!(refused.body.contains("/userQuery"), "{refused:?}");
    let refused = get("/userQuery?repo=code").ask(fixture.address).expect(405);
    assert_eq!(refused.header("allow"), Some("POST"), "{refused:?}");
    Asked::new("DELETE", "/getDatabase?repo=code").ask(fixture.address).expect(405);
    get("/listDatabases").header("Host", "facts.example").ask(fixture.address).expect(421);
    get("/listDatabases").header("Origin", "http://facts.example").ask(fixture.address).expect(403);
    get("/listDatabases").header("Sec-Fetch-Site", "cross-site").ask(fixture.address).expect(403);
    get("/").header("Sec-Fetch-Site", "cross-site").ask(fixture.address).expect(200);
}

#[test]
fn databases_without_names_of_their_own_are_not_served() {
    let fixture = Fixture::new();
    let named = |name: &str| ServedFacts::new(name, fixture.database.clone());
    for databases in [vec![], vec![named("a"), named("a")], vec![named("")], vec![named("a/b")]] {
        assert!(FactServer::bind(databases, "127.0.0.1:0", FactServerOptions::new()).is_err());
    }
    let foreign = FactServerOptions::new().host_names(vec!["http://a".into()]);
    assert!(FactServer::bind(vec![named("a")], "127.0.0.1:0", foreign).is_err());
}

/// A source whose database can be exchanged, or fail.
struct Exchanged(Arc<Mutex<Result<FactDatabase, String>>>);

impl FactSource for Exchanged {
    fn database(&self) -> Result<FactDatabase, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.0.lock().expect("nothing panics with it").clone()?)
    }
}

#[test]
fn each_request_is_answered_from_the_database_of_its_time() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let database = |name: &str, predicate: &str| {
        let schema = Schema::parse("a.angle", &format!("schema src.1 {{ predicate {predicate} : string }}"));
        FactDatabase::create(directory.path().join(name), schema.expect("it is right")).expect("it is new")
    };
    let (first, second) = (database("first.ful", "One"), database("second.ful", "Two"));
    let current = Arc::new(Mutex::new(Ok(first)));
    let served = vec![ServedFacts::new("a", Exchanged(Arc::clone(&current)))];
    let server = FactServer::bind(served, "127.0.0.1:0", FactServerOptions::new()).expect("a port is free");
    let (address, handle) = (server.address(), server.handle());
    let thread = std::thread::spawn(move || server.run());
    let schema = || get("/getSchemaInfo?repo=a").ask(address);
    let query = || post("/userQuery?repo=a", "application/json", r#"{"query":"src.Two _"}"#.to_owned()).ask(address);
    assert!(schema().expect(200).body.contains("src.One"));
    query().expect(400);
    *current.lock().expect("nothing panics with it") = Ok(second);
    assert!(schema().expect(200).body.contains("src.Two"));
    query().expect(200);
    get("/getDatabase?repo=a/00000000000000000000000000000000").ask(address).expect(404);
    *current.lock().expect("nothing panics with it") = Err("the file is gone".to_owned());
    for answer in [schema(), query()] {
        let failed = answer.expect(500);
        assert!(!failed.body.contains("the file is gone"), "clients are not told of files: {failed:?}");
    }
    let listed = get("/listDatabases").ask(address).expect(200);
    assert!(listed.body.contains(r#""name":"a""#) && listed.body.contains("Broken"), "{listed:?}");
    handle.shut_down();
    thread.join().expect("it does not panic").expect("it was shut down");
}
