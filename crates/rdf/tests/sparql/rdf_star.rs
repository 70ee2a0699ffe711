//! SPARQL-star: `<<s p o>>` is a triple, of statements that have it as their subject or object.

use fulgurite_rdf::oxrdf::{BlankNode, Literal, NamedNode, Term, Triple};
use fulgurite_rdf::sparql::{Query, Update};
use fulgurite_rdf::{Error, IdQuad, TermId};

use crate::fixture::{Fixture, prefixes, query, rows_of};

fn name(local: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{local}"))
}

/// `<<:a :knows :b>> :since 3 . <<:a :knows <<:x :y :z>>>> :since 4 . :c :says <<:a :knows :b>> . :a :knows :b .`
fn fixture() -> Fixture {
    let fixture = Fixture::new(":a :knows :b .");
    let knows: Term = Triple::new(name("a"), name("knows"), name("b")).into();
    let inner = Triple::new(name("x"), name("y"), name("z"));
    let nested: Term = Triple::new(name("a"), name("knows"), inner).into();
    let statements = [
        (knows.clone(), "since", Literal::from(3).into()),
        (nested, "since", Literal::from(4).into()),
        (name("c").into(), "says", knows),
    ];
    let insert = |transaction: &mut fulgurite_rdf::Transaction| {
        for (subject, predicate, object) in &statements {
            let predicate: Term = name(predicate).into();
            let [subject, predicate, object] =
                [subject, &predicate, object].map(|term| transaction.intern(term.as_ref()));
            let (subject, predicate, object) = (subject?, predicate?, object?);
            transaction.insert_ids(&IdQuad { subject, predicate, object, graph: TermId::DEFAULT_GRAPH })?;
        }
        Ok(())
    };
    fixture.store.update(insert).expect("inserted");
    fixture
}

fn star(text: &str) -> Result<Query, Error> {
    Query::parse_rdf_star(text, None, &prefixes())
}

#[test]
fn quoted_triples_match_triples_that_are_subjects_and_objects() {
    let quads = fixture().snapshot();
    for (text, expected) in [
        ("SELECT ?n { <<:a :knows :b>> :since ?n }", &["n=\"3\""][..]),
        ("SELECT ?x ?n { <<?x :knows :b>> :since ?n }", &["x=a n=\"3\""]),
        ("SELECT ?n { <<:a :knows <<?x :y :z>>>> :since ?n }", &["n=\"4\""]),
        ("SELECT ?x { ?x :says <<?s ?p ?o>> . <<?s ?p ?o>> :since 3 }", &["x=c"]),
        ("SELECT ?n { :a :knows :b {| :since ?n |} }", &["n=\"3\""]),
        ("SELECT ?x { ?x :says <<:a ?p ?o>> FILTER EXISTS { <<:a ?p ?o>> :since ?n } }", &["x=c"]),
        ("SELECT ?x { ?x :says <<:a ?p ?o>> FILTER NOT EXISTS { <<:a ?p ?o>> :since ?n } }", &[]),
        ("SELECT ?n { { <<:none :knows :b>> :since ?n } UNION { <<:a :knows :b>> :since ?n } }", &["n=\"3\""]),
        ("SELECT ?n { <<:a :knows :b>> :since|:until ?n }", &["n=\"3\""]),
        // The text's own nodes are nodes.
        ("SELECT ?n { _:r rdf:reifies <<( :a :knows :b )>> ; :since ?n }", &[]),
        ("SELECT ?n { _:r rdf:reifies <<( _:r :p _:r )>> ; :since ?n }", &[]),
    ] {
        let query = star(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut rows = rows_of(&query, &quads).unwrap_or_else(|error| panic!("{text}: {error}"));
        rows.sort();
        assert_eq!(rows, expected, "{text}");
    }
    // In SPARQL 1.2 it is a node.
    let query = Query::parse_with_prefixes("SELECT ?n { <<:a :knows :b>> :since ?n }", None, &prefixes()).unwrap();
    assert_eq!(rows_of(&query, &quads).unwrap(), [""; 0]);
}

#[test]
fn updates_find_quoted_triples_and_say_that_they_cannot_insert_them() {
    let fixture = fixture();
    let update = |text: &str| Update::parse_rdf_star(text, None, &prefixes());
    let report = update("INSERT { ?x :knownSince ?n } WHERE { <<?x :knows :b>> :since ?n }").unwrap();
    assert_eq!(report.execute(&fixture.store).unwrap().inserted, 1);
    assert_eq!(fixture.rows("SELECT ?n { :a :knownSince ?n }"), ["n=\"3\""]);
    for text in [
        "INSERT DATA { <<:a :b :c>> :d :e }",
        "INSERT { <<?s :b :c>> :d :e } WHERE { ?s :p :o }",
        "INSERT DATA { :ok :ok :ok } ; INSERT DATA { <<:a :b :c>> :d :e }",
    ] {
        let error = update(text).expect_err(text).to_string();
        assert!(error.contains("without SPARQL"), "{error}");
    }
    let error = star("CONSTRUCT { <<?s ?p ?o>> :q 1 } WHERE { ?s ?p ?o }").expect_err("a subject").to_string();
    assert!(error.contains("CONSTRUCT"), "{error}");
    assert!(star("CONSTRUCT { :a :q <<?s ?p ?o>> } WHERE { ?s ?p ?o }").is_ok());
}

#[test]
fn a_variable_within_a_triple_term_that_is_bound_to_a_literal_is_named_by_the_error() {
    let fixture = Fixture::new(":s :says <<( :a :p \"b\" )>> .");
    let values = "VALUES ?v { \"text\" :p }";
    let text = format!("SELECT ?v {{ {values} ?s :says+ <<( :a ?v \"b\" )>> }}");
    let error = rows_of(&query(&text), &fixture.snapshot()).expect_err("a literal as predicate").to_string();
    assert!(error.contains("compare both in a FILTER"), "{error}");
    let compared = format!("SELECT ?v {{ {values} ?s :says+ <<( :a ?w \"b\" )>> FILTER(?w = ?v) }}");
    assert_eq!(fixture.rows(&compared), ["v=p"]);
}

#[test]
fn a_blank_node_that_is_only_within_a_triple_term_stays_what_it_is() {
    let fixture = Fixture::new("");
    let insert = |transaction: &mut fulgurite_rdf::Transaction| {
        let triple: Term = Triple::new(BlankNode::new_unchecked("bob"), name("p"), name("o")).into();
        let [subject, predicate, object] =
            [name("s").into(), name("says").into(), triple].map(|term: Term| transaction.intern(term.as_ref()));
        let (subject, predicate, object) = (subject?, predicate?, object?);
        transaction.insert_ids(&IdQuad { subject, predicate, object, graph: TermId::DEFAULT_GRAPH })
    };
    fixture.store.update(insert).expect("inserted");
    fixture.update("INSERT { ?x :age 7 ; :knows [ :age 8 ] } WHERE { :s :says <<( ?x :p :o )>> }");
    assert_eq!(fixture.rows("SELECT ?n { :s :says <<( ?x :p :o )>> . ?x :knows?/:age ?n }"), ["n=\"7\"", "n=\"8\""]);
    assert_eq!(fixture.rows("SELECT (COUNT(DISTINCT ?x) AS ?n) { ?x :age ?o }"), ["n=\"2\""]);
}
