//! Stores of quads: what is loaded is found and dumped again, what is wrong with a file is named with its place, and
//! verbs leave alone what is none of their business.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};

use crate::fixture::TestDirectory;

const PEOPLE: &str = "\
@prefix ex: <http://example.org/> .
ex:ada ex:name \"Ada\" ; ex:born 1815 ; ex:knows ex:charles .
ex:charles ex:name \"Charles\"@en ; ex:born \"01791\"^^<http://www.w3.org/2001/XMLSchema#integer> .
";

/// Quads of all kinds, sorted.
const QUADS: &str = "\
<http://example.org/a> <http://example.org/p> \"01\"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://example.org/a> <http://example.org/p> \"a line\\nand a very long text that fits into no number of a term\" .
<http://example.org/a> <http://example.org/p> \"x\"@en <http://example.org/g> .
<http://example.org/a> <http://example.org/p> <<( <http://example.org/a> <http://example.org/p> \"1.50\"^^<http://www.w3.org/2001/XMLSchema#decimal> )>> <http://example.org/g> .
";

fn with_people() -> TestDirectory {
    let place = TestDirectory::new();
    place.file("people.ttl", PEOPLE);
    place.run(&["rdf", "load", "people.ful", "people.ttl", "--create"]).ok();
    place
}

#[test]
fn the_image_of_a_store_answers_as_the_store_does_and_is_not_changed() {
    let place = with_people();
    place.run(&["image", "people.ful", "people.image"]).ok();
    let query = "SELECT ?s ?o { ?s <http://example.org/name> ?o } ORDER BY ?o";
    for arguments in [&["query", "FILE", query][..], &["dump", "FILE"], &["check", "FILE"]] {
        let [store, image] = ["people.ful", "people.image"].map(|file| {
            let arguments = arguments.iter().map(|word| if *word == "FILE" { file } else { word });
            place.run(&[&["rdf"], &arguments.collect::<Vec<_>>()[..]].concat()).ok()
        });
        assert_eq!(store, image, "{arguments:?}");
    }
    let message = place.run(&["rdf", "load", "people.image", "people.ttl"]).fails(1);
    assert!(message.contains("make a database of it with `fulgurite restore`"), "{message}");
}

#[test]
fn answers_come_in_every_form() {
    let place = with_people();
    let select =
        "PREFIX ex: <http://example.org/> SELECT ?name ?born { ?p ex:name ?name ; ex:born ?born } ORDER BY ?born";
    let answer = |query: &str, format: &str| place.run(&["rdf", "query", "people.ful", query, "--format", format]).ok();
    assert_eq!(answer(select, "csv"), "name,born\r\nCharles,01791\r\nAda,1815\r\n");
    assert!(answer(select, "tsv").starts_with("?name\t?born\n\"Charles\"@en\t"));
    assert!(answer(select, "json").contains("\"xml:lang\":\"en\""));
    assert!(answer(select, "xml").contains("<literal xml:lang=\"en\">Charles</literal>"));
    let table = place.run(&["rdf", "query", "people.ful", select]);
    assert_eq!(table.text(), "name          born\n\"Charles\"@en  01791\n\"Ada\"         1815\n");
    assert!(table.messages.starts_with("2 rows in "), "{}", table.messages);
    assert_eq!(answer("ASK { ?s <http://example.org/born> 1815 }", "table"), "true\n");
    let triples = "CONSTRUCT { ?o <x:knownBy> ?s } { ?s <http://example.org/knows> ?o }";
    let expected = "<http://example.org/charles> <x:knownBy> <http://example.org/ada> .\n";
    assert_eq!(answer(triples, "nt"), expected);
    let with_prefixes = "@prefix ex: <http://example.org/> .\nex:charles <x:knownBy> ex:ada .\n";
    assert_eq!(answer(triples, "table"), with_prefixes);
    for (query, format) in [(select, "nt"), (triples, "csv")] {
        let refused = place.run(&["rdf", "query", "people.ful", query, "--format", format]).fails(1);
        assert!(refused.contains("--format"), "{refused}");
    }
}

#[test]
fn what_is_dumped_is_what_was_loaded() {
    let place = TestDirectory::new();
    place.file("quads.nq", QUADS);
    place.run(&["rdf", "load", "first.ful", "quads.nq", "--create"]).ok();
    let sorted = |text: String| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.join("\n") + "\n"
    };
    let expected = sorted(QUADS.to_owned());
    assert_eq!(sorted(place.run(&["rdf", "dump", "first.ful"]).ok()), expected);
    for format in ["nq", "trig", "jsonld"] {
        let file = format!("dump.{format}");
        // JSON-LD knows no triple terms.
        if format == "jsonld" {
            let delete = "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }";
            place.run(&["rdf", "update", "first.ful", delete]).ok();
        }
        place.run(&["rdf", "dump", "first.ful", &file]).ok();
        let store = format!("{format}.ful");
        place.run(&["rdf", "load", &store, &file, "--create"]).ok();
        let again = sorted(place.run(&["rdf", "dump", &store]).ok());
        assert_eq!(again, sorted(place.run(&["rdf", "dump", "first.ful"]).ok()), "{format}");
    }
}

#[test]
fn prefixes_of_what_was_loaded_shorten_what_is_dumped_and_need_not_be_declared() {
    let place = with_people();
    let dumped = place.run(&["rdf", "dump", "people.ful", "--format", "ttl"]).ok();
    assert!(dumped.starts_with("@prefix ex: <http://example.org/> .\n") && dumped.contains("ex:ada ex:"), "{dumped}");
    let asked = place.run(&["rdf", "query", "people.ful", "ASK { ex:ada ex:born 1815 }"]).ok();
    assert_eq!(asked, "true\n");
    place.file("other.ttl", "@prefix ex: <http://other.example/> . ex:a ex:p 1 .");
    place.run(&["rdf", "load", "people.ful", "other.ttl"]).ok();
    assert_eq!(place.run(&["rdf", "query", "people.ful", "ASK { ex:ada ex:born 1815 }"]).ok(), "true\n");
}

#[test]
fn a_form_without_graphs_takes_one_graph_and_never_drops_the_others() {
    let place = TestDirectory::new();
    place.file("quads.nq", QUADS);
    place.run(&["rdf", "load", "a.ful", "quads.nq", "--create"]).ok();
    let refused = place.run(&["rdf", "dump", "a.ful", "--format", "nt"]).fails(1);
    assert!(refused.contains("named graphs"), "{refused}");
    let default = place.run(&["rdf", "dump", "a.ful", "--format", "nt", "--default-graph"]).ok();
    assert_eq!(default.lines().count(), 2);
    let named = place.run(&["rdf", "dump", "a.ful", "--format", "nt", "--graph", "http://example.org/g"]).ok();
    assert!(named.lines().count() == 2 && named.contains("\"x\"@en .\n"), "{named}");
    let missing = place.run(&["rdf", "dump", "a.ful", "--graph", "http://example.org/no"]).fails(1);
    assert!(missing.contains("no graph <http://example.org/no>"), "{missing}");
}

#[test]
fn a_bad_line_is_named_and_nothing_is_loaded_unless_it_may_be_passed_over() {
    let place = TestDirectory::new();
    place.file("bad.nt", "<x:a> <x:p> \"1\" .\n<x:a> <x:p> nonsense .\n<x:a> <x:p> \"3\" .\n");
    let message = place.run(&["rdf", "load", "a.ful", "bad.nt", "--create"]).fails(1);
    assert!(message.starts_with("nothing was loaded: bad.nt:2:"), "{message}");
    assert_eq!(place.names(), ["bad.nt"]);
    let lenient = place.run(&["rdf", "load", "a.ful", "bad.nt", "--create", "--lenient"]);
    assert_eq!(lenient.code, 0, "{lenient:?}");
    assert!(lenient.messages.starts_with("skipped bad.nt:2:"), "{}", lenient.messages);
    assert!(lenient.messages.contains("1 bad statement skipped"), "{}", lenient.messages);
    assert_eq!(place.run(&["rdf", "dump", "a.ful"]).ok().lines().count(), 2);
}

/// The link was removed, and the file that it leads to was left.
#[cfg(unix)]
#[test]
fn what_a_failed_verb_has_created_through_a_link_is_removed_and_the_link_stays() {
    let place = TestDirectory::new();
    place.file("bad.nt", "oops\n");
    place.file("bad.ndjson", "oops\n");
    std::os::unix::fs::symlink("real.ful", place.path("link.ful")).unwrap();
    for verb in [
        &["rdf", "load", "link.ful", "bad.nt", "--create"][..],
        &["rdf", "update", "link.ful", "oops", "--create"],
        &["import", "link.ful", "t", "bad.ndjson", "--create"],
    ] {
        place.run(verb).fails(1);
        assert_eq!(place.names(), ["bad.ndjson", "bad.nt", "link.ful"], "{verb:?}");
    }
    place.file("good.nt", "<x:a> <x:p> \"1\" .\n");
    place.run(&["rdf", "load", "link.ful", "good.nt", "--create"]).ok();
    place.run(&["rdf", "load", "link.ful", "bad.nt", "--create"]).fails(1);
    assert_eq!(place.names(), ["bad.ndjson", "bad.nt", "good.nt", "link.ful", "real.ful"]);
}

#[test]
fn inputs_may_be_several_packed_or_piped_and_go_to_the_graph_that_is_asked_for() {
    let place = TestDirectory::new();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(b"<x:packed> <x:p> <x:o> .\n").unwrap();
    place.file("a.nt.gz", packer.finish().unwrap());
    place.file("b.ttl", "<piece> <x:p> <x:o> .");
    let base = ["rdf", "load", "a.ful", "a.nt.gz", "b.ttl", "--create", "--graph", "x:g", "--base", "http://base/"];
    place.run(&base).ok();
    let piped = ["rdf", "load", "a.ful", "-", "--format", "nt"];
    place.run_with_input(&piped, b"<x:piped> <x:p> <x:o> .\n").ok();
    let quads = place.run(&["rdf", "dump", "a.ful"]).ok();
    for quad in
        ["<x:packed> <x:p> <x:o> <x:g> .\n", "<http://base/piece> <x:p> <x:o> <x:g> .\n", "<x:piped> <x:p> <x:o> .\n"]
    {
        assert!(quads.contains(quad), "{quad} in {quads}");
    }
    let message = place.run(&["rdf", "load", "a.ful", "-"]).fails(1);
    assert!(message.ends_with("give --format"), "{message}");
}

#[test]
fn an_update_is_carried_out_whole_or_not_at_all() {
    let place = with_people();
    let count =
        || place.run(&["rdf", "query", "people.ful", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "--format", "csv"]).ok();
    assert_eq!(count(), "n\r\n5\r\n");
    place.run(&["rdf", "update", "people.ful", "INSERT DATA { <x:a> <x:p> 1, 2 }"]).ok();
    assert_eq!(count(), "n\r\n7\r\n");
    let halfway = "INSERT DATA { <x:a> <x:p> 3 } ; DROP GRAPH <x:none>";
    let message = place.run(&["rdf", "update", "people.ful", halfway]).fails(1);
    assert!(message.contains("x:none"), "{message}");
    assert_eq!(count(), "n\r\n7\r\n");
    place.file("delete.ru", "DELETE WHERE { <x:a> ?p ?o }");
    place.run(&["rdf", "update", "people.ful", "--file", "delete.ru"]).ok();
    assert_eq!(count(), "n\r\n5\r\n");
}

#[test]
fn without_a_store_verbs_fail_and_create_nothing() {
    let place = TestDirectory::new().with_fruit("fruit.ful");
    place.file("in.nt", "<x:a> <x:p> <x:o> .\n");
    let names = place.names();
    for verb in [
        &["load", "no.ful", "in.nt"][..],
        &["query", "no.ful", "ASK {}"],
        &["update", "no.ful", "CLEAR ALL"],
        &["dump", "no.ful"],
        &["stats", "no.ful"],
        &["check", "no.ful"],
    ] {
        let message = place.run(&[&["rdf"], verb].concat()).fails(1);
        assert!(message.contains("no.ful: no such database; check the path"), "{verb:?} {message}");
        assert_eq!(message.ends_with("--create"), matches!(verb[0], "load" | "update"), "{message}");
        let other: Vec<&str> = verb.iter().map(|word| if *word == "no.ful" { "fruit.ful" } else { word }).collect();
        let message = place.run(&[&["rdf"], other.as_slice()].concat()).fails(1);
        assert!(message.contains("fruit.ful: a database, but not an RDF store"), "{verb:?} {message}");
        assert_eq!(place.names(), names, "{verb:?}");
    }
    assert_eq!(place.run(&["get", "fruit.ful", "fruit", "apple"]).ok(), "red\n");
}

#[test]
fn verbs_that_read_write_nothing() {
    let place = with_people();
    let before = place.read("people.ful");
    for verb in [
        &["query", "people.ful", "ASK {}"][..],
        &["dump", "people.ful"],
        &["stats", "people.ful"],
        &["check", "people.ful"],
    ] {
        place.run(&[&["rdf"], verb].concat()).ok();
        assert!(place.read("people.ful") == before, "{verb:?}");
    }
    let query = ["rdf", "query", "people.ful", "INSERT DATA { <x:a> <x:p> 1 }"];
    place.run(&query).fails(1);
    assert!(place.read("people.ful") == before);
    assert_eq!(place.names(), ["people.ful", "people.ttl"]);
}

#[test]
fn a_query_that_would_run_for_hours_is_stopped_by_its_limits() {
    let place = TestDirectory::new();
    let triples: String = (0..300).map(|number| format!("<x:{number}> <x:p> <x:{}> .\n", number * 7 % 300)).collect();
    place.file("a.nt", triples);
    place.run(&["rdf", "load", "a.ful", "a.nt", "--create"]).ok();
    let product = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h FILTER (?a != ?c && ?e != ?g) }";
    let message = place.run(&["rdf", "query", "a.ful", product, "--timeout", "0.2"]).fails(1);
    assert!(message.contains("after 0.2 s"), "{message}");
    let pairs = "SELECT ?a { ?a ?p ?b . ?c ?q ?d } ORDER BY ?d ?b";
    let message = place.run(&["rdf", "query", "a.ful", pairs, "--memory-max", "1"]).fails(1);
    assert_eq!(message, "more than 1 MiB of memory; raise --memory-max, or ask for less");
    let sorted = place.run(&["rdf", "query", "a.ful", pairs, "--format", "csv", "--memory-max", "200"]).ok();
    assert_eq!(sorted.lines().count(), 300 * 300 + 1);
    let inserted = "INSERT { ?a <x:q> ?d } WHERE { ?a ?p ?b . ?c ?q ?d }";
    let message = place.run(&["rdf", "update", "a.ful", inserted, "--memory-max", "1"]).fails(1);
    assert_eq!(message, "more than 1 MiB of memory; raise --memory-max, or ask for less");
    place.run(&["rdf", "update", "a.ful", inserted, "--memory-max", "200"]).ok();
    let rows = ["rdf", "query", "a.ful", "SELECT * { ?s ?p ?o }", "--format", "csv", "--rows-max", "10"];
    let run = place.run(&rows);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.messages.contains("more than 10 rows; raise --rows-max"), "{run:?}");
}

#[test]
fn mistakes_in_sparql_are_told_with_their_place() {
    let place = with_people();
    let message = place.run(&["rdf", "query", "people.ful", "SELECT ?s WHERE {\n ?s ?p }"]).fails(1);
    assert!(message.contains("line 2"), "{message}");
    let run = place.run(&["rdf", "query", "people.ful"]);
    assert_eq!(run.code, 2, "{run:?}");
    let run = place.run(&["rdf", "query", "people.ful", "ASK {}", "--file", "x.rq"]);
    assert_eq!(run.code, 2, "{run:?}");
}

#[test]
fn explain_tells_the_rows_of_each_step_instead_of_the_answer() {
    let place = with_people();
    let query = "SELECT ?name { ?p <http://example.org/name> ?name ; <http://example.org/knows> ?other }";
    let told = place.run(&["rdf", "query", "people.ful", query, "--explain"]).ok();
    assert!(told.contains("<http://example.org/knows>") && !told.contains("Ada"), "{told}");
    assert!(told.contains("\nmemory: peak "), "{told}");
}

#[test]
fn stats_tell_the_quads_of_each_graph() {
    let place = TestDirectory::new();
    place.file("quads.nq", QUADS);
    place.run(&["rdf", "load", "a.ful", "quads.nq", "--create"]).ok();
    let stats = place.run(&["rdf", "stats", "a.ful", "--format", "csv"]).ok();
    assert!(
        stats.starts_with("kind,name,quads,entries\ngraph,default,2,\ngraph,<http://example.org/g>,2,\n"),
        "{stats}"
    );
    assert!(stats.contains("\ntable,spo,,2\n"), "{stats}");
    let text = place.run(&["rdf", "stats", "a.ful"]).ok();
    let size = format!("\n4 quads, 6 terms in the dictionary; {:.1} KiB, ", place.read("a.ful").len() as f64 / 1024.0);
    assert!(text.contains(&size), "{text} {size}");
}

#[test]
fn check_tells_what_is_wrong_with_a_store_and_fails_as_damage_does() {
    let place = with_people();
    let sound = place.run(&["rdf", "check", "people.ful"]).ok();
    assert!(sound.starts_with("sound: ") && sound.contains(" unused), ") && !sound.contains("log"), "{sound}");
    place.crash("people.ful", 2);
    let sound = place.run(&["rdf", "check", "people.ful"]).ok();
    assert!(sound.starts_with("sound: ") && sound.ends_with(" changed keys in the log only\n"), "{sound}");
    let database = fulgurite::Database::open(place.path("people.ful")).unwrap();
    let spo = database.open_table("spo").unwrap();
    database.update(|txn| txn.put(&spo, b"not a quad", b"")).unwrap();
    database.close().unwrap();
    let run = place.run(&["rdf", "check", "people.ful"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.text().contains("table `spo`, key 0x6e6f7420612071756164: it is not a quad"), "{run:?}");
    assert!(run.messages.contains("damaged place"), "{run:?}");
}

#[test]
fn a_damaged_page_of_a_store_is_one_row_of_its_check() {
    let place = with_people();
    let sound = place.read("people.ful");
    // Without some pages the store cannot be opened.
    let listed = (1..sound.len() / 16384).find_map(|page| {
        let mut bytes = sound.clone();
        bytes[page * 16384 + 16000] ^= 1;
        place.file("people.ful", bytes);
        Some(place.run(&["rdf", "check", "people.ful"])).filter(|run| run.text().starts_with("damage\n"))
    });
    let run = listed.expect("a page of an index");
    assert_eq!(run.text().lines().count(), 2, "{run:?}");
    let message = run.fails(3);
    assert!(message.contains(": 1 damaged place; restore a backup, or save what is sound: "), "{message}");
}

#[test]
fn plain_verbs_read_the_tables_of_a_store_and_do_not_change_them() {
    let place = with_people();
    place.file("in.csv", "key,value\na,1\n");
    let before = place.read("people.ful");
    let refused = "people.ful: this is an RDF store, whose tables must be changed together; \
                   change it with `fulgurite rdf load` or `fulgurite rdf update`, or choose another file";
    for verb in [
        &["put", "people.ful", "spo", "not a quad", ""][..],
        &["put", "people.ful", "meta", "format", "fulgurite-rdf 2"],
        &["put", "people.ful", "inferred_spo", "k", "v", "--create"],
        &["put", "people.ful", "another", "k", "v", "--create"],
        &["import", "people.ful", "terms", "in.csv"],
        &["import", "people.ful", "another", "in.csv", "--create"],
        &["del", "people.ful", "meta", "format"],
        &["del", "people.ful", "spo", "--prefix", "", "--yes"],
    ] {
        let message = place.run(verb).fails(1);
        assert!(message.ends_with(refused), "{verb:?} {message}");
        assert!(place.read("people.ful") == before, "{verb:?} has written");
    }
    assert_eq!(place.run(&["get", "people.ful", "meta", "format"]).ok(), "fulgurite-rdf 1\n");
    for verb in [&["tables", "people.ful"][..], &["count", "people.ful", "spo"], &["scan", "people.ful", "spo"]] {
        place.run(verb).ok();
    }
    place.run(&["compact", "people.ful"]).ok();
    assert!(place.run(&["rdf", "check", "people.ful"]).ok().starts_with("sound: "));
}

#[test]
fn a_table_that_only_looks_like_one_of_a_store_can_be_changed() {
    let place = TestDirectory::new();
    place.run(&["put", "a.ful", "meta", "format", "of ours", "--create"]).ok();
    place.run(&["put", "a.ful", "spo", "k", "v", "--create"]).ok();
    assert_eq!(place.run(&["get", "a.ful", "spo", "k"]).ok(), "v\n");
}

#[test]
fn a_second_writer_is_told_the_first_ones_pid() {
    let place = with_people();
    let mut writer = place.spawn(&["rdf", "load", "people.ful", "-", "--format", "nt"]);
    // It has the store open before it reads to the end.
    let mut pipe = writer.stdin.take().unwrap();
    pipe.write_all("<x:a> <x:p> <x:o> .\n".repeat(100_000).as_bytes()).unwrap();
    let second = place.run(&["rdf", "update", "people.ful", "CLEAR ALL"]).fails(4);
    assert!(second.contains(&format!("(pid {})", writer.id())), "{second}");
    drop(pipe);
    let mut told = String::new();
    BufReader::new(writer.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert!(told.starts_with("100,000 statements loaded"), "{told}");
    assert!(writer.wait().unwrap().success());
}

#[test]
fn unused_terms_are_counted_and_swept() {
    let place = TestDirectory::new();
    let subject = "<http://e.org/x/a> <http://e.org/x/p>";
    place.file("a.nt", format!("{subject} \"a text of some length\" .\n{subject} <http://e.org/x/b> .\n"));
    place.run(&["rdf", "load", "a.ful", "a.nt", "--create"]).ok();
    assert!(!place.run(&["rdf", "stats", "a.ful"]).ok().contains("unused"));
    assert!(place.run(&["rdf", "stats", "a.ful", "--unused"]).ok().contains("4 terms in the dictionary (0 unused)"));
    place.run(&["rdf", "update", "a.ful", "DELETE WHERE { ?s ?p <http://e.org/x/b> }"]).ok();
    let rows = place.run(&["rdf", "stats", "a.ful", "--unused", "--format", "csv"]).ok();
    assert!(rows.contains("unused,terms,,1"), "{rows}");
    let swept = place.run(&["rdf", "sweep", "a.ful"]);
    assert!(swept.messages.starts_with("1 term of 4 removed in "), "{}", swept.messages);
    let check = place.run(&["rdf", "check", "a.ful"]).ok();
    assert!(check.contains("1 quad, 3 terms (0 unused)"), "{check}");
    place.run(&["rdf", "sweep", "none.ful"]).fails(1);
}

#[test]
fn inferred_quads_are_shown_and_are_dumped_when_they_are_asked_for() {
    use fulgurite_rdf::oxrdf::{GraphName, NamedNode, Quad};

    let place = TestDirectory::new();
    let node = |name: &str| NamedNode::new_unchecked(format!("http://e.org/{name}"));
    let quad = |name: &str| Quad::new(node(name), node("is"), node("animal"), GraphName::DefaultGraph);
    let options = fulgurite_rdf::StoreOptions::new();
    let store = fulgurite_rdf::Store::create(place.path("a.ful"), options).expect("a new store");
    store.update(|txn| Ok((txn.insert(&quad("dog"))?, txn.insert_inferred(&quad("cat"))?))).expect("it is committed");
    store.close().expect("it closes");
    let rows = |more: &[&str]| {
        let base = ["rdf", "query", "a.ful", "SELECT ?s { ?s ?p ?o }", "--format", "csv"];
        place.run(&[&base[..], more].concat()).ok().lines().count() - 1
    };
    assert_eq!((rows(&[]), rows(&["--explicit"])), (2, 1));
    let dumped = |more: &[&str]| place.run(&[&["rdf", "dump", "a.ful"][..], more].concat()).ok();
    assert_eq!(dumped(&[]), "<http://e.org/dog> <http://e.org/is> <http://e.org/animal> .\n");
    assert_eq!(dumped(&["--inferred"]).lines().count(), 2);
    assert!(place.run(&["rdf", "stats", "a.ful"]).ok().contains("2 quads (1 inferred)"));
}

#[test]
fn a_load_into_a_damaged_store_exits_with_3() {
    let place = TestDirectory::new();
    let quads = |name: &str| -> String {
        (0..5_000).map(|number| format!("<x:{name}{number}> <x:p{}> \"{name} {number}\" .\n", number % 7)).collect()
    };
    place.file("a.nt", quads("a"));
    place.file("b.nt", quads("b"));
    place.run(&["rdf", "load", "a.ful", "a.nt", "--create"]).ok();
    let mut bytes = place.read("a.ful");
    bytes.chunks_mut(PAGE_BYTES).skip(4).for_each(|page| page[page.len() / 2] ^= 1);
    place.file("a.ful", bytes);
    let message = place.run(&["rdf", "load", "a.ful", "b.nt"]).fails(3);
    assert!(message.contains("a.ful"), "{message}");
}

#[test]
fn dump_goes_on_behind_damaged_pages_if_it_is_asked_to() {
    let place = TestDirectory::new();
    let line = |number: u64| format!("<x:s{number}> <x:p> \"the literal {number:06}\" .\n");
    let quads: String = (0..3_000).map(line).collect();
    place.file("a.nt", &quads);
    place.run(&["rdf", "load", "a.ful", "a.nt", "--create"]).ok();
    let (mut bytes, mark) = (place.read("a.ful"), b"the literal 001500");
    let places: Vec<usize> = (0..bytes.len() - mark.len()).filter(|&at| bytes[at..].starts_with(mark)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|&at| bytes[at] ^= 1);
    place.file("a.ful", bytes);

    let message = place.run(&["rdf", "dump", "a.ful", "b.nt"]).fails(3);
    assert!(message.contains("`fulgurite rdf dump --skip-damaged` writes all quads"), "{message}");
    let run = place.run(&["rdf", "dump", "a.ful", "b.nt", "--skip-damaged"]);
    assert!(run.code == 3 && run.messages.contains("left out: page "), "{run:?}");
    assert!(run.messages.contains("what cannot be read was left out"), "{run:?}");
    let kept = String::from_utf8(place.read("b.nt")).unwrap();
    assert!((1_000..3_000).contains(&kept.lines().count()), "{}", kept.lines().count());
    let quads: HashSet<&str> = quads.lines().collect();
    assert!(!kept.contains("001500") && kept.lines().all(|line| quads.contains(line)));
}

/// Bytes of a page of a new database.
const PAGE_BYTES: usize = 16 << 10;

#[test]
fn verbs_of_rdf_that_write_keep_the_log_for_changes() {
    let place = with_people();
    let update = |text: &str, keep: &[&str]| {
        place.run(&[&["rdf", "update", "people.ful", text][..], keep].concat()).ok();
    };
    update("INSERT DATA { <x:a> <x:b> <x:c> }", &["--keep-log", "16"]);
    let changes = || place.run(&["changes", "people.ful", "--after", "1"]);
    assert!(changes().ok().contains("\"spo\""), "the change of an index is listed");
    update("INSERT DATA { <x:d> <x:e> <x:f> }", &[]);
    let message = changes().fails(1);
    assert!(message.contains("the log is not kept"), "a write without the option removes it: {message}");
}
