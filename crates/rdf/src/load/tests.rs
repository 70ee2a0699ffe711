//! Loads: what they read, what they leave when they fail or are cut off, and what others see meanwhile.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use oxrdf::{Literal, NamedNode, Quad};
use oxrdfio::{JsonLdProfileSet, RdfFormat};
use tempfile::TempDir;

use super::*;
use crate::dictionary::TermHasher;
use crate::{CancellationToken, IdPattern, Quads, StoreOptions, TermId};

struct Place {
    store: Store,
    directory: TempDir,
}

impl Place {
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

    /// With one statement, so that loads go by a transaction.
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
        for place in [Place::new(), Place::with_one()] {
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
        let place = Place::new();
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
    for place in [Place::new(), Place::with_one()] {
        place.load(&many(2000), RdfFormat::NQuads).expect("it is loaded");
        let snapshot = place.store.snapshot().expect("a snapshot");
        let tables = snapshot.tables();
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
        let place = Place::with(StoreOptions::new().hasher(TermHasher::narrow(3)));
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
    for place in [Place::new(), Place::with_one()] {
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
        for place in [Place::new(), Place::with_one()] {
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
    for place in [Place::new(), Place::with_one()] {
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

#[test]
fn a_lenient_load_passes_over_bad_statements_and_counts_them() {
    let good = "<http://a/s> <http://a/p> \"1\" .\n";
    let text = format!("{good}bad\n{good}<http://a/s> <http://a/p> .\n<http://a/s> <http://a/p> \"2\" .\n");
    let options = LoadOptions::new().lenient(true);
    for (text, format, skipped) in [
        (text.as_str(), RdfFormat::NTriples, 2),
        ("<http://a/s> <http://a/p> 'a' . <http://a/s> oops . <http://a/s> <http://a/p> 'b' .", RdfFormat::Turtle, 1),
    ] {
        let place = Place::new();
        let report = place.store.load(vec![input(text, format)], &options).expect("it is loaded");
        assert_eq!(
            (report.skipped, report.skipped_first.len(), report.inserted),
            (skipped, skipped as usize, 2),
            "{report:?}"
        );
        assert!(report.skipped_first.iter().all(|bad| bad.line > 0 && !bad.message.is_empty()));
    }
    let xml = "<?xml version='1.0'?><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><oops></rdf:RDF>";
    let place = Place::new();
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
    let place = Place::new();
    let options = LoadOptions::new().lenient(true);
    let report = place.store.load(vec![input(&text, RdfFormat::NTriples)], &options).expect("it is loaded");
    assert_eq!((report.inserted, report.skipped, report.skipped_first[0].line), (1, 1, 1));
    let place = Place::new();
    assert!(matches!(place.load(&text, RdfFormat::NTriples), Err(Error::Syntax { line: 1, .. })));
    assert!(matches!(place.load(&text, RdfFormat::Turtle), Err(Error::Input { .. })));
    assert!(place.texts().is_empty());
}

#[test]
fn inputs_that_are_not_there_or_of_no_known_format_are_refused() {
    let place = Place::new();
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
    let place = Place::new();
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

/// Runs `meanwhile` when a load of an empty store has reached a stage, on the thread that tells of it.
fn at_stage(stage: &'static str, meanwhile: impl Fn() + Send + Sync + 'static) -> LoadOptions {
    LoadOptions::new().progress(move |progress| {
        if progress.stage == stage {
            meanwhile();
        }
    })
}

const STAGES: [&str; 5] = ["parsing", "numbering terms", "building terms", "building indexes", "finishing"];

#[test]
fn a_load_that_is_cancelled_at_any_stage_leaves_nothing_and_the_store_goes_on() {
    for stage in STAGES {
        let place = Place::new();
        let token = CancellationToken::new();
        let cancel = token.clone();
        let options = at_stage(stage, move || cancel.cancel()).cancellation(token);
        let outcome = place.store.load(vec![input(&many(20_000), RdfFormat::NQuads)], &options);
        if stage == "finishing" {
            // It was too late.
            assert!(outcome.is_ok());
            continue;
        }
        assert!(matches!(outcome, Err(Error::Cancelled)), "{stage}");
        assert!(place.texts().is_empty(), "{stage}");
        assert_eq!(place.store.stats().expect("statistics").terms, 0);
        // The handle goes on, and the next load too.
        let report = place.load(&many(100), RdfFormat::NQuads).expect("it is loaded");
        assert_eq!(place.texts().len() as u64, report.inserted);
        let place = place.reopen();
        assert_eq!(place.texts().len() as u64, report.inserted);
    }
}

#[test]
fn a_load_that_is_cut_off_at_any_stage_is_undone_when_the_store_is_opened_again() {
    for stage in STAGES {
        let place = Place::new();
        let options = at_stage(stage, || panic!("planted: the load is cut off"));
        let store = place.store.clone();
        let cut_off =
            catch_unwind(AssertUnwindSafe(|| store.load(vec![input(&many(20_000), RdfFormat::NQuads)], &options)));
        assert!(cut_off.is_err(), "{stage}");
        // Until then readers see what was before.
        assert!(place.texts().is_empty(), "{stage}");
        let is_half_done = stage != "parsing";
        assert_eq!(matches!(place.store.begin(), Err(Error::LoadRunning { .. })), is_half_done, "{stage}");
        let second = Store::open(place.path()).expect("a second handle");
        assert!(texts(&second.snapshot().expect("a snapshot")).is_empty());
        drop((store, second));
        let place = place.reopen();
        assert!(place.texts().is_empty(), "{stage}");
        let snapshot = place.store.snapshot().expect("a snapshot");
        assert!(snapshot.tables().are_empty(snapshot.read()).expect("they are read"), "{stage}");
        let report = place.load(&many(100), RdfFormat::NQuads).expect("it is loaded");
        assert_eq!(place.reopen().texts().len() as u64, report.inserted);
    }
}

#[test]
fn a_store_with_a_load_that_was_cut_off_is_not_opened_read_only() {
    let place = Place::new();
    let options = at_stage("building indexes", || panic!("planted: the load is cut off"));
    let cut_off = catch_unwind(AssertUnwindSafe(|| place.load_with(&many(1000), &options)));
    assert!(cut_off.is_err());
    let Place { store, directory } = place;
    drop(store);
    let path = directory.path().join("a.ful");
    let read_only = || Store::open_with(crate::Database::options().read_only(true), &path, StoreOptions::new());
    assert!(matches!(read_only(), Err(Error::LoadCutOff { .. })));
    Store::open(&path).expect("it opens").close().expect("it closes");
    assert!(texts(&read_only().expect("it opens").snapshot().expect("a snapshot")).is_empty());
}

impl Place {
    fn load_with(&self, text: &str, options: &LoadOptions) -> Result<LoadReport> {
        self.store.load(vec![input(text, RdfFormat::NQuads)], options)
    }
}

#[test]
fn while_a_load_runs_readers_see_what_was_before_and_writers_and_loads_are_refused() {
    for stage in STAGES {
        let place = Place::new();
        let (reached, wait) = sync_channel::<()>(0);
        let (go_on, gate) = sync_channel::<()>(0);
        let gate = Mutex::new(Some(gate));
        let options = at_stage(stage, move || {
            if let Some(gate) = gate.lock().expect("no panic").take() {
                reached.send(()).expect("somebody waits");
                gate.recv().expect("somebody lets it go on");
            }
        });
        let earlier = place.store.begin().expect("a transaction");
        std::thread::scope(|scope| {
            let loading = scope.spawn(|| place.load_with(&many(2000), &options));
            wait.recv().expect("the stage is reached");
            let second = Store::open(place.path()).expect("a second handle");
            for store in [&place.store, &second] {
                assert!(texts(&store.snapshot().expect("a snapshot")).is_empty(), "{stage}");
                assert!(matches!(store.begin(), Err(Error::LoadRunning { .. })));
                let other = store.load(vec![input(&many(1), RdfFormat::NQuads)], &LoadOptions::new());
                assert!(matches!(other, Err(Error::LoadRunning { .. })));
            }
            let mut earlier = earlier;
            earlier.set_namespace("a", "http://a/").expect("it is set");
            let new = NamedNode::new_unchecked("http://new/term");
            assert!(matches!(earlier.intern(new.as_ref().into()), Err(Error::LoadRunning { .. })), "{stage}");
            assert!(matches!(earlier.commit(), Err(Error::LoadRunning { .. })));
            // The last of its handles but that of the load: it must not be undone by the next to open it.
            drop(second);
            go_on.send(()).expect("the load goes on");
            let report = loading.join().expect("no panic").expect("it is loaded");
            assert_eq!(place.texts().len() as u64, report.inserted);
        });
        let quad = Quad::new(
            NamedNode::new_unchecked("http://x"),
            NamedNode::new_unchecked("http://x"),
            Literal::from(1),
            oxrdf::GraphName::DefaultGraph,
        );
        assert!(place.store.update(|txn| txn.insert(&quad)).expect("it is committed"));
    }
}

#[test]
fn a_transaction_that_began_before_a_load_and_commits_after_it_is_checked_against_it() {
    let place = Place::new();
    let quad = |name: &str| {
        let name = NamedNode::new_unchecked(name);
        Quad::new(name.clone(), name, Literal::from(1), oxrdf::GraphName::DefaultGraph)
    };
    let mut earlier = place.store.begin().expect("a transaction");
    earlier.insert(&quad("http://example.org/node/1")).expect("it is inserted");
    place.load(&many(100), RdfFormat::NQuads).expect("it is loaded");
    let error = earlier.commit().expect_err("a conflict");
    assert!(error.is_retryable(), "{error}");
    assert_eq!(place.texts(), lines(&many(100)));
}

#[test]
fn a_load_into_a_store_that_is_not_empty_is_one_commit_even_if_it_is_cut_off() {
    let place = Place::with_one();
    let before = place.texts();
    let options = at_stage("committing", || panic!("planted: the load is cut off"));
    let cut_off = catch_unwind(AssertUnwindSafe(|| place.load_with(&many(2000), &options)));
    assert!(cut_off.is_err());
    let place = place.reopen();
    assert_eq!(place.texts(), before);
    let tables = place.store.database().tables().expect("tables");
    assert!(tables.iter().all(|table| table.name() != "loading_blank_nodes"));
    let report = place.load_with(&many(2000), &LoadOptions::new()).expect("it is loaded");
    assert_eq!(place.texts().len() as u64, report.inserted + 1);
    let tables = place.store.database().tables().expect("tables");
    assert!(tables.iter().all(|table| table.name() != "loading_blank_nodes"));
}

#[test]
fn an_empty_load_leaves_an_empty_store() {
    let place = Place::new();
    let report = place.store.load(Vec::new(), &LoadOptions::new()).expect("there is nothing to load");
    assert_eq!((report.read, report.inserted, report.new_terms), (0, 0, 0));
    place.load("", RdfFormat::NTriples).expect("an empty file");
    place.load("# nothing\n", RdfFormat::Turtle).expect("a comment");
    assert!(place.reopen().texts().is_empty());
}

#[test]
fn numbers_and_short_texts_alone_need_no_dictionary() {
    let place = Place::new();
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
    let place = Place::new();
    let deep = [(xml(depth), RdfFormat::RdfXml), (context(60_000), JSON_LD), (value(60_000), JSON_LD)];
    for (text, format) in deep {
        let error = place.load(&text, format).expect_err("it is too deep");
        assert!(matches!(&error, Error::Input { .. }) && error.to_string().contains("deeper than 512"), "{error}");
    }
    assert_eq!(place.load(&xml(3), RdfFormat::RdfXml).expect("it is loaded").inserted, 1);
    assert_eq!(place.load(&value(100), JSON_LD).expect("it is loaded").inserted, 1);
}

#[test]
fn documents_that_inputs_refer_to_are_refused_if_they_are_nested_too_deep() {
    let place = Place::new();
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

#[test]
fn of_many_namespaces_those_with_the_most_terms_are_kept() {
    let mut kept = Kept::default();
    let counts =
        |counts: &[u32]| counts.iter().enumerate().map(|(name, &count)| (name.to_string().into(), count)).collect();
    kept.count(counts(&[1, 1, 2, 9, 2, 3, 7]), 8);
    assert_eq!(kept.namespaces.len(), 7);
    let others = (0..100).map(|name: u32| (format!("other {name}").into(), 1 + name % 2)).collect();
    kept.count(others, 8);
    let mut left: Vec<u32> = kept.namespaces.values().copied().collect();
    left.sort_unstable();
    assert_eq!(left, [2, 3, 7, 9]);
    kept.count(counts(&[1, 1, 1, 1, 1, 1, 1]), 8);
    assert_eq!(kept.namespaces.get("3"), Some(&10));
}
