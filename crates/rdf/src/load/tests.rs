//! Loads: what they read, and what they make of it.

mod atomic;
mod json_ld;
mod namespaces;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fulgurite::Read;
use oxrdf::{Literal, NamedNode, Quad};
use oxrdfio::{JsonLdProfileSet, RdfFormat};
use tempfile::TempDir;

use super::*;
use crate::error::{Error, Result};
use crate::load::options::LoadMethod;
use crate::load::pipeline::progress::LoadMonitor;
use crate::store::database::Store;
use crate::tables::TermHasher;
use crate::{IdPattern, Quads, StoreOptions, TermId};

struct TestStore {
    store: Store,
    directory: TempDir,
}

impl TestStore {
    fn new() -> Self {
        Self::with(StoreOptions::new())
    }

    fn with(options: StoreOptions) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::create(directory.path().join("a.ful"), options).expect("a new store");
        Self { store, directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("a.ful")
    }

    /// Drops every handle, as if the process had ended, and opens the store again.
    fn reopen(self) -> Self {
        let Self { store, directory } = self;
        drop(store);
        let store = Store::open(directory.path().join("a.ful")).expect("it opens");
        Self { store, directory }
    }

    fn load(&self, text: &str, format: RdfFormat) -> Result<LoadReport> {
        self.store.load(vec![input(text, format)], &LoadOptions::new())
    }

    /// With one statement.
    fn with_one() -> Self {
        let place = Self::new();
        let name = NamedNode::new_unchecked("http://a/one");
        let quad = Quad::new(name.clone(), name, Literal::from(1), oxrdf::GraphName::DefaultGraph);
        place.store.update(|txn| txn.insert(&quad)).expect("it is committed");
        place
    }

    fn texts(&self) -> BTreeSet<String> {
        texts(&self.store.snapshot().expect("a snapshot"))
    }
}

fn texts(snapshot: &impl Quads) -> BTreeSet<String> {
    let term = |id| snapshot.term(id).expect("it has a term").to_string();
    let quads = snapshot.quads(&IdPattern::ALL).map(|quad| quad.expect("it is read"));
    let text = |quad: crate::IdQuad| {
        let graph = if quad.graph == TermId::DEFAULT_GRAPH { String::new() } else { term(quad.graph) };
        format!("{} {} {} {graph}", term(quad.subject), term(quad.predicate), term(quad.object)).trim_end().to_owned()
    };
    quads.map(text).collect()
}

fn input(text: &str, format: RdfFormat) -> LoadInput {
    LoadInput::reader("text", std::io::Cursor::new(text.to_owned()), format)
}

const JSON_LD: RdfFormat = RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() };

/// Quads with terms that come again and again; in two graphs and the default one.
fn many(count: usize) -> String {
    let line = |number: usize| {
        let graph = ["", "<http://g/1>", "<http://g/2>"][number % 3];
        let object = match number % 5 {
            0 => format!("\"{number}\"^^<http://www.w3.org/2001/XMLSchema#integer>"),
            1 => format!("\"a longer text {}\"", number % 700),
            2 => format!("\"text {number}\"@en-gb"),
            _ => format!("<http://example.org/node/{}>", number * 7 % 1000),
        };
        format!(
            "<http://example.org/node/{}> <http://example.org/terms#p{}> {object} {graph} .\n",
            number % 1000,
            number % 11
        )
    };
    (0..count).map(line).collect()
}

fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(|line| line.trim_end_matches(" .").trim_end().to_owned()).collect()
}

/// Every method.
const METHODS: [LoadMethod; 2] = [LoadMethod::Trees, LoadMethod::Transaction];

fn by(method: LoadMethod) -> LoadOptions {
    LoadOptions { method: Some(method), ..LoadOptions::new() }
}

impl TestStore {
    fn load_with(&self, text: &str, options: &LoadOptions) -> Result<LoadReport> {
        self.store.load(vec![input(text, RdfFormat::NQuads)], options)
    }

    /// What else lies beside the database.
    fn others(&self) -> Vec<String> {
        let entries = self.directory.path().read_dir().expect("it is listed");
        let names = entries.map(|entry| entry.expect("it is listed").file_name().to_string_lossy().into_owned());
        names.filter(|name| name.contains("load-")).collect()
    }
}

#[test]
fn every_format_is_read() {
    let expected = BTreeSet::from(["<http://a/s> <http://a/p> \"o\"".to_owned()]);
    let triples = "<http://a/s> <http://a/p> \"o\" .";
    let xml = "<?xml version='1.0'?><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:a='http://a/'>\
               <rdf:Description rdf:about='http://a/s'><a:p>o</a:p></rdf:Description></rdf:RDF>";
    let json = r#"{"@id": "http://a/s", "http://a/p": "o"}"#;
    let texts = [
        (triples, RdfFormat::NTriples),
        (triples, RdfFormat::NQuads),
        ("@prefix a: <http://a/> . a:s a:p 'o' .", RdfFormat::Turtle),
        ("PREFIX a: <http://a/> { a:s a:p 'o' }", RdfFormat::TriG),
        (xml, RdfFormat::RdfXml),
        (json, JSON_LD),
    ];
    for (text, format) in texts {
        for place in [TestStore::new(), TestStore::with_one()] {
            let report = place.load(text, format).expect("it is loaded");
            assert_eq!((report.read, report.inserted, report.skipped), (1, 1, 0));
            assert!(place.texts().is_superset(&expected), "{format}");
        }
    }
}

#[test]
fn what_is_loaded_is_what_is_read_in_every_way_and_after_reopening() {
    let text = many(5000);
    let expected = lines(&text);
    let small = || LoadOptions::new().memory_bytes(1);
    for options in [LoadOptions::new(), LoadOptions::new().threads(1), small().threads(3), small().threads(1)] {
        let place = TestStore::new();
        let report = place.store.load(vec![input(&text, RdfFormat::NQuads)], &options).expect("it is loaded");
        assert_eq!((report.read, report.inserted), (5000, expected.len() as u64));
        assert_eq!(place.texts(), expected);
        let stats = place.store.stats().expect("statistics");
        assert_eq!((stats.quads, stats.terms), (report.inserted, report.new_terms));
        assert_eq!(stats.graphs.len(), 3);
        let place = place.reopen();
        assert_eq!(place.texts(), expected);
        // What was loaded is found again by those that come later.
        let again = place.store.load(vec![input(&text, RdfFormat::NQuads)], &options).expect("it is loaded");
        assert_eq!((again.read, again.inserted, again.new_terms), (5000, 0, 0));
        assert_eq!(place.texts(), expected);
    }
}

#[test]
fn every_index_has_every_quad() {
    for place in [TestStore::new(), TestStore::with_one()] {
        place.load(&many(2000), RdfFormat::NQuads).expect("it is loaded");
        let snapshot = place.store.snapshot().expect("a snapshot");
        let tables = snapshot.all_tables();
        for indexes in [&tables.default_graph, &tables.named_graphs] {
            let quads = |index: &crate::tables::Index| -> BTreeSet<_> {
                let keys = snapshot.read().range(&index.table, ..).expect("it is read");
                keys.map(|entry| index.order.quad_of(&entry.expect("it is read").0).expect("a quad")).collect()
            };
            let first = quads(&indexes[0]);
            assert!(!first.is_empty());
            assert!(indexes.iter().all(|index| quads(index) == first));
        }
    }
}

#[test]
fn terms_with_one_hash_are_told_apart_by_loads() {
    let text = many(500);
    let expected = lines(&text);
    for memory_bytes in [1, 1 << 30] {
        let place = TestStore::with(StoreOptions::new().hasher(TermHasher::narrow(3)));
        let options = LoadOptions::new().memory_bytes(memory_bytes);
        place.store.load(vec![input(&text, RdfFormat::NQuads)], &options).expect("it is loaded");
        assert_eq!(place.texts(), expected);
        let snapshot = place.store.snapshot().expect("a snapshot");
        let absent = NamedNode::new_unchecked("http://example.org/node/absent");
        assert_eq!(snapshot.id(absent.as_ref().into()).expect("it is looked up"), None);
    }
}

#[test]
fn several_inputs_are_loaded_at_once_and_their_blank_nodes_are_apart() {
    let first = "_:a <http://a/p> _:b . _:a <http://a/q> _:b .";
    let lines = "_:a <http://a/p> _:b .\n_:a <http://a/q> _:b .\n";
    for place in [TestStore::new(), TestStore::with_one()] {
        let before = place.texts().len();
        let inputs =
            vec![input(first, RdfFormat::Turtle), input(lines, RdfFormat::NTriples), input(first, RdfFormat::Turtle)];
        let report = place.store.load(inputs, &LoadOptions::new().memory_bytes(1)).expect("it is loaded");
        assert_eq!((report.read, report.inserted), (6, 6));
        let snapshot = place.store.snapshot().expect("a snapshot");
        let quads: Vec<_> = snapshot.quads(&IdPattern::ALL).map(|quad| quad.expect("it is read")).collect();
        let blank = |id: TermId| id.kind() == crate::TermKind::BlankNode;
        let subjects: BTreeSet<_> = quads.iter().map(|quad| quad.subject).filter(|id| blank(*id)).collect();
        let objects: BTreeSet<_> = quads.iter().map(|quad| quad.object).filter(|id| blank(*id)).collect();
        assert_eq!((quads.len() - before, subjects.len(), objects.len()), (6, 3, 3));
        assert!(subjects.is_disjoint(&objects));
    }
}

#[test]
fn blank_nodes_within_triple_terms_are_those_outside() {
    let text = "_:a <http://a/says> <<( _:b <http://a/p> <<( _:a <http://a/q> _:b )>> )>> .\n_:b <http://a/is> \"here\" .\n\
                <http://a/x> <http://a/says> <<( <http://a/x> <http://a/p> \"y\" )>> .\n";
    for memory_bytes in [1, 1 << 30] {
        for place in [TestStore::new(), TestStore::with_one()] {
            let options = LoadOptions::new().memory_bytes(memory_bytes);
            place.store.load(vec![input(text, RdfFormat::NTriples)], &options).expect("it is loaded");
            let snapshot = place.store.snapshot().expect("a snapshot");
            let find = |predicate: &str| {
                let predicate = NamedNode::new_unchecked(predicate);
                let predicate = snapshot.id(predicate.as_ref().into()).expect("it is looked up");
                let pattern = IdPattern { predicate, ..IdPattern::ALL };
                snapshot.quads(&pattern).map(|quad| quad.expect("it is read")).collect::<Vec<_>>()
            };
            let inner = snapshot.term(find("http://a/is")[0].subject).expect("a term");
            let says = find("http://a/says");
            let saying =
                says.iter().find(|quad| quad.subject.kind() == crate::TermKind::BlankNode).expect("it is there");
            let outer = snapshot.term(saying.subject).expect("a term");
            let said = snapshot.term(saying.object).expect("a term");
            let expected = format!("<<( {inner} <http://a/p> <<( {outer} <http://a/q> {inner} )>> )>>");
            assert_eq!(said.to_string(), expected);
            assert_eq!(snapshot.id(said.as_ref()).expect("it is looked up"), Some(saying.object));
            assert!(says.iter().all(|quad| snapshot.id(snapshot.term(quad.object).expect("a term").as_ref()).ok()
                == Some(Some(quad.object))));
        }
    }
}

#[test]
fn a_bad_line_is_reported_with_its_place_and_nothing_is_loaded() {
    let mut text = many(30_000);
    text.push_str("<http://a/s> <http://a/p> oops .\n");
    text.push_str(&many(100));
    for place in [TestStore::new(), TestStore::with_one()] {
        let before = place.texts();
        let error = place.load(&text, RdfFormat::NQuads).expect_err("a bad line");
        let Error::Syntax { input, line, column, .. } = &error else { panic!("{error}") };
        assert_eq!((input.as_str(), *line, *column), ("text", 30_001, 27));
        assert!(error.to_string().starts_with("text:30001:27: "), "{error}");
        assert_eq!(place.texts(), before);
        let place = place.reopen();
        assert_eq!(place.texts(), before);
        place.load(&many(10), RdfFormat::NQuads).expect("the next load goes well");
    }
}

/// A checksum at the end would show the damage, but the load ends before.
#[test]
fn an_error_in_compressed_text_says_that_the_file_may_be_damaged() {
    let text = "<http://a/s> oops .\n";
    let packed = ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let place = TestStore::new();
    for format in [RdfFormat::NTriples, RdfFormat::Turtle] {
        let input = LoadInput::reader("text", std::io::Cursor::new(packed.clone()), format);
        let error = place.store.load(vec![input], &LoadOptions::new()).expect_err("a bad line").to_string();
        assert!(error.starts_with("text:1:") && error.ends_with("test the file for damage"), "{error}");
        assert!(!place.load(text, format).expect_err("a bad line").to_string().contains("damage"));
    }
}

/// The parser counts lines within a block of the text.
#[test]
fn what_is_wrong_is_told_without_the_place_that_the_parser_has_for_it() {
    for end in
        ["<http://a/s> <http://a/p> \"open .\n", "<http://a/s> <http://a/p> <http://a/ /> .\n", "<http://a/s> oops .\n"]
    {
        let error = TestStore::new().load(&(many(30_000) + end), RdfFormat::NQuads).expect_err("a bad line");
        let Error::Syntax { line: 30_001, message, .. } = &error else { panic!("{error}") };
        assert!(!message.contains("line ") && !message.contains("column"), "{message}");
    }
}

#[test]
fn a_lenient_load_passes_over_bad_statements_and_counts_them() {
    let good = "<http://a/s> <http://a/p> \"1\" .\n";
    let text = format!("{good}bad\n{good}<http://a/s> <http://a/p> .\n<http://a/s> <http://a/p> \"2\" .\n");
    let options = LoadOptions::new().lenient(true);
    for (text, format, skipped) in [
        (text.as_str(), RdfFormat::NTriples, 2),
        ("<http://a/s> <http://a/p> 'a' . <http://a/s> oops . <http://a/s> <http://a/p> 'b' .", RdfFormat::Turtle, 1),
    ] {
        let place = TestStore::new();
        let report = place.store.load(vec![input(text, format)], &options).expect("it is loaded");
        assert_eq!(
            (report.skipped, report.skipped_first.len(), report.inserted),
            (skipped, skipped as usize, 2),
            "{report:?}"
        );
        assert!(report.skipped_first.iter().all(|bad| bad.line > 0 && !bad.message.is_empty()));
    }
    let xml = "<?xml version='1.0'?><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><oops></rdf:RDF>";
    let place = TestStore::new();
    let report =
        place.store.load(vec![input(xml, RdfFormat::RdfXml), input("{", JSON_LD)], &options).expect("it is loaded");
    assert_eq!((report.read, report.skipped), (0, 2));
}

#[test]
fn triple_terms_that_are_nested_too_deep_are_bad_statements() {
    let mut text = String::new();
    for _ in 0..100_000 {
        text.push_str("<http://a/s> <http://a/p> <<( ");
    }
    text.push_str("<http://a/s> <http://a/p> \"o\" ");
    text.push_str(&" )>>".repeat(100_000));
    text.push_str(" .\n");
    text.push_str("<http://a/s> <http://a/p> <http://a/o> .\n");
    let place = TestStore::new();
    let options = LoadOptions::new().lenient(true);
    let report = place.store.load(vec![input(&text, RdfFormat::NTriples)], &options).expect("it is loaded");
    assert_eq!((report.inserted, report.skipped, report.skipped_first[0].line), (1, 1, 1));
    let place = TestStore::new();
    assert!(matches!(place.load(&text, RdfFormat::NTriples), Err(Error::Syntax { line: 1, .. })));
    assert!(matches!(place.load(&text, RdfFormat::Turtle), Err(Error::Input { .. })));
    assert!(place.texts().is_empty());
}

#[test]
fn inputs_that_are_not_there_or_of_no_known_format_are_refused() {
    let place = TestStore::new();
    let load = |input| place.store.load(vec![input], &LoadOptions::new());
    assert!(matches!(load(LoadInput::file("/no/such/file.nt")), Err(Error::Input { .. })));
    assert!(matches!(load(LoadInput::file("/no/such/file.what")), Err(Error::Invalid { .. })));
    let based = input("<s> <p> <o> .", RdfFormat::Turtle);
    assert!(matches!(load(based), Err(Error::Syntax { .. })));
    assert!(matches!(load(input("", RdfFormat::Turtle).base("no iri")), Err(Error::Invalid { .. })));
    load(input("<s> <p> <o> .", RdfFormat::Turtle).base("http://a/")).expect("relative to the base");
    let graph = NamedNode::new_unchecked("http://g");
    load(input("<http://a> <http://b> <http://c> .", RdfFormat::NTriples).graph(graph)).expect("into a graph");
    let expected = ["<http://a/s> <http://a/p> <http://a/o>", "<http://a> <http://b> <http://c> <http://g>"];
    assert_eq!(place.texts(), expected.into_iter().map(String::from).collect());
}

#[test]
fn files_are_loaded_compressed_or_not() {
    use std::io::Write;
    let place = TestStore::new();
    let text = many(3000);
    let plain = place.directory.path().join("a.nq");
    std::fs::write(&plain, &text).expect("it is written");
    let packed = place.directory.path().join("b.nq.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).expect("it is written to memory");
    std::fs::write(&packed, encoder.finish().expect("it is written to memory")).expect("it is written");
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    let options =
        LoadOptions::new().progress(move |progress| listener.lock().expect("no panic").push(progress.clone()));
    let report =
        place.store.load(vec![LoadInput::file(&plain), LoadInput::file(&packed)], &options).expect("it is loaded");
    assert_eq!((report.read, report.inserted as usize), (6000, lines(&text).len()));
    let told = told.lock().expect("no panic");
    let last = told.last().expect("it was told");
    let total = [&plain, &packed].map(|path| path.metadata().expect("it is there").len()).iter().sum::<u64>();
    assert_eq!((last.bytes_read, last.bytes_total, last.quads), (total, total, 6000));
    assert!(told.iter().any(|progress| progress.stage == "parsing"));
}

#[test]
fn a_file_that_is_named_packed_and_is_cut_off_is_an_error_that_names_it() {
    use std::io::Write;
    let place = TestStore::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(many(300).as_bytes()).expect("it is written to memory");
    let packed = encoder.finish().expect("it is written to memory");
    for (name, bytes) in [
        ("empty.nt.gz", &b""[..]),
        ("empty.ttl.bz2", b""),
        ("empty.jsonld.xz", b""),
        ("empty.rdf.zst", b""),
        ("empty.nq.ZSTD", b""),
        ("one.nt.gz", &packed[..1]),
        ("half.nq.gz", &packed[..packed.len() / 2]),
        ("more.nq.gz", &[&packed[..], b"rubbish"].concat()),
    ] {
        let path = place.directory.path().join(name);
        std::fs::write(&path, bytes).expect("it is written");
        for options in [LoadOptions::new(), LoadOptions::new().lenient(true)] {
            let failure =
                place.store.load(vec![LoadInput::file(&path)], &options).expect_err("it is cut off").to_string();
            assert!(failure.contains(name) && failure.contains("cut off"), "{name}: {failure}");
        }
    }
    assert!(place.texts().is_empty());
    // What is not named packed may be empty.
    let empty = place.directory.path().join("empty.nt");
    std::fs::write(&empty, "").expect("it is written");
    place.store.load(vec![LoadInput::file(&empty)], &LoadOptions::new()).expect("it is loaded");
}

#[test]
fn a_load_into_a_store_that_has_something_adds_what_is_new_and_knows_the_terms() {
    for (first, second) in METHODS.into_iter().flat_map(|first| METHODS.map(|second| (first, second))) {
        for narrow in [false, true] {
            let options = if narrow { StoreOptions::new().hasher(TermHasher::narrow(3)) } else { StoreOptions::new() };
            let place = TestStore::with(options);
            let (half, all) = (many(500), many(1000));
            let one = place.load_with(&half, &by(first)).expect("it is loaded");
            let two = place.load_with(&all, &by(second).memory_bytes(1)).expect("it is loaded");
            assert_eq!(one.inserted + two.inserted, lines(&all).len() as u64);
            assert_eq!(place.texts(), lines(&all), "{first:?} {second:?}");
            let stats = place.store.stats().expect("statistics");
            assert_eq!((stats.quads, stats.terms), (one.inserted + two.inserted, one.new_terms + two.new_terms));
            let entries =
                |name: &str| stats.tables.iter().find(|(table, _)| table == name).map(|(_, entries)| *entries);
            assert_eq!(entries("spo"), entries("osp"));
            assert_eq!(entries("gspo"), entries("posg"));
            let three = place.load_with(&all, &by(second)).expect("it is loaded");
            assert_eq!((three.inserted, three.new_terms), (0, 0));
            assert_eq!(place.reopen().texts(), lines(&all));
        }
    }
}

#[test]
fn few_quads_for_a_large_store_go_by_a_transaction_and_others_into_trees() {
    assert_eq!(LoadMethod::of(1, 0), LoadMethod::Trees);
    assert_eq!(LoadMethod::of(1000, 1_000_000_000), LoadMethod::Transaction);
    assert_eq!(LoadMethod::of(1_000_000, 1_000_000), LoadMethod::Trees);
    assert_eq!(LoadMethod::of(u64::MAX, u64::MAX), LoadMethod::Trees);
}

#[test]
fn iris_of_a_load_are_stored_by_their_namespaces_on_either_way() {
    for method in METHODS {
        let place = TestStore::with_one();
        place.load_with(&many(100), &by(method)).expect("it is loaded");
        let snapshot = place.store.snapshot().expect("a snapshot");
        let range = snapshot.read().range(&snapshot.all_tables().iri_namespaces, ..).expect("it is read");
        let namespaces: Vec<String> = range
            .map(|entry| entry.expect("it is read"))
            .filter(|(key, _)| key[0] == 0)
            .map(|(_, text)| String::from_utf8_lossy(&text).into_owned())
            .collect();
        for namespace in ["http://example.org/node/", "http://example.org/terms#"] {
            assert!(namespaces.iter().any(|text| text == namespace), "{method:?} {namespaces:?}");
        }
        let name = NamedNode::new_unchecked("http://example.org/node/7");
        let id = snapshot.id(name.as_ref().into()).expect("it is looked up").expect("it is there");
        let stored = snapshot.read().get(&snapshot.all_tables().terms, id.key().as_bytes()).expect("it is read");
        assert!(stored.expect("it is there").len() < 8, "{method:?}");
        assert_eq!(snapshot.term(id).expect("it has a term"), name.into());
        // A handle that was opened before knows them, too.
        let other = Store::open(place.path()).expect("a second handle");
        place
            .load_with(
                "<http://other/space/1> <http://other/space/2> <http://other/space/3> <http://other/space/4> .",
                &by(method),
            )
            .expect("it is loaded");
        assert!(texts(&other.snapshot().expect("a snapshot")).len() > 1);
    }
}

#[test]
fn options_beyond_their_bounds_are_taken_for_the_nearest() {
    for (threads, memory_bytes) in [(0, 0), (usize::MAX, usize::MAX), (1000, 1)] {
        let place = TestStore::new();
        let options = LoadOptions::new().threads(threads).memory_bytes(memory_bytes);
        let report = place.load_with(&many(300), &options).expect("it is loaded");
        assert_eq!(report.inserted, lines(&many(300)).len() as u64);
    }
}

#[test]
fn a_lenient_load_says_that_the_rest_of_a_document_was_passed_over() {
    let head =
        "<?xml version='1.0'?><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:a='http://a/'>";
    let good = |name: &str| format!("<rdf:Description rdf:about='http://a/{name}'><a:p>o</a:p></rdf:Description>");
    let xml = format!("{head}{}<rdf:Description rdf:ID='not a name'/>{}</rdf:RDF>", good("s"), good("t"));
    let place = TestStore::new();
    let options = LoadOptions::new().lenient(true);
    let report = place.store.load(vec![input(&xml, RdfFormat::RdfXml)], &options).expect("it is loaded");
    assert_eq!((report.inserted, report.skipped), (1, 1));
    let message = &report.skipped_first[0].message;
    assert!(message.ends_with("all that follows in this document was passed over"), "{message}");
    let error = place.load(&xml, RdfFormat::RdfXml).expect_err("it is not lenient").to_string();
    assert!(!error.contains("passed over"), "{error}");
}

#[test]
fn after_a_store_is_cleared_loads_find_the_terms_that_are_left_and_go_into_trees() {
    let place = TestStore::new();
    let first = place.load(&many(1000), RdfFormat::NQuads).expect("it is loaded");
    let old = place.store.snapshot().expect("a snapshot");
    assert_eq!(place.store.update(|txn| txn.clear()).expect("it is cleared"), first.inserted);
    let again = place.load(&many(1100), RdfFormat::NQuads).expect("it is loaded");
    assert_eq!(again.inserted, lines(&many(1100)).len() as u64);
    assert!(again.new_terms < 150, "{again:?}");
    assert_eq!(place.texts(), lines(&many(1100)));
    assert_eq!(texts(&old), lines(&many(1000)));
    // What was loaded first has its numbers still.
    let new = place.store.snapshot().expect("a snapshot");
    for quad in old.quads(&IdPattern::ALL) {
        let quad = quad.expect("it is read");
        for id in [quad.subject, quad.predicate, quad.object] {
            assert_eq!(new.term(id).expect("a term"), old.term(id).expect("a term"));
        }
    }
}

#[test]
fn an_empty_load_leaves_an_empty_store() {
    let place = TestStore::new();
    let report = place.store.load(Vec::new(), &LoadOptions::new()).expect("there is nothing to load");
    assert_eq!((report.read, report.inserted, report.new_terms), (0, 0, 0));
    place.load("", RdfFormat::NTriples).expect("an empty file");
    place.load("# nothing\n", RdfFormat::Turtle).expect("a comment");
    assert!(place.reopen().texts().is_empty());
}

#[test]
fn numbers_and_short_texts_alone_need_no_dictionary() {
    let place = TestStore::new();
    let report = place.load("_:a <http://a/p> 1, 2, 'x' .", RdfFormat::Turtle).expect("it is loaded");
    assert_eq!((report.inserted, report.new_terms), (3, 1));
}

#[test]
fn documents_that_are_nested_too_deep_are_refused_before_they_overflow_the_stack() {
    let (head, depth) =
        ("<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' rdf:version='1.2'>", 100_000);
    let node = "<rdf:Description rdf:about='http://a/s'><p xmlns='http://a/' rdf:parseType='Triple'>";
    let innermost = "<rdf:Description rdf:about='http://a/s'><p xmlns='http://a/'>o</p></rdf:Description>";
    let xml = |depth: usize| {
        let ends = "</p></rdf:Description>".repeat(depth);
        format!("{head}{}{innermost}{ends}</rdf:RDF>", node.repeat(depth))
    };
    let context = |depth: usize| {
        let (begins, ends) = ("[".repeat(depth), "]".repeat(depth));
        format!("{{\"@context\": {{\"a\": {begins}{ends}}}, \"@id\": \"http://a/s\", \"http://a/p\": \"o\"}}")
    };
    let value = |depth: usize| {
        let (begins, ends) = ("[".repeat(depth), "]".repeat(depth));
        let value = format!("{{\"@type\": \"@json\", \"@value\": {begins}{ends}}}");
        format!("{{\"@id\": \"http://a/s\", \"http://a/p\": {value}}}")
    };
    let place = TestStore::new();
    let deep = [(xml(depth), RdfFormat::RdfXml), (context(60_000), JSON_LD), (value(60_000), JSON_LD)];
    for (text, format) in deep {
        let error = place.load(&text, format).expect_err("it is too deep");
        let is_such = matches!(&error, Error::Input { .. } | Error::Syntax { line: 1, .. });
        assert!(is_such && error.to_string().contains("deeper than 512"), "{error}");
    }
    assert_eq!(place.load(&xml(3), RdfFormat::RdfXml).expect("it is loaded").inserted, 1);
    assert_eq!(place.load(&value(100), JSON_LD).expect("it is loaded").inserted, 1);
}

#[test]
fn entities_that_would_fill_the_memory_are_refused_and_others_are_put_in_place() {
    let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
    let document = |entities: &str, text: &str| {
        format!(
            "<!DOCTYPE rdf:RDF [\n<!ENTITY rdf \"{rdf}\">\n{entities}\n]>\n<rdf:RDF xmlns:rdf=\"&rdf;\" xmlns=\"http://a/\">\n\
             <rdf:Description rdf:about=\"&rdf;s\"><p>{text}</p></rdf:Description></rdf:RDF>"
        )
    };
    let long = format!("<!ENTITY long \"{}\">", "x".repeat(100_000));
    let place = TestStore::new();
    let error = place.load(&document(&long, &"&long;".repeat(100_000)), RdfFormat::RdfXml).expect_err("10 GB");
    assert!(matches!(&error, Error::Syntax { line: 6, .. }) && error.to_string().contains("the entities"), "{error}");
    let nested = "<!ENTITY a \"1\"><!ENTITY b \"&a;2\">";
    place.load(&document(nested, "&b;&amp;3"), RdfFormat::RdfXml).expect("it is loaded");
    assert_eq!(place.texts(), BTreeSet::from([format!("<{rdf}s> <http://a/p> \"12&3\"")]));
}

#[test]
fn documents_that_inputs_refer_to_are_refused_if_they_are_nested_too_deep() {
    let place = TestStore::new();
    let text = "{\"@context\": \"http://a/context\", \"@id\": \"http://a/s\", \"http://a/p\": \"o\"}";
    let load = |depth: usize| {
        let (begins, ends) = ("[".repeat(depth), "]".repeat(depth));
        let content = format!("{{\"b\": {begins}{ends}, \"@context\": {{}}}}");
        let options = LoadOptions::new().document_loader(move |_| Ok(content.clone().into_bytes()));
        place.store.load(vec![input(text, JSON_LD)], &options)
    };
    let error = load(60_000).expect_err("it is too deep").to_string();
    assert!(error.contains("deeper than 512"), "{error}");
    assert_eq!(load(10).expect("it is loaded").inserted, 1);
}
