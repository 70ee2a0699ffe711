//! The last act: Debian's packages as RDF, loaded into a store and queried by SPARQL.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Instant;

use flate2::bufread::MultiGzDecoder;
use fulgurite_rdf::oxrdf::Term;
use fulgurite_rdf::sparql::{Query, QueryResults};
use fulgurite_rdf::{LoadInput, LoadOptions, Quads, RdfFormat, Snapshot, Store, StoreOptions};

use crate::debian::{PackageTriples, VOCABULARY};
use crate::error::Result;
use crate::figures::{grouped, rate, size};
use crate::report::Report;

/// The package index in `directory`, or in the directory next to it.
pub fn data_file(directory: Option<&Path>) -> Option<PathBuf> {
    let directory = directory?;
    let places = [directory.join("debian").join(FILE), directory.join("..").join("debian").join(FILE)];
    places.into_iter().find(|place| place.is_file())
}

/// The file of the store: next to the database of the other acts.
pub fn store_file(out: &Path) -> PathBuf {
    let name = out.file_stem().unwrap_or_default().to_string_lossy();
    out.with_file_name(format!("{name}-debian.ful"))
}

/// Loads the index into a new store, and queries it.
pub fn load_and_ask(report: &Report, data: &Path, path: &Path) -> Result<()> {
    let begun = Instant::now();
    let file = File::open(data).map_err(|error| format!("{}: cannot be read: {error}", data.display()))?;
    let index = BufReader::new(MultiGzDecoder::new(BufReader::new(file)));
    let input = LoadInput::reader(data.display().to_string(), PackageTriples::new(index), RdfFormat::NTriples);
    let store = Store::create(path, StoreOptions::new())?;
    let loaded = store.load(vec![input], &LoadOptions::new())?;
    store.update(|txn| txn.set_namespace("deb", VOCABULARY))?;
    let told = format!(
        "{} statements about packages, {}, {} terms",
        grouped(loaded.inserted),
        rate(loaded.inserted, loaded.elapsed),
        grouped(loaded.new_terms)
    );
    report.done("triples", told, begun.elapsed())?;
    let begun = Instant::now();
    let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    report.done("file", size(bytes), begun.elapsed())?;
    let snapshot = store.snapshot()?;
    for question in QUESTIONS {
        ask(report, &snapshot, question)?;
    }
    drop(snapshot);
    Ok(store.close()?)
}

/// A question in English and in SPARQL.
struct Question {
    label: &'static str,
    asked: &'static str,
    sparql: &'static str,
}

/// The questions.
const QUESTIONS: &[Question] = &[
    Question {
        label: "breaks",
        asked: "how many packages break if libssl3 goes, and how many need it themselves?",
        sparql: "SELECT ?all ?direct {
            { SELECT (COUNT(DISTINCT ?p) AS ?all) { ?p deb:dependsOn+ <package/libssl3> } }
            { SELECT (COUNT(*) AS ?direct) { ?p deb:dependsOn <package/libssl3> } } }",
    },
    Question {
        label: "brings",
        asked: "what does libreoffice-calc bring along, and how many MiB are these?",
        sparql: "SELECT (COUNT(*) AS ?packages) (ROUND(SUM(?kib) / 1024) AS ?mib) {
            { SELECT DISTINCT ?p { <package/libreoffice-calc> deb:dependsOn+ ?p } } ?p deb:installedKib ?kib }",
    },
    Question {
        label: "chain",
        asked: "by which chain of three does git need libc6 through what it depends on?",
        sparql: "SELECT ?first ?second {
            <package/git> deb:dependsOn ?a . ?a deb:dependsOn ?b . ?b deb:dependsOn <package/libc6> .
            ?a deb:name ?first . ?b deb:name ?second FILTER (?a != <package/libc6>) } ORDER BY ?first ?second LIMIT 3",
    },
    Question {
        label: "circles",
        asked: "which packages depend on each other?",
        sparql: "SELECT ?one ?other { ?p deb:dependsOn ?q . ?q deb:dependsOn ?p .
            ?p deb:name ?one . ?q deb:name ?other FILTER (?one < ?other) } ORDER BY ?one ?other LIMIT 5",
    },
    Question {
        label: "sections",
        asked: "which sections take most space (GiB), and in how many packages?",
        sparql: "SELECT ?section (ROUND(SUM(?kib) / 104857.6) / 10 AS ?gib) (COUNT(*) AS ?packages) {
            ?p deb:section ?s ; deb:installedKib ?kib BIND (REPLACE(STR(?s), '.*/', '') AS ?section) }
            GROUP BY ?section ORDER BY DESC(SUM(?kib)) LIMIT 4",
    },
];

fn ask(report: &Report, snapshot: &Snapshot, question: &Question) -> Result<()> {
    let begun = Instant::now();
    let query = Query::parse_with_prefixes(question.sparql, Some(VOCABULARY), &snapshot.namespaces()?)?;
    let QueryResults::Solutions(solutions) = query.evaluate(snapshot)? else {
        return Err(format!("the demo's question `{}` is not a SELECT", question.label).into());
    };
    let names: Vec<String> = solutions.variables().iter().map(|name| name.as_str().to_owned()).collect();
    let rows = solutions.collect::<Result<Vec<_>, _>>()?;
    report.done(question.label, question.asked, begun.elapsed())?;
    for row in &rows {
        let cells = names.iter().zip(row.values()).map(|(name, term)| format!("{name} {}", shown(term.as_ref())));
        report.line(cells.collect::<Vec<_>>().join(", "))?;
    }
    match rows.is_empty() {
        true => report.line("none"),
        false => Ok(()),
    }
}

fn shown(term: Option<&Term>) -> String {
    match term {
        Some(Term::Literal(literal)) => literal.value().to_owned(),
        Some(other) => other.to_string(),
        None => "?".to_owned(),
    }
}

/// The data.
const FILE: &str = "packages.gz";
