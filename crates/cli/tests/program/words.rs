//! What the verbs for quads say of a text that is none, and the columns of one that is.

use crate::fixture::TestDirectory;

fn with_one_quad() -> TestDirectory {
    let place = TestDirectory::new();
    place.run(&["rdf", "update", "a.ful", "INSERT DATA { <x:z> <x:p> 1 }", "--create"]).ok();
    place
}

#[test]
fn a_text_that_is_none_is_told_by_its_token_and_what_may_be_there() {
    let place = with_one_quad();
    let said = |text: &str| place.run(&["rdf", "query", "a.ful", text]).fails(1);
    let comma = said("SELECT ?s, ?o { ?s ?p ?o }");
    assert!(comma.contains("line 1, column 10, at `,`: expected a variable") && comma.contains("no commas"), "{comma}");
    let prefix = said("SELECT ?s { ?s foaf:name ?o }");
    assert!(prefix.contains("column 16") && prefix.contains("`PREFIX foaf: <http://xmlns.com/foaf/0.1/>`"), "{prefix}");
    let end = said("SELECT ?s { ?s ?p ?o");
    assert!(end.contains("line 1, column 21, at the end: expected"), "{end}");
    let pattern = said("SELECT ?s { ?s ?p ?o FILTER(REGEX(?o, \"(\")) }");
    assert!(pattern.contains("column 39, at `\"(\"`") && pattern.contains("FORX0002"), "{pattern}");
    let base = said("SELECT * { <a> ?p ?o }");
    assert!(base.contains("column 12") && base.ends_with("no other base; give one by --base"), "{base}");
    let function = said("SELECT (<x:f>(1) AS ?x) {}");
    assert!(function.contains("<x:f>"), "{function}");
}

#[test]
fn a_query_given_to_update_and_an_update_given_to_query_name_the_other_verb() {
    let place = with_one_quad();
    let query = place.run(&["rdf", "update", "a.ful", "SELECT * { ?s ?p ?o }"]).fails(1);
    assert!(query.contains("SELECT begins a query") && query.contains("`rdf query`"), "{query}");
    let update = place.run(&["rdf", "query", "a.ful", "PREFIX : <x:> DELETE WHERE { :z ?p ?o }"]).fails(1);
    assert!(update.contains("column 15") && update.contains("`rdf update`"), "{update}");
}

#[test]
fn a_byte_order_mark_is_skipped_in_arguments_files_and_input() {
    let place = with_one_quad();
    let text = "\u{FEFF}SELECT ?o { ?s ?p ?o }";
    let query = ["rdf", "query", "a.ful", "--format", "csv"];
    assert_eq!(place.run(&[&query[..], &[text]].concat()).ok(), "o\r\n1\r\n");
    place.file("query.rq", text);
    assert_eq!(place.run(&[&query[..], &["--file", "query.rq"]].concat()).ok(), "o\r\n1\r\n");
    assert_eq!(place.run_with_input(&[&query[..], &["--file", "-"]].concat(), text.as_bytes()).ok(), "o\r\n1\r\n");
    place.run(&["rdf", "update", "a.ful", "\u{FEFF}CLEAR ALL"]).ok();
    assert_eq!(place.run(&[&query[..], &[text]].concat()).ok(), "o\r\n");
}

#[test]
fn all_columns_come_as_they_are_written_in_every_form() {
    let place = with_one_quad();
    let text = "SELECT * { ?z ?p ?a BIND(2 AS ?m) VALUES ?b { 3 } }";
    let answer = |format: &str| place.run(&["rdf", "query", "a.ful", text, "--format", format]).ok();
    assert_eq!(answer("csv"), "z,p,a,m,b\r\nx:z,x:p,1,2,3\r\n");
    assert!(answer("tsv").starts_with("?z\t?p\t?a\t?m\t?b\n"));
    assert!(answer("json").contains(r#""vars":["z","p","a","m","b"]"#));
    let xml = answer("xml");
    let places: Vec<usize> =
        ["z", "p", "a", "m", "b"].iter().map(|name| xml.find(&format!("name=\"{name}\"")).expect("a column")).collect();
    assert!(places.is_sorted(), "{xml}");
    let header: Vec<String> =
        answer("table").lines().next().expect("a header").split_whitespace().map(str::to_owned).collect();
    assert_eq!(header, ["z", "p", "a", "m", "b"]);
}
