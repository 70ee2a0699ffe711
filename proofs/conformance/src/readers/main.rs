//! The store's readers and writers as a filter: `readers`, which `proofs/conformance/readers/compare.py` compares with
//! other programs.
//!
//! Standard input is a row of requests: a letter, the length of the text as four bytes, most significant first, and the
//! text. For each there is a line of JSON on standard output. `x`: an RDF/XML document, read with the base
//! `http://base.example/doc`; its quads as `{"quads": N-Quads}`, or `{"error": …, "line": …, "column": …}`. `w`:
//! N-Quads, which a store then writes: as each form of RDF and as each form of results, by its name; a form that cannot
//! say them has the error instead.

use std::fmt::Write as _;
use std::io::{self, Cursor, Read, Write};
use std::process::ExitCode;

use fulgurite_rdf::sparesults::QueryResultsFormat;
use fulgurite_rdf::sparql::{Query, QueryResults};
use fulgurite_rdf::{Error, IdPattern, LoadInput, LoadOptions, RdfFormat, Store, StoreOptions, dump, parse_document};
use oxrdfio::JsonLdProfileSet;
use serde_json::{Value, json};

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("readers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let (mut input, mut out) = (io::stdin().lock(), io::stdout().lock());
    loop {
        let mut head = [0; 5];
        match input.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let [kind, length @ ..] = head;
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        input.read_exact(&mut text)?;
        let answer = match kind {
            b'x' => read_rdf_xml(text)?,
            b'w' => write_all(text)?,
            other => return Err(format!("unknown request {other}").into()),
        };
        writeln!(out, "{answer}")?;
    }
}

fn read_rdf_xml(text: Vec<u8>) -> Result<Value, Error> {
    let mut lines = String::new();
    for quad in parse_document("text", Cursor::new(text), RdfFormat::RdfXml, Some("http://base.example/doc"))? {
        match quad {
            Ok(quad) => {
                let _ = writeln!(lines, "{quad} .");
            }
            Err(Error::Syntax { line, column, message, .. }) => {
                return Ok(json!({ "error": message, "line": line, "column": column }));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(json!({ "quads": lines }))
}

/// Requires: the quads are in the default graph.
fn write_all(text: Vec<u8>) -> Result<Value, Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let store = Store::create(directory.path().join("a.ful"), StoreOptions::new())?;
    store.load(vec![LoadInput::reader("text", Cursor::new(text), RdfFormat::NQuads)], &LoadOptions::new())?;
    let prefixes = [("ex", "http://e/"), ("urn", "http://u/"), ("", "http://d/")];
    for (prefix, namespace) in prefixes {
        store.update(|transaction| transaction.set_namespace(prefix, namespace))?;
    }
    let snapshot = store.snapshot()?;
    let mut answer = serde_json::Map::new();
    let mut add = |name: String, written: Result<Vec<u8>, Error>| -> Result<(), Box<dyn std::error::Error>> {
        let value = match written {
            Ok(bytes) => json!(String::from_utf8(bytes)?),
            Err(error @ Error::Unwritable { .. }) => json!({ "error": error.to_string() }),
            Err(error) => return Err(error.into()),
        };
        answer.insert(name, value);
        Ok(())
    };
    let json_ld = RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() };
    let graphs = [
        ("nt", RdfFormat::NTriples),
        ("nquads", RdfFormat::NQuads),
        ("turtle", RdfFormat::Turtle),
        ("trig", RdfFormat::TriG),
        ("xml", RdfFormat::RdfXml),
        ("json-ld", json_ld),
    ];
    for (name, format) in graphs {
        let mut bytes = Vec::new();
        let written = dump(&snapshot, &IdPattern::ALL, format, &mut bytes, |_| Ok(()));
        add(format!("dump {name}"), written.map(|_| bytes))?;
        let mut bytes = Vec::new();
        let constructed = Query::parse("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", None)?;
        let written = constructed.evaluate(&snapshot)?.write(QueryResultsFormat::Json, format, &mut bytes);
        add(format!("construct {name}"), written.map(|_| bytes))?;
    }
    for (name, format) in [
        ("xml", QueryResultsFormat::Xml),
        ("json", QueryResultsFormat::Json),
        ("csv", QueryResultsFormat::Csv),
        ("tsv", QueryResultsFormat::Tsv),
    ] {
        let mut bytes = Vec::new();
        let QueryResults::Solutions(solutions) =
            Query::parse("SELECT ?s ?p ?o WHERE { ?s ?p ?o }", None)?.evaluate(&snapshot)?
        else {
            return Err("a SELECT has solutions".into());
        };
        add(format!("select {name}"), solutions.write(format, &mut bytes).map(|_| bytes))?;
    }
    drop(snapshot);
    store.close()?;
    Ok(Value::Object(answer))
}
