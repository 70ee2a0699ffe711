//! What updates change.

use fulgurite_rdf::oxrdf::NamedNode;
use fulgurite_rdf::oxrdfio::JsonLdProfileSet;
use fulgurite_rdf::sparql::{DefaultTargets, DeletedFrom, Query, UpdateReport};
use fulgurite_rdf::{Error, LoadInput, LoadOptions, Quads, RdfFormat};

use crate::fixture::{Fixture, query, rows_of, update};

fn name(local: &str) -> NamedNode {
    NamedNode::new(format!("http://example.org/{local}")).expect("an IRI")
}

#[test]
fn insert_data_adds_quads_and_tells_how_many_were_new() {
    let fixture = Fixture::new(":a :p 1 .");
    let report = fixture.update("INSERT DATA { :a :p 1 , 2 . GRAPH :g { :a :p 3 } }");
    assert_eq!(report, UpdateReport { inserted: 2, removed: 0 });
    assert_eq!(fixture.quads(), ["s=a p=p o=\"1\"", "s=a p=p o=\"2\"", "s=a p=p o=\"3\" g=g"]);
}

#[test]
fn delete_data_takes_quads_away_and_passes_over_those_that_are_not_there() {
    let fixture = Fixture::new(":a :p 1 , 2 . GRAPH :g { :a :p 1 }");
    let report = fixture.update("DELETE DATA { :a :p 1 , 9 . :never :seen :before . GRAPH :g { :a :p 1 } }");
    assert_eq!(report, UpdateReport { inserted: 0, removed: 2 });
    assert_eq!(fixture.quads(), ["s=a p=p o=\"2\""]);
}

#[test]
fn blank_nodes_of_inserted_data_are_new_each_time_and_one_within_an_update() {
    let fixture = Fixture::new("");
    for _ in 0..2 {
        fixture.update("INSERT DATA { _:x :p 1 . _:x :q 2 }");
    }
    assert_eq!(fixture.rows("SELECT ?n { ?x :p ?n ; :q ?m }"), ["n=\"1\"", "n=\"1\""]);
    assert_eq!(fixture.rows("SELECT (COUNT(DISTINCT ?x) AS ?n) { ?x :p 1 }"), ["n=\"2\""]);
}

#[test]
fn delete_and_insert_take_their_values_from_where() {
    let fixture = Fixture::people();
    let report =
        fixture.update("DELETE { ?p :age ?a } INSERT { ?p :years ?b } WHERE { ?p :age ?a BIND(?a + 1 AS ?b) }");
    assert_eq!(report, UpdateReport { inserted: 4, removed: 4 });
    assert_eq!(fixture.rows("SELECT ?p ?y { ?p :years ?y FILTER(?y < 30) }"), ["p=bob y=\"26\"", "p=dan y=\"8\""]);
    assert!(!fixture.ask("ASK { ?p :age ?a }"));
}

#[test]
fn what_is_deleted_and_inserted_at_once_is_there_after() {
    let fixture = Fixture::new(":a :p 1 .");
    fixture.update("DELETE { :a :p 1 } INSERT { :a :p 1 } WHERE {}");
    assert_eq!(fixture.quads(), ["s=a p=p o=\"1\""]);
}

#[test]
fn where_sees_the_state_before_its_operation() {
    let fixture = Fixture::new(":a :n :b . :b :n :c . :c :n :d .");
    fixture.update("INSERT { ?x :n ?z } WHERE { ?x :n ?y . ?y :n ?z }");
    assert_eq!(fixture.rows("SELECT ?x ?z { ?x :n ?z }"), ["x=a z=b", "x=a z=c", "x=b z=c", "x=b z=d", "x=c z=d"]);
}

#[test]
fn later_operations_see_what_earlier_ones_did() {
    let fixture = Fixture::new("");
    fixture.update("INSERT DATA { :a :p 1 } ; INSERT { ?s :q ?o } WHERE { ?s :p ?o } ; DELETE WHERE { ?s :p ?o }");
    assert_eq!(fixture.quads(), ["s=a p=q o=\"1\""]);
}

#[test]
fn operations_are_done_together_or_not_at_all() {
    let fixture = Fixture::new(":a :p 1 .");
    let before = fixture.quads();
    let error = fixture.try_update("INSERT DATA { :b :p 2 } ; DELETE WHERE { :a ?p ?o } ; DROP GRAPH :none");
    assert!(matches!(error, Err(Error::Graph { .. })), "{error:?}");
    assert_eq!(fixture.quads(), before);
}

#[test]
fn an_update_that_fails_within_a_transaction_leaves_it_as_it_was() {
    let fixture = Fixture::new(":a :p 1 .");
    let mut transaction = fixture.store.begin().expect("a transaction");
    update("INSERT DATA { :b :p 2 }").execute_in(&mut transaction).expect("updated");
    update("INSERT DATA { :c :p 3 } ; CREATE GRAPH :g ; CREATE GRAPH :g")
        .execute_in(&mut transaction)
        .expect_err("there already");
    transaction.commit().expect("committed");
    assert_eq!(fixture.quads(), ["s=a p=p o=\"1\"", "s=b p=p o=\"2\""]);
    assert!(!fixture.ask("ASK { GRAPH :g {} }"));
}

#[test]
fn delete_where_of_one_pattern_takes_all_that_it_matches() {
    let quads = ":a :p 1 , 2 ; :q 1 . :b :p 1 . GRAPH :g { :a :p 1 . :b :q 2 } GRAPH :h { :a :p 3 }";
    for (text, left) in [
        ("DELETE WHERE { ?s :p ?o }", 4),
        ("DELETE WHERE { :a ?p ?o }", 4),
        ("DELETE WHERE { ?s ?p 1 }", 4),
        ("DELETE WHERE { ?s ?p ?o }", 3),
        ("DELETE WHERE { GRAPH :g { ?s ?p ?o } }", 5),
        ("DELETE WHERE { GRAPH ?g { ?s :p ?o } }", 5),
        ("DELETE WHERE { GRAPH :none { ?s ?p ?o } }", 7),
        ("DELETE WHERE { ?s :never ?o }", 7),
        ("DELETE { ?s :p ?o } WHERE { ?s :p ?o }", 4),
    ] {
        let fixture = Fixture::new(quads);
        let report = fixture.update(text);
        assert_eq!(fixture.quads().len(), left, "{text}");
        assert_eq!(report.removed, 7 - left as u64, "{text}");
    }
}

#[test]
fn delete_where_of_several_patterns_deletes_what_they_match_together() {
    let fixture = Fixture::people();
    fixture.update("DELETE WHERE { ?a :knows ?b . ?b :knows ?c }");
    assert!(!fixture.ask("ASK { ?a :knows ?b }"));
    let same = Fixture::new(":a :p :a , :b .");
    same.update("DELETE WHERE { ?x :p ?x }");
    assert_eq!(same.quads(), ["s=a p=p o=b"]);
}

#[test]
fn a_delete_that_takes_less_than_it_matches_is_evaluated() {
    let fixture = Fixture::new(":a :p 1 , 2 . :b :p 3 .");
    fixture.update("DELETE { :a :p ?o } WHERE { ?s :p ?o }");
    assert_eq!(fixture.quads(), ["s=b p=p o=\"3\""]);
}

#[test]
fn with_and_using_choose_graphs() {
    let fixture = Fixture::new(":d :p 0 . GRAPH :g { :a :p 1 } GRAPH :h { :b :p 2 }");
    fixture.update("WITH :g DELETE { ?s :p ?o } INSERT { ?s :q ?o } WHERE { ?s :p ?o }");
    assert_eq!(fixture.rows("SELECT ?s { GRAPH :g { ?s :q ?o } }"), ["s=a"]);
    assert!(fixture.ask("ASK { :d :p 0 }"));
    fixture.update("INSERT { ?s :copied ?o } USING :h WHERE { ?s :p ?o }");
    assert_eq!(fixture.rows("SELECT ?s { ?s :copied ?o }"), ["s=b"]);
    fixture.update("INSERT { ?s :named ?g } USING NAMED :h WHERE { GRAPH ?g { ?s :p ?o } }");
    assert_eq!(fixture.rows("SELECT ?s ?g { ?s :named ?g }"), ["s=b g=h"]);
}

#[test]
fn graphs_that_the_caller_gives_are_those_of_where() {
    let fixture = Fixture::new(":d :p 0 . GRAPH :g { :a :p 1 } GRAPH :h { :b :p 2 }");
    let text = "INSERT { ?s :seen true } WHERE { ?s :p ?o }";
    update(text).with_using_graph(name("g")).with_using_graph(name("h")).execute(&fixture.store).expect("updated");
    assert_eq!(fixture.rows("SELECT ?s { ?s :seen true }"), ["s=a", "s=b"]);
    let conflict = update("INSERT { ?s :x true } USING :g WHERE { ?s :p ?o }").with_using_graph(name("h"));
    assert!(matches!(conflict.execute(&fixture.store), Err(Error::Invalid { .. })));
    update("DELETE { ?s :p ?o } WHERE { ?s :p ?o }")
        .with_using_graph(name("g"))
        .execute(&fixture.store)
        .expect("updated");
    assert_eq!(fixture.rows("SELECT ?s { { ?s :p ?o } UNION { GRAPH ?g { ?s :p ?o } } }"), ["s=a", "s=b", "s=d"]);
}

#[test]
fn where_may_see_the_union_of_all_graphs() {
    let fixture = Fixture::new(":d :p 0 . GRAPH :g { :a :p 1 }");
    let all = update("INSERT { ?s :seen true } WHERE { ?s :p ?o }").union_default_graph(true);
    all.execute(&fixture.store).expect("updated");
    assert_eq!(fixture.rows("SELECT ?s { ?s :seen true }"), ["s=a", "s=d"]);
}

#[test]
fn graphs_are_created_once_and_dropped_with_their_quads() {
    let fixture = Fixture::new("GRAPH :g { :a :p 1 }");
    fixture.update("CREATE GRAPH :empty");
    assert!(matches!(fixture.try_update("CREATE GRAPH :empty"), Err(Error::Graph { .. })));
    assert!(matches!(fixture.try_update("CREATE GRAPH :g"), Err(Error::Graph { .. })));
    fixture.update("CREATE SILENT GRAPH :g ; DROP GRAPH :g");
    assert_eq!(fixture.rows("SELECT ?g { GRAPH ?g {} }"), ["g=empty"]);
    assert!(matches!(fixture.try_update("DROP GRAPH :g"), Err(Error::Graph { .. })));
    fixture.update("DROP SILENT GRAPH :g");
    assert!(fixture.quads().is_empty());
}

#[test]
fn clear_takes_quads_and_leaves_graphs() {
    let fixture = Fixture::new(":d :p 0 . GRAPH :g { :a :p 1 } GRAPH :h { :b :p 2 }");
    assert_eq!(fixture.update("CLEAR GRAPH :g").removed, 1);
    assert_eq!(fixture.rows("SELECT ?g { GRAPH ?g {} }"), ["g=g", "g=h"]);
    assert_eq!(fixture.update("CLEAR DEFAULT").removed, 1);
    assert_eq!(fixture.quads(), ["s=b p=p o=\"2\" g=h"]);
    assert_eq!(fixture.update("CLEAR NAMED").removed, 1);
    assert_eq!(fixture.rows("SELECT ?g { GRAPH ?g {} }"), ["g=g", "g=h"]);
    fixture.update("INSERT DATA { :x :p 1 . GRAPH :g { :x :p 2 } } ; DROP ALL");
    assert!(fixture.quads().is_empty());
    assert!(!fixture.ask("ASK { GRAPH ?g {} }"));
}

#[test]
fn drop_named_and_drop_default_take_their_own() {
    let fixture = Fixture::new(":d :p 0 . GRAPH :g { :a :p 1 }");
    fixture.update("DROP DEFAULT");
    assert_eq!(fixture.quads(), ["s=a p=p o=\"1\" g=g"]);
    fixture.update("DROP NAMED");
    assert!(!fixture.ask("ASK { GRAPH ?g {} }"));
}

#[test]
fn graphs_are_added_copied_and_moved() {
    let quads = ":d :p 0 . GRAPH :g { :a :p 1 } GRAPH :h { :b :p 2 }";
    let added = Fixture::new(quads);
    added.update("ADD :g TO :h ; ADD DEFAULT TO :g");
    assert_eq!(added.rows("SELECT ?s { GRAPH :h { ?s :p ?o } }"), ["s=a", "s=b"]);
    assert_eq!(added.rows("SELECT ?s { GRAPH :g { ?s :p ?o } }"), ["s=a", "s=d"]);
    let copied = Fixture::new(quads);
    copied.update("COPY :g TO :h");
    assert_eq!(copied.rows("SELECT ?s { GRAPH :h { ?s :p ?o } }"), ["s=a"]);
    assert_eq!(copied.rows("SELECT ?s { GRAPH :g { ?s :p ?o } }"), ["s=a"]);
    let moved = Fixture::new(quads);
    moved.update("MOVE :g TO DEFAULT");
    assert_eq!(moved.quads(), ["s=a p=p o=\"1\"", "s=b p=p o=\"2\" g=h"]);
    let same = Fixture::new(quads);
    same.update("COPY :g TO :g ; MOVE :h TO :h");
    assert_eq!(same.quads().len(), 3);
}

#[test]
fn load_reads_files_only_where_that_is_allowed() {
    let fixture = Fixture::new("");
    let file = fixture.directory.path().join("some data.ttl");
    std::fs::write(&file, "@prefix e: <http://example.org/> . e:a e:p 1 , _:x .").expect("written");
    let iri = format!("file://{}", file.display().to_string().replace(' ', "%20"));
    let text = format!("LOAD <{iri}> INTO GRAPH :g");
    assert!(matches!(fixture.try_update(&text), Err(Error::LoadRefused { .. })));
    let report = update(&text).loads_files(true).execute(&fixture.store).expect("loaded");
    assert_eq!(report.inserted, 2);
    assert_eq!(fixture.rows("SELECT ?s { GRAPH :g { ?s :p 1 } }"), ["s=a"]);
    let namespaces = fixture.store.snapshot().and_then(|snapshot| snapshot.namespaces()).expect("they are read");
    assert!(namespaces.contains(&("e".into(), "http://example.org/".into())), "{namespaces:?}");
    let remote = update("LOAD <http://example.org/data.ttl>").loads_files(true).execute(&fixture.store);
    assert!(matches!(remote, Err(Error::LoadRefused { .. })), "{remote:?}");
}

#[test]
fn a_load_that_fails_changes_nothing_and_silent_passes_over_it() {
    let fixture = Fixture::new(":a :p 1 .");
    let file = fixture.directory.path().join("broken.nt");
    std::fs::write(&file, "<http://example.org/b> <http://example.org/p> \"x\" .\nthis is not a triple\n")
        .expect("written");
    let text = format!("LOAD <file://{}>", file.display());
    let error = update(&text).loads_files(true).execute(&fixture.store).expect_err("broken");
    assert!(matches!(error, Error::Syntax { line: 2, .. }), "{error:?}");
    let silent = format!("{} ; INSERT DATA {{ :c :p 3 }}", text.replace("LOAD", "LOAD SILENT"));
    update(&silent).loads_files(true).execute(&fixture.store).expect("passed over");
    assert_eq!(fixture.quads(), ["s=a p=p o=\"1\"", "s=c p=p o=\"3\""]);
    let missing = update("LOAD <file:///no/such/file.ttl>").loads_files(true).execute(&fixture.store);
    assert!(matches!(missing, Err(Error::Input { .. })), "{missing:?}");
}

#[test]
fn a_load_of_json_ld_with_an_invalid_iri_is_an_error_as_one_of_turtle_is() {
    let fixture = Fixture::new(":a :p 1 .");
    let json = r#"[{"@id":"http://example.org/b","x:p":"v"},{"@id":"x:b c","x:p":"v"}]"#;
    for (name, text) in [("bad.jsonld", json), ("bad.ttl", "<x:b c> <http://example.org/p> 1 .")] {
        let file = fixture.directory.path().join(name);
        std::fs::write(&file, text).expect("written");
        let load = update(&format!("LOAD <file://{}>", file.display())).loads_files(true);
        let error = load.execute(&fixture.store).expect_err(name);
        assert!(matches!(error, Error::Syntax { .. }), "{name}: {error}");
        assert_eq!(fixture.quads(), ["s=a p=p o=\"1\""], "{name}");
    }
}

#[test]
fn updates_of_many_threads_all_take_effect() {
    let fixture = Fixture::new(":counter :value 0 .");
    let increment = update("DELETE { ?c :value ?v } INSERT { ?c :value ?w } WHERE { ?c :value ?v BIND(?v + 1 AS ?w) }");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    increment.execute(&fixture.store).expect("updated");
                }
            });
        }
    });
    assert_eq!(fixture.rows("SELECT ?v { :counter :value ?v }"), ["v=\"40\""]);
}

#[test]
fn templates_make_new_blank_nodes_for_each_row_and_keep_stored_ones() {
    let fixture = Fixture::new(":a :p 1 . :b :p 2 . _:x :r 5 .");
    fixture.update("INSERT { [] :from ?s } WHERE { ?s :p ?o }");
    assert_eq!(fixture.rows("SELECT (COUNT(DISTINCT ?x) AS ?n) { ?x :from ?s }"), ["n=\"2\""]);
    fixture.update("INSERT { ?x :also 6 } WHERE { ?x :r 5 }");
    assert_eq!(fixture.rows("SELECT ?n { ?x :r 5 ; :also ?n }"), ["n=\"6\""]);
}

#[test]
fn templates_leave_out_quads_that_would_be_none() {
    let fixture = Fixture::new(":a :p 1 . :b :p :c .");
    let report = fixture.update("INSERT { ?o :q ?s } WHERE { ?s :p ?o }");
    assert_eq!(report.inserted, 1);
    assert_eq!(fixture.rows("SELECT ?s { ?s :q ?o }"), ["s=c"]);
}

#[test]
fn an_update_that_nests_deep_is_executed() {
    let fixture = Fixture::new(":a :p 1 .");
    let nested = format!("INSERT {{ ?s :q ?o }} WHERE {{ {}?s :p ?o{} }}", "{ SELECT * {".repeat(60), "} }".repeat(60));
    assert_eq!(fixture.update(&nested).inserted, 1);
    let rows = rows_of(&query("SELECT ?o { :a :q ?o }"), &fixture.snapshot()).expect("rows");
    assert_eq!(rows, ["o=\"1\""]);
}

#[test]
fn loads_resolve_bases_with_dots_and_write_xml_canonically() {
    let rdf = r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">
        <rdf:Description rdf:about="http://example.org/s"><e:p rdf:parseType="Literal"><br b="2" a="1"/></e:p></rdf:Description></rdf:RDF>"#;
    let json = r#"{"@context":{"@base":"http://example.org/x/../"},"@id":"s","http://example.org/p":{"@id":"o"}}"#;
    let turtle = "<s> <p> <o> .";
    for (name, text, format, expected) in [
        (
            "a.rdf",
            rdf,
            RdfFormat::RdfXml,
            "s=s o=\"<br a=\\\"1\\\" b=\\\"2\\\"></br>\"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral>",
        ),
        ("a.jsonld", json, RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() }, "s=s o=o"),
        ("a.ttl", turtle, RdfFormat::Turtle, "s=s o=o"),
    ] {
        let rows = |fixture: &Fixture| fixture.rows("SELECT ?s ?o { ?s :p ?o }");
        let fixture = Fixture::new("");
        let bytes = std::io::Cursor::new(text.as_bytes().to_vec());
        let input = LoadInput::reader(name, bytes, format).base("http://example.org/y/./../z");
        fixture.store.load(vec![input], &LoadOptions::new()).expect("loaded");
        assert_eq!(rows(&fixture), [expected], "{name}");
        if format != RdfFormat::Turtle {
            let fixture = Fixture::new("");
            let path = fixture.directory.path().join(name);
            std::fs::write(&path, text).expect("written");
            let load = update(&format!("LOAD <file://{}>", path.display())).loads_files(true);
            load.execute(&fixture.store).expect("loaded");
            assert_eq!(rows(&fixture), [expected], "{name}");
        }
    }
    let based = Query::parse("SELECT ?o { <s> <p> ?o }", Some("http://example.org/./x/../"));
    let fixture = Fixture::new(":s :p 1 .");
    assert_eq!(rows_of(&based.expect("a query"), &fixture.snapshot()).expect("rows"), ["o=\"1\""]);
}

#[test]
fn each_operation_has_the_base_and_the_prefixes_that_are_declared_before_it() {
    let fixture = Fixture::new("");
    fixture.update(
        "PREFIX x: <http://example.org/one/> INSERT DATA { x:a :p 1 } ;
         INSERT DATA { x:b :p 2 } ; # a comment; with PREFIX x: <a:>
         PREFIX x: <http://example.org/two/> PREFIX y: <http://example.org/y> INSERT DATA { x:c :p 'a; PREFIX' } ;
         base <http://example.org/b/> INSERT DATA { <d> :p y: } ;
         BASE <c/> PREFIX z: <z\\u002F> INSERT DATA { <e> z:f x:g } ;
         INSERT { ?s :q ?iri } WHERE { ?s :p y: BIND(IRI('here') AS ?iri) } ;
         BASE <http://example.org/> VERSION '1.2' INSERT { ?s :q ?iri } WHERE { ?s :p 2 BIND(IRI('there') AS ?iri) } ;",
    );
    assert_eq!(
        fixture.quads(),
        [
            "s=b/c/e p=b/c/z/f o=two/g",
            "s=b/d p=p o=y",
            "s=b/d p=q o=b/c/here",
            "s=one/a p=p o=\"1\"",
            "s=one/b p=p o=\"2\"",
            "s=one/b p=q o=there",
            "s=two/c p=p o=\"a; PREFIX\"",
        ]
    );
}

#[test]
fn an_operation_does_not_see_declarations_behind_it() {
    let fixture = Fixture::new("");
    for text in [
        "INSERT DATA { x:a :p 1 } ; PREFIX x: <a:> CLEAR ALL",
        "CLEAR ALL ; INSERT DATA { <a> :p 1 } ; BASE <a:b/> CLEAR ALL",
        "CLEAR ALL ; PREFIX x: <a:> INSERT DATA { <a> :p 1 }",
    ] {
        let error = fulgurite_rdf::sparql::Update::parse_with_prefixes(text, None, &crate::fixture::prefixes());
        assert!(matches!(error, Err(Error::SparqlSyntax { .. })), "{text}: {error:?}");
    }
    assert_eq!(fixture.quads(), [""; 0]);
}

#[test]
fn a_label_is_another_node_in_each_operation_after_a_declaration() {
    let fixture = Fixture::new("");
    fixture.update(
        "INSERT DATA { _:a :p 1 . _:a :q 1 } ; PREFIX x: <a:> INSERT { _:a :p 2 } WHERE {} ;
         PREFIX y: <a:> INSERT { _:a :p 3 } WHERE {}",
    );
    assert_eq!(fixture.rows("SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s :p ?o }"), ["n=\"3\""]);
}

#[test]
fn the_caller_says_which_graphs_a_change_without_a_graph_is_for() {
    let everywhere = DefaultTargets { delete: DeletedFrom::AllGraphs, ..DefaultTargets::default() };
    let of_g = DefaultTargets { insert: name("g").into(), delete: DeletedFrom::Graphs(vec![name("g").into()]) };
    let here = DefaultTargets::default();
    for (targets, text, expected) in [
        (&here, "DELETE DATA { :a :p 1 }", "g h"),
        (&everywhere, "DELETE DATA { :a :p 1 }", ""),
        (&everywhere, "DELETE DATA { GRAPH :h { :a :p 1 } }", "- g"),
        (&of_g, "DELETE DATA { :a :p 1 }", "- h"),
        (&here, "DELETE WHERE { ?s ?p ?o }", "g h"),
        (&everywhere, "DELETE WHERE { ?s ?p ?o }", ""),
        (&everywhere, "WITH :g DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "- h"),
        (&of_g, "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "- h"),
        (&of_g, "DELETE DATA { :a :p 1 } ; INSERT DATA { :a :p 1 }", "- g h"),
        (&of_g, "DELETE DATA { GRAPH :g { :a :p 1 } } ; INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }", "- g h"),
    ] {
        let fixture = Fixture::new(":a :p 1 . GRAPH :g { :a :p 1 } GRAPH :h { :a :p 1 }");
        let update = update(text).with_default_targets(targets.clone()).union_default_graph(true);
        update.execute(&fixture.store).unwrap_or_else(|error| panic!("{text}: {error}"));
        let quads = fixture.quads();
        let mut graphs: Vec<&str> =
            quads.iter().map(|quad| quad.rsplit_once("g=").map_or("-", |(_, graph)| graph)).collect();
        graphs.sort();
        assert_eq!(graphs.join(" "), expected, "{text}, {targets:?}");
    }
}
