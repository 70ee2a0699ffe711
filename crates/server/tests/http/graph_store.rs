//! The Graph Store HTTP Protocol: the cases of the W3C's test suite in their order, and what else documents can do.

use fulgurite_rdf::oxrdf::{GraphName, NamedNode, Quad};

use crate::client::{Answer, Asked, get, post, query};
use crate::fixture::Fixture;

const TURTLE: &str = "text/turtle";

fn put(target: &str, content_type: &str, body: &str) -> Asked {
    Asked::new("PUT", target).header("Content-Type", content_type).body(body)
}

fn delete(target: &str) -> Asked {
    Asked::new("DELETE", target)
}

fn person(name: &str) -> String {
    format!(
        "@prefix foaf: <http://xmlns.com/foaf/0.1/> . @prefix v: <http://www.w3.org/2006/vcard/ns#> .
         <http://host/person/1> a foaf:Person ; foaf:businessCard [ a v:VCard ; v:fn \"{name}\" ] ."
    )
}

/// The triples of an answer in N-Triples.
fn triples(answer: &Answer) -> usize {
    assert_eq!(answer.media_type(), "application/n-triples");
    answer.body.lines().count()
}

#[test]
fn prefixes_of_documents_become_namespaces_that_queries_need_not_declare() {
    let fixture = Fixture::writable();
    assert_eq!(get("/namespaces").ask(fixture.address).expect(200).body, "");
    for (iri, status) in [("http://first/", 201), ("http://second/", 204)] {
        let text = format!("@prefix ex: <{iri}> . ex:s ex:p 1 .");
        post("/graphs?graph=http://a/g", TURTLE, text).ask(fixture.address).expect(status);
    }
    let namespaces = get("/namespaces").ask(fixture.address).expect(200);
    assert_eq!((namespaces.body.as_str(), namespaces.media_type()), ("PREFIX ex: <http://first/>\n", "text/turtle"));
    let found = query("ASK { GRAPH <http://a/g> { ex:s ex:p 1 } }").accept("text/csv").ask(fixture.address).expect(200);
    assert_eq!(found.body.trim(), "true");
    let turtle = get("/graphs?graph=http://a/g").accept(TURTLE).ask(fixture.address).expect(200);
    assert!(
        turtle.body.starts_with("@prefix ex: <http://first/> .") && turtle.body.contains("ex:s ex:p"),
        "{turtle:?}"
    );
    // A document that is refused declares nothing.
    post("/graphs?default", TURTLE, "@prefix no: <http://no/> . no:s no:p 1 . no:s oops")
        .ask(fixture.address)
        .expect(400);
    assert!(!get("/namespaces").ask(fixture.address).body.contains("http://no/"));
}

#[test]
fn every_case_of_the_graph_store_suite_ends_as_it_says_but_for_multipart() {
    let fixture = Fixture::writable();
    let ask = |asked: Asked, status: u16| asked.ask(fixture.address).expect(status);
    let read = |target: &str| ask(get(target).accept("application/n-triples"), 200);
    let (one, two) = ("/graphs/person/1.ttl", "/graphs/person/2.ttl");
    // put__initial_state, get_of_put__initial_state
    ask(put(one, TURTLE, &person("John Doe")), 201);
    assert_eq!(triples(&read(one)), 4);
    // put__graph_already_in_store, get_of_put__graph_already_in_store
    ask(put(one, TURTLE, &person("Jane Doe")), 204);
    let jane = read(one);
    assert!(triples(&jane) == 4 && jane.body.contains("Jane") && !jane.body.contains("John"), "{jane:?}");
    // put__default_graph, get_of_put__default_graph: it is always there, and so never created.
    ask(put("/graphs?default", TURTLE, "[] a <http://a/Person> ; <http://a/card> [ <http://a/name> 'Alice' ] ."), 204);
    assert_eq!(triples(&read("/graphs?default")), 3);
    // put__mismatched_payload
    let refused = ask(put(one, "application/rdf+xml", &person("Jim Doe")), 400);
    assert!(!refused.body.is_empty());
    assert_eq!(triples(&read(one)), 4);
    // put__empty_graph, get_of_put__empty_graph
    ask(put(two, TURTLE, ""), 201);
    assert_eq!(triples(&read(two)), 0);
    // delete__existing_graph, get_of_delete__existing_graph, delete__nonexistent_graph
    ask(delete(two), 204);
    ask(get(two), 404);
    ask(delete(two), 404);
    // post__existing_graph, get_of_post__existing_graph
    ask(post(one, TURTLE, "<http://host/person/1> <http://xmlns.com/foaf/0.1/name> 'Jane Doe' ."), 204);
    assert_eq!(triples(&read(one)), 5);
    // post__multipart_formdata: not there.
    let refused = ask(post(one, "multipart/form-data; boundary=AaB03x", "--AaB03x--"), 415);
    assert!(refused.body.contains("text/turtle"), "{refused:?}");
    // post__create__new_graph, get_of_post__create__new_graph
    let created = ask(post("/graphs", TURTLE, "[] a <http://a/Person> ."), 201);
    let location = created.header("location").expect("a name").to_owned();
    let new = location.strip_prefix(&format!("http://{}", fixture.address)).expect("it is the server's").to_owned();
    assert_eq!(triples(&read(&new)), 1);
    // post__empty_graph_to_existing_graph, get_of_post__after_noop
    ask(post(&new, TURTLE, ""), 204);
    assert_eq!(triples(&read(&new)), 1);
    // head_on_an_existing_graph, head_on_a_nonexisting_graph
    let head = ask(Asked::new("HEAD", one), 200);
    assert_eq!(head.media_type(), TURTLE);
    ask(Asked::new("HEAD", two), 404);
    // The names are IRIs that queries know.
    let asked = query(&format!("ASK {{ GRAPH <{location}> {{ ?s a <http://a/Person> }} }}")).ask(fixture.address);
    assert!(asked.body.contains("true"), "{asked:?}");
}

#[test]
fn a_graph_comes_back_as_it_was_put_in_every_form() {
    let fixture = Fixture::writable();
    let target = "/graphs?graph=http%3A%2F%2Fexample.org%2Fg";
    let text = "<http://a/s> <http://a/p> \"01\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n\
                <http://a/s> <http://a/p> \"x\"@en .\n<http://a/s> <http://a/q> <http://a/o> .\n";
    put(target, "application/n-triples", text).ask(fixture.address).expect(201);
    for form in ["text/turtle", "application/rdf+xml", "application/ld+json", "application/trig", "application/n-quads"]
    {
        let read = get(target).accept(form).ask(fixture.address).expect(200);
        assert_eq!(read.media_type(), form);
        put("/graphs?graph=http%3A%2F%2Fexample.org%2Fcopy", form, &read.body).ask(fixture.address);
        let copy = get("/graphs?graph=http%3A%2F%2Fexample.org%2Fcopy").accept("application/n-triples");
        let copy = copy.ask(fixture.address).expect(200);
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&copy.body), sorted(text), "{form}");
    }
}

#[test]
fn graphs_are_read_and_replaced_by_what_is_explicit_and_deleted_with_what_is_inferred() {
    let fixture = Fixture::writable();
    let line = |object: &str| format!("<http://a/s> <http://a/p> <http://a/{object}> .");
    for (target, name) in [("/graphs?default", None), ("/graphs?graph=http%3A%2F%2Fa%2Fg", Some("http://a/g"))] {
        let sorted = |answer: Answer| {
            let mut lines: Vec<String> = answer.body.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let read = || sorted(get(target).accept("application/n-triples").ask(fixture.address).expect(200));
        let replace = |objects: &[&str], status: u16| {
            let lines: Vec<String> = objects.iter().map(|object| line(object)).collect();
            put(target, "application/n-triples", &lines.join("\n")).ask(fixture.address).expect(status);
        };
        replace(&["asserted", "both"], if name.is_some() { 201 } else { 204 });
        let node = |text: &str| NamedNode::new_unchecked(text);
        let graph = name.map_or(GraphName::DefaultGraph, |name| node(name).into());
        for object in ["both", "inferred"] {
            let object = node(&format!("http://a/{object}"));
            let quad = Quad::new(node("http://a/s"), node("http://a/p"), object, graph.clone());
            assert!(fixture.store.update(|txn| txn.insert_inferred(&quad)).expect("it is committed"));
        }
        assert_eq!(fixture.quads(), 3);
        assert_eq!(read(), [line("asserted"), line("both")]);
        // What is sent back as it was read changes nothing.
        replace(&["asserted", "both"], 204);
        assert_eq!((read(), fixture.quads()), (vec![line("asserted"), line("both")], 3));
        replace(&["other"], 204);
        assert_eq!((read(), fixture.quads()), (vec![line("other")], 3));
        replace(&[], 204);
        assert_eq!((read(), fixture.quads()), (vec![], 2));
        Asked::new("HEAD", target).ask(fixture.address).expect(200);
        delete(target).ask(fixture.address).expect(204);
        assert_eq!(fixture.quads(), 0);
        get(target).ask(fixture.address).expect(if name.is_some() { 404 } else { 200 });
    }
}

#[test]
fn blank_nodes_of_two_documents_are_different_ones() {
    let fixture = Fixture::writable();
    let text = "_:b <http://a/q> _:b ; <http://a/p> <<( _:b <http://a/q> _:b )>> .";
    for _ in 0..2 {
        post("/graphs?default", TURTLE, text).ask(fixture.address).expect(204);
    }
    let text = "SELECT (COUNT(DISTINCT ?b) AS ?n) { ?b <http://a/q> ?b ; <http://a/p> ?t FILTER(SUBJECT(?t) = ?b && OBJECT(?t) = ?b) }";
    let count = query(text).accept("text/csv").ask(fixture.address);
    assert_eq!(count.body, "n\r\n2\r\n");
}

#[test]
fn requests_that_name_no_graph_or_two_are_refused() {
    let fixture = Fixture::writable();
    let turtle = "<http://a/s> <http://a/p> 1 .";
    for asked in [
        get("/graphs"),
        delete("/graphs"),
        put("/graphs", TURTLE, turtle),
        get("/graphs?default&graph=http%3A%2F%2Fa%2Fg"),
        get("/graphs?graph=http%3A%2F%2Fa%2Fg&graph=http%3A%2F%2Fa%2Fh"),
        get("/graphs?graph=relative"),
        get("/graphs/a?default"),
    ] {
        let answer = asked.ask(fixture.address).expect(400);
        assert!(!answer.body.is_empty());
    }
    get("/graphs?graph=http%3A%2F%2Fa%2Fg").ask(fixture.address).expect(404);
}

#[test]
fn methods_that_are_not_there_are_refused_with_a_list_of_those_that_are() {
    let fixture = Fixture::writable();
    let refused = Asked::new("PATCH", "/graphs?default").body("x").ask(fixture.address).expect(405);
    let allowed = refused.header("allow").expect("a list").to_owned();
    for method in ["GET", "HEAD", "PUT", "POST", "DELETE"] {
        assert!(allowed.contains(method), "{allowed}");
    }
    assert!(!allowed.contains("PATCH") && refused.body.contains("PATCH"));
}

#[test]
fn a_document_with_an_error_or_with_graphs_of_its_own_changes_nothing() {
    let fixture = Fixture::writable();
    fixture.change("INSERT DATA { <http://a/s> <http://a/p> 1 }");
    for (form, text, says) in [
        (TURTLE, "<http://a/s> <http://a/p> 2 .\n<http://a/s> oops .", ":2:"),
        ("application/n-quads", "<http://a/s> <http://a/p> <http://a/o> <http://a/g> .", "<http://a/g>"),
        ("text/csv", "a,b", "text/turtle"),
    ] {
        let answer = put("/graphs?default", form, text).ask(fixture.address);
        assert!((400..500).contains(&answer.status) && answer.body.contains(says), "{answer:?}");
        let kept = query("ASK { <http://a/s> <http://a/p> 1 }").ask(fixture.address);
        assert!(kept.body.contains("true"), "{form}");
    }
}

/// It was answered by 204, without the statement.
#[test]
fn json_ld_with_an_invalid_iri_is_refused_whole_and_named() {
    let fixture = Fixture::writable();
    put("/graphs?default", TURTLE, "<http://a/s> <http://a/p> 1 .").ask(fixture.address).expect(204);
    let json = r#"[{"@id":"http://a/t","http://a/p":"v"},{"@id":"http://a/a b","http://a/p":"v"}]"#;
    let refused = put("/graphs?default", "application/ld+json", json).ask(fixture.address).expect(400);
    assert!(refused.body.contains("`http://a/a b` is not a valid IRI"), "{refused:?}");
    let kept = query("ASK { <http://a/s> <http://a/p> 1 FILTER NOT EXISTS { <http://a/t> ?p ?o } }");
    assert!(kept.ask(fixture.address).body.contains("true"));
}

#[test]
fn triple_terms_that_nest_too_deep_are_refused_and_the_server_lives_on() {
    let fixture = Fixture::writable();
    let depth = 100_000;
    let open = "<<( <http://a/s> <http://a/p> ".repeat(depth);
    let text = format!("<http://a/s> <http://a/p> {open} <http://a/o> {} .", ")>>".repeat(depth));
    put("/graphs?default", TURTLE, &text).ask(fixture.address).expect(400);
    let json = "[".repeat(depth);
    put("/graphs?default", "application/ld+json", &json).ask(fixture.address).expect(400);
    let xml = "<a>".repeat(depth);
    put("/graphs?default", "application/rdf+xml", &xml).ask(fixture.address).expect(400);
    query("ASK {}").ask(fixture.address).expect(200);
}
