//! Forms of RDF as users meet them: RDF/XML that is not a document, bases, byte order marks, xz, and what a form, or no
//! form, can say.

use crate::fixture::TestDirectory;
#[cfg(unix)]
use crate::fixture::{PROGRAM, Run};

const HEAD: &str = "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:e=\"http://e/\">";

fn wrapped(inner: &str) -> String {
    format!("{HEAD}{inner}</rdf:RDF>")
}

#[test]
fn rdf_xml_that_is_no_document_loads_nothing_and_says_where_it_ends() {
    let place = TestDirectory::new();
    let node = "<rdf:Description rdf:about=\"http://e/s\"><e:k>1</e:k></rdf:Description>";
    let cut = format!("{HEAD}{node}<rdf:Description rdf:about=\"http://e/s2\"><e:k>hal");
    let two_roots = format!("{}{}", wrapped(node), wrapped(node));
    for (text, part) in [
        (cut.clone(), format!("cut.rdf:1:{}: the document ends within the element `e:k`", cut.len() + 1)),
        (String::new(), "cut.rdf:1:1: the document has no element".to_owned()),
        ("<!-- a comment -->\n".to_owned(), "cut.rdf:2:1: the document has no element".to_owned()),
        (two_roots, format!("cut.rdf:1:{}: a second root element", wrapped(node).len() + 1)),
        (wrapped("<e:C>&undefined;</e:C>"), "the entity `undefined` is not declared".to_owned()),
        (wrapped("<e:C><e:p></e:C>"), "the end tag `e:C` of the element `e:p`".to_owned()),
    ] {
        place.file("cut.rdf", &text);
        let message = place.run(&["rdf", "load", "t.ful", "cut.rdf", "--create"]).fails(1);
        assert!(message.starts_with("nothing was loaded: cut.rdf:1:") || message.contains("cut.rdf:2:1:"), "{message}");
        assert!(message.contains(&part), "{message} ({part})");
        assert_eq!(place.names(), ["cut.rdf"], "{message}");
    }
}

#[test]
fn bases_of_rdf_xml_are_resolved_and_their_lack_is_told() {
    let place = TestDirectory::new();
    let document = |base: &str, about: &str| {
        let head = HEAD.replace('>', &format!("{base}>"));
        format!("{head}<rdf:Description rdf:about=\"{about}\"><e:p>1</e:p></rdf:Description></rdf:RDF>")
    };
    for (base, about, expected) in [
        (" xml:base=\"\"", "", "<http://b/d/doc>"),
        (" xml:base=\"sub/\"", "x", "<http://b/d/sub/x>"),
        ("", "", "<http://b/d/doc>"),
    ] {
        place.file("a.rdf", document(base, about));
        place.run(&["rdf", "load", "a.ful", "a.rdf", "--create", "--base", "http://b/d/doc"]).ok();
        let dumped = place.run(&["rdf", "dump", "a.ful", "--format", "nt"]).ok();
        assert_eq!(dumped, format!("{expected} <http://e/p> \"1\" .\n"));
        std::fs::remove_file(place.path("a.ful")).unwrap();
    }
    place.file("a.rdf", document("", ""));
    let message = place.run(&["rdf", "load", "a.ful", "a.rdf", "--create"]).fails(1);
    assert!(message.contains("a.rdf:1:") && message.ends_with("no other base; give one by --base"), "{message}");
}

#[test]
fn an_unknown_parse_type_is_a_literal() {
    let place = TestDirectory::new();
    place.file("a.rdf", wrapped("<rdf:Description rdf:about=\"http://e/s\"><e:odd rdf:parseType=\"daml:collection\"><e:q/></e:odd></rdf:Description>"));
    place.run(&["rdf", "load", "a.ful", "a.rdf", "--create"]).ok();
    let dumped = place.run(&["rdf", "dump", "a.ful", "--format", "nt"]).ok();
    assert!(dumped.contains("<http://e/odd> \"<e:q xmlns:e=\\\"http://e/\\\"></e:q>\"^^"), "{dumped}");
}

#[test]
fn what_a_form_cannot_say_is_named_before_anything_is_written() {
    let place = TestDirectory::new();
    let controls = "<http://e/s> <http://e/p> \"a\\u0000\\uFFFF\" .\n";
    let select = "SELECT * { ?s ?p ?o }";
    let construct = "CONSTRUCT WHERE { ?s ?p ?o }";
    let many: String = (0..1000).map(|number| format!("<http://e/s> <http://e/p> \"{number}\" .\n")).collect();
    for (statement, term, is_select) in
        [("<http://e/s> <http://e/x/1> \"o\" .\n", "<http://e/x/1>", false), (controls, "\\u0000", true)]
    {
        place.file("a.nt", format!("{many}{statement}"));
        place.run(&["rdf", "load", "a.ful", "a.nt", "--create"]).ok();
        let dump = ["rdf", "dump", "a.ful", "--format", "rdf"];
        let constructed = ["rdf", "query", "a.ful", construct, "--format", "rdf"];
        let selected = ["rdf", "query", "a.ful", select, "--format", "xml"];
        let verbs: &[&[&str]] = if is_select { &[&dump, &constructed, &selected] } else { &[&dump, &constructed] };
        for verb in verbs {
            let run = place.run(verb);
            assert_eq!(run.text(), "", "{verb:?}");
            let message = run.fails(1);
            assert!(message.contains(term) && message.contains("cannot be written as"), "{message}");
        }
        place.run(&["rdf", "dump", "a.ful", "out.rdf"]).fails(1);
        assert_eq!(place.names(), ["a.ful", "a.nt"]);
        for verb in [["rdf", "dump", "a.ful", "--format", "jsonld"], ["rdf", "dump", "a.ful", "--format", "ttl"]] {
            place.run(&verb).ok();
        }
        std::fs::remove_file(place.path("a.ful")).unwrap();
    }
}

/// It was reported as a failure of standard output, with the advice to give the load more memory.
#[cfg(unix)]
#[test]
fn results_that_need_a_temporary_file_name_it_where_there_can_be_none() {
    let place = TestDirectory::new();
    let text: String =
        (0..40_000).map(|number| format!("<http://e/{number}> <http://e/property> \"{number}\" .\n")).collect();
    place.file("a.nt", text);
    place.run(&["rdf", "load", "a.ful", "a.nt", "--create"]).ok();
    let select = ["rdf", "query", "a.ful", "SELECT * { ?s ?p ?o }", "--format"];
    let construct = ["rdf", "query", "a.ful", "CONSTRUCT WHERE { ?s ?p ?o }", "--format"];
    let run = |verb: [&str; 5], format: &str| {
        let mut command = place.command(PROGRAM);
        Run::of(command.args(verb).arg(format).env("TMPDIR", place.path("missing")).output().unwrap())
    };
    for (verb, format) in [(select, "xml"), (construct, "rdf"), (construct, "jsonld")] {
        let failed = run(verb, format);
        assert_eq!(failed.text(), "", "{format}");
        let message = failed.fails(1);
        assert!(message.contains("missing/fulgurite-answer-") && message.contains("TMPDIR"), "{message}");
    }
    for (verb, format) in [(select, "json"), (construct, "nt")] {
        run(verb, format).ok();
    }
}

#[test]
fn byte_order_marks_are_passed_over() {
    let place = TestDirectory::new();
    let triple = "<http://e/s> <http://e/p> \"o\" .\n";
    let xml = wrapped("<rdf:Description rdf:about=\"http://e/s\"><e:p>o</e:p></rdf:Description>");
    let json = "{\"@id\": \"http://e/s\", \"http://e/p\": \"o\"}";
    for (name, text) in
        [("a.ttl", triple), ("a.nt", triple), ("a.nq", triple), ("a.trig", triple), ("a.rdf", &xml), ("a.jsonld", json)]
    {
        place.file(name, format!("\u{feff}{text}"));
        place.run(&["rdf", "load", "a.ful", name, "--create"]).ok();
        assert_eq!(place.run(&["rdf", "dump", "a.ful", "--format", "nt"]).ok(), triple, "{name}");
        std::fs::remove_file(place.path("a.ful")).unwrap();
    }
    place.file("update.ru", "\u{feff}INSERT DATA { <http://e/s> <http://e/p> \"o\" }");
    place.run(&["rdf", "update", "a.ful", "--file", "update.ru", "--create"]).ok();
    let ask = "\u{feff}ASK { <http://e/s> <http://e/p> \"o\" }";
    place.file("query.rq", ask);
    assert_eq!(place.run(&["rdf", "query", "a.ful", ask]).ok(), "true\n");
    assert_eq!(place.run(&["rdf", "query", "a.ful", "--file", "query.rq"]).ok(), "true\n");
}

#[test]
fn statements_of_json_ld_that_need_a_base_are_counted() {
    let place = TestDirectory::new();
    place.file("a.jsonld", "[{\"@id\": \"rel\", \"http://e/p\": [1, 2]}, {\"@id\": \"http://e/s\", \"http://e/p\": [3, {\"@id\": \"#x\"}]}]");
    let run = place.run(&["rdf", "load", "a.ful", "a.jsonld", "--create"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.messages.contains("3 statements of JSON-LD dropped") && run.messages.contains("--base"),
        "{}",
        run.messages
    );
    assert!(run.messages.contains("1 statement loaded"), "{}", run.messages);
    let run = place.run(&["rdf", "load", "a.ful", "a.jsonld", "--base", "http://b/"]);
    assert!(run.messages.starts_with("4 statements loaded"), "{}", run.messages);
    place.file("a.jsonld", "{\"a\": 1}");
    let run = place.run(&["rdf", "load", "a.ful", "a.jsonld"]);
    assert!(run.messages.starts_with("0 statements loaded") && run.messages.contains("`@context`"), "{run:?}");
}

#[test]
fn xz_is_unpacked_and_a_file_that_is_cut_is_told() {
    const PACKED: &[u8] = b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\xe0\x00\x13\x00\x12\x5d\x00\x1e\x1e\x03\x46\x21\xbc\xde\x8e\x5a\x7b\x61\x4a\xc2\x47\xd0\x24\x64\x00\x00\x00\x00\x88\xdb\x07\x12\x91\xc5\xe1\xaa\x00\x01\x2e\x14\x7a\x68\x5b\x31\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";
    let place = TestDirectory::new();
    place.file("a.nt.xz", PACKED);
    place.file("two.nt.xz", [PACKED, PACKED].concat());
    for name in ["a.nt.xz", "two.nt.xz"] {
        place.run(&["rdf", "load", "a.ful", name, "--create"]).ok();
        assert_eq!(place.run(&["rdf", "dump", "a.ful", "--format", "nt"]).ok(), "<x:a> <x:p> <x:o> .\n");
        std::fs::remove_file(place.path("a.ful")).unwrap();
    }
    place.file("cut.nt.xz", &PACKED[..PACKED.len() - 20]);
    let message = place.run(&["rdf", "load", "a.ful", "cut.nt.xz", "--create"]).fails(1);
    assert!(
        message.contains("cut.nt.xz") && message.contains("at or before byte") && message.contains("cut off"),
        "{message}"
    );
}

#[test]
fn a_term_that_no_form_has_is_named_with_its_graph_and_an_update_removes_it() {
    use fulgurite_rdf::oxrdf::{BlankNode, NamedNode, Quad};

    let place = TestDirectory::new();
    let node = |name: &str| NamedNode::new_unchecked(format!("http://e/{name}"));
    let store = fulgurite_rdf::Store::create(place.path("a.ful"), fulgurite_rdf::StoreOptions::new()).unwrap();
    let quads = [
        Quad::new(node("s"), node("p"), node("a b"), node("g")),
        Quad::new(node("s"), node("p"), BlankNode::new_unchecked("a b"), node("g")),
    ];
    store.update(|txn| quads.iter().try_for_each(|quad| txn.insert(quad).map(drop))).unwrap();
    store.close().unwrap();
    for form in ["nq", "ttl", "trig", "rdf", "jsonld"] {
        let dump = ["rdf", "dump", "a.ful", "a.out", "--format", form, "--graph", "http://e/g"];
        let message = place.run(&dump).fails(1);
        assert!(message.contains("<http://e/a b>, in <http://e/g>, cannot be written"), "{message}");
        assert!(!place.path("a.out").exists(), "{form}");
    }
    let pattern = "GRAPH ?g { ?s ?p ?o }";
    let remove = format!("DELETE {{ {pattern} }} WHERE {{ {pattern} FILTER(STR(?o) = 'http://e/a b') }}");
    place.run(&["rdf", "update", "a.ful", &remove]).ok();
    place.run(&["rdf", "dump", "a.ful", "a.nq"]).ok();
    place.run(&["rdf", "load", "b.ful", "a.nq", "--create"]).ok();
    let ask = "ASK { GRAPH ?g { ?s ?p ?o FILTER(isBLANK(?o)) } }";
    assert_eq!(place.run(&["rdf", "query", "b.ful", ask]).ok(), "true\n");
}

#[test]
fn a_store_that_another_process_creates_is_read_after_its_first_checkpoint() {
    let place = TestDirectory::new();
    let engine = fulgurite::Database::options().create(true).background(false);
    let options = fulgurite_rdf::StoreOptions::new();
    let store = fulgurite_rdf::Store::open_with(engine, place.path("a.ful"), options).unwrap();
    let asked = || place.run(&["rdf", "query", "a.ful", "ASK {}"]);
    let message = asked().fails(1);
    assert!(message.contains("a.ful") && message.contains("after the first checkpoint of that process"), "{message}");
    store.database().checkpoint().unwrap();
    assert_eq!(asked().ok(), "true\n");
    place.run(&["rdf", "dump", "a.ful"]).warns_of_writer(&format!(" (pid {})", std::process::id()));
    store.close().unwrap();
}
