//! RDF4J's HTTP protocol. RDF4J's own client runs its suites against it in `bindings/java`.

use std::time::Duration;

use fulgurite_server::ServerOptions;

use crate::client::{Answer, Asked, encoded, get, post};
use crate::fixture::Fixture;

const STATEMENTS: &str = "/repositories/a/statements";
const NQUADS: &str = "application/n-quads";

fn ask(fixture: &Fixture, asked: Asked, status: u16) -> Answer {
    asked.ask(fixture.address).expect(status)
}

fn put(target: &str, content_type: &str, body: &str) -> Asked {
    Asked::new("PUT", target).header("Content-Type", content_type).body(body)
}

fn csv(fixture: &Fixture, target: &str) -> Vec<String> {
    ask(fixture, get(target).accept("text/csv"), 200).body.lines().skip(1).map(str::to_owned).collect()
}

/// The statements of a query of the URL, sorted.
fn statements(fixture: &Fixture, parameters: &str) -> Vec<String> {
    let answer = ask(fixture, get(&format!("{STATEMENTS}?{parameters}")).accept(NQUADS), 200);
    let mut lines: Vec<String> = answer.body.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn size(fixture: &Fixture, target: &str) -> String {
    ask(fixture, get(target), 200).body
}

const DATA: &str =
    "<a:s> <a:p> <a:o> .\n<a:s> <a:p> \"1\" <a:g> .\n<a:t> <a:p> \"2\" <a:g> .\n<a:s> <a:p> <a:o> <a:h> .\n";

fn with_data() -> Fixture {
    let fixture = Fixture::writable();
    ask(&fixture, post(STATEMENTS, NQUADS, DATA), 204);
    fixture
}

#[test]
fn the_server_has_one_repository_which_is_named_after_its_file() {
    let fixture = Fixture::writable();
    assert_eq!(ask(&fixture, get("/protocol"), 200).body, "12");
    for root in ["", "/rdf4j-server"] {
        let url = format!("http://{}{root}/repositories/a", fixture.address);
        assert_eq!(csv(&fixture, &format!("{root}/repositories")), [format!("{url},a,Fulgurite,true,true")]);
        let configuration = ask(&fixture, get(&format!("{root}/repositories/a/config")).accept("text/turtle"), 200);
        assert!(configuration.body.contains(&format!("<{url}>")), "{configuration:?}");
    }
    for path in ["", "/statements", "/size", "/contexts", "/namespaces", "/namespaces/ex", "/config"] {
        let missing = ask(&fixture, get(&format!("/repositories/other{path}?query=ASK%7B%7D")), 404);
        assert!(missing.body.contains("the repository of this server is a"), "{missing:?}");
    }
    for method in ["PUT", "DELETE"] {
        ask(&fixture, Asked::new(method, "/repositories/new").body("x"), 403);
    }
    let named = Fixture::with(ServerOptions::new().repository(Some("my-data".to_owned())));
    assert_eq!(size(&named, "/repositories/my-data/size"), "0");
    assert!(csv(&named, "/repositories")[0].ends_with(",my-data,Fulgurite,true,false"), "it only reads");
}

#[test]
fn statements_are_read_by_terms_and_graphs() {
    let fixture = with_data();
    let count = |parameters: &str| statements(&fixture, parameters).len();
    assert_eq!(count(""), 4);
    assert_eq!(statements(&fixture, &format!("subj={}", encoded("<a:t>"))), ["<a:t> <a:p> \"2\" <a:g> ."]);
    assert_eq!(count(&format!("subj={}&obj={}", encoded("<a:s>"), encoded("<a:o>"))), 2);
    assert_eq!(count(&format!("pred={}", encoded("<a:none>"))), 0);
    assert_eq!(count("context=null"), 1);
    assert_eq!(count(&format!("context=null&context={}&context=null", encoded("<a:g>"))), 3);
    assert_eq!(count(&format!("context={}", encoded("<a:none>"))), 0);
    assert_eq!(count("infer=false"), 4);
    for (wrong, expected) in [("subj=a", "subj"), ("context=%22a%22", "context"), ("infer=perhaps", "infer")] {
        let refused = ask(&fixture, get(&format!("{STATEMENTS}?{wrong}")), 400);
        assert!(refused.body.contains(expected), "{refused:?}");
    }
    // Formats without graphs leave them out.
    let triples = ask(&fixture, get(STATEMENTS).accept("application/n-triples"), 200);
    assert_eq!(triples.body.lines().count(), 4);
    let all = ask(&fixture, get(STATEMENTS), 200);
    assert_eq!(all.media_type(), "application/trig");
    // What curl accepts.
    assert_eq!(ask(&fixture, get(STATEMENTS).accept("*/*"), 200).media_type(), "application/trig");
    assert_eq!(size(&fixture, "/repositories/a/size"), "4");
    assert_eq!(size(&fixture, &format!("/repositories/a/size?context={}", encoded("<a:g>"))), "2");
    assert_eq!(csv(&fixture, "/repositories/a/contexts"), ["a:g", "a:h"]);
}

#[test]
fn statements_are_added_replaced_and_removed() {
    let fixture = with_data();
    let of_g = format!("{STATEMENTS}?context={}", encoded("<a:g>"));
    ask(&fixture, put(&of_g, "text/turtle", "<a:new> <a:p> 3 ."), 204);
    assert_eq!(statements(&fixture, "").len(), 3);
    ask(
        &fixture,
        post(&format!("{STATEMENTS}?context=null&context={}", encoded("<a:h>")), "text/turtle", "<a:x> <a:p> 4 ."),
        204,
    );
    assert_eq!(statements(&fixture, &format!("subj={}", encoded("<a:x>"))).len(), 2);
    ask(&fixture, Asked::new("DELETE", &format!("{STATEMENTS}?subj={}&context=null", encoded("<a:x>"))), 204);
    assert_eq!(statements(&fixture, "").len(), 4);
    ask(&fixture, put(STATEMENTS, NQUADS, "<a:s> <a:p> <a:o> <a:g> ."), 204);
    assert_eq!(statements(&fixture, ""), ["<a:s> <a:p> <a:o> <a:g> ."]);
    assert_eq!(csv(&fixture, "/repositories/a/contexts"), ["a:g"], "empty graphs are not listed");
    ask(&fixture, Asked::new("DELETE", STATEMENTS), 204);
    assert_eq!(size(&fixture, "/repositories/a/size"), "0");
    // Relative IRIs are resolved, blank nodes are new or kept.
    let based = format!("{STATEMENTS}?baseURI={}", encoded("<http://base/>"));
    ask(&fixture, post(&based, "text/turtle", "<s> <p> _:b ."), 204);
    ask(&fixture, post(&format!("{based}&preserveNodeId=true"), "text/turtle", "<s> <p> _:b ."), 204);
    let found = statements(&fixture, &format!("subj={}", encoded("<http://base/s>")));
    assert_eq!(found.iter().filter(|line| line.contains(" _:b ")).count(), 1, "{found:?}");
    assert_eq!(found.len(), 2);
    // What is refused changes nothing, and says by which class of exception.
    for (asked, status, expected) in [
        (post(STATEMENTS, "text/turtle", "<a:s> <a:p>"), 400, "MALFORMED DATA:"),
        (post(STATEMENTS, "application/x-binary-rdf", "no"), 400, "MALFORMED DATA:"),
        (post(STATEMENTS, "application/ld+json", r#"{"@id":"a:a b","a:p":1}"#), 400, "`a:a b` is not a valid IRI"),
        (post(STATEMENTS, "application/ld+json", r#"{"@id":"s","a:p":1}"#), 400, "baseURI"),
        (post(STATEMENTS, "text/turtle", "notgzip").header("Content-Encoding", "gzip"), 400, "the body is not gzip"),
        (post(STATEMENTS, "image/png", "no"), 415, "UNSUPPORTED FILE FORMAT:"),
        (post(STATEMENTS, "application/sparql-update", "INSERT"), 400, "MALFORMED QUERY:"),
        (post(STATEMENTS, "application/x-rdftransaction", "<x/>"), 415, "version 7"),
        (post(STATEMENTS, "application/x-www-form-urlencoded", "a=b"), 400, "update"),
    ] {
        let refused = ask(&fixture, asked, status);
        assert!(refused.body.contains(expected), "{refused:?}");
    }
    let misspelled = |method: &str, parameter: &str| {
        Asked::new(method, &format!("{STATEMENTS}?{parameter}")).header("Content-Type", NQUADS).body(DATA)
    };
    let transaction = begin(&fixture, "SNAPSHOT");
    for (asked, name) in [
        (misspelled("DELETE", "sbj=%3Ca:s%3E"), "sbj"),
        (misspelled("DELETE", "graph=a:g"), "graph"),
        (misspelled("PUT", "contxt=%3Ca:g%3E"), "contxt"),
        (misspelled("POST", "subj=%3Ca:s%3E"), "subj"),
        (post(&format!("{STATEMENTS}?insert-graph=a:g"), "application/sparql-update", "CLEAR ALL"), "insert-graph"),
        (act(&transaction, "ADD&contxt=null", NQUADS, DATA), "contxt"),
    ] {
        let refused = ask(&fixture, asked, 400);
        assert!(refused.body.contains(&format!("`{name}` is not a parameter of this request")), "{refused:?}");
    }
    assert_eq!(size(&fixture, "/repositories/a/size"), "2");
    let reading = Fixture::with(ServerOptions::new());
    for asked in [post(STATEMENTS, NQUADS, DATA), put(STATEMENTS, NQUADS, DATA), Asked::new("DELETE", STATEMENTS)] {
        ask(&reading, asked, 403);
    }
}

#[test]
fn queries_see_all_graphs_and_take_values_for_variables() {
    let fixture = with_data();
    let rows = |parameters: &str| csv(&fixture, &format!("/repositories/a?{parameters}"));
    let all = format!("query={}", encoded("SELECT ?s ?o { ?s ?p ?o }"));
    assert_eq!(rows(&all).len(), 3, "a triple of two graphs once");
    assert_eq!(rows(&format!("{all}&$s={}", encoded("<a:t>"))), ["a:t,2"]);
    assert_eq!(rows(&format!("{all}&%24p={}", encoded("<a:none>"))).len(), 0);
    assert_eq!(rows(&format!("{all}&default-graph-uri=a:g")).len(), 2);
    assert_eq!(rows(&format!("{all}&default-graph-uri=null")).len(), 1);
    assert_eq!(rows(&format!("{all}&queryLn=SPARQL&infer=true&baseURI=http://base/")).len(), 3);
    let posted = post("/repositories/a", "application/sparql-query", "ASK { <a:s> ?p ?o }").accept("text/csv");
    assert_eq!(ask(&fixture, posted, 200).body.trim(), "true");
    for (parameters, expected) in [
        ("query=SELECT", "MALFORMED QUERY:"),
        ("query=ASK%7B%7D&queryLn=SeRQL", "UNSUPPORTED QUERY LANGUAGE:"),
        ("query=ASK%7B%7D&explain=Optimized", "--explain"),
        ("query=ASK%7B%7D&limit=3", "LIMIT"),
        ("query=ASK%7B%7D&$x=3", "N-Triples"),
        ("", "there is no query"),
    ] {
        let refused = ask(&fixture, get(&format!("/repositories/a?{parameters}")), 400);
        assert!(refused.body.contains(expected), "{refused:?}");
    }
    // An update deletes from all graphs.
    let update = format!("update={}", encoded("DELETE DATA { <a:s> <a:p> <a:o> }"));
    ask(&fixture, post(STATEMENTS, "application/x-www-form-urlencoded", update), 204);
    assert_eq!(size(&fixture, "/repositories/a/size"), "2");
    let update = format!("{STATEMENTS}?insert-graph-uri=a:new&$s={}", encoded("<a:t>"));
    ask(&fixture, post(&update, "application/sparql-update", "INSERT { ?s <a:q> 7 } WHERE { ?s ?p ?o }"), 204);
    assert_eq!(statements(&fixture, &format!("context={}", encoded("<a:new>"))).len(), 1);
}

#[test]
fn namespaces_are_set_read_and_removed() {
    let fixture = Fixture::writable();
    let at = |prefix: &str| format!("/repositories/a/namespaces/{prefix}");
    for prefix in ["ex", ""] {
        ask(&fixture, get(&at(prefix)), 404);
        ask(&fixture, put(&at(prefix), "text/plain", "http://example.org/"), 204);
        assert_eq!(ask(&fixture, get(&at(prefix)), 200).body, "http://example.org/");
    }
    assert_eq!(csv(&fixture, "/repositories/a/namespaces"), [",http://example.org/", "ex,http://example.org/"]);
    ask(&fixture, put(&at("ex"), "text/plain", " "), 400);
    ask(&fixture, Asked::new("DELETE", &at("")), 204);
    assert_eq!(csv(&fixture, "/repositories/a/namespaces").len(), 1);
    ask(&fixture, Asked::new("DELETE", "/repositories/a/namespaces"), 204);
    assert_eq!(csv(&fixture, "/repositories/a/namespaces").len(), 0);
}

#[test]
fn graphs_are_read_and_changed_as_documents() {
    let fixture = with_data();
    let graph = |name: &str| format!("/repositories/a/rdf-graphs/{name}");
    let read = |target: &str| ask(&fixture, get(target).accept("application/n-triples"), 200).body.lines().count();
    assert_eq!(read(&graph("service?graph=a:g")), 2);
    ask(&fixture, put(&graph("mine"), "text/turtle", "<a:s> <a:p> 1 ."), 201);
    assert_eq!(read(&graph("mine")), 1);
    ask(&fixture, get("/repositories/other/rdf-graphs/service?default"), 404);
}

/// Begins a transaction, and returns its path.
fn begin(fixture: &Fixture, level: &str) -> String {
    let setting = "transaction-setting__org.eclipse.rdf4j.common.transaction.IsolationLevel";
    let form = format!("{setting}={level}");
    let begun = post("/repositories/a/transactions", "application/x-www-form-urlencoded", form);
    let begun = ask(fixture, begun, 201);
    let location = begun.header("location").expect("a location");
    let root = format!("http://{}", fixture.address);
    location.strip_prefix(&root).expect("of this server").to_owned()
}

fn act(transaction: &str, action: &str, content_type: &str, body: &str) -> Asked {
    put(&format!("{transaction}?action={action}"), content_type, body)
}

#[test]
fn a_transaction_reads_its_own_changes_which_others_see_after_the_commit() {
    let fixture = with_data();
    let transaction = begin(&fixture, "SNAPSHOT");
    let does =
        |action: &str, kind: &str, body: &str, status| ask(&fixture, act(&transaction, action, kind, body), status);
    does("ADD", "text/turtle", "<a:new> <a:p> 5 .", 200);
    let wildcard = "<http://www.openrdf.org/schema/sesame#wildcard>";
    does(
        "DELETE",
        NQUADS,
        &format!("{wildcard} {wildcard} \"2\" <a:g> .\n<a:s> <a:p> <a:o> <http://rdf4j.org/schema/rdf4j#nil> ."),
        200,
    );
    does("UPDATE", "application/sparql-update", "INSERT DATA { <a:newer> <a:p> 6 }", 200);
    assert_eq!(does("SIZE", "text/plain", "", 200).body, "4");
    let answer = ask(
        &fixture,
        act(&transaction, "QUERY", "application/sparql-query", "SELECT ?s { ?s <a:p> 5 }").accept("text/csv"),
        200,
    );
    assert_eq!(answer.body.lines().nth(1), Some("a:new"));
    assert_eq!(ask(&fixture, act(&transaction, "GET", "text/plain", "").accept(NQUADS), 200).body.lines().count(), 4);
    assert_eq!(does("PING", "text/plain", "", 200).body, "60000");
    // An error leaves the transaction as it was.
    assert!(does("ADD", "text/turtle", "<a:a> <a:b> 1 . oops", 400).body.contains("MALFORMED DATA"));
    assert!(does("JUMP", "text/plain", "", 400).body.contains("ROLLBACK"));
    does("PREPARE", "text/plain", "", 200);
    assert_eq!(size(&fixture, "/repositories/a/size"), "4", "not yet");
    assert!(!statements(&fixture, "").contains(&"<a:new> <a:p> \"5\"".to_owned()));
    does("COMMIT", "text/plain", "", 200);
    assert!(statements(&fixture, "").iter().any(|line| line.starts_with("<a:newer>")));
    assert!(does("SIZE", "text/plain", "", 400).body.contains("there is no transaction"));
    // With the action in the path, and rolled back.
    let transaction = begin(&fixture, "NONE");
    ask(&fixture, put(&format!("{transaction}/add"), "text/turtle", "<a:gone> <a:p> 7 ."), 200);
    ask(&fixture, Asked::new("DELETE", &transaction), 204);
    assert!(!statements(&fixture, "").iter().any(|line| line.starts_with("<a:gone>")));
    let wrong = post("/repositories/a/transactions?isolation-level=STRICT", "text/plain", "");
    assert!(ask(&fixture, wrong, 400).body.contains("SERIALIZABLE"));
}

#[test]
fn conflicting_transactions_are_repeated_unless_they_have_read_what_may_have_changed() {
    for (level, update, is_conflict) in [
        ("SNAPSHOT_READ", false, false),
        ("SNAPSHOT_READ", true, false),
        ("SNAPSHOT", true, false),
        ("SERIALIZABLE", false, false),
        ("SERIALIZABLE", true, true),
    ] {
        let fixture = with_data();
        let [first, second] = [(); 2].map(|()| begin(&fixture, level));
        for transaction in [&first, &second] {
            // Both add the same new term, and a blank node each.
            ask(&fixture, act(transaction, "ADD", "text/turtle", "<a:new> <a:p> <a:newer>, [] ."), 200);
            if update {
                let update = "INSERT { <a:count> <a:p> ?n } WHERE { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } }";
                ask(&fixture, act(transaction, "UPDATE", "application/sparql-update", update), 200);
            }
        }
        ask(&fixture, act(&first, "COMMIT", "text/plain", ""), 200);
        let committed = ask(&fixture, act(&second, "COMMIT", "text/plain", ""), if is_conflict { 409 } else { 200 });
        let nodes = statements(&fixture, "").iter().filter(|line| line.contains(" _:")).count();
        assert_eq!(nodes, if is_conflict { 1 } else { 2 }, "{level}");
        if is_conflict {
            assert!(committed.body.contains("repeat it"), "{committed:?}");
            ask(&fixture, act(&second, "SIZE", "text/plain", ""), 409);
            ask(&fixture, Asked::new("DELETE", &second), 204);
        }
    }
}

#[test]
fn serializable_transactions_conflict_if_statements_that_they_have_read_are_changed() {
    let [new, old] = ["<a:new>", "<a:s>"].map(|subject| format!("GET&subj={}", encoded(subject)));
    let reads = [("", 200), (new.as_str(), 409), (old.as_str(), 200), ("SIZE", 409), ("QUERY", 409)];
    for (read, status) in reads {
        let fixture = with_data();
        let [first, second] = [(); 2].map(|()| begin(&fixture, "SERIALIZABLE"));
        for (transaction, number) in [(&first, 1), (&second, 2)] {
            let added = format!("<a:new> <a:p> {number} .");
            ask(&fixture, act(transaction, "ADD", "text/turtle", &added), 200);
        }
        if !read.is_empty() {
            ask(&fixture, act(&second, read, "application/sparql-query", "ASK { <a:new> ?p ?o }"), 200);
        }
        ask(&fixture, act(&first, "COMMIT", "text/plain", ""), 200);
        // Which statements a query reads is known to the engine only, at the commit.
        let prepared = if read == "QUERY" { 200 } else { status };
        for (action, status) in [("PREPARE", prepared), ("COMMIT", status)] {
            let answer = ask(&fixture, act(&second, action, "text/plain", ""), status);
            assert_eq!(answer.body.contains("Observed State has Changed"), status == 409, "{answer:?}");
        }
        assert_eq!(size(&fixture, "/repositories/a/size"), if status == 200 { "6" } else { "5" }, "{read}");
    }
}

#[test]
fn below_snapshot_a_transaction_sees_what_others_commit_and_its_updates_keep_their_effect() {
    for (level, seen) in [("READ_COMMITTED", "7"), ("SNAPSHOT_READ", "7"), ("SNAPSHOT", "6")] {
        let fixture = with_data();
        let [first, second] = [(); 2].map(|()| begin(&fixture, level));
        let update = "INSERT { ?s <a:q> 1 } WHERE { ?s <a:p> ?o }";
        ask(&fixture, act(&second, "UPDATE", "application/sparql-update", update), 200);
        ask(&fixture, act(&first, "ADD", "text/turtle", "<a:new> <a:p> 1 ."), 200);
        ask(&fixture, act(&first, "COMMIT", "text/plain", ""), 200);
        assert_eq!(ask(&fixture, act(&second, "SIZE", "text/plain", ""), 200).body, seen, "{level}");
        ask(&fixture, act(&second, "COMMIT", "text/plain", ""), 200);
        assert_eq!(size(&fixture, "/repositories/a/size"), "7", "{level}");
    }
}

#[test]
fn below_snapshot_a_transaction_removes_what_others_have_committed() {
    for (level, left) in [("READ_COMMITTED", "0"), ("SNAPSHOT", "1")] {
        let fixture = Fixture::writable();
        let transaction = begin(&fixture, level);
        ask(&fixture, post(STATEMENTS, NQUADS, "<a:new> <a:p> <a:o> ."), 204);
        let removed = "<a:new> <a:p> <http://www.openrdf.org/schema/sesame#wildcard> .";
        ask(&fixture, act(&transaction, "DELETE", NQUADS, removed), 200);
        ask(&fixture, act(&transaction, "COMMIT", "text/plain", ""), 200);
        assert_eq!(size(&fixture, "/repositories/a/size"), left, "{level}");
    }
}

#[test]
fn a_transaction_with_more_changes_than_a_body_has_is_not_repeated_and_the_answer_says_so() {
    let fixture = Fixture::with(ServerOptions::new().writable(true).body_bytes_max(100));
    let [first, second] = [(); 2].map(|()| begin(&fixture, "SNAPSHOT"));
    for transaction in [&first, &second] {
        for number in [1, 2] {
            let added = format!("<a:new> <a:p> {number} . # {}", "x".repeat(50));
            ask(&fixture, act(transaction, "ADD", "text/turtle", &added), 200);
        }
    }
    ask(&fixture, act(&first, "COMMIT", "text/plain", ""), 200);
    let refused = ask(&fixture, act(&second, "COMMIT", "text/plain", ""), 409);
    assert!(refused.body.contains("at most 100 bytes (--body-max)"), "{refused:?}");
}

#[test]
fn transactions_are_bounded_in_number_and_idle_time() {
    let options = ServerOptions::new().writable(true).transactions_max(2).transaction_idle(Duration::from_millis(300));
    let fixture = Fixture::with(options);
    let first = begin(&fixture, "SNAPSHOT");
    begin(&fixture, "SNAPSHOT");
    let refused = ask(&fixture, post("/repositories/a/transactions", "text/plain", ""), 503);
    assert!(refused.body.contains("--transactions"), "{refused:?}");
    ask(&fixture, act(&first, "ADD", "text/turtle", "<a:s> <a:p> 1 ."), 200);
    std::thread::sleep(Duration::from_millis(1500));
    let ended = ask(&fixture, act(&first, "COMMIT", "text/plain", ""), 400);
    assert!(ended.body.contains("300ms"), "{ended:?}");
    assert_eq!(size(&fixture, "/repositories/a/size"), "0");
    begin(&fixture, "SNAPSHOT");
}

#[test]
fn a_server_that_only_reads_has_transactions_that_only_read() {
    let fixture = Fixture::with_quads(ServerOptions::new());
    let transaction = begin(&fixture, "SNAPSHOT");
    assert_eq!(ask(&fixture, act(&transaction, "SIZE", "text/plain", ""), 200).body, "1000");
    ask(&fixture, act(&transaction, "ADD", "text/turtle", "<a:s> <a:p> 1 ."), 403);
    ask(&fixture, act(&transaction, "UPDATE", "application/sparql-update", "CLEAR ALL"), 403);
    ask(&fixture, act(&transaction, "COMMIT", "text/plain", ""), 200);
}

#[test]
fn a_shutdown_rolls_open_transactions_back() {
    let mut fixture = with_data();
    let transaction = begin(&fixture, "SNAPSHOT");
    ask(&fixture, act(&transaction, "ADD", "text/turtle", "<a:s> <a:p> 9 ."), 200);
    fixture.end();
    assert_eq!(fixture.quads(), 4);
}
